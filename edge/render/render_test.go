package render

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
	"tidemark/rankings/value"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file, byte for byte.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if !json.Valid(got) {
		t.Errorf("%s: not JSON: %s", name, got)
	}

	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
	}
}

// testState is a chain with one pool of native and a stable token, with
// position 0 open and position 1 closed, and a dynamic pool of spam.
func testState() *market.State {
	var tokens market.Table[market.Token]
	tokens.Append(market.Token{Symbol: texts.New("ETH"), Name: texts.New("Ether"), Decimals: 18})
	tokens.Append(market.Token{
		Address: market.Address{0xa0, 0xb8}, Symbol: texts.New("USDC"), Name: texts.New("USD Coin"), Decimals: 6,
	})
	tokens.Append(market.Token{
		Address: market.Address{0xee}, Symbol: texts.New("<b>\"\u202e\x00sp\u0085am\""), BadDecimals: true,
	})
	var prices market.Table[market.Price]
	prices.Append(market.Price{
		Usd: 2534.75, AsOf: 1_700_000_000, ExitUsd: math.Inf(1), OnlyPool: market.NoIndex,
		Markets: 3, Source: market.SourceAnchor, Corroborated: true, Anchor: true,
	})

	prices.Append(market.Price{
		Usd: 1, AsOf: 1_700_000_001, ExitUsd: math.Inf(1), OnlyPool: market.NoIndex,
		Source: market.SourceAnchor, Corroborated: true, Anchor: true,
	})

	prices.Append(market.Price{
		Usd: market.Unknown, OnlyPool: market.NoIndex, Reason: market.ReasonBadDecimals,
	})

	var pools market.Table[market.Pool]
	pools.Append(market.Pool{
		ID: market.PoolID{0xcc, 31: 1}, Currency0: 0, Currency1: 1, Fee: 500, TickSpacing: 10,
		CreatedAt: 1_690_000_000, Tick: -197_986, Swaps: 41, LiquidityChanges: 9,
		SqrtPriceX96: clmath.SqrtPriceAtTick(-197_986), Liquidity: clmath.U128{Lo: 7_654_321_000_000},
		FeeGrowthGlobal0X128: clmath.U256{0, 0, 1_000, 0},
		FeeGrowthGlobal1X128: clmath.U256{0, 1 << 63, 0, 0}, OpenPositions: 1, Holders: 1,
	})

	pools.Append(market.Pool{
		ID: market.PoolID{0xdd}, Currency0: 1, Currency1: 2, Fee: market.DynamicFee,
		LastFee: market.NoFee, TickSpacing: 1, Hooks: market.Address{0x12, 19: 0x80},
		SqrtPriceX96: clmath.SqrtPriceAtTick(5), Tick: 5,
	})
	var stats market.Table[market.PoolStats]
	stats.Append(market.PoolStats{
		TVLUsd: 1234567.875, VolumeUsd1h: 0.05, FeesUsd1h: 5e-8, VolumeUsd30d: 3e22, FeesUsd30d: 12.75,
		VolumeUsd24h: 0.1, VolumeUsd7d: 1e22, FeesUsd24h: 1e-7,
		FeeAPR: 123_456_789, CurrentPrice: 2534.25,
	})
	stats.Append(market.PoolStats{
		TVLUsd: market.Unknown, FeeAPR: market.Unknown, CurrentPrice: market.Unknown, Unpriced: true,
	})
	st := &market.State{
		Chain: 1, Head: market.Head{Number: 18_500_000, Time: 1_700_000_400}, Native: 0,
		Tokens: tokens.Freeze(), Prices: prices.Freeze(), Pools: pools.Freeze(), Stats: stats.Freeze(),
	}

	addPositions(st)
	return st
}

