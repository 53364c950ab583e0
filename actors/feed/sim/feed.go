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
const confirmations = market.UndoBlocks

// Feed is a simulated chain. It implements feed.Feed and wants the State in
// its Cursor.
type Feed struct {
	cfg   settings
	once  sync.Once
	*plan // made by ready

	// paced is when the last span was given that had all there was; zero after others.
	// confirmed is when the head was last confirmed.
	paced, confirmed time.Time
	wake             chan struct{}

	mu     sync.Mutex
	reorgs []uint64 // first blocks of the reorganisations so far
}

var _ feed.Feed = (*Feed)(nil)

// New takes the chain of a Config, or says which sizes are impossible. It is
// planned when it is first asked, which a node that has data does later: a
// plan takes 6 µs a pool.
func New(cfg Config) (*Feed, error) { return NewWorkload(cfg, Workload{}) }

func (f *Feed) ready() { f.once.Do(func() { f.plan = newPlan(f.cfg) }) }

// Close implements feed.Feed.
func (f *Feed) Close() error { return nil }

// FrozenHead returns the head of a frozen chain, which it stays whatever the
// clock says.
func (f *Feed) FrozenHead() (head market.Head, frozen bool) {
	if !f.cfg.Frozen {
		return head, false
	}
	f.ready()
	return f.headAt(f.headNumber(f.cfg.Now())), true
}

// Reorg replaces the newest depth blocks by others, for tests. Next answers
// with the revert and goes on from there. It may be called at any time.
func (f *Feed) Reorg(depth uint64) error {
	if depth == 0 || depth > confirmations {
		return fmt.Errorf("cannot reorganise %d blocks; at least 1, at most %d", depth, confirmations)
	}
	f.ready()

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
	f.ready()
	now, err := f.awaitHead(ctx, c.Anchors[0])
	if err != nil {
		return feed.Step{}, err
	}

	at := c.Anchors[0]
	head := f.headAt(max(f.headNumber(now), at.Number)) // a clock may step back
	step := feed.Step{Head: head, Finalized: f.finalAt(head.Number)}

	switch {
	case !f.isOnChain(at):
		f.paced = time.Time{}
		if step.RevertTo = f.newestCommon(c.Anchors); step.RevertTo == nil {
			return step, feed.ErrTooDeep
		}
	case at.Number == head.Number:
		step.Confirmed, f.confirmed = now, now
		if f.paced.IsZero() {
			f.paced = now
		}
	default:
		f.paced = time.Time{}
		step.Span = f.makeSpan(c.State, at, head)
		if step.Span.To == head.Number {
			step.SpanConfirmed, f.paced, f.confirmed = now, now, now
		}
	}
	return step, nil
}

// awaitHead returns at once when there is a span or a revert to give, else when
// the next block or the next confirmation is due.
func (f *Feed) awaitHead(ctx context.Context, at market.Head) (now time.Time, err error) {
	for {
		now = f.cfg.Now()
		due := f.dueTime(at, f.headNumber(now))
		if !f.isOnChain(at) || !due.After(now) {
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

// dueTime returns when there is something to say to a ledger that stands at a
// block: at once to one that has not caught up, and else when enough time for
// a span or a confirmation has passed.
func (f *Feed) dueTime(at market.Head, head uint64) time.Time {
	if f.paced.IsZero() || at.Number+confirmations < head {
		return time.Time{}
	}

	due := f.confirmed.Add(f.cfg.Every)
	if f.cfg.Frozen {
		return due
	}
	span := f.paced.Add(f.cfg.Every)
	if next := f.blockTime(at.Number + 1); next.After(span) {
		span = next
	}
	if span.Before(due) {
		return span
	}
	return due
}

// blockTime returns when the clock reaches a block.
func (f *Feed) blockTime(number uint64) time.Time {
	ms := int64(number-f.cfg.StartBlock) * f.paceMs
	if after := ms - f.endMs; after > 0 {
		ms -= after - after/f.speed
	}
	return time.Unix(f.cfg.Genesis, 0).Add(time.Duration(ms)*time.Millisecond + f.cfg.Behind)
}

// headNumber returns the newest block at a time; StartBlock - 1 before the
// first.
func (f *Feed) headNumber(now time.Time) uint64 {
	ms := (now.Sub(time.Unix(f.cfg.Genesis, 0)) - f.cfg.Behind).Milliseconds()
	if after := ms - f.endMs; after > 0 {
		ms += after * (f.speed - 1)
	}
	if f.cfg.Frozen {
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
	fillBytes(h.Hash[:], hash(f.chainKey, 'B', number, f.nonce(number)))
	h.Time = f.cfg.Genesis + int64(number-f.cfg.StartBlock)*f.paceMs/1000
	return h
}

// finalAt returns the newest block that no reorganisation reaches any more; 0
// when there is none.
func (f *Feed) finalAt(head uint64) uint64 {
	if head < f.cfg.StartBlock+confirmations {
		return 0
	}
	return head - confirmations
}

// isOnChain reports whether a block is on the chain. The block before the first,
// which has no hash, is.
func (f *Feed) isOnChain(at market.Head) bool {
	return at.Number < f.cfg.StartBlock || at.Hash == f.headAt(at.Number).Hash
}

// newestCommon returns the newest anchor that is on the chain.
func (f *Feed) newestCommon(anchors []market.Head) *market.Head {
	for i := range anchors {
		if f.isOnChain(anchors[i]) {
			return &anchors[i]
		}
	}
	return nil
}

// makeSpan makes what follows at: so many blocks of the history as give a few
// thousand events, up to the blocks that are not final, or all up to the head.
func (f *Feed) makeSpan(st *market.State, at, head market.Head) *market.Span {
	span := &market.Span{From: at.Number + 1, Parent: at.Hash}
	last := head.Number
	if final := f.finalAt(head.Number); span.From <= final {
		span.Final, last = true, final
	}
	end := f.playBlocks(span, f.newWorld(st), last)
	h := f.headAt(end)
	span.To, span.Hash, span.Time = end, h.Hash, h.Time
	return span
}

// playBlocks plays the blocks from span.From up to last or until the span is full,
// and returns the last of them.
func (f *Feed) playBlocks(span *market.Span, w *world, last uint64) uint64 {
	s := &scene{world: w, span: span}
	agenda := f.agendaFrom(span.From - f.cfg.StartBlock)
	pause := f.cfg.NewPause()
	for {
		e := agenda.peek()
		number := f.cfg.StartBlock + e.block
		if number > last {
			return last
		}

		if s.events >= f.cfg.SpanEvents && number > s.number {
			return s.number
		}
		s.play(e, f.nonce(number))
		agenda.take(e)
		pause()
	}
}
