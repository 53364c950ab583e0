package rpc

import (
	"slices"

	"tidemark/rankings/market"
)

const (
	// rangeLogs is how many logs a range should have: an answer of a few MB, far
	// below where nodes begin to cut, and enough that latency does not count.
	rangeLogs = 4000
	// newestDensity is how much a range weighs in the density of logs.
	newestDensity = 0.3
)

// piece is a range of blocks on its way to the ledger. While it is read it belongs
// to the goroutine that reads it.
type piece struct {
	from, to uint64
	state    pieceState
	err      error // why it failed
	told     bool  // Next has returned that error

	read    *rangeRead   // its logs; nil: not read yet
	span    *market.Span // of a ready one
	seen    int64        // time of the chain's head when its logs were asked for
	top     uint64       // number of that head
	strikes int          // failures that may be due to its size
	absent  int          // how often in a row receipts were not there
}

// retry has a piece that failed read again.
func (p *piece) retry() { p.state, p.err, p.told = waits, nil, false }

type pieceState uint8

const (
	waits    pieceState = iota
	isRead              // its logs are asked for
	isFilled            // its times, receipts and tokens are
	isReady
	hasFailed
)

// plan is which blocks are read, in order and without gaps: pieces, and after the
// last of them whatever is not planned yet.
type plan struct {
	pieces  []*piece
	next    uint64  // the first block after the pieces
	density float64 // logs a block, lately; negative: not known
}

func newPlan(from uint64) plan { return plan{next: from, density: -1} }

// size returns how many blocks to ask for, at most limit: where logs are dense
// fewer.
func (p *plan) size(limit uint64) uint64 {
	if p.density*float64(limit) <= rangeLogs {
		return limit
	}
	return max(uint64(rangeLogs/p.density), 1)
}

// take returns the first piece that waits, cut to a size, or a new one up to end;
// nil when there is none.
func (p *plan) take(size, end uint64) *piece {
	for _, q := range p.pieces {
		if q.state != waits {
			continue
		}
		if q.read == nil && q.to-q.from >= size {
			p.split(q, q.from+size-1)
		}
		return q
	}

	if p.next > end {
		return nil
	}
	q := &piece{from: p.next, to: p.next + min(size-1, end-p.next)}
	p.pieces, p.next = append(p.pieces, q), q.to+1
	return q
}

// split ends a piece at a block. What is left of it waits behind it.
func (p *plan) split(q *piece, to uint64) {
	rest := &piece{from: to + 1, to: q.to}
	q.to = to
	p.pieces = slices.Insert(p.pieces, slices.Index(p.pieces, q)+1, rest)
}

// first returns the piece that is wanted next; nil when nothing is planned.
func (p *plan) first() *piece {
	if len(p.pieces) == 0 {
		return nil
	}
	return p.pieces[0]
}

// drop removes the first piece.
func (p *plan) drop() { p.pieces = slices.Delete(p.pieces, 0, 1) }

// learn notes how dense the logs of a range were.
func (p *plan) learn(r *rangeRead) {
	density := float64(r.logs) / float64(r.to-r.from+1)
	if p.density < 0 {
		p.density = density
		return
	}
	p.density += newestDensity * (density - p.density)
}