func addPositions(st *market.State) {
	var owners market.Table[market.Address]
	owners.Append(market.Address{0xab, 19: 0xcd})
	var ticks market.Table[market.Tick]
	for _, tick := range []int32{-200_000, -196_000} {
		ticks.Append(market.Tick{SqrtPriceX96: clmath.SqrtPriceAtTick(tick)})
	}

	open := market.Position{
		ID: 42, TickLower: -200_000, TickUpper: -196_000, LowerSlot: 0, UpperSlot: 1,
		Overflow: market.NoIndex, LiquidityOrUsd: clmath.U128{Lo: 7_654_321_000_000}, CostUsd: -1234.5,
		Deposited0: clmath.U128{Lo: 14_000_000_000_000_000}, Deposited1: clmath.U128{Lo: 35_000_000},
		Collected1: clmath.U128{Lo: 120_000}, GasWei: clmath.U128{Lo: 3_000_000_000_000_001},
		MintedAt: 1_699_000_000, Timed: true, SecondsInside: 1_699_250_099,
	}

	closed := market.Position{
		ID: 43, TickLower: -200_000, TickUpper: -196_000, Overflow: market.NoIndex, GasUnknown: true,
		Withdrawn0: clmath.U128{Lo: 1}, Deposited1: clmath.U128{Hi: 1}, CostUsd: market.Unknown,
		MintedAt: 1_699_000_000, ClosedAt: 1_699_500_000, CloseNativeUsd: 1800.5,
		Timed: true, SecondsInside: 100_000, SecondsClosed: 100_000,
	}
	closed.SetClose([2]market.ClosePrice{
		{Usd: 1800.5, AsOf: 1_699_499_990, Source: market.SourceAnchor, Corroborated: true},
		{Usd: market.Unknown},
	})

	var positions market.Table[market.Position]
	positions.Append(open)
	positions.Append(closed)
	st.Owners, st.Ticks, st.Positions = owners.Freeze(), ticks.Freeze(), positions.Freeze()
}

func TestPositionGolden(t *testing.T) {
	st := testState()
	for i, name := range []string{"position_open.json", "position_closed.json"} {
		var m value.Metrics
		value.Position(st, uint32(i), &m)

		got := AppendPosition([]byte("x"), st, uint32(i), &m, uint64(i))
		golden(t, name, got[1:])
		share := NewShare(st, 0)
		shared := share.AppendPosition([]byte("x"), st, st.Positions.At(uint32(i)), &m, uint64(i))
		if string(shared) != string(got) {
			t.Errorf("%s: got %s with the shared parts, want %s", name, shared, got)
		}
	}
}

// TestSharedParts checks that rows with the parts that their pool shares are those without,
// also where nothing but the pool says what a token is worth: closed rows show that price of
// now, and open ones do not.
func TestSharedParts(t *testing.T) {
	f := func(only uint32, corroborated, quarantined bool, wantOwn bool) {
		t.Helper()
		st := testState()
		prices, pools := market.Thaw(st.Prices), market.Thaw(st.Pools)
		p := prices.Mut(0)
		p.OnlyPool, p.Corroborated = only, corroborated
		pools.Mut(0).Quarantined = quarantined
		st.Prices, st.Pools = prices.Freeze(), pools.Freeze()

		share := NewShare(st, 0)
		if own := string(share.closed()) != string(share.identity()); own != wantOwn {
			t.Errorf("closed rows have an identity of their own: %t; want %t", own, wantOwn)
		}
		for i := range uint32(2) {
			var m value.Metrics
			value.Position(st, i, &m)
			want := AppendPosition(nil, st, i, &m, 3)
			m = value.Metrics{}
			share.Measure(st, st.Positions.At(i), &m)
			got := share.AppendPosition(nil, st, st.Positions.At(i), &m, 3)
			if string(got) != string(want) {
				t.Errorf("position %d: got %s with the shared parts, want %s", i, got, want)
			}
		}
	}
	f(market.NoIndex, true, false, false)
	f(0, true, false, false)
	f(0, false, false, true)
	f(1, false, false, false)
	f(0, false, true, false)
}

func TestPoolGolden(t *testing.T) {
	st := testState()
	golden(t, "pool.json", AppendPool(nil, NewPool(st, 0), 7))
	golden(t, "pool_unranked.json", AppendPool(nil, NewPool(st, 1), 0))
	golden(t, "pool_dynamic.json", AppendPoolDetail(nil, NewPool(st, 1)))
}

