package sim

import "tidemark/rankings/clmath"

// rangeOf draws the range of a habit around the pool's price, as wide as what
// the pair moves in some tenths of a day or more.
func (s *scene) rangeOf(p *pool, h habit) (lower, upper int32) {
	daily := max(s.movement(p.venue)*int64(s.cfg.Crowd.Width)/1000, 1)
	between := func(from, to int64) int64 { // tenths of a day's movement
		return max(daily*(from+int64(s.below(uint64(to-from))))/10, int64(p.spacing))
	}

	switch h {
	case full:
		return p.wholeRange()
	case resting:
		near := int32(between(2, 25))
		far := near + int32(between(3, 30))
		if s.chance(500) {
			return p.fitRange(p.tick+near, p.tick+far)
		}
		return p.fitRange(p.tick-far, p.tick-near)
	case follower:
		half := int32(between(8, 25))
		return p.fitRange(p.tick-half, p.tick+half)
	case middle, dust:
		return p.fitRange(p.tick-int32(between(15, 55)), p.tick+int32(between(15, 55)))
	}
	return p.fitRange(p.tick-int32(between(55, 200)), p.tick+int32(between(55, 200)))
}

// movement is about how many ticks a pair moves in a day.
func (p *plan) movement(v *venue) int64 {
	t0, t1 := &p.tokens[v.token0].asset, &p.tokens[v.token1].asset
	apart := t0.beta - t1.beta
	if apart < 0 {
		apart = -apart
	}
	own := t0.vol + t1.vol
	if t0.key == t1.key {
		own = 0
	}
	return 2 + (apart*marketVol/1000+own*4/5)/1000
}

// fitRange aligns a range to the pool's ticks; it is never empty.
func (p *pool) fitRange(lower, upper int32) (int32, int32) {
	lowest, highest := p.wholeRange()
	lower = max(clmath.Aligned(lower, p.spacing), lowest)
	upper = min(clmath.Aligned(upper, p.spacing)+p.spacing, highest)
	if upper <= lower {
		upper = lower + p.spacing
	}
	if upper > highest {
		lower, upper = highest-p.spacing, highest
	}
	return lower, upper
}

func (p *pool) wholeRange() (lower, upper int32) {
	most := clmath.MaxTick / p.spacing * p.spacing
	return -most, most
}

// mostLiquidity bounds what one position has, far below the contracts' bound
// of a tick.
const mostLiquidity = 1 << 100

// liquidityFor returns the liquidity that usd buy in a range at the pool's
// price; at least 1.
func (s *scene) liquidityFor(p *pool, lower, upper int32, usd float64) clmath.U128 {
	value := s.unitValue(p, lower, upper)
	return whole(min(max(usd/value, 1), mostLiquidity))
}

// unitValue is what a unit of liquidity in a range is worth in USD. Products
// are rounded before they are added, so that no machine fuses them.
func (s *scene) unitValue(p *pool, lower, upper int32) float64 {
	sa, sb := sqrtAt(lower), sqrtAt(upper)
	at := min(max(clmath.Float64(&p.sqrt)/(1<<96), sa), sb)
	amount0, amount1 := 1/at-1/sb, at-sa
	return float64(amount0*s.rawUsd(p.token0)) + float64(amount1*s.rawUsd(p.token1))
}

func sqrtAt(tick int32) float64 {
	x := clmath.SqrtPriceAtTick(tick)
	return clmath.Float64(&x) / (1 << 96)
}

// worthUsd is the USD of a position's principal.
func (s *scene) worthUsd(p *pool, n *position) float64 {
	l := n.liquidity.U256()
	return clmath.Float64(&l) * s.unitValue(p, n.lower, n.upper)
}

// stake draws the USD of a new position, such that the pool tends to its TVL.
func (s *scene) stake(v *venue, h habit) float64 {
	if h == dust {
		return 2 * s.logNormal(1200)
	}

	open := max(float64(s.cfg.Positions)*v.share*openPart, 4)
	usd := v.tvl / open * s.logNormal(1700) / 4

	switch h {
	case whale:
		usd *= 7
	case follower:
		usd *= 0.6
	case resting:
		usd *= 0.5
	}
	return min(max(usd, 5), v.tvl/5)
}

// openPart is about the part of positions that is open in the end, and
// tradePart that of actions that are swaps.
const (
	openPart  = 0.4
	tradePart = 0.77
)
