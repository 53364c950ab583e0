package edge

import (
	"fmt"
	"math"
	"testing"

	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

func seriesOf(t *testing.T, m map[string]any, name string) []any {
	t.Helper()
	s, ok := m[name].([]any)
	if !ok {
		t.Fatalf("%s is %v", name, m[name])
	}
	return s
}

// pointAt returns a point of a series by its timestamp.
func pointAt(s []any, at float64) any {
	for _, p := range s {
		if p.(map[string]any)["timestamp"] == at {
			return p.(map[string]any)["value"]
		}
	}
	return "none"
}

func TestPoolCharts(t *testing.T) {
	s := serve(t, nil)
	st := stateOf(1)
	now := market.DayOf(st.Now())
	for i := range st.Pools.Len() {
		p := st.Pools.At(i)
		path := fmt.Sprintf("/v1/pools/1/swapdex-v4/%s/charts", p.ID)
		for _, r := range []struct {
			query, used string
			days        uint32
		}{{"", "30d", 30}, {"?range=60d", "60d", 60}, {"?range=all", "all", 9999}, {"?range=7d", "30d", 30}} {
			m := s.get(path + r.query).decoded(t)
			prices := seriesOf(t, m, "poolPrice")
			want := min(r.days, now-market.DayOf(p.CreatedAt)+1)
			if m["range"] != r.used || len(prices) != int(want) {
				t.Fatalf("%s%s: got range %v and %d days; want %s and %d", path, r.query, m["range"], len(prices), r.used, want)
			}
			last := prices[len(prices)-1].(map[string]any)
			if last["timestamp"] != float64(now)*market.Day {
				t.Errorf("%s: the last day is %v", path, last["timestamp"])
			}
			overview := m["poolOverview"].(map[string]any)
			if len(overview) != 7 || len(seriesOf(t, overview, "tvlUsd")) != len(prices) || len(seriesOf(t, overview, "divergence")) != 0 {
				t.Errorf("%s: overview has %d fields", path, len(overview))
			}
			if len(m["poolSeries"].(map[string]any)) != 4 || m["poolOverviewCurrent"] == nil {
				t.Errorf("%s: %v", path, m["poolOverviewCurrent"])
			}
		}
	}
}

func TestDistribution(t *testing.T) {
	s := serve(t, nil)
	st := stateOf(1)
	for i := range st.Pools.Len() {
		p := st.Pools.At(i)
		m := s.get(fmt.Sprintf("/v1/pools/1/swapdex-v4/%s/charts", p.ID)).decoded(t)
		bins := seriesOf(t, m["liquidityDistribution"].(map[string]any), "bins")
		if len(bins) > 200 {
			t.Errorf("pool %d: %d bins", i, len(bins))
		}
		for k := 1; k < len(bins); k++ {
			if bins[k].(map[string]any)["tickLower"] != bins[k-1].(map[string]any)["tickUpper"] {
				t.Errorf("pool %d: a gap before %v", i, bins[k])
			}
		}
	}
}

// TestPositionSeries holds the last point of every open position's series
// against the row, with the day's prices in place of the row's.
func TestPositionSeries(t *testing.T) {
	s := serve(t, nil)
	st := stateOf(1)
	today := float64(market.DayOf(st.Now())) * market.Day
	compared := 0
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		if p.Entries == 0 || i%3 != 0 {
			continue
		}
		m := s.get(fmt.Sprintf("/v1/positions/1/swapdex-v4/%d/charts?range=all", p.ID)).decoded(t)
		if m["liquidityDistribution"].(map[string]any)["tickLower"] != float64(p.TickLower) {
			t.Fatalf("position %d: no range is marked", p.ID)
		}
		series, ok := m["positionSeries"].(map[string]any)
		if !ok {
			continue
		}
		pnl := seriesOf(t, series, "pnlUsd")
		end := today
		if p.ClosedAt != 0 {
			end = float64(market.DayOf(p.ClosedAt)) * market.Day
		}
		days := int(end/market.Day) - int(market.DayOf(p.MintedAt)) + 1
		if len(pnl) != days || pointAt(pnl, end) == "none" {
			t.Errorf("position %d: %d points; want %d", p.ID, len(pnl), days)
		}
		if want, ok := atHourPrices(st, i); ok && p.IsOpen() {
			compared++
			near(t, p.ID, "pnlUsd", pointAt(pnl, today), want.PnlUsd, want.Deposits.Usd)
			near(t, p.ID, "assetValueUsd", pointAt(seriesOf(t, series, "assetValueUsd"), today), want.Current.Usd, want.Deposits.Usd)
			near(t, p.ID, "divergenceLossUsd", pointAt(seriesOf(t, series, "divergenceLossUsd"), today), want.DivergenceUsd, want.Deposits.Usd)
			near(t, p.ID, "apr", pointAt(seriesOf(t, series, "apr"), today), want.APR, 1e6)
		}
	}
	if compared < 10 {
		t.Errorf("only %d positions were compared", compared)
	}
}

func near(t *testing.T, id uint64, what string, got any, want, scale float64) {
	t.Helper()
	x, ok := got.(float64)
	if ok != market.Known(want) || ok && math.Abs(x-want) > 1e-9*math.Max(1, math.Abs(scale)) {
		t.Errorf("position %d: %s is %v; want %v", id, what, got, want)
	}
}

// atHourPrices is the row of position i at the records of the present hour.
func atHourPrices(st *market.State, i uint32) (m value.Metrics, ok bool) {
	at := *st
	var prices market.Table[market.Price]
	for k := range st.Tokens.Len() {
		p := *st.Prices.At(k)
		p.Usd, p.ExitUsd, p.OnlyPool = st.Tokens.At(k).HourUsd, math.Inf(1), market.NoIndex
		prices.Append(p)
	}
	at.Prices = prices.Freeze()
	value.Position(&at, i, &m)
	return m, market.Known(m.PnlUsd) && !m.UnrealizableLeg()
}

// TestChartsOfOthers: what is not there is a charged 404.
func TestChartsOfOthers(t *testing.T) {
	s := serve(t, nil)
	f := func(path string, code int, units string) {
		t.Helper()
		a := s.get(path)
		if a.code != code || a.header.Get("X-Units-Charged") != units {
			t.Errorf("%s: got %d and %s units; want %d and %s", path, a.code, a.header.Get("X-Units-Charged"), code, units)
		}
	}
	f("/v1/positions/1/swapdex-v4/1/charts", 200, "10")
	f("/v1/positions/1/swapdex-v4/1/charts?range=", 200, "10")
	f("/v1/positions/1/swapdex-v4/1/charts?range=60d&range=90d", 200, "10")
	f("/v1/positions/1/swapdex-v4/1/charts?days=3", 400, "0")
	f("/v1/positions/1/swapdex-v4/99999/charts", 404, "10")
	f("/v1/pools/1/swapdex-v4/"+somePool+"/charts", 404, "10")
	f("/v1/positions/1/swapdex-v4/1/explain", 200, "1")
	f("/v1/positions/1/swapdex-v4/abc/explain", 404, "1")
	f("/v1/positions/1/swapdex-v4/1/explain?x=1", 400, "0")
}

func stateOf(id market.ChainID) *market.State {
	c, _ := sharedNode().board.Load().Chain(id)
	return c.View.State
}
