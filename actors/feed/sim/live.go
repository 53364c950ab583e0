package sim

// A brisk market has a minute of its blocks in five seconds, and in each of
// those a turn of six core pools.
const (
	briskSpeed  = 12
	briskBeatMs = 10_000
)

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
