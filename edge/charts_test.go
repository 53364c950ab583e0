package edge

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tidemark/rankings/chart"
	"tidemark/rankings/market"
)

func seriesOf(t *testing.T, m map[string]any, name string) []any {
	t.Helper()
	s, ok := m[name].([]any)
	if !ok {
		t.Fatalf("%s is %v", name, m[name])
	}
	return s
}

// pointAt returns the value of a series at a timestamp.
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
			sameAsRow(t, path, m, s.get(strings.TrimSuffix(path, "/charts")).decoded(t))
		}
	}
}

// TestHourlyCharts checks that a chart by the hour ends with the row, has every hour of
// its range, and makes the days of the daily one.
func TestHourlyCharts(t *testing.T) {
	s := serve(t, nil)
	st := stateOf(1)
	days := 0
	for i := range st.Pools.Len() {
		p := st.Pools.At(i)
		path := fmt.Sprintf("/v1/pools/1/swapdex-v4/%s/charts", p.ID)
		m, daily := s.get(path+"?interval=1h").decoded(t), s.get(path).decoded(t)
		hours := seriesOf(t, m, "poolPrice")
		now := market.HourOf(st.Now())
		first := max((now/24-29)*24, market.HourOf(p.CreatedAt))
		if m["interval"] != "1h" || m["range"] != "30d" || len(hours) != int(now-first)+1 {
			t.Fatalf("%s: %v of %v has %d hours; want %d", path, m["interval"], m["range"], len(hours), now-first+1)
		}
		sameAsRow(t, path, m, s.get(strings.TrimSuffix(path, "/charts")).decoded(t))

		candles, at := seriesOf(t, daily, "poolPrice"), first
		volumes := seriesOf(t, m["poolSeries"].(map[string]any), "volumeUsd")
		for d, day := range seriesOf(t, daily["poolSeries"].(map[string]any), "volumeUsd") {
			candle, sum := candles[d].(map[string]any), 0.0
			opening := hours[at-first].(map[string]any)["open"]
			high, reaches, closing := 0.0, candle["high"] != nil, any(nil)
			for ; at <= now && int64(at)*market.Hour < int64(candle["timestamp"].(float64))+market.Day; at++ {
				hour := hours[at-first].(map[string]any)
				if hour["timestamp"] != float64(at)*market.Hour {
					t.Fatalf("%s: hour %d is %v", path, at, hour)
				}
				closing = hour["close"]
				if top, ok := hour["high"].(float64); ok != reaches {
					t.Errorf("%s: hour %d is %v; the day is %v", path, at, hour, candle)
				} else {
					high = max(high, top)
				}
				volume, _ := volumes[at-first].(map[string]any)["value"].(float64)
				sum += volume
			}
			want, known := day.(map[string]any)["value"].(float64)
			top, _ := candle["high"].(float64)
			if opening != candle["open"] || closing != candle["close"] ||
				math.Abs(high-top) > 1e-12*top || known && math.Abs(sum-want) > 1e-9*want {
				t.Errorf("%s: the hours of %v open at %v, close at %v, reach %v, sum to %v; the day %v, %v, %v, %v",
					path, candle["timestamp"], opening, closing, high, sum,
					candle["open"], candle["close"], candle["high"], want)
			}
			days++
		}
	}
	if days < 100 {
		t.Errorf("only %d days were compared", days)
	}
}

