package value

import (
	"slices"

	"tidemark/rankings/market"
)

// quote is what one pool says of a token T against another token, by, whose
// price is known.
type quote struct {
	token, pool, by uint32  // token: that of the native currency's two that leads
	usd             float64 // per whole T; 0 when barred
	reach           float64 // USD of by that selling T really yields
	weight          float64 // reach, less what by itself cannot be sold for
	outlier         float64 // how many percent it may be off the median
	bar             market.Reason
	byAnchor        bool
	wayOut          bool // what is reachable counts in the exit, whatever else prices T
}

// Permission bits of a hook's address: it acts before or after a swap; and it
// takes a part of what a swap pays in or out, so that the pool's price is not
// what a trader gets.
const (
	beforeSwap      = 1 << 7
	afterSwap       = 1 << 6
	beforeSwapDelta = 1 << 3
	afterSwapDelta  = 1 << 2
)

// takesSwapDelta reports whether the pool's hook may change what a swap moves.
func takesSwapDelta(pool *market.Pool) bool {
	return pool.Hooks[len(pool.Hooks)-1]&(beforeSwapDelta|afterSwapDelta) != 0
}

// hookBars reports whether the pool can be no market for its hook's sake.
func (p *Params) hookBars(pool *market.Pool) bool {
	return takesSwapDelta(pool) && !slices.Contains(p.HookAllow, pool.Hooks)
}

// mayCorroborate reports whether the pool can witness for anything: one whose
// hook acts on swaps decides who trades in it, and so says what its maker
// wants, unless the hook is listed.
func (p *Params) mayCorroborate(pool *market.Pool) bool {
	acts := pool.Hooks[len(pool.Hooks)-1]&(beforeSwap|afterSwap|beforeSwapDelta|afterSwapDelta) != 0
	return !acts || slices.Contains(p.HookAllow, pool.Hooks)
}

// barReason says why a pool may not price anything whatever its depth: ReasonNone
// when it may.
func (p *Params) barReason(pool *market.Pool, now int64) market.Reason {
	switch {
	case pool.Quarantined:
		return market.ReasonQuarantined
	case p.hookBars(pool):
		return market.ReasonHookDelta
	case pool.Liquidity.IsZero():
		return market.ReasonThinMarket
	case p.MarketRecency > 0 && (pool.LastSwapAt == 0 || pool.LastSwapAt < now-p.MarketRecency):
		return market.ReasonStalePrice
	case pool.CreatedAt > now-p.MarketAge:
		return market.ReasonThinMarket
	}

	return market.ReasonNone
}

// appendQuote asks a pool for the price of its token on a side, the other one
// being worth byUsd per raw unit.
func (s *solver) appendQuote(dst []quote, index uint32, side int, byUsd float64) []quote {
	dst = append(dst, quote{})
	s.fillQuote(&dst[len(dst)-1], index, side, byUsd)
	return dst
}

// fillQuote fills an empty quote. The price is the median's over MedianMinutes; how deep
// the market is, is measured from where its price stands now.
func (s *solver) fillQuote(q *quote, index uint32, side int, byUsd float64) {
	pool := s.st.Pools.At(index)
	q.pool, q.token, q.by = index, pool.Currency0, pool.Currency1
	if side == 1 {
		q.token, q.by = q.by, q.token
	}

	q.byAnchor, q.wayOut = s.prices[q.by].Anchor, isWayOut(pool, side)
	p := s.limitsOf(pool, side)
	q.token = s.leaderOf(q.token)
	q.outlier = p.Outlier
	q.bar = p.barReason(pool, s.now)
	if q.bar == market.ReasonQuarantined || q.bar == market.ReasonHookDelta {
		return // what could be sold there is not known
	}
	d := s.depthOf(index, side, p.MarketImpact)
	q.reach = d.reach * byUsd
	q.weight = q.reach
	if q.bar != market.ReasonNone {
		return
	}

	spot := rootOf(&pool.SqrtPriceX96, side)
	if d.room*spot*spot*byUsd < p.MarketUsd || q.reach < p.MarketUsd {
		q.bar = market.ReasonThinMarket
		return
	}
	root := s.medianRoot(index, side)
	if root == 0 {
		q.bar = market.ReasonThinMarket
		return
	}
	q.usd = root * root * byUsd * s.whole[s.tokenOf(index, side)]
	if s.met != nil {
		s.met[index][side] = true
	}
}

// depthOf returns the depth of a pool, from those that are kept if it is there.
func (s *solver) depthOf(index uint32, side int, impact float64) depth {
	if s.depths == nil || impact == 0 || !s.p.RealTicks {
		return s.findDepth(index, side, impact)
	}
	k := &s.depths[index][side]
	if k.impact != impact {
		*k = keptDepth{s.findDepth(index, side, impact), impact}
	}
	return k.depth
}

func (s *solver) findDepth(index uint32, side int, impact float64) depth {
	if !s.p.RealTicks {
		return virtualDepth(s.st.Pools.At(index), side, impact)
	}
	return depthOf(s.st, index, side, impact)
}

// medianRoot is the square root of raw Q per raw T by the minute closes; 0
// without enough of them.
func (s *solver) medianRoot(index uint32, side int) float64 {
	sqrt := medianSqrt(s.st.Minutes.At(index), s.now, s.p.MedianMinutes)
	switch {
	case sqrt == 0:
		return 0
	case side == 0:
		return sqrt / two96
	}
	return two96 / sqrt
}

// limitByBacking caps the weights of a token's quotes against an ordinary token,
// by: together they weigh no more than by itself can be sold for. Whoever mints
// a token can offer any amount of it, and only what it sells for is real.
func (s *solver) limitByBacking(quotes []quote) {
	if !s.p.BackedQuotes {
		return
	}
	for i := range quotes {
		s.offered[quotes[i].by] += quotes[i].reach
	}

	for i := range quotes {
		q := &quotes[i]
		if offered, exit := s.offered[q.by], s.exit[q.by]; offered > exit {
			q.weight = q.reach * (exit / offered)
		}
	}

	for i := range quotes {
		s.offered[quotes[i].by] = 0
	}
}

// byToken sorts quotes into runs of one token each, in the order of the
// tokens and within a run of the pools. It costs one pass over all tokens, and uses
// the memory of dst.
func (s *solver) byToken(dst, quotes []quote) []quote {
	s.ends = zeros(s.ends, len(s.prices)+1)
	for i := range quotes {
		s.ends[quotes[i].token+1]++
	}

	for i := range s.prices {
		s.ends[i+1] += s.ends[i]
	}

	dst = slices.Grow(dst[:0], len(quotes))[:len(quotes)]
	for i := range quotes {
		at := &s.ends[quotes[i].token]
		dst[*at] = quotes[i]
		*at++
	}
	return dst
}

// eachToken calls visit with every run of quotes of one token.
func eachToken(quotes []quote, visit func(token uint32, quotes []quote)) {
	for i := 0; i < len(quotes); {
		end := i + 1
		for end < len(quotes) && quotes[end].token == quotes[i].token {
			end++
		}
		visit(quotes[i].token, quotes[i:end])
		i = end
	}
}
