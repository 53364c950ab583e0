package sim

import "time"

// briskBeatMs is the pace of the daily round of a brisk market: in a minute
// every one of six core pools has its turn.
const briskBeatMs = 10_000

// briskSpeed is how many times as fast as the clock blocks of a brisk market
// come: a minute in every Every.
func (c *Config) briskSpeed() int64 {
	return max(1, int64(time.Minute/c.Every))
}

// calmPercent is how many of the pools a calm market trades in every Every, or
// in every block where that takes longer.
const calmPercent = 1

// calmPaceMs is what an action of a calm market takes.
func (c *Config) calmPaceMs() int64 {
	return max(max(c.Every, c.BlockTime).Milliseconds()*100/int64(c.Pools*calmPercent), 1)
}

// stir is the trade of a calm market: in any of the pools that no other price
// depends on.
func (s *scene) stir() {
	for range keepTries {
		i := uint32(s.below(uint64(s.nPools)))
		if int(i) < len(cast) || s.venues[i].role != ordinary {
			continue
		}
		s.transact(150_000, false)
		p := s.pool(i)
		s.noise(p, s.reference(p.venue), s.size(p.venue))
		return
	}
}
