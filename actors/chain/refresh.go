package chain

import (
	"time"

	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/pace"
)

// Between two pauses at most so many pools are valued, which takes up to 15 µs each, and
// so many rows are looked at, which takes some 100 ns where they are not in the
// processor's cache.
const (
	strideValued = 4
	strideRows   = 512
)

// Refresh publishes the ledger's state as the next generation, if there is a
// new block or blocks were read again: solve prices, value pools, build orders,
// commit, put the view on the board. While the chain is syncing it only commits, and
// returns before the cut is written if there is a Config.Beside.
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
		return c.commitBeside(cut, clock)
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
	n := note{c.reverted, started.UnixMilli(), answers}
	var err error
	if cut.Note, err = n.encode(c.Shared); err != nil {
		return err
	}
	if err := c.commit(cut, clock); err != nil {
		return err
	}

	c.corrected, c.reverted = c.refused.to != 0, false
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

// Unpublished reports whether the ledger has something that the newest generation
// has not.
func (c *Chain) Unpublished() bool {
	return c.view == nil || c.view.State.Head != c.ledger.Head() || c.corrected
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
	for i := range st.Pools.Len() {
		pace.Every(strideRows, int(i), pause)
		p := st.Pools.At(i)
		c.repriced[i] = c.repriced[i] || moved[p.Currency0] || moved[p.Currency1]
	}
	return changed
}

// resize returns s with n elements, of which those after its own are zero.
func resize[T any](s []T, n int) []T {
	if n > len(s) {
		return append(s, make([]T, n-len(s))...)
	}
	return s[:n]
}

func samePrice(a, b *market.Price) bool {
	x, y := *a, *b
	x.Usd, x.ExitUsd, y.Usd, y.ExitUsd = 0, 0, 0, 0
	return x == y && sameFloat(a.Usd, b.Usd) && sameFloat(a.ExitUsd, b.ExitUsd)
}

// valuePools computes the stats of the pools that need it and returns those whose
// stats are others than before. A third of them are not when the native price moves.
// What a pool holds is added up again only when the pool changed.
func (c *Chain) valuePools(st *market.State, pause func()) (changed []uint32) {
	valued := 0
	for i := range st.Pools.Len() {
		pace.Every(strideRows, int(i), pause)
		anew := c.stale[i] || c.everything || i >= c.stats.Len()
		if !anew && !c.repriced[i] {
			continue
		}

		c.stale[i], c.repriced[i] = false, false
		if c.held[i] == ([2]float64{}) {
			c.held[i], anew = value.Held(st, i), true
		}
		if stats := c.statsOf(st, i, anew); i == c.stats.Len() || !sameStats(c.stats.At(i), &stats) {
			put(&c.stats, i, stats)
			changed = append(changed, i)
		}
		if anew {
			if valued++; valued%strideValued == 0 {
				pause()
			}
		}
	}

	c.everything = false
	st.Stats = c.stats.Freeze()
	return changed
}

// statsOf returns the stats of a pool: computed anew, or brought to the new prices.
func (c *Chain) statsOf(st *market.State, i uint32, anew bool) market.PoolStats {
	if anew {
		return value.StatsOf(st, i, c.held[i])
	}
	stats := *c.stats.At(i)
	value.Reprice(st, i, c.held[i], &stats)
	return stats
}

func sameStats(a, b *market.PoolStats) bool {
	x, y := *a, *b
	for _, f := range [...][2]*float64{
		{&x.TVLUsd, &y.TVLUsd}, {&x.FeeAPR, &y.FeeAPR}, {&x.CurrentPrice, &y.CurrentPrice},
		{&x.VolumeUsd1h, &y.VolumeUsd1h}, {&x.VolumeUsd24h, &y.VolumeUsd24h},
		{&x.VolumeUsd7d, &y.VolumeUsd7d}, {&x.VolumeUsd30d, &y.VolumeUsd30d},
		{&x.FeesUsd1h, &y.FeesUsd1h}, {&x.FeesUsd24h, &y.FeesUsd24h},
		{&x.FeesUsd7d, &y.FeesUsd7d}, {&x.FeesUsd30d, &y.FeesUsd30d},
	} {
		if !sameFloat(*f[0], *f[1]) {
			return false
		}
		*f[0], *f[1] = 0, 0
	}

	return x == y
}

// markStale notes which pools the changes touch. When the rolling windows have
// taken a step, those of every pool that traded in them have too.
func (c *Chain) markStale(st *market.State, changes *ledger.Changes, pause func()) {
	for n := len(c.stale); n < int(st.Pools.Len()); n++ {
		c.stale = append(c.stale, true)
	}

	c.stale = c.stale[:st.Pools.Len()]
	c.repriced, c.held = resize(c.repriced, len(c.stale)), resize(c.held, len(c.stale))
	c.prices.Truncate(min(c.prices.Len(), st.Tokens.Len()))
	c.stats.Truncate(min(c.stats.Len(), st.Pools.Len()))
	for _, i := range ledger.Pools.Changed(changes) {
		c.stale[i], c.held[i] = true, [2]float64{}
	}

	if c.view == nil || c.view.State.Now()/value.WindowStep != st.Now()/value.WindowStep {
		for i := range st.Pools.Len() {
			pace.Every(strideRows, int(i), pause)
			c.stale[i] = c.stale[i] || c.view == nil || value.WindowsMoved(st, i, c.view.State.Now())
		}
	}
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
