package rpc

import (
	"context"
	"sync"

	"tidemark/rankings/market"
)

// ahead reads the pieces of a plan before they are wanted, several at once, and
// gives them out in order.
//
// A piece is read in two stages, the logs and then what they need; as many pieces as
// are in flight in the first may be in the second. In the first there are firstWindow
// pieces at the beginning, one more after every answer, and half as many after a
// failure, so that a node that is asked for too much at once recovers. While the node
// fails, nothing is asked for but the piece that is wanted.
//
// Memory: a piece that is being read counts as the largest that is ever kept, maxLogs
// logs. What is read and what is being read never exceed the bound, except that the
// piece that is wanted is always read.
type ahead struct {
	f      *Feed
	ctx    context.Context
	cancel context.CancelFunc
	after  market.Head   // what was given out last
	ended  chan struct{} // a stage of some piece has ended

	mu      sync.Mutex
	plan    plan
	end     uint64 // the last block that may be read
	seen    int64  // time of the chain's head, unix seconds
	top     uint64 // number of that head
	window  int    // pieces whose logs are read at once
	reading int
	second  int   // pieces in the second stage
	bytes   int64 // held by pieces that are not being read
	held    bool  // a piece has failed and none has been given out since
}

// firstWindow is how many pieces are asked for before anything was answered. With one,
// the ledger would wait for each of the first answers by turns; with eight, the next
// ones are there when it has taken those, a fifth of a second later where events are
// dense.
const firstWindow = 8

// maxPieceBytes is what a piece that is being read counts.
const maxPieceBytes = pieceBytes + maxLogs*(blockBytes+logBytes)

func (f *Feed) newAhead(after market.Head) *ahead {
	ctx, cancel := context.WithCancel(context.Background())
	return &ahead{
		f: f, ctx: ctx, cancel: cancel, after: after, ended: make(chan struct{}, 1),
		plan: newPlan(after.Number + 1), window: min(firstWindow, f.cfg.RangesInFlight),
	}
}

// dropAhead gives up what was read ahead: it follows what is no more.
func (f *Feed) dropAhead() {
	if f.ahead != nil {
		f.ahead.cancel()
		f.ahead = nil
	}
}

// reach has blocks up to end read. The first piece is tried again if its failure was
// told.
func (a *ahead) reach(end uint64, head *observedHead) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end, a.seen, a.top = end, int64(*head.Time), uint64(*head.Number)
	if p := a.plan.first(); p != nil && p.state == hasFailed && p.told {
		p.retry()
	}
	a.launch()
}

// first waits until the first piece is ready and returns it, or why it failed.
func (a *ahead) first(ctx context.Context) (*piece, error) {
	for {
		a.mu.Lock()
		p := a.plan.first()
		if p != nil && p.state == hasFailed {
			p.told = true
			a.mu.Unlock()
			return p, p.err
		}
		done := p != nil && p.state == isReady
		a.mu.Unlock()
		if done {
			return p, nil
		}

		select {
		case <-a.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// giveOut removes the first piece, which goes to the ledger. Those that failed
// meanwhile are tried again, unless a node merely lacks something: that is waited for
// when it is wanted.
func (a *ahead) giveOut(p *piece) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plan.drop()
	a.bytes -= p.read.size()
	a.after, a.held = p.span.Head(), false
	for _, q := range a.plan.pieces {
		if q.state == hasFailed && !isAbsent(q.err) {
			q.retry()
		}
	}
	a.launch()
}

// launch starts as many pieces as may be read now. The caller holds mu.
func (a *ahead) launch() {
	for a.ctx.Err() == nil {
		first := a.plan.first()
		wanted := first == nil || first.state == waits
		if !wanted && (a.held || a.reading >= a.window || a.second >= a.f.cfg.RangesInFlight ||
			!a.hasRoom()) {
			return
		}

		p := a.plan.take(a.plan.size(a.f.rangeLimit()), a.end)
		if p == nil {
			return
		}
		a.bytes -= p.read.size()
		p.state, p.seen, p.top = isRead, a.seen, a.top
		a.reading++
		a.f.work.Go(func() { a.run(p) })
	}
}

// hasRoom reports whether one more piece may be read.
func (a *ahead) hasRoom() bool {
	busy := int64(a.reading + a.second + 1)
	return a.bytes+busy*maxPieceBytes <= a.f.cfg.FetchAheadBytes
}

// run reads a piece.
func (a *ahead) run(p *piece) {
	err := a.f.readPiece(a.ctx, p)
	if a.endReading(p, err); err != nil {
		return
	}
	err = a.f.completePiece(a.ctx, p)
	a.endCompleting(p, err)
}

// endReading notes that the logs of a piece were read, or that they were not.
func (a *ahead) endReading(p *piece, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reading--

	if err != nil {
		a.fail(p, err)
	} else {
		if p.read.to < p.to {
			a.plan.split(p, p.read.to)
		}
		a.plan.learn(p.read)
		a.second++
		p.state = isFilled
		a.window = min(a.window+1, a.f.cfg.RangesInFlight)
	}
	a.launch()
	a.signal()
}

func (a *ahead) endCompleting(p *piece, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.second--
	if err != nil {
		a.fail(p, err)
	} else {
		p.state = isReady
		a.bytes += p.read.size()
	}
	a.launch()
	a.signal()
}

// fail notes why a piece could not be read.
func (a *ahead) fail(p *piece, err error) {
	p.state, p.err = hasFailed, err
	a.bytes += p.read.size()
	if !isAbsent(err) {
		a.held, a.window = true, max(a.window/2, 1)
	}
}

func (a *ahead) signal() {
	select {
	case a.ended <- struct{}{}:
	default:
	}
}
