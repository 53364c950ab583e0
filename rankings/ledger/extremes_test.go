package ledger

import (
	"math"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// extremes makes events at the limits of the contracts: prices, spacings, fees and
// liquidity, one event a span. The bytes of a fuzz input decide. Events that the
// contracts would revert are left out; the ledger must accept all others.
type extremes struct {
	*Ledger
	t       testing.TB
	choices []byte
	spans   []market.Span
	next    uint64 // id
}

// pick takes the next choice below n; 0 when there are none left.
func (x *extremes) pick(n int) int {
	if len(x.choices) == 0 {
		return 0
	}
	c := int(x.choices[0])
	x.choices = x.choices[1:]
	return c % n
}

// maxAmount is the largest amount that the contracts can move: int128's.
var maxAmount = clmath.U256{math.MaxUint64, math.MaxUint64 >> 1}

func (x *extremes) amount() clmath.U256 {
	switch x.pick(6) {
	case 0:
		return clmath.U256{1}
	case 1:
		return clmath.U256{2}
	case 2:
		return maxAmount
	case 3:
		v := maxAmount
		return *v.Rsh(&v, 1)
	}

	v := clmath.U256{uint64(x.pick(256)) + 1}
	return *v.Lsh(&v, uint(x.pick(120)))
}

// price is the lowest, the highest, or some other one.
func (x *extremes) price() clmath.U256 {
	var v clmath.U256
	switch x.pick(7) {
	case 0:
		return clmath.MinSqrtPrice
	case 1:
		return *v.AddUint64(&clmath.MinSqrtPrice, 1)
	case 2:
		return *v.SubUint64(&clmath.MaxSqrtPrice, 1)
	case 3:
		return clmath.SqrtPriceAtTick(0)
	case 4:
		return clmath.SqrtPriceAtTick(clmath.MaxTick - 1)
	}

	tick := int32(x.pick(256)<<8|x.pick(256)) * 27 % clmath.MaxTick
	v = clmath.SqrtPriceAtTick(tick - 2*tick*int32(x.pick(2)))
	return *v.AddUint64(&v, uint64(x.pick(2)))
}

// apply applies events in a span of their own, which must be accepted.
func (x *extremes) apply(events ...market.Event) {
	x.t.Helper()
	head := x.Head()
	b := market.Block{Number: head.Number + 1, Time: head.Time + 12, Txs: make([]market.Tx, 1)}
	for i, e := range events {
		b.Logs = append(b.Logs, market.Log{Index: uint32(i), Event: e})
	}

	s := market.Span{From: b.Number, To: b.Number, Time: b.Time, Blocks: []market.Block{b}}
	if len(x.spans) == 0 {
		s.Tokens = testTokens()
	}

	quarantined, err := x.Apply(&s)
	if err != nil || len(quarantined) > 0 {
		x.t.Fatalf("%+v is refused: %v, %v", events, quarantined, err)
	}

	x.spans = append(x.spans, s)
}

func (x *extremes) initialize() {
	n := x.st.Pools.Len()
	e := market.Initialize{
		Pool: market.PoolID{byte(n), 9}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 2},
		Fee:          []uint32{0, 1, 3000, 999_999, clmath.Pips, market.DynamicFee}[x.pick(6)],
		TickSpacing:  []int32{1, 2, 60, 887, 32766, maxSpacing}[x.pick(6)],
		SqrtPriceX96: x.price(),
	}
	e.Tick = clmath.TickAtSqrtPrice(&e.SqrtPriceX96)
	x.apply(e)
}

// maxPerTick is the contracts' limit of the liquidity that refers to a tick.
func maxPerTick(spacing int32) clmath.U256 {
	ticks := clmath.MaxTick/spacing - clmath.Aligned(clmath.MinTick, spacing)/spacing + 1
	v := clmath.U256{math.MaxUint64, math.MaxUint64}
	return *v.Div(&v, &clmath.U256{uint64(ticks)})
}

