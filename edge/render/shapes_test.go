package render

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
)

// testDays are two days of a pool, the second without prices.
var testDays = chart.Points{Step: chart.Daily, First: 19675, Points: []chart.Point{
	{
		Open: 2500, High: 2600.5, Low: 2450.25, Close: 2534.75, Price0Usd: 2534.75, Price1Usd: 1,
		TVLUsd: 1_000_000, VolumeUsd: 250_000, FeesUsd: 750, FeesTVLRatio: 0.075,
	},
	{
		Open: 2534.75, High: 2534.75, Low: 2534.75, Close: 2534.75,
		Price0Usd: market.Unknown, Price1Usd: market.Unknown, TVLUsd: market.Unknown,
		FeesTVLRatio: market.Unknown,
	},
}}

func TestChartsGolden(t *testing.T) {
	st := testState()
	p := st.Pools.At(0)
	bins := []chart.Bin{{
		TickLower: -200_000, TickUpper: -196_000, Liquidity: clmath.U128{Hi: 1},
		Amount0: clmath.U256{3e18}, Amount1: clmath.U256{1_500_000}, Price: 2000.5,
	}}

	both := func(of *market.Position) []byte {
		dst := AppendPoolPrice([]byte(`{"range":"30d"`), &testDays)
		dst = AppendPoolOverview(dst, &testDays)
		dst = AppendBins(AppendRange(AppendDistribution(dst, p), of), DecimalsOf(st, p), bins)
		return AppendPoolOverviewCurrent(dst, st, 0)
	}

	golden(t, "charts_pool.json", append(AppendPoolSeries(both(nil), &testDays), '}'))
	days := []chart.PositionPoint{
		{PnlUsd: 12.5, AssetValueUsd: 1000, APR: 91.25, FeeAPR: 2e5, DivergenceLossUsd: -3.5},
		{
			PnlUsd: market.Unknown, AssetValueUsd: market.Unknown, APR: market.Unknown,
			FeeAPR: market.Unknown, DivergenceLossUsd: market.Unknown,
		},
	}

	hours := testDays
	hours.Step, hours.First = chart.Hourly, 19675*market.HoursOfDay+23
	golden(t, "charts_hours.json", append(AppendPoolSeries(
		AppendPoolPrice([]byte(`{"range":"30d","interval":"1h"`), &hours), &hours), '}'))

	of := st.Positions.At(0)
	position := func(name string, days *chart.PositionPoints) {
		golden(t, name, append(AppendPositionSeries(both(of), days), '}'))
	}
	position("charts_position.json", &chart.PositionPoints{Step: chart.Daily, First: 19675, Points: days})
	position("charts_unknown.json", new(chart.PositionPoints))
}

func TestTransactionsGolden(t *testing.T) {
	mint := market.Transaction{
		Type: market.Mint, Block: 18_000_000, LogIndex: 7, TxHash: market.Hash{0xab}, Time: 1_700_000_000,
		Amount0: clmath.U256{3e18}, Amount1: clmath.U256{1_500_000}, LiquidityDelta: clmath.I128{Lo: 77},
		GasUsed: 210_000, GasPrice: clmath.U128{Lo: 20e9}, GasWei: clmath.U128{Lo: 4_200_000_000_000_000},
		Price0Usd: 2534.75, Price1Usd: 1, NativeUsd: 2534.75,
	}
	collect := mint
	collect.Type, collect.LiquidityDelta, collect.LogIndex = market.Collect, clmath.I128{}, 9
	collect.Amount0, collect.Amount1 = clmath.U256{}, clmath.U256{}
	collect.Fees0, collect.Fees1 = clmath.U256{1e15}, clmath.U256{250_000}
	collect.Price1Usd, collect.GasUnknown = market.Unknown, true
	moved := market.Transaction{
		Type: market.Transfer, Block: 18_000_001, Time: 1_700_000_012, Moved: true,
		From: market.Address{0x01}, To: market.Address{},
	}

	entries := []byte{}
	for i, e := range []market.Transaction{moved, collect, mint} {
		if i > 0 {
			entries = append(entries, ',')
		}
		entries = AppendTransaction(entries, &e, Decimals{18, 6}, false)
	}

	f := func(name string, h History) {
		t.Helper()
		golden(t, name, append(AppendHistory([]byte(`{"positionId":"1"`), entries, h), '}'))
	}

	f("transactions.json", History{})
	f("transactions_partial.json", History{Degraded: true, Partial: true})
	f("transactions_truncated.json", History{Truncated: true})
}

