package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// changesPerMints is how many changes of positions come with a thousand mints,
// however many swaps there are besides: enough to close most positions.
const changesPerMints = 2500

// keepPermille is the part of changes in the actions that are no mint.
func (p *plan) keepPermille() uint64 {
	return min(uint64(changesPerMints*p.mints/(p.total-p.mints)), 700)
}

// keepTries bounds how many positions are tried until one is found that its
// owner would change.
const keepTries = 6

// changeSome changes an existing position, more often a recent one.
func (s *scene) changeSome() {
	for range keepTries {
		if s.nHeld == 0 {
			return
		}

		i := uint32(s.below(uint64(s.nHeld)))
		if s.chance(500) {
			i = s.nHeld - 1 - uint32(s.below(uint64(min(s.nHeld, s.nHeld/10+8))))
		}
		if n := s.position(i); s.changePosition(s.pool(n.pool), n) {
			return
		}
	}
}

// changePosition does to a position what its owner might do; false when that is
// nothing.
func (s *scene) changePosition(p *pool, n *position) bool {
	switch {
	case n.burned:
		return false
	case n.owner == s.founder(p.index):
		return s.changeFounders(p, n)
	case n.liquidity.IsZero():
		return s.changeClosed(p, n)
	}

	// Whatever the chance to leave is, the others keep their proportions.
	x, stay := s.below(1000), uint64(1000-s.cfg.Crowd.Leave)
	if x < stay {
		x = x * 700 / stay
	} else {
		x = 700
	}

	switch {
	case x < 240:
		s.transact(150_000, true)
		s.modify(p, n, clmath.I128{})
	case x < 390:
		s.increase(p, n, 50, 800)
	case x < 510:
		s.compound(p, n)
	case x < 640:
		s.decrease(p, n)
	case x < 700:
		s.transact(70_000, true)
		s.handOver(n)
	default:
		s.transact(270_000, true)
		s.closeOut(p, n, s.chance(350))
	}
	return true
}

// changeFounders collects and compounds. Only the founder of a drained pool ever
// leaves, which drain does.
func (s *scene) changeFounders(p *pool, n *position) bool {
	switch {
	case p.role == lure, p.role == trap, p.role == apart, p.role == claim, p.role == untraded:
		return false
	case n.liquidity.IsZero(): // of a drained pool
		return false
	}

	if s.chance(700) || p.role == tiny {
		s.transact(150_000, true)
		s.modify(p, n, clmath.I128{})
	} else {
		s.compound(p, n)
	}
	return true
}

// changeClosed reopens an empty NFT or burns it; most are left alone.
func (s *scene) changeClosed(p *pool, n *position) bool {
	if s.habitOf(n.id) == sandwich {
		return false
	}

	switch x := s.below(1000); {
	case x < 60:
		s.transact(300_000, true)
		usd := s.stake(p.venue, middle)
		l := s.liquidityFor(p, n.lower, n.upper, usd)
		s.modify(p, n, l.I128())
	case x < 260:
		s.transact(60_000, true)
		s.transferNFT(n, market.Address{})
		n.burned = true
	default:
		return false
	}
	return true
}

// increase adds between from and to thousandths of what is there.
func (s *scene) increase(p *pool, n *position, from, to uint64) {
	s.transact(230_000, true)
	s.modify(p, n, s.partOf(n, from+s.below(to-from)))
}

// compound collects and puts a little more in, in one transaction.
func (s *scene) compound(p *pool, n *position) {
	s.transact(340_000, true)
	s.modify(p, n, clmath.I128{})
	s.modify(p, n, s.partOf(n, 1+s.below(20)))
}

func (s *scene) decrease(p *pool, n *position) {
	s.transact(210_000, true)
	s.modify(p, n, s.partOf(n, 100+s.below(700)).Neg())
}

// partOf returns some thousandths of a position's liquidity, bounded so that no
// position grows without end.
func (s *scene) partOf(n *position, permille uint64) clmath.I128 {
	l := n.liquidity.U256()
	x := clmath.MulDiv(&l, &clmath.U256{permille}, &clmath.U256{1000})
	if n.liquidity.Hi >= 1<<40 {
		return clmath.I128{}
	}
	return toSigned(&x)
}

// handOver transfers an NFT to another owner, or to a newcomer.
func (s *scene) handOver(n *position) {
	to := s.knownOwner()
	if to == n.owner {
		to = s.newcomer()
	}
	s.transferNFT(n, to)
}

// transferNFT transfers an NFT; to the zero address burns it.
func (s *scene) transferNFT(n *position, to market.Address) {
	s.emit(market.TransferNFT{From: n.owner, To: to, ID: n.id})
	if !to.IsZero() {
		n.owner = to
	}
}
