package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// beat is one entry of the core pools' daily round: a trade in one of them, so
// that each is traded every day, and something rarer, so that every kind of
// event happens on every chain however small it is.
func (s *scene) beat(i int64) {
	p := s.pool(uint32(i % corePools))
	s.transact(150_000, false)
	ref := s.reference(p.venue)
	s.arbitrage(p, ref, int64(p.tick-ref), 0)
	s.noise(p, ref, s.size(p.venue))
	switch round := i / corePools; (round + i) % 8 {
	case 0:
		s.donate(p)
	case 1:
		s.park(p)
	case 2:
		s.unpark()
	case 3:
		s.collect(p)
	case 4:
		s.subscribe(p)
	case 5:
		if i%corePools == 4 {
			s.setProtocolFee(p, uint32(s.below(1001))|uint32(s.below(1001))<<12)
		}
	case 6:
		s.collect(p)
	}
}

// donate gives a little to who is in range.
func (s *scene) donate(p *pool) {
	if p.liquidity.IsZero() {
		return
	}
	s.transact(90_000, false)
	s.emit(market.Donate{
		Pool: p.id, Sender: s.router(), Amount0: s.raw(p.token0, 4+float64(s.below(90))).U256(),
		Amount1: s.raw(p.token1, float64(s.below(60))).U256(),
	})
}

// vaults are contracts that hold liquidity without the position manager.
const vaults = 3

// park adds liquidity of a vault. Its salt is a small number, as are those of
// the position manager, for one of which it must not be taken.
func (s *scene) park(p *pool) {
	d := &direct{pool: p.index, salt: saltOf(uint64(s.nDirects) + 1)}
	spread(d.sender[:], hash(s.chainKey, 'v', s.below(vaults)))
	d.lower, d.upper = s.rangeOf(p, middle)
	s.directs[s.nDirects] = d
	s.nDirects++
	l := s.liquidityFor(p, d.lower, d.upper, 0.01*p.tvl*s.logNormal(600))
	s.transact(260_000, false)
	s.vault(p, d, clmath.I128{Lo: l.Lo, Hi: int64(l.Hi)})
}

// unpark pokes the liquidity of a vault or takes it out.
func (s *scene) unpark() {
	if s.nDirects == 0 {
		return
	}
	d := s.direct(uint32(s.below(uint64(s.nDirects))))
	if d.liquidity.IsZero() {
		return
	}
	s.transact(190_000, false)
	var delta clmath.I128
	if s.chance(600) {
		delta = clmath.I128{Lo: d.liquidity.Lo, Hi: int64(d.liquidity.Hi)}.Neg()
	}
	s.vault(s.pool(d.pool), d, delta)
}

func (s *scene) vault(p *pool, d *direct, delta clmath.I128) {
	d.liquidity = mustApply(d.liquidity, delta)
	s.change(p, d.lower, d.upper, delta)
	s.emit(market.ModifyLiquidity{
		Pool: p.id, Sender: d.sender, TickLower: d.lower, TickUpper: d.upper,
		LiquidityDelta: delta, Salt: d.salt,
	})
}

// collect collects for a core pool's founder, whose NFT has the number of the
// pool, so that some positions have a long history.
func (s *scene) collect(p *pool) {
	n := s.position(p.index)
	if n.pool != p.index || n.liquidity.IsZero() {
		panic("BUG: the founder of a core pool has left")
	}
	s.transact(150_000, true)
	s.modify(p, n, clmath.I128{})
}

// subscribe tells a contract about the founder's position, and no more.
func (s *scene) subscribe(p *pool) {
	var to market.Address
	spread(to[:], hash(s.chainKey, 'u'))
	s.transact(110_000, false)
	s.emit(market.Subscription{ID: uint64(p.index) + 1, Subscriber: to})
	s.emit(market.Unsubscription{ID: uint64(p.index) + 1, Subscriber: to})
}