// TestQuarantinedTransaction: nothing of a quarantined pool is worth anything, also not
// what it has none of.
func TestQuarantinedTransaction(t *testing.T) {
	e := market.Transaction{Type: market.Mint, Price0Usd: 2, Price1Usd: 3, NativeUsd: 4}
	for _, amount := range []uint64{0, 5e18} {
		e.Amount0 = clmath.U256{amount}
		var m map[string]any
		if err := json.Unmarshal(AppendTransaction(nil, &e, Decimals{18, 18}, true), &m); err != nil {
			t.Fatal(err)
		}

		for _, name := range []string{"token0PriceUsd", "token1PriceUsd", "valueUsd", "gasUsd"} {
			if v, ok := m[name]; v != nil || !ok {
				t.Errorf("with %d: %s is %v; want null", amount, name, v)
			}
		}
	}
}

func TestMetaGolden(t *testing.T) {
	chains := []Chain{
		{
			ID: 1, Slug: "ethereum", Name: "Ethereum", ShortName: "ETH", ExplorerURL: "https://etherscan.io",
			NativeSymbol: "ETH", WrappedSymbol: "WETH", WrappedNative: market.Address{0xc0}, Enabled: true,
		},
		{ID: 10, Slug: "optimism", Name: "OP Mainnet", ShortName: "OP"},
	}

	golden(t, "chains.json", AppendChains(nil, chains))
	golden(t, "protocols.json", AppendProtocols(nil, chains))
	golden(t, "stats.json", AppendStats(nil, []Corpus{
		{Chain: 1, Positions: 10, Active: 4, Pools: 3, Transactions: 50},
		{Chain: 42161, Positions: 5, Active: 5, Pools: 1, Transactions: 7},
	}, 1_700_000_000_123))
	var plans []byte
	for i, p := range accounts.DefaultPlans() {
		if i > 0 {
			plans = append(plans, ',')
		}
		plans = AppendPlan(plans, &p)
	}

	golden(t, "plans.json", append(append([]byte(`[`), plans...), ']'))
	golden(t, "units.json", AppendUnits(nil, accounts.RoutePositionCharts))
}

func TestHealthGolden(t *testing.T) {
	indexed := market.Head{Number: 100, Time: 1_700_000_000}
	running := rankings.Chain{ID: 1, Status: rankings.ChainStatus{
		LastIndexed: indexed, ChainHead: market.Head{Number: 105, Time: 1_700_000_060},
		LastIndexedAt: 1_700_000_001_500, ETASeconds: 12, Role: rankings.Follower, QuarantinedPools: 2,
		Progress: &rankings.Progress{
			FromBlock: 1, ToBlock: 105, AtBlock: 100, Events: 7, RequestsPerSecond: 12.5,
		},
		Verified: &rankings.Verification{Block: 90, At: 1_700_000_001_000, Compared: 50, Different: 1},
	}}
	body := AppendChainHealth(AppendHealth(nil, Degraded, "v1"), &running, Syncing, "catching up", &rankings.Membership{
		Writer: "a", Cut: 12, LagCuts: 2, LagMillis: 1500,
		Snapshot: rankings.ChainSnapshot{Cut: 9, Bytes: 1 << 20, MadeAt: 1_700_000_000_000},
	})
	body = AppendChainHealth(append(body, ','), &rankings.Chain{ID: 42161}, OK, "", &rankings.Membership{})
	body = AppendChainHealth(append(body, ','), &rankings.Chain{ID: 43114}, OK, "", nil)
	body = AppendDisk(append(body, ']'), "readonly", 1<<30)
	offset := -3661500 * time.Millisecond
	body = AppendClock(body, &accounts.ClockState{Offset: offset, Mistrusted: true})
	golden(t, "health.json", append(body, '}'))
}

