package ledger

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// TestHoldingsAreThoseOfThePositions compares the amounts of a pool by its ticks
// with the sum over its positions, including those of other senders. Both round
// every part down, so they differ by less than one wei a part.
func TestHoldingsAreThoseOfThePositions(t *testing.T) {
	c := readChain(t)
	l := New(c.config())
	spans := c.spans()
	checked := 0
	for i := range spans {
		apply(t, l, &spans[i])
		if i%8 == 7 || i == len(spans)-1 {
			checked += compareHoldings(t, l.Freeze())
		}
	}

	if checked < 100 {
		t.Errorf("only %d pools with liquidity were compared", checked)
	}
}

func compareHoldings(t *testing.T, st *market.State) (checked int) {
	t.Helper()
	type sum struct {
		amount [2]clmath.U256
		parts  uint64
	}

	sums := make([]sum, st.Pools.Len())
	add := func(pool uint32, lower, upper int32, liquidity clmath.U128) {
		p := st.Pools.At(pool)
		low, high := clmath.SqrtPriceAtTick(lower), clmath.SqrtPriceAtTick(upper)
		amount0, amount1 := clmath.Principal(
			p.Tick, &p.SqrtPriceX96, lower, upper, &low, &high, liquidity, false)
		s := &sums[pool]
		s.amount[0].Add(&s.amount[0], &amount0)
		s.amount[1].Add(&s.amount[1], &amount1)
		s.parts++
	}

	for i := range st.Positions.Len() {
		if p := st.Positions.At(i); p.IsOpen() {
			add(p.Pool, p.TickLower, p.TickUpper, p.Liquidity())
		}
	}

	for i := range st.NonNFT.Len() {
		if d := st.NonNFT.At(i); !d.Liquidity.IsZero() {
			add(d.Pool, d.TickLower, d.TickUpper, d.Liquidity)
		}
	}

	for pool := range st.Pools.Len() {
		s := &sums[pool]
		if s.parts == 0 {
			continue
		}
		checked++
		parts := s.parts + uint64(len(st.TickLists.At(pool)))
		amount0, amount1 := value.Holdings(st, pool)
		withinParts(t, pool, &amount0, &s.amount[0], parts)
		withinParts(t, pool, &amount1, &s.amount[1], parts)
	}

	return checked
}

func withinParts(t *testing.T, pool uint32, got, want *clmath.U256, parts uint64) {
	t.Helper()
	var off clmath.U256
	if off.Sub(got, want); off.Sign() < 0 {
		off.Neg(&off)
	}
	if !off.Lt(&clmath.U256{parts}) {
		t.Errorf("pool %d holds %s; its positions %s: more than %d parts can round away",
			pool, got.Dec(), want.Dec(), parts)
	}
}
