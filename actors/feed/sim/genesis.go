package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// openPool brings pool i into being: its key, its protocol fee, its founder's
// liquidity, and what else its role needs.
func (s *scene) openPool(i uint32) {
	v := &s.venues[i]
	s.announceToken(v.token0, v.new0)
	s.announceToken(v.token1, v.new1)

	at := s.reference(v)
	p := &pool{venue: v, index: i, sqrt: clmath.SqrtPriceAtTick(at), tick: at}
	s.pools[i] = p
	s.nPools++

	s.transact(480_000, true)
	s.emit(market.Initialize{
		Pool: v.id, Fee: v.fee, TickSpacing: v.spacing, Hooks: v.hooks, SqrtPriceX96: p.sqrt, Tick: at,
		Currency0: s.tokens[v.token0].meta.Address, Currency1: s.tokens[v.token1].meta.Address,
	})

	if v.role != empty {
		lower, upper, usd := s.foundingRange(p)
		s.mintNFT(p, s.founder(i), lower, upper, s.liquidityFor(p, lower, upper, usd))
	}
	if v.protocolFee != 0 {
		s.setProtocolFee(p, v.protocolFee)
	}
	s.addClaim(p)
}

func (s *scene) announceToken(t uint32, first bool) {
	if first {
		s.span.Tokens = append(s.span.Tokens, s.tokens[t].meta)
	}
}

// founder returns who opened a pool. Founders stay, but for those of drained
// pools.
func (p *plan) founder(pool uint32) (a market.Address) {
	fillBytes(a[:], hash(p.chainKey, 'f', uint64(pool)))
	return a
}

// foundingRange is the range of a pool's first position and what is in it.
func (s *scene) foundingRange(p *pool) (lower, upper int32, usd float64) {
	lower, upper = p.wholeRange()
	switch p.role {
	case lure, trap, apart:
		// $3,000 to sell into, half of it within 2 % of the price: enough to
		// price the token, too little to corroborate it.
		lower, upper, usd = p.tick-400, p.tick+400, 6000
		if p.role == apart {
			usd = 9000
		}
		lower, upper = p.fitRange(lower, upper)
		return lower, upper, usd
	case tiny:
		return lower, upper, 420
	case shallow:
		return lower, upper, 3
	case claim:
		lower, upper = p.fitRange(p.tick-3000, p.tick+3000)
		return lower, upper, 300
	case washed:
		lower, upper = p.fitRange(p.tick-1500, p.tick+1500)
		return lower, upper, p.tvl
	case circle, drained:
		return lower, upper, p.tvl
	}

	if s.movement(p.venue) < 20 { // tokens that are worth the same
		lower, upper = p.fitRange(p.tick-2500, p.tick+2500)
	}
	return lower, upper, p.tvl * 0.35
}

// firstMints is how many positions a pool is born with.
func (v *venue) firstMints() int {
	switch v.role {
	case trap, claim:
		return 2
	case empty:
		return 0
	}
	return 1
}

// addClaim adds the position that makes a pool a trap: an order for an absurd
// amount of a token whose market could never pay for it.
func (s *scene) addClaim(p *pool) {
	if p.firstMints() < 2 {
		return
	}

	lure, amount := p.token0, 1e9
	if s.isReal(p.token0) {
		lure = p.token1
	}
	if p.role == claim {
		amount = 1e15
	}
	for range s.tokens[lure].decimals() {
		amount *= 10
	}

	// The order stands on the far side of the price, so that it needs none of
	// the other token.
	lower, upper := p.fitRange(p.tick+2000, p.tick+14_000)
	width := 1/sqrtAt(lower) - 1/sqrtAt(upper)
	if lure == p.token1 {
		lower, upper = p.fitRange(p.tick-14_000, p.tick-2000)
		width = sqrtAt(upper) - sqrtAt(lower)
	}

	s.transact(390_000, true)
	s.mintNFT(p, s.founder(p.index), lower, upper, whole(min(amount/width, mostLiquidity)))
}

// isReal reports whether a token is the native one or a stable coin.
func (p *plan) isReal(t uint32) bool { return int(t) < stables+len(p.cfg.Stables) }

func (s *scene) setProtocolFee(p *pool, fee uint32) {
	s.transact(60_000, false)
	p.protocolFee = fee
	s.emit(market.ProtocolFeeUpdated{Pool: p.id, ProtocolFee: fee})
}