// sameAsRow checks that the current values in a pool's charts equal its row.
func sameAsRow(t *testing.T, path string, m, row map[string]any) {
	t.Helper()
	current := m["poolOverviewCurrent"].(map[string]any)
	metrics := row["metrics"].(map[string]any)
	f := func(group, name string, want any) {
		t.Helper()
		points := seriesOf(t, m[group].(map[string]any), name)
		if got := points[len(points)-1].(map[string]any)["value"]; got != want {
			t.Errorf("%s: the last %s of %s is %v; the row has %v", path, name, group, got, want)
		}
	}

	f("poolOverview", "tvlUsd", metrics["tvlUsd"])
	f("poolSeries", "tvlUsd", metrics["tvlUsd"])
	for _, token := range []string{"token0", "token1"} {
		price := row[token].(map[string]any)["priceUsd"]
		f("poolOverview", token+"PriceUsd", price)
		if current[token+"PriceUsd"] != price {
			t.Errorf("%s: %s is at %v now; the row has %v", path, token, current[token+"PriceUsd"], price)
		}
	}

	for _, name := range []string{"tvlUsd", "volumeUsd24h", "feesUsd24h"} {
		if current[name] != metrics[name] {
			t.Errorf("%s: %s is %v now; the row has %v", path, name, current[name], metrics[name])
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
		if len(bins) > chart.MaxBins {
			t.Errorf("pool %d: %d bins", i, len(bins))
		}

		for k := 1; k < len(bins); k++ {
			if bins[k].(map[string]any)["tickLower"] != bins[k-1].(map[string]any)["tickUpper"] {
				t.Errorf("pool %d: a gap before %v", i, bins[k])
			}
		}
	}
}

// TestPositionSeries checks that the last point of every position's series equals
// its row, including nulls.
func TestPositionSeries(t *testing.T) {
	s := serve(t, nil)
	st := stateOf(1)
	open, closed := 0, 0
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		path := fmt.Sprintf("/v1/positions/1/swapdex-v4/%d", p.ID)
		m, row := s.get(path+"/charts?range=all").decoded(t), s.get(path).decoded(t)
		if m["liquidityDistribution"].(map[string]any)["tickLower"] != float64(p.TickLower) {
			t.Fatalf("position %d: no range is marked", p.ID)
		}
		series, ok := m["positionSeries"].(map[string]any)
		if !ok {
			t.Errorf("position %d has no series", p.ID)
			continue
		}

		end := market.DayOf(st.Now())
		if open++; p.ClosedAt != 0 {
			open, closed, end = open-1, closed+1, market.DayOf(int64(p.ClosedAt))
		}
		metrics := row["metrics"].(map[string]any)
		for name, want := range map[string]any{
			"pnlUsd": metrics["pnlUsd"], "assetValueUsd": metrics["underlyingValueUsd"],
			"apr": metrics["apr"], "feeApr": metrics["feeApr"],
		} {
			points := seriesOf(t, series, name)
			if days := int(end-market.DayOf(int64(p.MintedAt))) + 1; len(points) != days {
				t.Errorf("position %d: %d points; want %d", p.ID, len(points), days)
			}
			if got := pointAt(points, float64(end)*market.Day); got != want {
				t.Errorf("position %d: the last %s is %v; the row has %v", p.ID, name, got, want)
			}
		}
	}
	if open < 100 || closed < 20 {
		t.Errorf("only %d open and %d closed positions were compared", open, closed)
	}
}

// TestShorterSeries checks that a day of a position has the same values whatever the
// first day of the answer is.
func TestShorterSeries(t *testing.T) {
	s := serve(t, nil)
	st := stateOf(1)
	compared := 0

	for i := uint32(0); i < st.Positions.Len(); i += 3 {
		p := st.Positions.At(i)
		path := fmt.Sprintf("/v1/positions/1/swapdex-v4/%d/charts", p.ID)
		long, _ := s.get(path + "?range=all").decoded(t)["positionSeries"].(map[string]any)
		short, _ := s.get(path + "?range=30d").decoded(t)["positionSeries"].(map[string]any)
		for _, name := range []string{"pnlUsd", "assetValueUsd", "apr", "feeApr"} {
			all := seriesOf(t, long, name)
			for _, point := range seriesOf(t, short, name) {
				at, value := point.(map[string]any)["timestamp"].(float64), point.(map[string]any)["value"]
				if want := pointAt(all, at); value != want {
					t.Errorf("position %d, day %.0f: %s is %v; from the mint on it is %v", p.ID, at, name, value, want)
				}
				if len(all) > 30 {
					compared++
				}
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d points of positions older than the answer were compared", compared)
	}
}

// TestChartsOfOthers checks statuses and charges of charts and explain: the 404 of
// what does not exist costs 1 unit.
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
	f("/v1/positions/1/swapdex-v4/1/charts?interval=1h", 200, "10")
	f("/v1/positions/1/swapdex-v4/1/charts?interval=1h&range=all", 400, "0")
	f("/v1/positions/1/swapdex-v4/99999/charts", 404, "1")
	f("/v1/pools/1/swapdex-v4/"+somePool+"/charts", 404, "1")
	f("/v1/positions/1/swapdex-v4/1/explain", 200, "1")
	f("/v1/positions/1/swapdex-v4/abc/explain", 404, "1")
	f("/v1/positions/1/swapdex-v4/1/explain?x=1", 400, "0")
}

func stateOf(id market.ChainID) *market.State {
	c, _ := sharedNode().board.Load().Chain(id)
	return c.View.State
}
