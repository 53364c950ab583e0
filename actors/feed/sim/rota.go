package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// playBeat is one entry of the core pools' daily round: a trade in one of them, so
// that each is traded every day, and something rarer, so that every kind of
// event happens on every chain however small it is.
func (s *scene) playBeat(i int64) {
	p := s.pool(s.core[i%int64(len(s.core))])
	if i < s.slow {
		s.tradeAllCore()
	} else {
		s.tradeCore(p)
		s.closeWidestGap()
	}

	switch i % 8 {
	case 0:
		s.donate(p)
	case 1:
		s.addToVault(p)
	case 2:
		s.takeFromVault(i/8%3 != 1)
	case 3:
		s.collect(p)
	case 4:
		s.subscribe(p)
	case 5:
		s.setProtocolFee(p, p.venue.protocolFee^uint32(s.below(2))<<4)
	case 6:
		s.transferSome()
	case 7:
		s.tradeSmallPools()
	}
}

// tradeCore is one arbitrage and one other swap in a core pool.
func (s *scene) tradeCore(p *pool) {
	s.transact(150_000, false)
	ref := s.reference(p.venue)
	s.arbitrage(p, ref, int64(p.tick-ref), 0)
	s.noise(p, ref, s.swapSize(p.venue))
}

// tradeAllCore trades in every core pool, and their founders collect.
func (s *scene) tradeAllCore() {
	for _, i := range s.core {
		p := s.pool(i)
		s.tradeCore(p)
		s.collect(p)
	}
}

// tradeSmallPools trades a little in the small pools of the first block, so that
// they have a price in a small market too.
func (s *scene) tradeSmallPools() {
	for _, i := range s.small {
		p := s.pool(i)
		s.transact(150_000, false)
		s.noise(p, s.reference(p.venue), 15)
	}
}

// donate gives a little to the positions that are in range.
func (s *scene) donate(p *pool) {
	if p.liquidity.IsZero() {
		return
	}
	s.transact(90_000, false)
	s.emit(market.Donate{
		Pool: p.id, Sender: s.router(), Amount0: s.rawAmount(p.token0, 4+float64(s.below(90))).U256(),
		Amount1: s.rawAmount(p.token1, float64(s.below(60))).U256(),
	})
}

// vaults are contracts that hold liquidity without the position manager.
const vaults = 3

// addToVault adds liquidity of a vault. Its salt is a small number, as are those of
// the position manager, for one of which it must not be taken.
func (s *scene) addToVault(p *pool) {
	d := &nonNFT{pool: p.index, salt: saltOf(uint64(s.nNonNFT) + 1)}
	fillBytes(d.sender[:], hash(s.chainKey, 'v', s.below(vaults)))
	d.lower, d.upper = s.rangeOf(p, middle)
	s.nonNFTs[s.nNonNFT] = d
	s.nNonNFT++
	l := s.liquidityFor(p, d.lower, d.upper, 0.01*p.tvl*s.logNormal(600))
	s.transact(260_000, false)
	s.modifyVault(p, d, l.I128())
}

// takeFromVault takes the liquidity of a vault out, or only collects for it; mostly
// one of the newest.
func (s *scene) takeFromVault(all bool) {
	for range min(s.nNonNFT, keepTries) {
		d := s.nonNFT(s.nNonNFT - 1 - uint32(s.skewed(uint64(s.nNonNFT))))
		if d.liquidity.IsZero() {
			continue
		}

		var delta clmath.I128
		if all {
			delta = d.liquidity.I128().Neg()
		}

		s.transact(190_000, false)
		s.modifyVault(s.pool(d.pool), d, delta)
		return
	}
}

// transferSome transfers an NFT that is not a founder's.
func (s *scene) transferSome() {
	for range keepTries {
		n := s.position(uint32(s.below(uint64(s.nHeld))))
		if !n.burned && n.owner != s.founder(n.pool) {
			s.transact(70_000, true)
			s.handOver(n)
			return
		}
	}
}

func (s *scene) modifyVault(p *pool, d *nonNFT, delta clmath.I128) {
	d.liquidity = mustApply(d.liquidity, delta)
	s.changeRange(p, d.lower, d.upper, delta)
	s.emit(market.ModifyLiquidity{
		Pool: p.id, Sender: d.sender, TickLower: d.lower, TickUpper: d.upper,
		LiquidityDelta: delta, Salt: d.salt,
	})
}

// collect collects for a core pool's founder, so that some positions have a
// long history.
func (s *scene) collect(p *pool) {
	n := s.position(p.seat)
	if n.pool != p.index || n.liquidity.IsZero() {
		panic("BUG: the founder of a core pool has left")
	}
	s.transact(150_000, true)
	s.modify(p, n, clmath.I128{})
}

// subscribe tells a contract about the founder's position, and no more.
func (s *scene) subscribe(p *pool) {
	var to market.Address
	fillBytes(to[:], hash(s.chainKey, 'u'))
	s.transact(110_000, false)
	s.emit(market.Subscription{ID: uint64(p.seat) + 1, Subscriber: to})
	s.emit(market.Unsubscription{ID: uint64(p.seat) + 1, Subscriber: to})
}
