package chain

import (
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage/pace"
)

// dueStats says what of a pool's stats is to be computed again. Each part needs those
// before it: what follows from prices, the windows, what the pool holds.
type dueStats uint8

const (
	duePrices dueStats = iota + 1
	dueWindows
	dueHeld
)

// strideValued is how many pools are added up between two pauses, which takes up to 15 µs
// each.
const strideValued = 4

// markStale notes which pools the changes touch. When the rolling windows have
// taken a step, those of every pool that traded in them have too.
func (c *Chain) markStale(st *market.State, changes *ledger.Changes, pause func()) {
	n := int(st.Pools.Len())
	for len(c.due) < n {
		c.due = append(c.due, dueHeld)
	}
	c.due = c.due[:n]
	c.prices.Truncate(min(c.prices.Len(), st.Tokens.Len()))
	c.stats.Truncate(min(c.stats.Len(), st.Pools.Len()))

	for _, i := range ledger.Pools.Changed(changes) {
		c.due[i] = dueHeld
	}
	c.markNamed(st, changes, pause)

	if c.view == nil || c.view.State.Now()/value.WindowStep != st.Now()/value.WindowStep {
		for i := range st.Pools.Len() {
			pace.Every(strideRows, int(i), pause)
			if c.view == nil || value.WindowsMoved(st, i, c.view.State.Now()) {
				c.due[i] = max(c.due[i], dueWindows)
			}
		}
	}
}

// markNamed marks the pools of tokens whose decimals became known: the price that a pool
// shows follows from them, also where no token of it has one.
func (c *Chain) markNamed(st *market.State, changes *ledger.Changes, pause func()) {
	if c.view == nil {
		return
	}

	var named []bool // by token; nil: there are none
	before := &c.view.State.Tokens
	for _, i := range ledger.Tokens.Changed(changes) {
		if i < before.Len() && before.At(i).BadDecimals != st.Tokens.At(i).BadDecimals {
			if named == nil {
				named = make([]bool, st.Tokens.Len())
			}
			named[i] = true
		}
	}

	if named != nil {
		c.markTokens(st, named, pause)
	}
}

// markTokens marks the pools that have one of the marked tokens.
func (c *Chain) markTokens(st *market.State, moved []bool, pause func()) {
	for i := range st.Pools.Len() {
		pace.Every(strideRows, int(i), pause)
		if p := st.Pools.At(i); moved[p.Currency0] || moved[p.Currency1] {
			c.due[i] = max(c.due[i], duePrices)
		}
	}
}

// valuePools brings the stats of all pools to the State and its prices. It returns those
// of which something is stored anew: what only follows from prices is not.
func (c *Chain) valuePools(st *market.State, pause func()) (changed []uint32) {
	valued := 0
	for i := range st.Pools.Len() {
		pace.Every(strideRows, int(i), pause)
		due := c.due[i]
		if c.everything || i >= c.stats.Len() {
			due = dueHeld
		}
		if due == 0 {
			continue
		}

		c.due[i] = 0
		stats := c.statsOf(st, i, due)
		if i == c.stats.Len() || due > duePrices && !sameMeasured(c.stats.At(i), &stats) {
			changed = append(changed, i)
		}
		if i == c.stats.Len() || !sameStats(c.stats.At(i), &stats) {
			put(&c.stats, i, stats)
		}
		if due > duePrices {
			if valued++; valued%strideValued == 0 {
				pause()
			}
		}
	}

	c.everything = false
	st.Stats = c.stats.Freeze()
	return changed
}

// statsOf returns the stats of a pool with what is due computed again.
func (c *Chain) statsOf(st *market.State, i uint32, due dueStats) market.PoolStats {
	switch due {
	case dueHeld:
		return value.Stats(st, i)
	case dueWindows:
		return value.StatsOf(st, i, c.stats.At(i).Holdings)
	}
	stats := *c.stats.At(i)
	value.Reprice(st, i, &stats)
	return stats
}

// sameStats reports whether all of two stats is the same.
func sameStats(a, b *market.PoolStats) bool { return sameMeasured(a, b) && a.SamePriced(b) }

// sameMeasured reports whether what the pool holds and its windows are the same.
func sameMeasured(a, b *market.PoolStats) bool {
	return market.SameValue(a.Holdings[0], b.Holdings[0]) && market.SameValue(a.Holdings[1], b.Holdings[1]) &&
		market.SameValue(a.VolumeUsd1h, b.VolumeUsd1h) && market.SameValue(a.FeesUsd1h, b.FeesUsd1h) &&
		market.SameValue(a.VolumeUsd24h, b.VolumeUsd24h) && market.SameValue(a.FeesUsd24h, b.FeesUsd24h) &&
		market.SameValue(a.VolumeUsd7d, b.VolumeUsd7d) && market.SameValue(a.FeesUsd7d, b.FeesUsd7d) &&
		market.SameValue(a.VolumeUsd30d, b.VolumeUsd30d) && market.SameValue(a.FeesUsd30d, b.FeesUsd30d)
}