func TestExplanationGolden(t *testing.T) {
	e := &value.Explanation{Now: 1_700_000_000}
	e.Prices = []value.PriceExplanation{{
		Token: 1, Price: market.Price{Usd: 1, Source: market.SourceAnchor, Anchor: true},
		FeedUsd: market.Unknown,
		Markets: []value.MarketExplanation{{
			Pool: 0, By: 0, ByUsd: 2534.75, Usd: 1.01, ReachUsd: 5000, WeightUsd: 4000, Used: true,
			Checks: []value.Check{{Name: "reachable", Have: 5000, Want: 1000, Met: true}},
		}},
		Omitted: 2, Checks: []value.Check{{Name: "age", Have: 1, Want: 2}},
	}}

	raw := clmath.U256{42}
	e.Steps = []value.Step{{
		Name: "V", Formula: "a + b", Value: 3,
		Terms: []value.Term{{Name: "a", Value: 1, Raw: &raw}, {Name: "b", Value: 2}},
	}}

	golden(t, "explanation.json", AppendExplanation(nil, testState(), 0, e))
}

// TestUsage: reserved units only when there are some, no limit as null, and routes
// with usage only, also of a stream that began in the month before.
func TestUsage(t *testing.T) {
	f := func(reserved, limit int64, want string) {
		t.Helper()
		tally := accounts.Tally{}
		tally.Routes[accounts.RoutePosition] = accounts.Count{Requests: 3, Units: 2}
		tally.Routes[accounts.RoutePositionCharts] = accounts.Count{Requests: 1, Units: 10}
		tally.Routes[accounts.RouteStream] = accounts.Count{Units: 5}
		span := accounts.SpanOf(accounts.MonthAt(1_700_000_000e9))
		got := AppendUsage(nil, &Usage{
			Account: "demo", Plan: &accounts.Plan{ID: "pro", MonthlyUnits: limit}, Span: &span,
			Tally: &tally, Reserved: reserved,
		})
		want = `{"account":"demo","plan":"pro","month":"2023-11","unitsUsed":17` + want +
			`,"resetsAt":"2023-12-01T00:00:00.000Z","routes":[` +
			`{"path":"` + accounts.RoutePosition.Path() + `","requests":3,"units":2},` +
			`{"path":"` + accounts.RoutePositionCharts.Path() + `","requests":1,"units":10},` +
			`{"path":"` + accounts.RouteStream.Path() + `","requests":0,"units":5}]}`
		if string(got) != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}

	f(0, 0, `,"unitsLimit":null`)
	f(1, 5000, `,"unitsReserved":1,"unitsLimit":5000`)
}

// TestErrorKinds checks what each error says of units, retries and its cause.
func TestErrorKinds(t *testing.T) {
	cause := errors.New("broken")
	f := func(got *Error, want Error) {
		t.Helper()
		if *got != want {
			t.Errorf("got %+v; want %+v", *got, want)
		}
	}

	f(Absent("1:7", "no such %s", "pool"), Error{
		Code: 404, Message: "no such pool", Units: absentUnits, Generations: "1:7",
	})
	f(TooMany("slower", time.Second), Error{Code: 429, Message: "slower", Retry: time.Second})
	f(OverQuota("spent", time.Hour), Error{Code: 429, Message: "spent", Retry: time.Hour, Quota: true})
	f(Unavailable("later", time.Second), Error{Code: 503, Message: "later", Retry: time.Second})
	f(Busy("later", time.Second), Error{Code: 503, Message: "later", Retry: time.Second, Untaken: true})
	f(Internal(cause), Error{
		Code: 500, Message: "internal error; the log has it under this X-Request-Id", Cause: cause,
	})
}

// What there is several or nothing of: the rows of a reorganisation, and protocols
// where no chain is enabled.
func TestListsOfEvents(t *testing.T) {
	got := string(AppendReorgEvent(nil, "1:7", 2, 1, []string{"1-7", "1-8"}))
	want := "event: reorg\nid: 1:7/2\ndata: {\"chainId\":1,\"ids\":[\"1-7\",\"1-8\"]}\n\n"
	if got != want {
		t.Errorf("a reorganisation is %q; want %q", got, want)
	}
	if got := string(AppendProtocols([]byte("x"), []Chain{{ID: 1}})); got != "x[]" {
		t.Errorf("without a chain the protocols are %s", got)
	}
}
