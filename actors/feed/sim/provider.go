package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// habit is how a liquidity provider behaves. It is decided by the position's
// id, so that every later block knows it again.
type habit uint8

const (
	full     habit = iota // the whole range
	wide                  // weeks of movement
	middle                // days of movement
	follower              // hours of movement, moved along with the price
	resting               // an order on one side of the price
	sandwich              // in and out in a block, around one swap
	dust
	whale
)

// habits are so many of a thousand positions.
var habits = [...]struct {
	habit
	permille uint64
}{
	{full, 90}, {wide, 230}, {middle, 240}, {follower, 190},
	{resting, 120}, {sandwich, 50}, {dust, 50}, {whale, 30},
}

func (p *plan) habitOf(id uint64) habit {
	x := hash(p.chainKey, 'b', id) % 1000
	for _, h := range habits {
		if x < h.permille {
			return h.habit
		}
		x -= h.permille
	}
	return wide
}

// mint opens the next position. Its pool is drawn like those for trade; owner,
// range and size follow from its habit.
func (s *scene) mint() {
	id := uint64(s.nHeld) + 1
	h := s.habitOf(id)
	if h == follower && s.moveFollower() {
		return
	}

	p := s.pool(s.pickHome())
	owner := s.anyOwner()
	if h == sandwich {
		if !p.isOpen() || s.cfg.Crowd.BusyDays > 0 && s.isIdle(uint64(p.index)) {
			p = s.pool(s.anyCore())
		}
		s.sandwich(p, owner)
		return
	}

	lower, upper := s.rangeOf(p, h)
	s.transact(390_000, true)
	s.mintNFT(p, owner, lower, upper, s.liquidityFor(p, lower, upper, s.stake(p.venue, h)))
}

// pickHome draws a pool for a position, of those in which anybody may provide.
func (s *scene) pickHome() uint32 {
	i := s.ranked(s.popular(uint64(s.nPools)))
	switch s.venues[i].role {
	case ordinary, core:
		return i
	case untraded, circle, stale:
		if s.chance(specialPermille) {
			return i
		}
	}
	return s.anyCore()
}

// anyOwner draws the owner of a new position: a newcomer, or one of those who
// have positions.
func (s *scene) anyOwner() market.Address {
	if s.chance(uint64(s.cfg.Crowd.Wallets)) {
		return s.newcomer()
	}
	return s.knownOwner()
}

// newcomer returns the address of an owner who has had no position before this
// one is minted. It is the same on every chain, so that some are on several.
func (s *scene) newcomer() market.Address { return s.wallet(uint64(s.nHeld)) }

// knownOwner returns the owner of a position drawn at random, founders aside.
// Whoever has many is drawn often, so that the sizes of owners follow a power
// law, with some percent of all positions for the largest (Yule and Simon).
func (s *scene) knownOwner() market.Address {
	for range keepTries {
		if n := s.position(uint32(s.below(uint64(s.nHeld)))); n.owner != s.founder(n.pool) {
			return n.owner
		}
	}
	return s.newcomer()
}

// wallet returns an owner's address, which is the same on every chain.
func (p *plan) wallet(n uint64) (a market.Address) {
	fillBytes(a[:], hash(p.cfg.Seed, 'w', n))
	return a
}

// mintNFT mints the next NFT: the transfer from the zero address, then its
// liquidity.
func (s *scene) mintNFT(
	p *pool, owner market.Address, lower, upper int32, l clmath.U128,
) *position {
	n := &position{id: uint64(s.nHeld) + 1, pool: p.index, owner: owner, lower: lower, upper: upper}
	s.positions[s.nHeld] = n
	s.nHeld++
	s.emit(market.TransferNFT{To: owner, ID: n.id})
	s.modify(p, n, l.I128())
	return n
}

// modify changes an NFT's liquidity by delta, or only collects when it is 0.
func (s *scene) modify(p *pool, n *position, delta clmath.I128) {
	n.liquidity = mustApply(n.liquidity, delta)
	s.changeRange(p, n.lower, n.upper, delta)
	s.emit(market.ModifyLiquidity{
		Pool: p.id, Sender: s.cfg.PositionManager, TickLower: n.lower, TickUpper: n.upper,
		LiquidityDelta: delta, Salt: saltOf(n.id),
	})
}

func saltOf(id uint64) (salt market.Hash) {
	for i := range 8 {
		salt[31-i] = byte(id >> (8 * i))
	}
	return salt
}

// sandwich mints around the price, lets a large swap pass, and leaves.
func (s *scene) sandwich(p *pool, owner market.Address) {
	lower := clmath.Aligned(p.tick, p.spacing) - p.spacing
	upper := lower + 3*p.spacing
	lower, upper = p.fitRange(lower, upper)
	s.transact(360_000, true)
	n := s.mintNFT(p, owner, lower, upper, s.liquidityFor(p, lower, upper, p.tvl/6+100))
	s.transact(160_000, false)
	s.noise(p, s.reference(p.venue), min(8*s.swapSize(p.venue), p.tvl/30+10))
	s.transact(250_000, true)
	s.closeOut(p, n, s.chance(700))
}

// moveFollower moves an earlier follower that fell out of its range: it leaves the
// old one and mints the next NFT around the price, in one transaction. It returns false if
// there is none.
func (s *scene) moveFollower() bool {
	for range 6 {
		if s.nHeld == 0 {
			return false
		}
		back := s.below(uint64(min(s.nHeld, 400)))
		n := s.position(s.nHeld - 1 - uint32(back))
		p := s.pool(n.pool)

		inside := n.lower <= p.tick && p.tick < n.upper
		stays := n.liquidity.IsZero() || n.owner == s.founder(n.pool)
		if inside || stays || s.habitOf(n.id) != follower {
			continue
		}

		s.transact(560_000, true)
		worth := s.worthUsd(p, n)
		s.closeOut(p, n, s.chance(500))
		lower, upper := s.rangeOf(p, follower)
		s.mintNFT(p, n.owner, lower, upper, s.liquidityFor(p, lower, upper, worth))
		return true
	}
	return false
}

// closeOut takes everything out; with burn it burns the NFT first.
func (s *scene) closeOut(p *pool, n *position, burn bool) {
	if burn {
		n.burned = true
		s.emit(market.TransferNFT{From: n.owner, ID: n.id})
	}
	s.modify(p, n, n.liquidity.I128().Neg())
}
