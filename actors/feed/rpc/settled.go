package rpc

import (
	"context"
	"fmt"
	"time"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

const (
	// nearGap is how far behind the head blocks are still read one by one,
	// finalized or not.
	nearGap = 64
	// headKept is how long a head is good for while far behind it, and
	// finalizedKept how long a finalized block is.
	headKept      = 10 * time.Second
	finalizedKept = 30 * time.Second
)

// settledBlocks is what a feed knows of the blocks that no reorganisation
// reaches.
type settledBlocks struct {
	head  *observedHead // for use while far behind it
	until uint64        // the newest settled block
	known bool          // there is one
	at    time.Time     // when that was asked
}

// headFor returns the head. While the ledger is far behind, one that was seen
// lately will do.
func (f *Feed) headFor(ctx context.Context, at market.Head) (*observedHead, error) {
	settled, now := &f.settled, f.cfg.Clock.Now()
	if h := settled.head; h != nil && now.Sub(h.at) < headKept &&
		at.Number+1 <= settled.until && settled.known && uint64(*h.Number)-at.Number > nearGap {
		return h, nil
	}

	h, err := f.observeHead(ctx, at)
	if err != nil {
		return nil, err
	}
	settled.head = h
	if h.at.Sub(settled.at) < finalizedKept {
		return h, nil
	}
	return h, f.findSettled(ctx, h)
}

// findSettled finds the newest block that is read by ranges: the finalized one,
// or market.UndoBlocks under the head where the node has no such tag.
func (f *Feed) findSettled(ctx context.Context, head *observedHead) error {
	var final *wireHeader
	err := f.trySources(ctx, Live, uint64(*head.Number), func(s *source) error {
		final = nil
		err := s.Call(ctx, &final, "eth_getBlockByNumber", "finalized", false)
		if endpoint.IsAnswer(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot read the finalized block: %w", err)
	}

	settled, top := &f.settled, uint64(*head.Number)
	settled.at = f.cfg.Clock.Now()
	switch {
	case final != nil && final.Number != nil:
		settled.until, settled.known = min(uint64(*final.Number), top), true
	default:
		settled.until, settled.known = top-min(top, market.UndoBlocks), top >= market.UndoBlocks
	}
	f.status.finalized.Store(settled.until)
	return nil
}

// outOfReach returns the newest block that the ledger need not be able to take
// back: a finalized one below every range that is still to be read again.
func (f *Feed) outOfReach() uint64 {
	if !f.settled.known {
		return 0
	}
	until := f.settled.until
	for i := range f.recheck {
		until = min(until, f.recheck[i].from-1)
	}
	return until
}

// isFar reports whether the block from is read by ranges. Blocks that some backend
// of every URL may lack are read one by one, with proof from their headers.
func (f *Feed) isFar(head *observedHead, from uint64) bool {
	return f.settled.known && from >= f.singlyBelow && from <= f.rangesEnd() &&
		uint64(*head.Number)-(from-1) > nearGap
}

// rangesEnd returns the last block that may be read by ranges.
func (f *Feed) rangesEnd() uint64 {
	var end uint64
	for _, s := range f.sourcesFor(Backfill) {
		if low := s.lows.get(); low > 0 {
			end = max(end, low)
		}
	}
	return min(end, f.settled.until)
}
