package market

import (
	"math"
	"testing"

	"tidemark/rankings/clmath"
)

// TestClose: a position has liquidity or closing prices, and each takes the place of the
// other.
func TestClose(t *testing.T) {
	wide := clmath.U128{Lo: math.MaxUint64, Hi: math.MaxUint64}
	legs := [2]ClosePrice{
		{Usd: 1e-300, AsOf: math.MaxUint32, Markets: math.MaxUint16, Source: SourceFeed, Corroborated: true},
		{Usd: math.Inf(1), AsOf: 1, Reason: LastReason},
	}
	p := Position{ID: 7, ClosedAt: 9}
	fresh := p

	p.SetLiquidity(wide)
	if !p.IsOpen() || p.Liquidity() != wide || p.Close(0) != (ClosePrice{}) || p.Close(1) != (ClosePrice{}) {
		t.Errorf("open: %+v", p)
	}
	p.SetClose(legs)
	if p.IsOpen() || p.Liquidity() != (clmath.U128{}) || p.Close(0) != legs[0] || p.Close(1) != legs[1] {
		t.Errorf("closed: %+v", p)
	}
	p.SetClose([2]ClosePrice{{Usd: -Unknown, AsOf: -1}, {Usd: Unknown, AsOf: 1 << 40}})
	if p.LiquidityOrUsd.Lo != p.LiquidityOrUsd.Hi {
		t.Errorf("two unknown prices differ: %+v", p)
	}
	if Known(p.Close(0).Usd) || p.Close(0).AsOf != 0 || p.Close(1).AsOf != math.MaxUint32 {
		t.Errorf("times that do not fit: %+v", p)
	}
	p.SetLiquidity(clmath.U128{})
	if p != fresh || p.IsOpen() {
		t.Errorf("opened and left without liquidity: %+v; want %+v", p, fresh)
	}
}
