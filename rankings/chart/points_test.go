package chart

import (
	"math"
	"slices"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// TestPoints: an interval that is over is valued at its own quotes, the running one by
// the pool's row, and a quarantined pool has prices of its own only.
func TestPoints(t *testing.T) {
	f := func(name string, change func(h *handmade, e *End, r *Records), want ...Point) {
		t.Helper()
		h := newHandmade()
		root := clmath.SqrtPriceAtTick(0)
		h.day.Open, h.day.High, h.day.Low = root, root, root
		h.day.VolumeUsd, h.day.FeesUsd, h.stats = 70, 7, market.PoolStats{TVLUsd: 350}
		e := End{
			At: today - 1, Open: 1 << 96, High: 1 << 98, Low: 1 << 95, Close: clmath.U256{0, 1 << 33},
			VolumeUsd: 9, FeesUsd: 4.02, Amounts: [2]float64{100, 20},
		}
		r := &Records{Quotes: quotes(2)}
		change(h, &e, r)
		r.Ends = []End{e}

		got := NewTimeline(h.state(), 0, Daily, today-1, r).Points()
		if got.Step != Daily || got.First != today-1 || len(got.Points) != len(want) {
			t.Fatalf("%s: %+v; want %d points", name, got, len(want))
		}
		for n := range want {
			a, b := &got.Points[n], &want[n]
			for field, x := range map[string][2]float64{
				"open": {a.Open, b.Open}, "high": {a.High, b.High}, "low": {a.Low, b.Low}, "close": {a.Close, b.Close},
				"price 0": {a.Price0Usd, b.Price0Usd}, "price 1": {a.Price1Usd, b.Price1Usd}, "tvl": {a.TVLUsd, b.TVLUsd},
				"volume": {a.VolumeUsd, b.VolumeUsd}, "fees": {a.FeesUsd, b.FeesUsd}, "ratio": {a.FeesTVLRatio, b.FeesTVLRatio},
			} {
				if !same(x[0], x[1]) && math.Abs(x[0]-x[1]) > 1e-12*math.Abs(x[1]) {
					t.Errorf("%s: %s of point %d is %g; want %g", name, field, n, x[0], x[1])
				}
			}
		}
	}

	// A price of 1 raw is 10 whole ones. 1 of token 0 at 1 USD and 2 of token 1 at 100.
	unknown := market.Unknown
	past := Point{10, 160, 2.5, 40, 1, 100, 201, 9, 4.02, 2}
	now := Point{10, 10, 10, 10, 3, 2, 350, 70, 7, 2}
	f("priced", func(*handmade, *End, *Records) {}, past, now)

	half := past
	half.Price0Usd, half.TVLUsd, half.FeesTVLRatio = unknown, unknown, unknown
	f("a leg had no price", func(_ *handmade, _ *End, r *Records) { r.Quotes[0][0].Usd = unknown }, half, now)
	unpriced := now
	unpriced.FeesTVLRatio = unknown
	f("a leg has none now", func(h *handmade, _ *End, _ *Records) { h.stats.Unpriced = true }, past, unpriced)
	empty := past
	empty.TVLUsd, empty.FeesTVLRatio = 0, unknown
	f("nothing in it", func(_ *handmade, e *End, _ *Records) { e.Amounts = [2]float64{} }, empty, now)

	void, gone := past, now
	for _, p := range []*Point{&void, &gone} {
		p.Price0Usd, p.Price1Usd, p.TVLUsd = unknown, unknown, unknown
		p.VolumeUsd, p.FeesUsd, p.FeesTVLRatio = unknown, unknown, unknown
	}
	f("quarantined", func(h *handmade, _ *End, _ *Records) { h.pool.Quarantined = true }, void, gone)

	for token := range uint32(2) {
		blind, blindNow := past, now
		for _, p := range []*Point{&blind, &blindNow} {
			p.Open, p.High, p.Low, p.Close = unknown, unknown, unknown, unknown
		}
		// Decimals that are bad count as none.
		blind.TVLUsd, blind.FeesTVLRatio = 100*1+2*100, 4.02/300*100
		if token == 1 {
			blind.TVLUsd, blind.FeesTVLRatio = 1+20*100, 4.02/2001*100
		}
		f("bad decimals", func(h *handmade, _ *End, _ *Records) { h.tokens.Mut(token).BadDecimals = true }, blind, blindNow)
	}
}

// lived is a position of 100 ticks around the price that was minted four days ago, added
// to a day later and reduced yesterday. Amounts of fee growth are in units of 2^64, in
// which a liquidity of 2^64 earns one raw unit.
func lived() (h *handmade, r *Records, kept *PositionRecords) {
	h = newHandmade()
	units := func(n uint64) clmath.U256 { return clmath.U256{0, n} }
	for n, tick := range []int32{-100, 100} {
		h.ticks.Append(market.Tick{
			Tick: tick, SqrtPriceX96: clmath.SqrtPriceAtTick(tick),
			FeeGrowthOutside0X128: units([]uint64{17, 3}[n]), FeeGrowthOutside1X128: units([]uint64{1, 2}[n]),
		})
	}
	p := h.positions.Append(market.Position{
		TickLower: -100, TickUpper: 100, LowerSlot: 0, UpperSlot: 1, Overflow: market.NoIndex,
		LiquidityOrUsd: clmath.U128{Hi: 1}, MintedAt: uint32(Daily.Start(today-4)) + 3600,
		FeeGrowthInside0LastX128: units(100), FeeGrowthInside1LastX128: units(50),
		Deposited0: clmath.U128{Lo: 9000}, CostUsd: 5,
	})
	h.pool.FeeGrowthGlobal0X128, h.pool.FeeGrowthGlobal1X128 = units(130), units(70)

	r = &Records{Quotes: quotes(6)}
	for n, growth := range [][2]uint64{{70, 40}, {95, 46}, {110, 47}, {121, 60}} {
		tick := int32(10 * n)
		r.Ends = append(r.Ends, End{
			At: today - 4 + uint32(n), Tick: tick, Close: clmath.SqrtPriceAtTick(tick),
			FeeGrowthGlobal0X128: units(growth[0]), FeeGrowthGlobal1X128: units(growth[1]),
		})
	}
	kept = &PositionRecords{
		History: NewHistory(h.positions.At(p), Daily, 0, today),
		Lower:   []Outside{{today - 5, units(7), units(1)}, {today - 2, units(17), units(1)}},
		Upper:   []Outside{{today - 4, units(3), units(2)}},
		Native:  quotes(6)[1],
	}
	return h, r, kept
}

// did is a transaction so many days ago, with its amounts of both tokens ten apart.
func did(kind market.TransactionType, daysAgo uint32, liquidity int64, amount, fees0, fees1 uint64) *market.Transaction {
	t := &market.Transaction{
		Type: kind, Time: Daily.Start(today-daysAgo) + 3600, LiquidityDelta: clmath.I128{Hi: liquidity},
		Amount0: clmath.U256{amount}, Amount1: clmath.U256{amount + 10},
		Fees0: clmath.U256{fees0}, Fees1: clmath.U256{fees1}, GasWei: clmath.U128{Lo: amount * 1e15},
	}
	return t
}

// TestPositionPoints: a past day of a position has the flows up to then, what its
// liquidity held at the day's end, and the fees since its newest change, at the day's
// quotes; the last point is its row.
func TestPositionPoints(t *testing.T) {
	h, r, kept := lived()
	history := kept.History
	history.Add(did(market.Mint, 4, 1, 1000, 0, 0))
	history.Add(did(market.Mint, 3, 1, 2000, 30, 5))
	burn := did(market.Burn, 1, -1, 500, 40, 20)
	burn.GasUnknown = true
	history.Add(burn)
	history.Add(did(market.Transfer, 1, 0, 7, 0, 0)) // its gas counts

	st := h.state()
	line := NewTimeline(st, 0, Daily, today-5, r)
	series := line.Position(0, kept)
	pairs := func(a, b uint64) [2]clmath.U256 { return [2]clmath.U256{{a}, {b}} }
	past := []value.Past{
		{Deposited: pairs(1000, 1010), Uncollected: pairs(60-50, 37-35), GasWei: clmath.U256{1000 * 1e15}},
		{Deposited: pairs(3000, 3020), Uncollected: pairs(2*(85-80), 2*(43-40)), Collected: pairs(30, 5)},
		{Deposited: pairs(3000, 3020), Uncollected: pairs(2*(90-80), 2*(44-40)), Collected: pairs(30, 5)},
		{
			Deposited: pairs(3000, 3020), Uncollected: pairs(101-100, 57-50), Collected: pairs(70, 25),
			Withdrawn: pairs(500, 510), GasUnknown: true,
		},
	}
	if series.Step != Daily || series.First != today-4 || len(series.Points) != len(past)+1 {
		t.Fatalf("the series is %+v", series)
	}

	for n := range past {
		p, tick := &past[n], int32(10*n)
		liquidity := clmath.U128{Hi: []uint64{1, 2, 2, 1}[n]}
		if n > 0 {
			p.GasWei = clmath.U256{3000 * 1e15}
		}
		root, lower, upper := clmath.SqrtPriceAtTick(tick), clmath.SqrtPriceAtTick(-100), clmath.SqrtPriceAtTick(100)
		p.Principal[0], p.Principal[1] = clmath.Principal(tick, &root, -100, 100, &lower, &upper, liquidity, false)
		p.AgeSeconds = int64(n+1)*market.Day - 3600
		q := quotes(6)
		p.Legs, p.NativeUsd = [2]value.Quote{q[0][n+1], q[1][n+1]}, q[1][n+1].Usd
		f := value.PastFigures(st, 0, p)
		checkPoint(t, n, &series.Points[n], &f)
	}
	var row value.Metrics
	value.Position(st, 0, &row)
	checkPoint(t, len(past), &series.Points[len(past)], &row.Figures)
}

// checkPoint holds a point against the figures that it is of.
func checkPoint(t *testing.T, n int, got *PositionPoint, want *value.Figures) {
	t.Helper()
	for field, x := range map[string][2]float64{
		"pnl": {got.PnlUsd, want.PnlUsd}, "value": {got.AssetValueUsd, want.UnderlyingValueUsd},
		"apr": {got.APR, want.APR}, "fee apr": {got.FeeAPR, want.FeeAPR},
		"divergence": {got.DivergenceLossUsd, want.DivergenceUsd},
	} {
		if !same(x[0], x[1]) {
			t.Errorf("%s of point %d is %g; want %g", field, n, x[0], x[1])
		}
	}

	if !market.Known(want.UnderlyingValueUsd) || !market.Known(want.FeeAPR) {
		t.Errorf("point %d shows little: %+v", n, *want)
	}
}

// TestEndsOfASeries: a closed position's series ends with its close, one that closed
// before the range has no points, and one without a history has no series.
func TestEndsOfASeries(t *testing.T) {
	f := func(name string, from uint32, change func(h *handmade, kept *PositionRecords), first uint32, points int) {
		t.Helper()
		h, r, kept := lived()
		kept.History.Add(did(market.Mint, 4, 1, 1000, 0, 0))
		change(h, kept)
		r.Quotes = quotes(int(today-from) + 1)
		kept.Native = r.Quotes[0]
		got := NewTimeline(h.state(), 0, Daily, from, r).Position(0, kept)
		if points < 0 {
			if got.Points != nil {
				t.Errorf("%s: %+v; want none", name, got)
			}
			return
		}
		if got.Points == nil || len(got.Points) != points || got.First != first {
			t.Errorf("%s: %d points (nil: %t) from %d on; want %d from %d on",
				name, len(got.Points), got.Points == nil, got.First, points, first)
		}
	}
	closedAt := func(daysAgo uint32) func(h *handmade, kept *PositionRecords) {
		return func(h *handmade, kept *PositionRecords) {
			p := h.positions.Mut(0)
			p.ClosedAt = uint32(Daily.Start(today-daysAgo)) + 9
			p.SetClose([2]market.ClosePrice{})
			kept.History.Add(did(market.Burn, daysAgo, -1, 1000, 0, 0))
		}
	}

	f("open", today-5, func(*handmade, *PositionRecords) {}, today-4, 5)
	f("open, of a short range", today-2, func(*handmade, *PositionRecords) {}, today-2, 3)
	f("closed", today-5, closedAt(2), today-4, 3)
	f("closed on its first day", today-5, closedAt(4), today-4, 1)
	f("closed on the first day of the range", today-2, closedAt(2), today-2, 1)
	f("closed the day before", today-1, closedAt(2), today-1, 0)
	f("without a history", today-5, func(h *handmade, kept *PositionRecords) {
		kept.History = NewHistory(h.positions.At(0), Daily, 0, today)
	}, 0, -1)
}

// TestReopened: of a position that was closed and opened again the fees are known since
// then, and those of before are not, while it had liquidity.
func TestReopened(t *testing.T) {
	h, r, kept := lived()
	kept.History.Add(did(market.Mint, 4, 1, 1000, 0, 0))
	kept.History.Add(did(market.Burn, 3, -1, 900, 9, 9))
	kept.History.Add(did(market.Mint, 1, 1, 800, 0, 0))
	points := NewTimeline(h.state(), 0, Daily, today-5, r).Position(0, kept).Points
	known := []bool{false, true, true, true, true}
	if len(points) != len(known) {
		t.Fatalf("%d points; want %d", len(points), len(known))
	}

	for n, p := range points {
		if market.Known(p.FeeAPR) != known[n] || !market.Known(p.AssetValueUsd) {
			t.Errorf("point %d is %+v; want its fees known: %t", n, p, known[n])
		}
		if closed := n == 1 || n == 2; (p.AssetValueUsd == 0) != closed {
			t.Errorf("point %d has %g USD", n, p.AssetValueUsd)
		}
	}
	var inside []uint64
	for _, c := range kept.History.changes {
		inside = append(inside, c.inside[0][1], c.inside[1][1])
	}
	if want := []uint64{0, 0, 0, 0, 100, 50}; !slices.Equal(inside, want) {
		t.Errorf("fee growth inside at each change: %d; want %d", inside, want)
	}
}

// TestOwedSince: a growth that is a little too high owes nothing; one that wrapped round
// is told by its size.
func TestOwedSince(t *testing.T) {
	f := func(inside, last clmath.U256, want uint64) {
		t.Helper()
		if got := owedSince(&inside, &last, clmath.U128{Hi: 1}); got != (clmath.U256{want}) {
			t.Errorf("from %s to %s: %s; want %d", last.Dec(), inside.Dec(), got.Dec(), want)
		}
	}

	f(clmath.U256{0, 9}, clmath.U256{0, 4}, 5)
	f(clmath.U256{0, 4}, clmath.U256{0, 4}, 0)
	f(clmath.U256{0, 4}, clmath.U256{1, 4}, 0)
	f(clmath.U256{0, 4}, clmath.U256{0, 9}, 0)
	wrapped := *new(clmath.U256).Neg(&clmath.U256{0, 3})
	f(clmath.U256{0, 2}, wrapped, 5)
}

// TestOnlyChange: the fee growth inside at a position's only change is that of its record.
func TestOnlyChange(t *testing.T) {
	_, _, kept := lived()
	kept.History.findInside() // of nothing
	kept.History.Add(did(market.Mint, 4, 1, 1000, 0, 0))
	kept.History.findInside()
	c := &kept.History.changes[0]
	if !c.known || c.inside != [2]clmath.U256{{0, 100}, {0, 50}} {
		t.Errorf("%+v", *c)
	}
}
