package value

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// testNow is the present of every test's world: an even hour.
const testNow = int64(500_000 * market.Hour)

// world builds a State by hand: tokens, pools with real ticks, positions.
type world struct {
	tokens    market.Table[market.Token]
	pools     market.Table[market.Pool]
	minutes   market.Table[market.Minutes]
	positions market.Table[market.Position]
	hours     market.Table[market.HourBucket]

	ranges [][]span // by pool
	params Params
	feed   []FeedPrice
	now    int64 // of the State

	eth, usd uint32
}

// span is liquidity over a range, of whatever sender.
type span struct {
	lower, upper int32
	liquidity    float64
}

// newWorld has a native currency at 2,000 USD by one deep pool against the
// only stable, both of 18 decimals.
func newWorld() *world {
	w := &world{params: DefaultParams(), now: testNow}
	w.eth = w.token(0, 18)
	w.usd = w.token(1, 18)
	w.params.Stables = []market.Address{w.address(w.usd)}
	w.poolFull(w.eth, w.usd, 2000, 10_000_000)
	return w
}

func (w *world) address(token uint32) market.Address { return w.tokens.At(token).Address }

func (w *world) token(number byte, decimals uint8) uint32 {
	return w.tokens.Append(market.Token{Address: market.Address{19: number}, Decimals: decimals,
		HourUsd: market.Unknown})
}

// pool creates a market of a (token0) against b at b per a, whole units, that
// has stood at that price for a month and was swapped a thousand times.
func (w *world) pool(a, b uint32, price float64) uint32 {
	unit := whole(w.tokens.At(b)) / whole(w.tokens.At(a))
	sqrt := sqrtOf(price * unit)
	index := w.pools.Append(market.Pool{
		ID:        market.PoolID{0: byte(w.pools.Len() >> 8), 1: byte(w.pools.Len()), 31: 1},
		Currency0: a, Currency1: b, Fee: 3000, TickSpacing: 1,
		CreatedAt: testNow - 30*market.Day, LastSwapAt: testNow - market.Hour,
		SqrtPriceX96: sqrt, Tick: clmath.TickAtSqrtPrice(&sqrt),
		LastFee: 3000, Swaps: 1000, LastHour: market.NoIndex, Others: 50,
	})

	w.minutes.Append(market.Minutes{})
	w.closeAt(index, testNow-market.Hour, price)
	w.ranges = append(w.ranges, nil)
	return index
}

// poolFull is pool with liquidity over all prices of which one side is worth
// usd when b is worth 1: L = b / sqrt(price).
func (w *world) poolFull(a, b uint32, price, bWhole float64) uint32 {
	index := w.pool(a, b, price)
	root := approx(&w.pools.At(index).SqrtPriceX96) / two96
	w.ranges[index] = []span{{-887220, 887220, bWhole * whole(w.tokens.At(b)) / root}}
	return index
}

// around adds liquidity from ticks below the price to ticks above it.
func (w *world) around(index uint32, below, above int32, liquidity float64) {
	tick := w.pools.At(index).Tick
	w.ranges[index] = append(w.ranges[index], span{tick - below, tick + above, liquidity})
}

// closeAt records a minute close at a price in whole units.
func (w *world) closeAt(index uint32, unix int64, price float64) {
	pool, ring := w.pools.At(index), w.minutes.Mut(index)
	unit := whole(w.tokens.At(pool.Currency1)) / whole(w.tokens.At(pool.Currency0))
	if ring.Minute[ring.Newest] != 0 {
		ring.Newest = (ring.Newest + 1) % market.MinuteSlots
	}
	ring.Minute[ring.Newest] = market.MinuteOf(unix)
	ring.Sqrt[ring.Newest] = math.Sqrt(price*unit) * two96
}

// push moves the pool's price in the block of now, the close of its minute too.
func (w *world) push(index uint32, price float64) {
	pool := w.pools.Mut(index)
	unit := whole(w.tokens.At(pool.Currency1)) / whole(w.tokens.At(pool.Currency0))
	pool.SqrtPriceX96 = sqrtOf(price * unit)
	pool.Tick = clmath.TickAtSqrtPrice(&pool.SqrtPriceX96)
	pool.LastSwapAt = testNow
	w.closeAt(index, testNow, price)
}

// open mints a position a hundred days ago; its liquidity is in the pool too.
func (w *world) open(index uint32, lower, upper int32, liquidity float64) uint32 {
	w.ranges[index] = append(w.ranges[index], span{lower, upper, liquidity})
	return w.positions.Append(market.Position{
		ID: uint64(w.positions.Len()) + 1, Pool: index, TickLower: lower, TickUpper: upper,
		Overflow: market.NoIndex, LiquidityOrUsd: u128(liquidity), MintedAt: uint32(testNow - 100*market.Day),
		CloseNativeUsd: market.Unknown,
	})
}

