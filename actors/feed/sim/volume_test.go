package sim

import (
	"slices"
	"testing"
	"time"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Volume grows with the market and has no step, neither in the history nor
// where it ends and live blocks begin.
func TestVolumeHasNoStep(t *testing.T) {
	const window, settled = 3, 12 // days; the market has come to life after some
	for _, chain := range testChains {
		cfg := defaultConfig(chain)
		end := cfg.Now().Add(window * 24 * time.Hour)
		cfg.Frozen, cfg.Now = false, func() time.Time { return end }
		g := growBare(t, cfg)

		volumes := make([]float64, cfg.Days/window+2)
		for _, s := range g.spans {
			for i := range s.Blocks {
				at := (s.Blocks[i].Time - cfg.Genesis) / (window * day)
				volumes[at] += g.volumeOf(&s.Blocks[i])
			}
		}

		for i := settled / window; i < cfg.Days/window; i++ {
			if rise := volumes[i+1] / volumes[i]; !(rise > 0.5 && rise < 2) {
				t.Errorf("chain %d: from day %d on a volume of %.1fM, from day %d on %.1fM; want at most a factor of 2",
					chain, i*window, volumes[i]/1e6, (i+1)*window, volumes[i+1]/1e6)
			}
		}
	}
}

// volumeOf is the USD of a block's swaps at the simulated prices, without those
// of tokens that nobody else wants.
func (g *grown) volumeOf(b *market.Block) (usd float64) {
	t := b.Time - g.cfg.Genesis
	s := scene{world: &world{plan: g.plan}, priced: t, market: marketAt(g.cfg.Seed, t)}
	for _, l := range b.Logs {
		e, ok := l.Event.(market.Swap)
		if !ok {
			continue
		}
		at := slices.IndexFunc(g.venues, func(v venue) bool { return v.id == e.Pool })
		if v := &g.venues[at]; v.role != circle {
			amount := e.Amount0.Abs().U256()
			usd += clmath.Float64(&amount) * s.rawUsd(v.token0)
		}
	}

	return usd
}
