package ledger

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// TestChainAgainstContracts compares the ledger with the contracts, to the wei: the
// state at the end of the chain, and what every change of liquidity paid. It
// applies the chain in one pass, and again with a revert after every few blocks.
func TestChainAgainstContracts(t *testing.T) {
	c := readChain(t)
	spans := c.spans()
	l := New(c.config())
	for i := range spans {
		apply(t, l, &spans[i])
	}
	c.compare(t, l)

	again := New(c.config())
	for i := 0; i < len(spans); i++ {
		apply(t, again, &spans[i])
		if i%7 == 6 {
			back := i % 5
			for range back {
				if err := again.Revert(); err != nil {
					t.Fatal(err)
				}
			}
			for k := i - back + 1; k <= i; k++ {
				apply(t, again, &spans[k])
			}
		}
	}
	c.compare(t, again)
	sameState(t, again.Freeze(), l.Freeze())
}

func apply(t testing.TB, l *Ledger, s *market.Span) {
	t.Helper()
	if _, err := l.Apply(s); err != nil {
		t.Fatal(err)
	}
}

func (c *chain) compare(t *testing.T, l *Ledger) {
	t.Helper()
	changes := l.Changes()
	st := l.Freeze()
	clean(t, st)
	for i := range c.Truth.Final.Pools {
		comparePool(t, l, st, &c.Truth.Final.Pools[i])
	}

	for i := range c.Truth.Final.Positions {
		c.comparePosition(t, l, st, &c.Truth.Final.Positions[i])
	}

	for i := range c.Truth.Final.DirectPositions {
		want := &c.Truth.Final.DirectPositions[i]
		d := st.NonNFT.At(l.nonNFTOf[nonNFTKey{
			l.poolAt(market.PoolID(word(want.PoolID))), want.TickLower, want.TickUpper,
			address(want.Owner), word(want.Salt),
		}])
		equal(t, "nonNFT", want.Liquidity, d.Liquidity)
		held := liquidityShare{&d.Liquidity, &d.FeeGrowthInside0LastX128, &d.FeeGrowthInside1LastX128}
		compareFees(t, st, want, d.Pool, held)
	}

	c.compareChanges(t, l, changes)
}

func clean(t *testing.T, st *market.State) {
	t.Helper()
	for _, f := range Check(st) {
		t.Error(f)
	}
}

// equal compares a decimal with a U128 or *U256.
func equal(t *testing.T, what, want string, got any) {
	t.Helper()
	var text string
	switch v := got.(type) {
	case clmath.U128:
		text = unsigned(v)
	case clmath.I128:
		text = signed(v)
	case *clmath.U256:
		text = v.Dec()
	}

	if text != want {
		t.Errorf("%s is %s; the contracts say %s", what, text, want)
	}
}

func comparePool(t *testing.T, l *Ledger, st *market.State, want *chainPool) {
	t.Helper()
	i := l.poolAt(market.PoolID(word(want.PoolID)))
	p := st.Pools.At(i)
	equal(t, want.Name+" price", want.SqrtPriceX96, &p.SqrtPriceX96)
	equal(t, want.Name+" liquidity", want.Liquidity, p.Liquidity)
	equal(t, want.Name+" growth0", want.FeeGrowthGlobal0X128, &p.FeeGrowthGlobal0X128)
	equal(t, want.Name+" growth1", want.FeeGrowthGlobal1X128, &p.FeeGrowthGlobal1X128)
	refs := st.TickLists.At(i)
	if p.Tick != want.Tick || p.ProtocolFee != want.ProtocolFee || len(refs) != len(want.Ticks) {
		t.Fatalf("%s has tick %d, protocol fee %d, %d ticks; the contracts say %d, %d, %d",
			want.Name, p.Tick, p.ProtocolFee, len(refs), want.Tick, want.ProtocolFee, len(want.Ticks))
	}

	for k, w := range want.Ticks {
		tick := st.Ticks.At(refs[k].Slot)
		if tick.Tick != w.Tick {
			t.Errorf("%s has tick %d; the contracts %d", want.Name, tick.Tick, w.Tick)
		}
		equal(t, want.Name+" gross", w.LiquidityGross, tick.LiquidityGross)
		equal(t, want.Name+" net", w.LiquidityNet, tick.LiquidityNet)
		equal(t, want.Name+" outside0", w.FeeGrowthOutside0X128, &tick.FeeGrowthOutside0X128)
		equal(t, want.Name+" outside1", w.FeeGrowthOutside1X128, &tick.FeeGrowthOutside1X128)
	}
}

