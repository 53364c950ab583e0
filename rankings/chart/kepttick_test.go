package chart

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// TestFindKept: a position proves its ticks if it had liquidity all the time, and only
// then.
func TestFindKept(t *testing.T) {
	const since, none = 1000, uint32(market.NoIndex)
	proof := market.Position{
		TickLower: -60, TickUpper: 120, LowerSlot: 5, UpperSlot: 6, Overflow: market.NoIndex,
		LiquidityOrUsd: clmath.U128{Lo: 7}, MintedAt: 999, Timed: true,
	}
	f := func(name string, lower, upper int32, want [2]uint32, change func(p *market.Position)) {
		t.Helper()
		var positions market.Table[market.Position]
		positions.Append(market.Position{})
		p := proof
		change(&p)
		positions.Append(p)
		st := &market.State{Positions: positions.Freeze()}
		rows := func(yield func(uint32) bool) { _ = yield(0) && yield(1) }
		if got := FindKept(st, rows, since, [2]int32{lower, upper}); got != want {
			t.Errorf("%s: got %v; want %v", name, got, want)
		}
	}

	as := func(*market.Position) {}
	f("both ends", -60, 120, [2]uint32{5, 6}, as)
	f("the lower end", -60, 60, [2]uint32{5, none}, as)
	f("its upper end as the lower one", 120, 180, [2]uint32{6, none}, as)
	f("its lower end as the upper one", -120, -60, [2]uint32{none, 5}, as)
	f("neither", 0, 60, [2]uint32{none, none}, as)

	no := [2]uint32{none, none}
	f("minted later", -60, 120, no, func(p *market.Position) { p.MintedAt = since })
	f("closed", -60, 120, no, func(p *market.Position) { p.SetClose([2]market.ClosePrice{}) })
	f("closed for a time", -60, 120, no, func(p *market.Position) { p.SecondsClosed = 1 })
	f("of unknown times", -60, 120, no, func(p *market.Position) { p.Timed = false })
	f("token 0 withdrawn", -60, 120, no, func(p *market.Position) { p.Withdrawn0.Lo = 1 })
	f("token 1 withdrawn", -60, 120, no, func(p *market.Position) { p.Withdrawn1.Lo = 1 })
	f("with sums elsewhere", -60, 120, no, func(p *market.Position) { p.Overflow = 0 })
}