// modify changes liquidity over a range whose ends may be the outermost ticks:
// adds, up to the limit, takes away, or pokes.
func (x *extremes) modify(pool uint32) {
	p := x.st.Pools.At(pool)
	edge := clmath.MaxTick / p.TickSpacing * p.TickSpacing
	at := clmath.Aligned(p.Tick, p.TickSpacing)
	ranges := [][2]int32{
		{-edge, edge}, {-edge, -edge + p.TickSpacing}, {edge - p.TickSpacing, edge},
		{at, at + p.TickSpacing}, {at - p.TickSpacing, at}, {-edge, at}, {at, edge},
	}

	r := ranges[x.pick(len(ranges))]
	if r[0] < -edge || r[1] > edge || r[0] >= r[1] {
		return
	}

	e := market.ModifyLiquidity{
		Pool: p.ID, Sender: script.Person("x"), TickLower: r[0], TickUpper: r[1],
		Salt: script.Salt(uint64(x.pick(2))),
	}

	held := clmath.U128{}
	if i, ok := x.nonNFTOf[nonNFTKey{pool, r[0], r[1], e.Sender, e.Salt}]; ok {
		held = x.st.NonNFT.At(i).Liquidity
	}

	switch x.pick(5) {
	case 0, 1:
		e.LiquidityDelta = x.added(pool, r)
	case 2:
		e.LiquidityDelta = x.added(pool, r)
		e.Sender, e.Salt = testManager, script.Salt(x.next+1)
		if e.LiquidityDelta.Sign() > 0 && x.fits(p, &e) {
			x.next++
			x.apply(market.TransferNFT{To: script.Person("n"), ID: x.next}, e)
		}
		return
	case 3:
		e.LiquidityDelta = clmath.I128{Lo: held.Lo, Hi: int64(held.Hi)}.Neg()
	}

	if (e.LiquidityDelta.Sign() > 0 || !held.IsZero()) && x.fits(p, &e) {
		x.apply(e)
	}
}

// added is liquidity that both ticks of a range can still take: 1, or all.
func (x *extremes) added(pool uint32, r [2]int32) clmath.I128 {
	limit := maxPerTick(x.st.Pools.At(pool).TickSpacing)
	room := limit
	for _, tick := range r {
		if slot, ok := findTick(x.st.TickLists.At(pool), tick); ok {
			gross := x.st.Ticks.At(slot).LiquidityGross.U256()
			var left clmath.U256
			if left.Sub(&limit, &gross); left.Lt(&room) {
				room = left
			}
		}
	}

	if room.IsZero() {
		return clmath.I128{}
	}
	if x.pick(2) == 0 {
		return clmath.I128{Lo: 1}
	}

	return clmath.I128{Lo: room[0], Hi: int64(room[1])}
}

// fits reports whether the principal and the fees that a change would pay fit
// int128: the contracts revert when they do not.
func (x *extremes) fits(p *market.Pool, e *market.ModifyLiquidity) bool {
	l := From(x.cfg, x.Freeze(), nil, func() {})
	i, j := l.st.Positions.Len(), l.st.NonNFT.Len()
	if e.Sender == testManager {
		return principalFits(p, e)
	}

	key := nonNFTKey{l.poolAt(e.Pool), e.TickLower, e.TickUpper, e.Sender, e.Salt}
	k, ok := l.nonNFTOf[key]
	if !ok || i+j == 0 {
		return principalFits(p, e)
	}

	d := *l.st.NonNFT.At(k)
	c := change{pool: d.Pool, lower: d.TickLower, upper: d.TickUpper}
	l.beginSpan()
	l.at = eventPlace{pool: market.NoIndex}
	held := liquidityShare{&d.Liquidity, &d.FeeGrowthInside0LastX128, &d.FeeGrowthInside1LastX128}
	if d.Liquidity.IsZero() {
		return principalFits(p, e)
	}
	if err := l.changeLiquidity(&c, held); err != nil {
		return false
	}

	return !c.fees0.Gt(&maxAmount) && !c.fees1.Gt(&maxAmount) && principalFits(p, e)
}

