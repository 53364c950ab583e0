package value

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// exitDrop is the part of its price down to which selling a token counts as a
// way out. It is no threshold of Params: a row subtracts its own share of the
// same walk and knows nothing but the State.
const exitDrop = 0.1

// exitRoot is what exitDrop does to the square root of the price.
var exitRoot = math.Sqrt(exitDrop)

// Selling a token T into a pool takes its price down, through ranges between
// initialised ticks in each of which the liquidity L is constant. With r the
// square root of Q per T, raw, a move from r to r' < r
//
//	pays out   Q = L * (r - r')
//	takes in   T = L * (1/r' - 1/r)
//
// r is sqrtPrice when T is token0 and the price falls; it is 1/sqrtPrice when
// T is token1 and the price rises. At an initialised tick L changes by its
// liquidityNet. Nothing here is a virtual reserve: a range without liquidity
// takes nothing in and pays nothing out, however deep it was before.

// depth is what selling one token of a pool meets. Fees are left out: they
// are paid beside the way, and make it no longer.
type depth struct {
	room  float64 // raw T that moves the price by the impact asked
	reach float64 // raw Q that comes out until the price is exitDrop of itself
}

// virtualDepth is depthOf if the liquidity at the price had no end.
func virtualDepth(pool *market.Pool, side int, impact float64) (d depth) {
	root := rootOf(&pool.SqrtPriceX96, side)
	d.add(approx128(pool.Liquidity), root, root*exitRoot, root*math.Sqrt(1-impact/100))
	return d
}

// depthOf walks the ticks of a pool as selling token0 (side 0) or token1
// would, from the pool's price. About 20 ns a tick, and a cache miss.
func depthOf(st *market.State, index uint32, side int, impact float64) (d depth) {
	pool := st.Pools.At(index)
	refs := st.TickLists.At(index)
	next := market.FirstAbove(refs, pool.Tick)
	step := 1
	if side == 0 {
		next, step = next-1, -1
	}

	root := rootOf(&pool.SqrtPriceX96, side)
	mark, end := root*math.Sqrt(1-impact/100), root*exitRoot
	for liquidity := pool.Liquidity; next >= 0 && next < len(refs); next += step {
		tick := st.Ticks.At(refs[next].Slot)
		stop := between(rootOf(&tick.SqrtPriceX96, side), end, root)
		d.add(approx128(liquidity), root, stop, mark)
		if stop == end {
			break
		}
		net := tick.LiquidityNet
		if side == 0 {
			net = net.Neg()
		}
		liquidity, _ = liquidity.Apply(net)
		root = stop
	}

	return d
}

// add moves from root to stop at constant liquidity.
func (d *depth) add(liquidity, root, stop, mark float64) {
	d.reach += liquidity * (root - stop)
	if root > mark {
		d.room += liquidity * (1/between(stop, mark, root) - 1/root)
	}
}

// between returns what of low to high is nearest to x. None of them is NaN, which min and
// max would ask for at the cost of half a tick.
func between(x, low, high float64) float64 {
	switch {
	case x > high:
		return high
	case x < low:
		return low
	}
	return x
}

// rootOf returns the square root of raw Q per raw T, T being the side sold.
func rootOf(sqrtPriceX96 *clmath.U256, side int) float64 {
	if side == 0 {
		return approx(sqrtPriceX96) / two96
	}
	return two96 / approx(sqrtPriceX96)
}