// openWhole is open over all prices, for whole units of token0 and as much
// of token1, which it deposits.
func (w *world) openWhole(index uint32, whole0 float64) uint32 {
	root := approx(&w.pools.At(index).SqrtPriceX96) / two96
	raw := whole0 * whole(w.tokens.At(w.pools.At(index).Currency0))
	i := w.open(index, -887220, 887220, raw*root)
	w.positions.Mut(i).Deposited0 = u128(raw)
	w.positions.Mut(i).Deposited1 = u128(raw * root * root)
	return i
}

// volume adds the bucket of an hour, newest last.
func (w *world) volume(index uint32, hour uint32, volumeUsd, feesUsd float64) {
	pool := w.pools.Mut(index)
	pool.LastHour = w.hours.Append(market.HourBucket{
		Pool: index, Hour: hour, Prev: pool.LastHour, VolumeUsd: volumeUsd, FeesUsd: feesUsd,
		Close: approx(&pool.SqrtPriceX96),
	})
}

// state freezes the world with its prices.
func (w *world) state() *market.State {
	st := &market.State{Chain: 1, Head: market.Head{Number: 1, Time: w.now}, Native: w.eth}
	var ticks market.Table[market.Tick]
	var lists market.TickListTable
	for i := range w.pools.Len() {
		lists.Append(w.ticksOf(i, &ticks)...)
	}
	st.TickLists = lists.Freeze()

	slot := func(pool uint32, tick int32) uint32 {
		refs := st.TickLists.At(pool)
		at, _ := slices.BinarySearchFunc(refs, tick, func(r market.TickRef, t int32) int {
			return cmp.Compare(r.Tick, t)
		})
		return refs[at].Slot
	}

	for i := range w.positions.Len() {
		if p := w.positions.Mut(i); p.IsOpen() {
			p.LowerSlot, p.UpperSlot = slot(p.Pool, p.TickLower), slot(p.Pool, p.TickUpper)
		}
	}

	st.Tokens, st.Pools, st.Minutes = w.tokens.Freeze(), w.pools.Freeze(), w.minutes.Freeze()
	st.Positions, st.Hours = w.positions.Freeze(), w.hours.Freeze()
	st.Ticks = ticks.Freeze()
	var prices market.Table[market.Price]
	for _, price := range Prices(st, &w.params, w.feed, func() {}) {
		prices.Append(price)
	}
	st.Prices = prices.Freeze()
	return st
}

// ticksOf sums the pool's ranges into ticks and sets its liquidity.
func (w *world) ticksOf(index uint32, ticks *market.Table[market.Tick]) (refs []market.TickRef) {
	pool := w.pools.Mut(index)
	pool.Liquidity = clmath.U128{}
	at := map[int32]*market.Tick{}
	touch := func(tick int32, liquidity clmath.U128, net clmath.I128) {
		t := at[tick]
		if t == nil {
			t = &market.Tick{Pool: index, Tick: tick, SqrtPriceX96: clmath.SqrtPriceAtTick(tick)}
			at[tick] = t
		}
		t.LiquidityGross, _ = t.LiquidityGross.Add(liquidity)
		t.LiquidityNet, _ = t.LiquidityNet.Add(net)
	}

	for _, r := range w.ranges[index] {
		liquidity := u128(r.liquidity)
		net := clmath.I128{Lo: liquidity.Lo, Hi: int64(liquidity.Hi)}
		touch(r.lower, liquidity, net)
		touch(r.upper, liquidity, net.Neg())
		if r.lower <= pool.Tick && pool.Tick < r.upper {
			pool.Liquidity, _ = pool.Liquidity.Add(liquidity)
		}
	}

	for _, tick := range slices.Sorted(maps.Keys(at)) {
		refs = append(refs, market.TickRef{Tick: tick, Slot: ticks.Append(*at[tick])})
	}

	return refs
}

func u128(x float64) clmath.U128 {
	hi := uint64(x / two64)
	return clmath.U128{Lo: uint64(x - float64(hi)*two64), Hi: hi}
}

func sqrtOf(ratio float64) (v clmath.U256) {
	root := math.Sqrt(ratio) * two96
	shift := max(math.Ilogb(root)-52, 0)
	v = clmath.U256{uint64(math.Ldexp(root, -shift))}
	return *v.Lsh(&v, uint(shift))
}

func near(a, b, relative float64) bool {
	return a == b || math.Abs(a-b) <= relative*max(math.Abs(a), math.Abs(b))
}

func mustNear(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !near(got, want, relative) && (market.Known(got) || market.Known(want)) {
		t.Errorf("%s = %v; want %v", what, got, want)
	}
}

// begunHour is what the beginning of an hour changes.
type begunHour struct {
	Prices []HourPrice // one a token
	Pools  []market.HeldPool
}

// beginHour returns all that BeginHour says.
func (k *Pricer) beginHour(st *market.State, p *Params, ext []FeedPrice, hour uint32) (h begunHour) {
	h.Pools = k.BeginHour(st, p, ext, hour, func(_ uint32, price HourPrice) {
		h.Prices = append(h.Prices, price)
	})
	return h
}
