package ledger

import (
	"testing"

	"tidemark/rankings/clmath"
)

// BenchmarkSwapStep is the yardstick of BenchmarkSwaps: the arithmetic of one
// swap that crosses no tick.
func BenchmarkSwapStep(b *testing.B) {
	price, target := clmath.SqrtPriceAtTick(benchTick), clmath.SqrtPriceAtTick(benchTick-500)
	left := clmath.U256{1 << 36}
	for b.Loop() {
		clmath.SwapStep(&price, &target, clmath.U128{Lo: 1 << 62}, &left, true, 3000)
	}
}
