package chain

import (
	"time"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/pace"
)

// strideRows is how many rows are looked at between two pauses, which takes some 100 ns
// each where they are not in the processor's cache.
const strideRows = 512

// Refresh publishes the ledger's state as the next generation, if there is a
// new block or blocks were read again: solve prices, value pools, build orders,
// commit, put the view on the board. While the chain is syncing it only commits, and
// returns before the cut is written if there is a Config.Background.
// pause is called every 100 µs or so of work, so that readers are not held up;
// clock tells the time. Both may be called until the cut is written.
//
// After an error, also of the cut before, nothing was published and the ledger is
// ahead of the store: the chain has to be restored.
func (c *Chain) Refresh(clock func() time.Time, pause func()) error {
	if err := c.awaitCut(clock); err != nil {
		return err
	}
	if !c.Unpublished() {
		return nil
	}
	started := clock()

	// The rows that Changes names are those of a State frozen at the same head.
	st, changes := c.ledger.Freeze(), c.ledger.Changes()
	cut := &storage.Cut{State: st, Changes: changes, Pause: pause}
	c.markStale(st, changes, pause)
	if c.status.Syncing {
		st.Prices, st.Stats = c.prices.Freeze(), c.stats.Freeze()
		return c.commitInBackground(cut, clock)
	}

	answers := c.external()
	cut.Prices = c.solvePrices(st, answers, pause)
	cut.Stats = c.valuePools(st, pause)
	view, publication := rankings.BuildPaced(c.view, st, c.generation+1, c.store.Leaves(), pause)
	cut.Publication = publication
	cut.Confirmed = c.confirmedAt(st.Head, started)
	view.FeedPrices = append([]value.FeedPrice{}, answers...)
	view.Confirm(cut.Confirmed)
	view.Changes = view.ChangesSince(c.view, c.reverted, started.UnixMilli(), pause)
	if c.Shared {
		n := note{
			Reverted: c.reverted, At: started.UnixMilli(), Clock: c.Opened.UnixMilli(), FeedPrices: answers,
		}
		var err error
		if cut.Note, err = n.encode(view, c.view); err != nil {
			return err
		}
	}
	recall := c.announce(view.Generation, c.reverted)
	if err := c.commit(cut, clock); err != nil {
		recall()
		return err
	}

	c.corrected, c.reverted = false, false
	c.showNext(view)
	c.Metrics.refresh.Update(clock().Sub(started).Seconds())
	return nil
}

// showNext shows a view in place of the one before it.
func (c *Chain) showNext(view *rankings.View) {
	c.view, c.generation = view, view.Generation
	c.board.Publish(view)
	c.endRepair()
}

// Unpublished reports whether there is something to publish: the ledger differs from the
// newest generation. A ledger that went back, because blocks were replaced or are read again,
// has nothing to publish until it is where that generation is, or at its chain's head. It
// may have gone back further than the blocks that were replaced, and would seem to have
// lost those between.
func (c *Chain) Unpublished() bool {
	if c.view == nil {
		return true
	}
	at, head := c.ledger.Head(), c.view.State.Head
	if c.reverted && at.Number < min(head.Number, c.status.ChainHead.Number) {
		return false
	}
	return at != head || c.corrected
}

// confirmedAt returns the last time at which head is known to have been the
// chain's. A block that was passed before the feed could say so was the head
// at its own time, and not before the block of the view.
func (c *Chain) confirmedAt(head market.Head, now time.Time) (milli int64) {
	if c.confirmed.head == head {
		return c.confirmed.milli
	}
	milli = min(head.Time*1000, now.UnixMilli())
	if c.view != nil {
		milli = max(milli, c.view.Confirmed())
	}
	return milli
}

// solvePrices computes the price of every token, with the answers of the price
// feed, and returns which changed; the pools of those are to be valued again.
func (c *Chain) solvePrices(
	st *market.State, answers []value.FeedPrice, pause func(),
) (changed []uint32) {
	moved := make([]bool, st.Tokens.Len())
	c.pricer.Each(st, &c.Prices, answers, pause, func(i uint32, p *market.Price) {
		pace.Every(strideRows, int(i), pause)
		if i < c.prices.Len() && samePrice(c.prices.At(i), p) {
			return
		}
		// The time of a swap alone changes nothing that pools are valued by.
		moved[i] = i == c.prices.Len() || value.QuoteOf(c.prices.At(i)) != value.QuoteOf(p)
		put(&c.prices, i, *p)
		changed = append(changed, i)
	})

	st.Prices = c.prices.Freeze()
	if len(changed) > 0 {
		c.markTokens(st, moved, pause)
	}
	return changed
}

func samePrice(a, b *market.Price) bool {
	x, y := *a, *b
	x.Usd, x.ExitUsd, y.Usd, y.ExitUsd = 0, 0, 0, 0
	return x == y && market.SameValue(a.Usd, b.Usd) && market.SameValue(a.ExitUsd, b.ExitUsd)
}

// put writes row i, which is at most one past the end.
func put[T any](t *market.Table[T], i uint32, row T) {
	if i == t.Len() {
		t.Append(row)
		return
	}
	*t.Mut(i) = row
}

// Waiting reports whether the chain has nothing to refresh from: it has not
// reached its chain's head for the first time yet.
func (c *Chain) Waiting() bool {
	return c.view == nil && (c.status.Syncing || c.status.ChainHead.Number == 0)
}