// TestTokensGolden renders a token with markets, in a list and by itself, and one
// that has no price and no texts.
func TestTokensGolden(t *testing.T) {
	st := testState()
	pools := rankings.TokenPools{Pools: 2, TVLUsd: 1234567.875}
	golden(t, "token_row.json", AppendTokenRow(nil, st, 0, pools, 7))
	unknown := rankings.TokenPools{Pools: 1, TVLUsd: market.Unknown}
	golden(t, "token_row_unknown.json", AppendTokenRow(nil, st, 2, unknown, 8))

	e := value.PriceExplanation{
		Token: 0, Price: *st.Prices.At(0), FeedUsd: 2500, Omitted: 3,
		Markets: []value.MarketExplanation{
			{Pool: 0, By: 1, ByUsd: 1, Usd: 2534.75, ReachUsd: 9e6, WeightUsd: 8.5e6, Used: true, Checks: []value.Check{
				{Name: "market-usd", Have: 9e6, Want: 1000, Met: true},
			}},
			{Pool: 1, By: 1, ByUsd: 1, Usd: market.Unknown, WeightUsd: market.Unknown, Reason: market.ReasonThinMarket},
		},
		Checks: []value.Check{{Name: "lone-usd", Have: market.Unknown, Want: 50_000}, {Name: "lone-age", Have: 7, Want: 6, Met: true}},
	}
	golden(t, "token.json", AppendToken(nil, st, &e, pools))
	e = value.PriceExplanation{Token: 2, Price: *st.Prices.At(2), FeedUsd: market.Unknown}
	golden(t, "token_unknown.json", AppendToken(nil, st, &e, rankings.TokenPools{}))
}

func TestTicksGolden(t *testing.T) {
	st := testState()
	var ticks market.Table[market.Tick]
	for i, net := range []clmath.I128{
		{Lo: 7_654_321_000_000}, {Lo: 0, Hi: -1 << 62}, {Lo: 5}, {},
	} {
		ticks.Append(market.Tick{
			SqrtPriceX96: clmath.SqrtPriceAtTick(int32(-200_000 + i*10)), LiquidityNet: net,
			LiquidityGross: clmath.U128{Lo: 7_654_321_000_000, Hi: uint64(i)},
		})
	}
	st.Ticks = ticks.Freeze()

	refs := []market.TickRef{{Tick: -200_000, Slot: 0}, {Tick: -199_990, Slot: 1}, {Tick: -199_970, Slot: 3}}
	golden(t, "ticks.json", append(AppendTicks(nil, st, 0, refs), '}'))
	golden(t, "ticks_unpriced.json", append(AppendTicks(nil, st, 1, refs[:1]), '}'))
}

// TestEstimateGolden renders an estimate of which all is known, one of which nothing is,
// and one that stands on the clamp.
func TestEstimateGolden(t *testing.T) {
	unknown := market.Unknown
	render := func(name string, e chart.Estimate) {
		t.Helper()
		golden(t, name, append(AppendEstimate(nil, &e), '}'))
	}

	render("estimate.json", chart.Estimate{
		From: 1_700_006_400, To: 1_702_544_523, FeesUsd: 123.4375, FeeAPR: 15.25,
		DivergenceUsd: -17.5, TimeInRange: 0.75, Basis: chart.BasisHours, OwnPrice: true, SplitFees: true, SplitTime: true,
	})
	render("estimate_unknown.json", chart.Estimate{
		From: 1_700_006_400, To: 1_700_006_400, FeesUsd: unknown, FeeAPR: unknown,
		DivergenceUsd: unknown, TimeInRange: unknown, Basis: chart.BasisDays,
	})
	render("estimate_clamped.json", chart.Estimate{
		From: 1_700_006_400, To: 1_700_006_401, FeeAPR: 2e9, TimeInRange: 1,
	})
}

func TestText(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		if got := string(text([]byte("x"), texts.New(s), 4)); got != "x"+want {
			t.Errorf("%q: got %s; want %s", s, got[1:], want)
		}
	}

	f("", `""`)
	f("abcd", `"abcd"`)
	f("abcde", `"abcd"`)
	f("äöüßx", `"äöüß"`)
	f("a\x00b\n\u0085c\x7fde", `"abcd"`)
	f(`"\/`, `"\"\\/"`)
	f("\xffa\xc3", `"�a�"`)
	f("</a>", `"</a>"`)
	f("😀\u2028", "\"😀\u2028\"")
	f("U\u200bS\u202eD\ufeffC", `"USDC"`)
	f("\u200c\u200d\u200e\u200f\u202a\u202d\u2060\u2064\u2069", `""`)
	f("\u200a\u2010\u2029\u202f\u205f", "\"\u200a\u2010\u2029\u202f\"")
	f("\u206a", "\"\u206a\"")
	if got := string(text(nil, 0, 4)); got != "null" {
		t.Errorf("none: got %s; want null", got)
	}
}

