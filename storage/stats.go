package storage

import (
	"slices"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Stats of pools are stored without what follows from prices (value.Reprice): it changes
// in every pool when one price moves. It is computed when a row is read, from the pool, its
// tokens and their prices in the same cut.

// codeStats walks what is stored. Rows of format 8 and earlier have all of the stats, as
// they were when the row was written, but for what the pool holds; a commit of this
// program that publishes writes them anew. Those of formats 9 and 10 have every window.
func codeStats(c *field.Coder, s *market.PoolStats) {
	// Without the marks, the flags are those of an earlier format.
	held := !c.Read && market.Known(s.Holdings[0])
	fewer := held
	unpriced, unrealizable := !held && s.Unpriced, !held && s.Unrealizable
	c.Flags("flags", &unpriced, &unrealizable, &held, &fewer)
	c.Require("flags", !held || !unpriced && !unrealizable)
	c.Require("flags", held || !fewer)
	if !held {
		if c.Read {
			s.Unpriced, s.Unrealizable = unpriced, unrealizable
			s.Holdings = [2]float64{market.Unknown, market.Unknown}
		}
		codeEarlierStats(c, s)
		return
	}

	c.USD("held0", &s.Holdings[0])
	c.USD("held1", &s.Holdings[1])
	c.Require("held1", market.Known(s.Holdings[0]) && market.Known(s.Holdings[1]))
	codeWindows(c, s, fewer)
}

// codeWindows walks the windows. With fewer, those that equal the next shorter one are left
// out: a pool that had no swap for a day has one sum for all longer windows.
func codeWindows(c *field.Coder, s *market.PoolStats, fewer bool) {
	windows := windowsOf(s)
	equal := func(i int) bool { return market.SameValue(*windows[i].usd, *windows[i-sumsOfWindow].usd) }

	var left uint8 // a bit for each window but the shortest
	if fewer {
		for i := sumsOfWindow; !c.Read && i < len(windows); i++ {
			if equal(i) {
				left |= 1 << (i - sumsOfWindow)
			}
		}
		c.Small("left out", &left, 1<<(len(windows)-sumsOfWindow)-1)
	}

	for i, w := range windows {
		switch longer := i >= sumsOfWindow; {
		case longer && left>>(i-sumsOfWindow)&1 != 0:
			if c.Read {
				*w.usd = *windows[i-sumsOfWindow].usd
			}
		default:
			c.USD(w.name, w.usd)
			c.Require(w.name, !fewer || !longer || !equal(i))
		}
	}
}

// sumsOfWindow is how many sums a window has: volume and fees.
const sumsOfWindow = 2

// window is a sum of a rolling window of a pool.
type window struct {
	name string
	usd  *float64
}

// windowsOf returns the sums, those of the shortest window first.
func windowsOf(s *market.PoolStats) [8]window {
	return [...]window{
		{"volumeUsd1h", &s.VolumeUsd1h}, {"feesUsd1h", &s.FeesUsd1h},
		{"volumeUsd24h", &s.VolumeUsd24h}, {"feesUsd24h", &s.FeesUsd24h},
		{"volumeUsd7d", &s.VolumeUsd7d}, {"feesUsd7d", &s.FeesUsd7d},
		{"volumeUsd30d", &s.VolumeUsd30d}, {"feesUsd30d", &s.FeesUsd30d},
	}
}

// codeEarlierStats walks a row of format 8 and earlier behind its flags.
func codeEarlierStats(c *field.Coder, s *market.PoolStats) {
	c.USD("tvlUsd", &s.TVLUsd)
	c.USD("volumeUsd24h", &s.VolumeUsd24h)
	c.USD("volumeUsd7d", &s.VolumeUsd7d)
	c.USD("feesUsd24h", &s.FeesUsd24h)
	c.USD("feesUsd7d", &s.FeesUsd7d)
	c.USD("feeApr", &s.FeeAPR)
	c.USD("currentPrice", &s.CurrentPrice)

	// Format 4 and earlier have no such windows: they are not known.
	late := [4]*float64{&s.VolumeUsd1h, &s.FeesUsd1h, &s.VolumeUsd30d, &s.FeesUsd30d}
	if c.Late(anyKnown(late)) {
		c.USD("volumeUsd1h", &s.VolumeUsd1h)
		c.USD("feesUsd1h", &s.FeesUsd1h)
		c.USD("volumeUsd30d", &s.VolumeUsd30d)
		c.USD("feesUsd30d", &s.FeesUsd30d)
		c.Require("feesUsd30d", anyKnown(late))
	} else if c.Read {
		for _, usd := range late {
			*usd = market.Unknown
		}
	}
}

func anyKnown(usd [4]*float64) bool {
	return slices.ContainsFunc(usd[:], func(x *float64) bool { return market.Known(*x) })
}

// deriveStats computes what a row of stats is stored without. A pool that is missing is
// left to the check of lengths.
func deriveStats(st *market.State, pool uint32, s *market.PoolStats) {
	if market.Known(s.Holdings[0]) && pool < st.Pools.Len() {
		value.Reprice(st, pool, s)
	}
}

// deriveStats computes the stats of the pools that the last batch changed: itself, the
// price or the record of one of its tokens, or the row of its stats. All other tables of
// st are frozen.
func (r *Replica) deriveStats(st *market.State) {
	moved := markRows(st.Tokens.Len(), replicaTable[market.Token](r, ledger.Tokens.Index()).last,
		replicaTable[market.Price](r, pricesIndex).last)
	stats := replicaTable[market.PoolStats](r, statsIndex)
	set := markRows(st.Pools.Len(), replicaTable[market.Pool](r, ledger.Pools.Index()).last, stats.last)

	for i := range min(stats.table.Len(), st.Pools.Len()) {
		p := st.Pools.At(i)
		if !set[i] && !moved[p.Currency0] && !moved[p.Currency1] {
			continue
		}
		was := stats.table.At(i)
		is := *was
		if deriveStats(st, i, &is); !was.SamePriced(&is) {
			*stats.table.Mut(i) = is
		}
	}
}

// markRows returns, by row, which of n rows are in one of the lists.
func markRows(n uint32, lists ...[]uint32) []bool {
	marked := make([]bool, n)
	for _, rows := range lists {
		for _, i := range rows {
			if i < n {
				marked[i] = true
			}
		}
	}
	return marked
}
