package ledger

import (
	"encoding/binary"
	"sort"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// holding is the key of an owner's open positions in a pool.
type holding struct{ owner, pool uint32 }

// tokenID returns the position id in the salt of the position manager's
// liquidity; ok is false if it does not fit 64 bits.
func tokenID(salt market.Hash) (id uint64, ok bool) {
	high := binary.BigEndian.Uint64(salt[0:]) | binary.BigEndian.Uint64(salt[8:]) |
		binary.BigEndian.Uint64(salt[16:])
	return binary.BigEndian.Uint64(salt[24:]), high == 0
}

// findPosition returns the index of the position with an id. Ids have few gaps,
// so id minus the first id is the index or slightly more.
func (l *Ledger) findPosition(id uint64) (i uint32, ok bool) {
	n := l.st.Positions.Len()
	if n == 0 || id < l.st.Positions.At(0).ID {
		return 0, false
	}

	high := uint32(min(id-l.st.Positions.At(0).ID, uint64(n-1)))
	if l.st.Positions.At(high).ID != id {
		high = uint32(sort.Search(int(high), func(k int) bool {
			return l.st.Positions.At(uint32(k)).ID >= id
		}))
	}
	return high, l.st.Positions.At(high).ID == id
}

// modifyNFT changes a position's liquidity and adds the change to its history.
func (l *Ledger) modifyNFT(c *change, salt market.Hash) error {
	id, ok := tokenID(salt)
	if !ok {
		return l.refuse("position in salt", salt, "an id below 2^64")
	}
	i, ok := l.findPosition(id)
	if !ok {
		return l.refuse("position", id, "one that was minted")
	}

	m := l.takeMove(i)
	row := Positions.edit(l, i)
	if err := l.checkChange(row, c, m); err != nil {
		return err
	}

	row.Pool, row.TickLower, row.TickUpper = c.pool, c.lower, c.upper
	liquidity := row.Liquidity()
	held := liquidityShare{
		&liquidity, &row.FeeGrowthInside0LastX128, &row.FeeGrowthInside1LastX128,
	}
	if err := l.changeLiquidity(c, held); err != nil {
		return err
	}
	if m.kind == moveBurn && !liquidity.IsZero() {
		return l.refuse("liquidity left by a burn", unsigned(liquidity), "0")
	}

	l.setLiquidity(row, c, liquidity)
	l.addFlows(row, c)
	l.appendHistory(i, row, c, m)
	return nil
}

// setLiquidity sets what a position has after a change that was applied, and counts it if it
// was opened, reopened or closed.
func (l *Ledger) setLiquidity(row *market.Position, c *change, liquidity clmath.U128) {
	row.LowerSlot, row.UpperSlot = c.lowerSlot, c.upperSlot
	if c.hookMayKeep(l.st.Pools.At(c.pool)) {
		row.HookDelta = true
	}

	wasOpen, isOpen := row.IsOpen(), !liquidity.IsZero()
	if wasOpen || isOpen {
		row.SetLiquidity(liquidity)
	}
	if wasOpen != isOpen {
		l.countSeconds(row, c.secondsInside)
		l.countOpen(row)
	}
}

// checkChange refuses a change that the position cannot have: a position keeps
// its pool and range, is minted with liquidity, and does not change once burned.
func (l *Ledger) checkChange(row *market.Position, c *change, m nftMove) error {
	switch {
	case m.kind == moveMint && c.delta.Sign() <= 0:
		return l.refuse("minted liquidity", signed(c.delta), "more than 0")
	case m.kind == moveBurn && c.delta.Sign() >= 0:
		return l.refuse("burned liquidity", signed(c.delta), "-"+unsigned(row.Liquidity()))
	case m.kind == moveNone && row.Burned:
		return l.refuse("position", row.ID, "one that is not burned")
	case m.kind != moveMint && c.pool != row.Pool:
		return l.refuse("pool", l.st.Pools.At(c.pool).ID, l.st.Pools.At(row.Pool).ID)
	case m.kind != moveMint && (c.lower != row.TickLower || c.upper != row.TickUpper):
		want := [2]int32{row.TickLower, row.TickUpper}
		return l.refuse("range", [2]int32{c.lower, c.upper}, want)
	}

	return nil
}

// Permission bits in the last byte of a hook's address: the hook may return a
// delta after liquidity was added or removed, and so keep or add a part of it.
const (
	afterRemoveReturnsDelta = 1 << 0
	afterAddReturnsDelta    = 1 << 1
)

// hookMayKeep reports whether the pool's hook may have kept a part of the change.
// Events do not show it.
func (c *change) hookMayKeep(p *market.Pool) bool {
	permissions := p.Hooks[len(p.Hooks)-1]
	if c.delta.Sign() > 0 {
		return permissions&afterAddReturnsDelta != 0
	}
	return permissions&afterRemoveReturnsDelta != 0
}

// countSeconds starts or stops the clock of a position that was just opened,
// reopened or closed, by the seconds inside of its range. ClosedAt is still that
// of the close before.
func (l *Ledger) countSeconds(row *market.Position, inside uint32) {
	if !row.Timed {
		return
	}
	row.SecondsInside = inside - row.SecondsInside
	if row.ClosedAt != 0 {
		row.SecondsClosed += l.clock() - row.ClosedAt
	}
}

// countOpen updates the counts for a position that was just opened, reopened or
// closed. A closed one gets the prices of its hour.
func (l *Ledger) countOpen(row *market.Position) {
	if row.IsOpen() {
		row.ClosedAt, row.CloseNativeUsd = 0, 0
		l.st.OpenCount++
		Pools.edit(l, row.Pool).OpenPositions++
		l.addHolding(row.Owner, row.Pool)
		return
	}

	p := Pools.edit(l, row.Pool)
	row.ClosedAt = l.clock()
	row.SetClose([2]market.ClosePrice{
		l.closePrice(p.Currency0, row.Pool), l.closePrice(p.Currency1, row.Pool),
	})
	row.CloseNativeUsd = l.nativeUsd()
	l.st.OpenCount--
	p.OpenPositions--
	l.dropHolding(row.Owner, row.Pool)
}

// addHolding counts an open position of an owner in a pool. The holders of a pool
// are the owners with at least one.
func (l *Ledger) addHolding(owner, pool uint32) {
	key := holding{owner, pool}
	l.holdings[key]++
	if l.holdings[key] == 1 {
		Pools.edit(l, pool).Holders++
	}
}

// dropHolding reverts an addHolding.
func (l *Ledger) dropHolding(owner, pool uint32) {
	key := holding{owner, pool}
	if l.holdings[key]--; l.holdings[key] == 0 {
		delete(l.holdings, key)
		Pools.edit(l, pool).Holders--
	}
}

// addFlows adds a change to the sums of a position. Once one of them exceeds 128
// bits, all of them move to the overflow table and stay there.
func (l *Ledger) addFlows(row *market.Position, c *change) {
	s := l.st.Sums(row)
	principal0, principal1 := &s.Withdrawn0, &s.Withdrawn1
	if c.delta.Sign() > 0 {
		principal0, principal1 = &s.Deposited0, &s.Deposited1
	}

	principal0.Add(principal0, &c.amount0)
	principal1.Add(principal1, &c.amount1)
	s.Collected0.Add(&s.Collected0, &c.fees0)
	s.Collected1.Add(&s.Collected1, &c.fees1)
	if row.Overflow != market.NoIndex {
		*Overflow.edit(l, row.Overflow) = s
		return
	}

	if !sumsFit(&s) {
		row.Overflow = Overflow.add(l, s)
		return
	}

	row.Deposited0, _ = clmath.Narrow(&s.Deposited0)
	row.Deposited1, _ = clmath.Narrow(&s.Deposited1)
	row.Withdrawn0, _ = clmath.Narrow(&s.Withdrawn0)
	row.Withdrawn1, _ = clmath.Narrow(&s.Withdrawn1)
	row.Collected0, _ = clmath.Narrow(&s.Collected0)
	row.Collected1, _ = clmath.Narrow(&s.Collected1)
}
