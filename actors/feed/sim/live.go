package sim

import "time"

// briskBeatMs is the pace of the daily round of a brisk market: in a minute
// every one of six core pools has its turn.
const briskBeatMs = 10_000

// briskSpeed is how many times as fast as the clock blocks of a brisk market
// come: two minutes in every Every.
func briskSpeed(every time.Duration) int64 {
	return max(1, int64(2*time.Minute/every))
}

// briskPrices is how many times as fast prices move in a brisk market: with a
// trend in half an hour, its median moves with the minutes.
const briskPrices = 30

// pricedAt returns the time whose prices are right at t seconds.
func (p *plan) pricedAt(t int64) int64 {
	end := p.endMs / 1000
	switch {
	case t <= end:
	case p.cfg.Calm:
		return end
	case p.cfg.Brisk:
		return end + (t-end)*briskPrices
	}
	return t
}

// calmPercent is how many of the pools a calm market trades in every Every, or
// in every block where that takes longer.
const calmPercent = 1

// calmLull is how long nothing happens in a calm market at first: longer than
// the window whose median prices the native currency, so that what happened
// before does not leave it later.
const calmLull = 35 * time.Minute

// firstBlocks is how far a market is when its first node starts: every chain
// has a block or two, so that nobody waits for the first.
const firstBlocks = 25 * time.Second

// Since returns when the market of a node that starts now, and refreshes every
// so often, continued after its history. A calm one is past its lull. A brisk one
// continues where a calm one is that continued at calm (zero: none did), and from
// so far on that no calm minute is left in the median that prices the native
// currency.
func (w *Workload) Since(now, calm time.Time, every time.Duration) time.Time {
	passed := calmLull + firstBlocks
	if w.Calm {
		return now.Add(-passed)
	}
	if !calm.IsZero() {
		passed += now.Sub(calm)
	}
	return now.Add(-passed / time.Duration(briskSpeed(every)))
}

// calmPaceMs is what an action of a calm market takes.
func (c *settings) calmPaceMs() int64 {
	return max(max(c.Every, c.BlockTime).Milliseconds()*100/int64(c.Pools*calmPercent), 1)
}

// tradeCalm is the trade of a calm market: in any of the pools that no other price
// depends on.
func (s *scene) tradeCalm() {
	for range keepTries {
		i := uint32(s.below(uint64(s.nPools)))
		if int(i) < len(cast) || s.venues[i].role != ordinary {
			continue
		}
		s.transact(150_000, false)
		p := s.pool(i)
		s.noise(p, s.reference(p.venue), s.swapSize(p.venue))
		return
	}
}