func principalFits(p *market.Pool, e *market.ModifyLiquidity) bool {
	lower, upper := clmath.SqrtPriceAtTick(e.TickLower), clmath.SqrtPriceAtTick(e.TickUpper)
	amount0, amount1 := clmath.Principal(p.Tick, &p.SqrtPriceX96, e.TickLower, e.TickUpper,
		&lower, &upper, e.LiquidityDelta.Abs(), e.LiquidityDelta.Sign() > 0)
	return !amount0.Gt(&maxAmount) && !amount1.Gt(&maxAmount)
}

// swap trades up to a limit, which may be the outermost price. Trade reports swaps
// that the contracts revert. It panics for an output that a step with almost no
// liquidity cannot pay, which they revert too.
func (x *extremes) swap(pool uint32) {
	o := script.Order{
		Amount: x.amount(), Down: x.pick(2) == 0, ExactIn: x.pick(3) > 0, Limit: x.price(),
		Fee: []uint32{0, 1, 3000, clmath.Pips}[x.pick(4)],
	}
	if o.Limit == clmath.MinSqrtPrice {
		o.Limit.AddUint64(&o.Limit, 1) // no swap may name the price itself
	}
	e, ok := x.trade(pool, o)
	if ok {
		x.apply(e)
	}
}

func (x *extremes) trade(pool uint32, o script.Order) (e market.Swap, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return script.Trade(&x.st, pool, o)
}

func (x *extremes) event() {
	if n := x.st.Pools.Len(); n == 0 || n < 4 && x.pick(16) == 0 {
		x.initialize()
		return
	}

	pool := uint32(x.pick(int(x.st.Pools.Len())))
	p := x.st.Pools.At(pool)
	switch x.pick(10) {
	case 0, 1, 2, 3:
		x.modify(pool)
	case 4:
		if !p.Liquidity.IsZero() {
			x.apply(market.Donate{Pool: p.ID, Amount0: x.amount(), Amount1: x.amount()})
		}
	case 5:
		x.apply(market.ProtocolFeeUpdated{
			Pool: p.ID, ProtocolFee: uint32(x.pick(2)*maxProtocolFee | x.pick(2)*maxProtocolFee<<12),
		})
	case 6:
		x.apply(market.Swap{ // a hook took the whole amount
			Pool: p.ID, SqrtPriceX96: p.SqrtPriceX96, Tick: p.Tick, Liquidity: p.Liquidity,
		})
	default:
		x.swap(pool)
	}
}

// maxSpans bounds the spans of an input: a swap over all prices with spacing 1 takes
// 7,000 steps.
const maxSpans = 60

// runExtremes applies a fuzz input, reverts all of it and applies it again.
func runExtremes(t testing.TB, choices []byte) {
	x := &extremes{Ledger: New(Config{Chain: 1, PositionManager: testManager}), t: t, choices: choices}
	for len(x.choices) > 0 && len(x.spans) < maxSpans {
		x.event()
	}
	if t, ok := t.(*testing.T); ok {
		clean(t, x.Freeze())
	}

	end := x.Freeze()
	for range x.spans {
		if err := x.Revert(); err != nil {
			t.Fatal(err)
		}
	}
	if n := x.st.Pools.Len() + x.st.Ticks.Len() + x.st.Positions.Len() + x.st.NonNFT.Len(); n != 0 {
		t.Errorf("%d rows are left of a market that was taken back", n)
	}
	for i := range x.spans {
		apply(t, x.Ledger, &x.spans[i])
	}
	sameState(t, x.Freeze(), end)
}

// TestExtremes runs random inputs.
func TestExtremes(t *testing.T) {
	for seed := range uint64(80) {
		w := newWorld(seed)
		choices := make([]byte, 400)
		for i := range choices {
			choices[i] = byte(w.r.Uint32())
		}
		runExtremes(t, choices)
	}
}

func FuzzExtremes(f *testing.F) {
	for seed := range uint64(8) {
		w := newWorld(seed)
		choices := make([]byte, 200)
		for i := range choices {
			choices[i] = byte(w.r.Uint32())
		}
		f.Add(choices)
	}
	f.Fuzz(func(t *testing.T, choices []byte) { runExtremes(t, choices) })
}