func TestString(t *testing.T) {
	f := func(s string) {
		t.Helper()
		var back string
		err := json.Unmarshal(String(nil, s), &back)
		if want := strings.ToValidUTF8(s, "\ufffd"); err != nil || back != want {
			t.Errorf("%q: got %s, %v; reads back as %q", s, String(nil, s), err, back)
		}
		text := String(nil, s)
		if got := string(unescape([]byte("x"), text[1:len(text)-1])); got != "x"+back {
			t.Errorf("%s without escapes is %q; want %q", text, got[1:], back)
		}
	}

	f("")
	f("plain")
	f("\x00\x01\n\t\"\\\x7f")
	f("\x0a\x0b\x0f\x10\x1a\x1f u001f")
	f("a\xffb")
	f("é😀\u2028")

	// A terminal shows nothing for a control character, so that none stands in the bytes.
	const want = `" ~\n\u0000\u001f\u007f\"\\"`
	if got := string(String(nil, " ~\n\x00\x1f\x7f\"\\")); got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

func TestNumber(t *testing.T) {
	f := func(x float64, want string) {
		t.Helper()
		if got := string(number([]byte("x"), x)); got != "x"+want {
			t.Errorf("%v: got %s; want %s", x, got[1:], want)
		}
	}

	f(0, "0")
	f(math.Copysign(0, -1), "0")
	f(0.1, "0.1")
	f(-12.5, "-12.5")
	f(123456789, "123456789")
	f(1e21, "1e+21")
	f(-1e-7, "-1e-07")
	f(math.MaxFloat64, "1.7976931348623157e+308")
	f(math.NaN(), "null")
	f(math.Inf(1), "null")
	f(math.Inf(-1), "null")
}

func FuzzText(f *testing.F) {
	f.Add("ab\x00\"\\\xff😀", 3)
	f.Add("", 0)
	f.Add("\u202e\x7f\n", 1)
	f.Add("😀😀\u200d😀", 2)

	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 0), 200)
		got := text(nil, texts.New(s), limit)
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q: %s: %v", s, got, err)
		}
		if n := len([]rune(back)); n > limit {
			t.Errorf("%q: %d characters; want at most %d", s, n, limit)
		}
	})
}

func BenchmarkPosition(b *testing.B) {
	st := testState()
	p := st.Positions.At(0)
	var m value.Metrics
	value.Position(st, 0, &m)
	share := NewShare(st, 0)
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		dst = share.AppendPosition(dst[:0], st, p, &m, 1)
	}
	b.ReportMetric(float64(len(dst)), "bytes")
}

func BenchmarkPositionWithMetrics(b *testing.B) {
	st := testState()
	p := st.Positions.At(0)
	var m value.Metrics
	share := NewShare(st, 0)
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		share.Measure(st, p, &m)
		dst = share.AppendPosition(dst[:0], st, p, &m, 1)
	}
}

func BenchmarkNewPool(b *testing.B) {
	st := testState()
	for b.Loop() {
		NewPool(st, 0)
	}
}

// TestMoment checks moments against the formatting of package time.
func TestMoment(t *testing.T) {
	f := func(unixMilli int64) {
		t.Helper()
		want := time.UnixMilli(unixMilli).UTC().Format(`"2006-01-02T15:04:05.000Z"`)
		if got := string(moment([]byte("x"), unixMilli)); got != "x"+want {
			t.Errorf("%d: got %s, want x%s", unixMilli, got, want)
		}
	}
	for _, unixMilli := range []int64{
		1, -1, 999, 1_700_000_400_007, 1_709_164_799_999, 1_709_164_800_000, 951_782_400_000,
		-62_167_219_200_000, -62_167_219_200_001, 253_402_300_799_999, 253_402_300_800_000, math.MaxUint32 * 1000,
	} {
		f(unixMilli)
	}

	dice := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		f(dice.Int64N(1 << 48))
	}
	if got := string(moment(nil, 0)); got != "null" {
		t.Errorf("no moment is %s", got)
	}
}

func BenchmarkMoment(b *testing.B) {
	var dst []byte
	for b.Loop() {
		dst = moment(dst[:0], 1_700_000_400_007)
	}
}

// BenchmarkClosedPosition renders a closed row with the parts that its pool shares.
func BenchmarkClosedPosition(b *testing.B) {
	st := testState()
	var m value.Metrics
	value.Position(st, 1, &m)
	dst := make([]byte, 0, 4096)

	share := NewShare(st, 0)
	b.Run("shared", func(b *testing.B) {
		for b.Loop() {
			dst = share.AppendPosition(dst[:0], st, st.Positions.At(1), &m, 1)
		}
	})
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			dst = AppendPosition(dst[:0], st, 1, &m, 1)
		}
	})
}
