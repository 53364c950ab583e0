package sim

// plan is what follows from a Config alone. It is kept because computing it
// takes a moment.
type plan struct {
	cfg      settings
	chainKey uint64 // of all randomness: seed and chain
	calendar
	tokens   []token
	bySymbol map[string]uint32 // tokens of the cast
	venues   []venue
	core     []uint32 // the core pools
	small    []uint32 // the others of the first block
	mints    int64    // of the history, without those at the birth of a pool
	gasWei   uint64
}

func newPlan(cfg settings) *plan {
	l := newListing(&cfg)
	venues := planPools(&cfg, l)
	p := &plan{
		cfg: cfg, chainKey: hash(cfg.Seed, uint64(cfg.Chain)),
		tokens: l.tokens, bySymbol: l.bySymbol, venues: venues, mints: int64(cfg.Positions),
		gasWei: cfg.temper().gasWei,
	}

	seen := make([]bool, len(p.tokens))
	for i := range venues {
		v := &venues[i]
		v.seat = uint32(int64(cfg.Positions) - p.mints)
		p.mints -= int64(v.firstMints())
		v.new0, seen[v.token0] = !seen[v.token0], true
		v.new1, seen[v.token1] = !seen[v.token1], true
		switch {
		case v.role == core:
			p.core = append(p.core, uint32(i))
		case i < firstPools:
			p.small = append(p.small, uint32(i))
		}
	}

	for k := range venues {
		venues[p.ranked(uint64(k))].share = cfg.Crowd.shareOf(k, len(venues))
	}
	p.calendar = newCalendar(&cfg, venues)
	return p
}

// ranked returns the pool of a rank in popularity: the core pools come first,
// then the others in the order of their birth.
func (p *plan) ranked(k uint64) uint32 {
	switch core := uint64(len(p.core)); {
	case k < core:
		return p.core[k]
	case k < core+uint64(len(p.small)):
		return p.small[k-core]
	}
	return uint32(k)
}

// mintsAt reports whether action i is a mint: one of every stretch of the
// history that holds one mint on average.
func (p *plan) mintsAt(i int64) bool {
	cell := i * p.mints / p.total
	from, to := ceilDiv(cell*p.total, p.mints), ceilDiv((cell+1)*p.total, p.mints)
	return i == from+int64(hash(p.chainKey, 'n', uint64(cell))%uint64(to-from))
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
