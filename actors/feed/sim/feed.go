package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

// confirmations is how many blocks lie between the head and the newest final
// one: the deepest reorganisation on demand.
const confirmations = 256

// Feed is a simulated chain. It implements feed.Feed and wants the State in
// its Cursor.
type Feed struct {
	*plan
	asked time.Time // of the last answer of a chain that had nothing new
	wake  chan struct{}

	mu     sync.Mutex
	reorgs []uint64 // first blocks of the reorganisations so far
}

var _ feed.Feed = (*Feed)(nil)

// New plans the chain of a Config, or says which sizes are impossible.
func New(cfg Config) (*Feed, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.fill()
	return &Feed{plan: newPlan(cfg), wake: make(chan struct{}, 1)}, nil
}

// Close implements feed.Feed.
func (f *Feed) Close() error { return nil }

// Reorg replaces the newest depth blocks by others, for tests. Next answers
// with the revert and goes on from there. It may be called at any time.
func (f *Feed) Reorg(depth uint64) error {
	if depth == 0 || depth > confirmations {
		return fmt.Errorf("cannot reorganise %d blocks; at least 1, at most %d", depth, confirmations)
	}
	head := f.headNumber(f.cfg.Now())
	f.mu.Lock()
	f.reorgs = append(f.reorgs, max(f.cfg.StartBlock, head+1-min(depth, head)))
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return nil
}

// nonce is how many reorganisations a block has gone through: it makes other
// hashes and another market.
func (f *Feed) nonce(number uint64) (n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, first := range f.reorgs {
		if number >= first {
			n++
		}
	}
	return n
}

// Next implements feed.Feed.
func (f *Feed) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	if c.State == nil {
		panic("BUG: the simulated market goes on from a State, and the cursor has none")
	}
	now, err := f.await(ctx, c.Anchors[0])
	if err != nil {
		return feed.Step{}, err
	}
	head := f.headAt(f.headNumber(now))
	step := feed.Step{Head: head}
	at := c.Anchors[0]
	switch {
	case !f.has(at, head):
		if step.RevertTo = f.common(c.Anchors, head); step.RevertTo == nil {
			return step, feed.ErrTooDeep
		}
	case at.Number == head.Number:
		step.Confirmed = now
	default:
		step.Span = f.span(c.State, at, head)
		if step.Span.To == head.Number {
			step.SpanConfirmed = now
		}
	}
	return step, nil
}

// await returns at once when there is a span or a revert to give, else when
// the next block is due, or a frozen chain's next confirmation.
func (f *Feed) await(ctx context.Context, at market.Head) (now time.Time, err error) {
	for {
		now = f.cfg.Now()
		head := f.headNumber(now)
		due := f.due(at, head)
		if !f.has(at, f.headAt(head)) || !due.After(now) {
			f.asked = now
			return now, nil
		}
		timer := time.NewTimer(due.Sub(now))
		select {
		case <-timer.C:
		case <-f.wake:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return now, ctx.Err()
		}
	}
}

// due returns when there is something to say to a ledger that stands at a
// block: at once while it is behind, and else when enough time for a span or
// a confirmation has passed.
func (f *Feed) due(at market.Head, head uint64) time.Time {
	switch {
	case at.Number+confirmations < head || f.asked.IsZero():
		return time.Time{}
	case f.frozen() && at.Number < head:
		return time.Time{}
	case f.frozen():
		return f.asked.Add(f.cfg.Every)
	}
	next := f.blockTime(max(at.Number+1, f.cfg.StartBlock))
	if paced := f.asked.Add(min(f.cfg.Every, f.cfg.BlockTime*8)); next.Before(paced) {
		return paced
	}
	return next
}

func (f *Feed) frozen() bool { return f.cfg.Frozen }

// blockTime returns when the clock reaches a block.
func (f *Feed) blockTime(number uint64) time.Time {
	ms := int64(number-f.cfg.StartBlock) * f.paceMs
	return time.Unix(f.cfg.Genesis, 0).Add(time.Duration(ms) * time.Millisecond)
}

// headNumber returns the newest block at a time; StartBlock - 1 before the
// first.
func (f *Feed) headNumber(now time.Time) uint64 {
	ms := now.Sub(time.Unix(f.cfg.Genesis, 0)).Milliseconds()
	if f.frozen() {
		ms = f.endMs
	}
	if ms < 0 {
		return f.cfg.StartBlock - 1
	}
	return f.cfg.StartBlock + uint64(ms/f.paceMs)
}

// headAt returns a block's number, hash and time.
func (f *Feed) headAt(number uint64) market.Head {
	h := market.Head{Number: number}
	if number < f.cfg.StartBlock {
		return h
	}
	spread(h.Hash[:], hash(f.chainKey, 'B', number, f.nonce(number)))
	h.Time = f.cfg.Genesis + int64(number-f.cfg.StartBlock)*f.paceMs/1000
	return h
}

// has reports whether a block is on the chain up to head. The block before the
// first, which has no hash, is.
func (f *Feed) has(at, head market.Head) bool {
	if at.Number < f.cfg.StartBlock {
		return true
	}
	return at.Number <= head.Number && at.Hash == f.headAt(at.Number).Hash
}

// common returns the newest anchor that is on the chain.
func (f *Feed) common(anchors []market.Head, head market.Head) *market.Head {
	for i := range anchors {
		if f.has(anchors[i], head) {
			return &anchors[i]
		}
	}
	return nil
}

// span makes what follows at: so many blocks of the history as give a few
// thousand events, up to the blocks that are not final, or all up to the head.
func (f *Feed) span(st *market.State, at, head market.Head) *market.Span {
	span := &market.Span{From: at.Number + 1, Parent: at.Hash}
	last := head.Number
	if span.From+confirmations <= head.Number {
		span.Final, last = true, head.Number-confirmations
	}
	end := f.write(span, f.enter(st), last)
	h := f.headAt(end)
	span.To, span.Hash, span.Time = end, h.Hash, h.Time
	return span
}

// write plays the blocks from span.From up to last or until the span is full,
// and returns the last of them.
func (f *Feed) write(span *market.Span, w *world, last uint64) uint64 {
	s := &scene{world: w, span: span}
	diary := f.agendaFrom(span.From - f.cfg.StartBlock)
	for {
		e := diary.peek()
		number := f.cfg.StartBlock + e.block
		if number > last {
			return last
		}
		if s.events >= f.cfg.SpanEvents && number > s.number {
			return s.number
		}
		s.play(e, f.nonce(number))
		diary.take(e)
	}
}