func (c *chain) comparePosition(t *testing.T, l *Ledger, st *market.State, want *chainPosition) {
	t.Helper()
	i, ok := l.findPosition(number(want.TokenID))
	if !ok {
		t.Fatalf("no position %s", want.TokenID)
	}

	p := st.Positions.At(i)
	if want.Burned {
		if !p.Burned || p.IsOpen() {
			t.Errorf("position %s was burned", want.TokenID)
		}
		return
	}

	owner := *st.Owners.At(p.Owner)
	if owner != address(want.Owner) || p.TickLower != want.TickLower ||
		p.TickUpper != want.TickUpper || p.Pool != l.poolAt(market.PoolID(word(want.PoolID))) {
		t.Errorf("position %s: %+v of %s; the contracts say %+v", want.TokenID, p, owner, want)
	}

	name := "position " + want.TokenID
	equal(t, name+" liquidity", want.Liquidity, p.Liquidity())
	equal(t, name+" last0", want.FeeGrowthInside0LastX128, &p.FeeGrowthInside0LastX128)
	equal(t, name+" last1", want.FeeGrowthInside1LastX128, &p.FeeGrowthInside1LastX128)
	if !p.IsOpen() {
		return
	}

	liquidity := p.Liquidity()
	held := liquidityShare{&liquidity, &p.FeeGrowthInside0LastX128, &p.FeeGrowthInside1LastX128}
	compareFees(t, st, want, p.Pool, held)
	if want.Amount0 != nil {
		pool := st.Pools.At(p.Pool)
		lower, upper := st.Ticks.At(p.LowerSlot), st.Ticks.At(p.UpperSlot)
		amount0, amount1 := clmath.Principal(pool.Tick, &pool.SqrtPriceX96, p.TickLower, p.TickUpper,
			&lower.SqrtPriceX96, &upper.SqrtPriceX96, liquidity, false)
		equal(t, name+" amount0", *want.Amount0, &amount0)
		equal(t, name+" amount1", *want.Amount1, &amount1)
	}
}

func compareFees(
	t *testing.T, st *market.State, want *chainPosition, pool uint32, held liquidityShare,
) {
	t.Helper()
	if held.liquidity.IsZero() {
		return
	}

	p, refs := st.Pools.At(pool), st.TickLists.At(pool)
	lowerSlot, _ := findTick(refs, want.TickLower)
	upperSlot, _ := findTick(refs, want.TickUpper)
	lower, upper := st.Ticks.At(lowerSlot), st.Ticks.At(upperSlot)
	inside0 := clmath.FeeGrowthInside(p.Tick, want.TickLower, want.TickUpper,
		&p.FeeGrowthGlobal0X128, &lower.FeeGrowthOutside0X128, &upper.FeeGrowthOutside0X128)
	inside1 := clmath.FeeGrowthInside(p.Tick, want.TickLower, want.TickUpper,
		&p.FeeGrowthGlobal1X128, &lower.FeeGrowthOutside1X128, &upper.FeeGrowthOutside1X128)
	fees0 := clmath.FeesOwed(&inside0, held.last0, *held.liquidity)
	fees1 := clmath.FeesOwed(&inside1, held.last1, *held.liquidity)
	equal(t, "fees0 of "+want.TokenID+want.Salt, want.Fees0, &fees0)
	equal(t, "fees1 of "+want.TokenID+want.Salt, want.Fees1, &fees1)
}

// compareChanges compares every entry with what the pool manager returned:
// principal + fees, unless the pool's hook keeps a part.
func (c *chain) compareChanges(t *testing.T, l *Ledger, changes *Changes) {
	t.Helper()
	type key struct {
		block uint64
		index uint32
	}

	entries := make(map[key]market.Transaction)
	for op := range changes.Ops.All() {
		if e := Transactions.Entry(&op); e != nil && !op.Drop {
			entries[key{e.Block, e.LogIndex}] = *e
		}
	}

	seen := 0
	for i := range c.Truth.Modifications {
		m := &c.Truth.Modifications[i]
		e, ok := entries[key{m.BlockNumber, m.LogIndex}]
		if !ok {
			continue // of another sender
		}

		seen++
		equal(t, "delta", m.LiquidityDelta, e.LiquidityDelta)
		equal(t, "fees0 of a change", m.FeesAccrued0, &e.Fees0)
		equal(t, "fees1 of a change", m.FeesAccrued1, &e.Fees1)
		hooks := l.st.Pools.At(l.poolAt(market.PoolID(word(m.PoolID)))).Hooks
		if hooks[19]&(afterAddReturnsDelta|afterRemoveReturnsDelta) == 0 {
			equalDelta(t, m.CallerDelta0, &e.Fees0, &e.Amount0, e.LiquidityDelta)
			equalDelta(t, m.CallerDelta1, &e.Fees1, &e.Amount1, e.LiquidityDelta)
		}
	}

	if seen < len(c.Truth.Modifications)/2 {
		t.Errorf("compared %d of %d changes", seen, len(c.Truth.Modifications))
	}
}

func equalDelta(t *testing.T, want string, fees, principal *clmath.U256, delta clmath.I128) {
	t.Helper()
	var got clmath.U256
	if delta.Sign() > 0 {
		got.Sub(fees, principal)
	} else {
		got.Add(fees, principal)
	}

	text := got.Dec()
	if got.Sign() < 0 {
		text = "-" + new(clmath.U256).Neg(&got).Dec()
	}

	if text != want {
		t.Errorf("a change gave the caller %s; the contracts say %s", text, want)
	}
}
