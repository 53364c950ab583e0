package ledger

import (
	"cmp"
	"encoding/binary"
	"sort"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// holding is an owner's open positions in a pool.
type holding struct{ owner, pool uint32 }

// tokenID reads the id in the salt of the position manager's liquidity.
func tokenID(salt market.Hash) (id uint64, ok bool) {
	high := binary.BigEndian.Uint64(salt[0:]) | binary.BigEndian.Uint64(salt[8:]) |
		binary.BigEndian.Uint64(salt[16:])
	return binary.BigEndian.Uint64(salt[24:]), high == 0
}

// position returns the record of an id. Ids are almost without gaps, so the
// distance from the first id is the index or slightly above it.
func (l *Ledger) position(id uint64) (i uint32, ok bool) {
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

// modifyNFT applies a change of a position's liquidity and adds it to the
// position's history.
func (l *Ledger) modifyNFT(c *change, salt market.Hash) error {
	id, ok := tokenID(salt)
	if !ok {
		return l.refuse("position", salt, "an id below 2^64")
	}
	i, ok := l.position(id)
	if !ok {
		return l.refuse("position", id, "no such position")
	}

	m := l.takeMove(i)
	row := Positions.edit(l, i)
	if err := l.checkChange(row, c, m); err != nil {
		return err
	}

	wasOpen := row.IsOpen()
	row.Pool, row.TickLower, row.TickUpper = c.pool, c.lower, c.upper
	held := share{&row.Liquidity, &row.FeeGrowthInside0LastX128, &row.FeeGrowthInside1LastX128}
	if err := l.change(c, held); err != nil {
		return err
	}
	if m.kind == moveBurn && row.IsOpen() {
		return l.refuse("burned liquidity", signed(c.delta), unsigned(row.Liquidity)+" more")
	}

	row.LowerSlot, row.UpperSlot = c.lowerSlot, c.upperSlot
	if c.takesHook(l.st.Pools.At(c.pool)) {
		row.HookDelta = true
	}

	if wasOpen != row.IsOpen() {
		l.countOpen(row)
	}

	l.addFlows(row, c)
	l.appendHistory(i, row, c, m)
	return nil
}

// checkChange refuses a change that the position cannot have had: ids keep
// their pool and range, are minted with liquidity, and end when burned.
func (l *Ledger) checkChange(row *market.Position, c *change, m move) error {
	switch {
	case m.kind == moveMint && c.delta.Sign() <= 0:
		return l.refuse("minted liquidity", signed(c.delta), "more than 0")
	case m.kind == moveBurn && c.delta.Sign() >= 0:
		return l.refuse("burned liquidity", signed(c.delta), unsigned(row.Liquidity))
	case m.kind == moveNone && row.Burned:
		return l.refuse("position", row.ID, "burned")
	case m.kind != moveMint && c.pool != row.Pool:
		return l.refuse("pool", l.st.Pools.At(c.pool).ID, l.st.Pools.At(row.Pool).ID)
	case m.kind != moveMint && (c.lower != row.TickLower || c.upper != row.TickUpper):
		want := [2]int32{row.TickLower, row.TickUpper}
		return l.refuse("range", [2]int32{c.lower, c.upper}, want)
	}

	return nil
}

// Permissions in the last byte of a hook's address: it may return a delta, and
// so keep or add a part, after liquidity was added or removed.
const (
	afterRemoveReturnsDelta = 1 << 0
	afterAddReturnsDelta    = 1 << 1
)

// takesHook reports whether the pool's hook may have kept a part of the
// change, of which the events say nothing.
func (c *change) takesHook(p *market.Pool) bool {
	permissions := p.Hooks[len(p.Hooks)-1]
	if c.delta.Sign() > 0 {
		return permissions&afterAddReturnsDelta != 0
	}
	return permissions&afterRemoveReturnsDelta != 0
}

// countOpen counts a position that was just opened, reopened or closed. A closed
// one keeps the prices of its hour.
func (l *Ledger) countOpen(row *market.Position) {
	if row.IsOpen() {
		row.ClosedAt, row.Close, row.CloseNativeUsd = 0, [2]market.ClosePrice{}, 0
		l.st.OpenCount++
		Pools.edit(l, row.Pool).OpenPositions++
		l.addHolding(row.Owner, row.Pool)
		return
	}

	p := Pools.edit(l, row.Pool)
	row.ClosedAt = l.time
	row.Close = [2]market.ClosePrice{
		l.closePrice(p.Currency0, row.Pool), l.closePrice(p.Currency1, row.Pool),
	}
	row.CloseNativeUsd = l.nativeUsd()
	l.st.OpenCount--
	p.OpenPositions--
	l.dropHolding(row.Owner, row.Pool)
}

// closePrice is a token's price as the hour has recorded it, for a position
// that closes in a pool. A price that only that pool supports is unknown, as it
// was while the position was open.
func (l *Ledger) closePrice(token, pool uint32) market.ClosePrice {
	t := l.st.Tokens.At(token)
	c := market.ClosePrice{
		Usd: t.HourUsd, AsOf: t.HourAsOf, Markets: t.HourMarkets, Source: t.HourSource,
		Reason: t.HourReason, Corroborated: t.HourCorroborated,
	}
	switch {
	case !market.Known(c.Usd):
	case t.HourOnlyPool == pool && !t.HourCorroborated:
		c.Usd, c.Source, c.Markets, c.AsOf = market.Unknown, market.SourceNone, 0, 0
		c.Reason = cmp.Or(t.HourReason, market.ReasonOwnPoolOnly)
	default:
		c.Reason = market.ReasonNone
	}
	return c
}

// addHolding counts an open position of an owner in a pool. The pool's holders
// are the owners with at least one.
func (l *Ledger) addHolding(owner, pool uint32) {
	key := holding{owner, pool}
	l.holdings[key]++
	if l.holdings[key] == 1 {
		Pools.edit(l, pool).Holders++
	}
}

// dropHolding takes an addHolding back.
func (l *Ledger) dropHolding(owner, pool uint32) {
	key := holding{owner, pool}
	if l.holdings[key]--; l.holdings[key] == 0 {
		delete(l.holdings, key)
		Pools.edit(l, pool).Holders--
	}
}

// addFlows adds a change to the sums of a position. Once one of them passes 128
// bits all of them move to the overflow table, for good.
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

	var over clmath.U256
	for _, v := range []*clmath.U256{
		&s.Deposited0, &s.Deposited1, &s.Withdrawn0, &s.Withdrawn1, &s.Collected0, &s.Collected1,
	} {
		over.Or(&over, v)
	}

	if _, fits := clmath.Narrow(&over); !fits {
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
