package main

import (
	"fmt"
	"math"
	"testing"

	"tidemark/rankings/script"
)

// chart holds what the charts of a row's pool or position say of now against
// the row, number for number.
func (s *stage) chart(list string, row map[string]any) {
	s.t.Helper()
	id := row["poolId"]
	if list == "positions" {
		id = row["positionId"]
	}
	path := fmt.Sprintf("/v1/%s/%v/swapdex-v4/%v/charts", list, row["chainId"], id)
	for _, query := range []string{"range=all", "interval=1h"} {
		a := s.ask(s, path, query)
		if a.status != 200 {
			s.t.Fatalf("%s: %s?%s is answered %d %s", s.where, path, query, a.status, a.body)
		}
		charts := s.decode(a.body)
		if list == "pools" {
			s.chartPool(row, charts)
			continue
		}

		series, ok := charts["positionSeries"].(map[string]any)
		if !ok {
			s.t.Errorf("%s: %s?%s has no series", s.where, path, query)
			continue
		}
		if row["isActive"] == true || query == "range=all" || len(series["pnlUsd"].([]any)) > 0 {
			s.chartPosition(row, series)
		}
	}
}

// chartPosition compares the last points of a position's series with its row.
func (s *stage) chartPosition(row, series map[string]any) {
	s.t.Helper()
	s.lastPoint(row, series, "pnlUsd", find(row, "pnlUsd"))
	s.lastPoint(row, series, "assetValueUsd", find(row, "underlyingValueUsd"))
	s.lastPoint(row, series, "apr", find(row, "apr"))
	s.lastPoint(row, series, "feeApr", find(row, "feeApr"))
	divergence := number(find(row, "current.valueUsd")) + number(find(row, "withdrawals.valueUsd")) -
		number(find(row, "deposits.valueUsd"))
	if find(row, "unrealizableLeg") == true {
		divergence = math.NaN()
	}
	got := number(lastOf(series, "divergenceLossUsd"))
	s.near(row, "divergenceLossUsd", got, divergence, math.Abs(number(find(row, "deposits.valueUsd"))))
}

func (s *stage) chartPool(row, charts map[string]any) {
	s.t.Helper()
	overview := charts["poolOverview"].(map[string]any)
	current := charts["poolOverviewCurrent"].(map[string]any)
	for _, name := range []string{"tvlUsd", "volumeUsd24h", "feesUsd24h"} {
		if want := find(row, name); current[name] != want {
			s.t.Errorf("%s: %s of pool %v is %v now; its row has %v", s.where, name, row["poolId"], current[name], want)
		}
	}

	s.lastPoint(row, overview, "tvlUsd", find(row, "tvlUsd"))
	s.lastPoint(row, charts["poolSeries"].(map[string]any), "tvlUsd", find(row, "tvlUsd"))
	days := charts["poolPrice"].([]any)
	today := days[len(days)-1].(map[string]any)
	for _, name := range []string{"token0", "token1"} {
		want := find(row, name+".priceUsd")
		s.lastPoint(row, overview, name+"PriceUsd", want)
		if today[name+"PriceUsd"] != want || current[name+"PriceUsd"] != want {
			s.t.Errorf("%s: %s of pool %v is at %v today and %v now; its row has %v", s.where, name,
				row["poolId"], today[name+"PriceUsd"], current[name+"PriceUsd"], want)
		}
	}
	s.near(row, "close", number(today["close"]), number(find(row, "currentPrice")), 0)
}

// lastPoint compares exactly: both are printed from the same number.
func (s *stage) lastPoint(row, group map[string]any, name string, want any) {
	s.t.Helper()
	if got := lastOf(group, name); got != want {
		s.t.Errorf("%s: the last %s of %v%v is %v; its row has %v",
			s.where, name, row["positionId"], row["poolId"], got, want)
	}
}

func lastOf(group map[string]any, name string) any {
	series := group[name].([]any)
	return series[len(series)-1].(map[string]any)["value"]
}

// TestGasBeforeANativePool: as long as no pool has the native currency, gas goes by its wrapped
// form, and a chart says so of these days also when a pool has it since.
func TestGasBeforeANativePool(t *testing.T) {
	s := overHTTP(newStage(t))
	lines, err := script.Read("gas", `token WETH 18
token USD 18
wrapped WETH
stables USD
pool B WETH USD 500 10 @2500
direct maker B min max 2e23
at +1d
times 1 push B @2510 | push B @2500
wait +1h
gas 100_000 1e9
mint 1 alice B min max 1e20
at +3d
times 1 push B @2510 | push B @2500
wait +1h
token native 18
pool A native USD 500 10 @2500
direct maker A min max 2e23
at +3d
times 1 push A @2510 | push A @2500 | push B @2510 | push B @2500
wait +1h`)
	s.must(err)
	for i := range lines {
		s.where = lines[i].Where
		s.line(&lines[i])
	}
	s.publish()

	for query, points := range map[string]int{"range=all": 7, "interval=1h": 100} {
		charts := s.decode(s.ask(s, "/v1/positions/1/swapdex-v4/1/charts", query).body)
		pnl := charts["positionSeries"].(map[string]any)["pnlUsd"].([]any)
		if len(pnl) < points {
			t.Errorf("%s: %d points; want %d or more", query, len(pnl), points)
		}
		for _, p := range pnl {
			if p := p.(map[string]any); p["value"] == nil {
				t.Errorf("%s: the PnL at %v is null", query, p["timestamp"])
			}
		}
	}
}
