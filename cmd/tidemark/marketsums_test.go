package main

import (
	"fmt"
	"math"
)

// checkAll walks every row that there is, and returns how many positions.
func (s *stage) checkAll() (positions int) {
	s.publish()
	for _, list := range []string{"positions", "pools"} {
		asked := "limit=100&includeRisky=true"
		if list == "positions" {
			asked += "&status=all&minPoolTvl=0&sort=nft_id_asc"
		}

		for page, more := 1, true; more; page++ {
			rows, p := s.page(list, fmt.Sprintf("%s&page=%d", asked, page))
			more = p["hasMore"] == true
			if list == "positions" {
				positions += len(rows)
			}
		}
	}
	return positions
}

// checkRow recomputes a row's results from its own fields.
func (s *stage) checkRow(list string, row map[string]any) {
	s.t.Helper()
	if s.redo {
		s.chart(list, row)
	}

	if list == "pools" {
		s.checkPool(row)
		return
	}
	if s.redo {
		s.explain(row)
	}

	group := func(name string) float64 { return number(find(row, "amounts."+name+".valueUsd")) }
	v, w, d := group("current"), group("withdrawals"), group("deposits")
	uncollected, g := group("uncollectedFees"), group("gas")
	fees := uncollected + group("collectedFees")
	pnl := number(find(row, "pnlUsd"))
	if find(row, "unrealizableLeg") == true {
		for _, name := range []string{"pnlUsd", "pnlCostUsd", "roi", "apr", "feeApr"} {
			s.near(row, name, number(find(row, name)), math.NaN(), 0)
		}
		return
	}

	scale := math.Abs(v) + math.Abs(w) + math.Abs(d) + math.Abs(fees) + math.Abs(g)
	s.near(row, "pnlUsd", pnl, (v+w-d)+fees-g, scale)
	s.near(row, "underlyingValueUsd", number(find(row, "underlyingValueUsd")), v, 0)
	s.near(row, "pendingFeesUsd", number(find(row, "pendingFeesUsd")), uncollected, 0)
	years := math.Max(number(find(row, "ageSeconds")), 3600) / 86400 / 365
	roi, apr, feeAPR := pnl/d*100, pnl/d*100/years, fees/d*100/years
	if !(d > 0) {
		roi, apr, feeAPR = math.NaN(), math.NaN(), math.NaN()
	}

	s.near(row, "roi", number(find(row, "roi")), clamp(roi), 0)
	s.near(row, "apr", number(find(row, "apr")), clamp(apr), 0)
	s.near(row, "feeApr", number(find(row, "feeApr")), clamp(feeAPR), 0)
}

func (s *stage) checkPool(row map[string]any) {
	tvl := number(find(row, "tvlUsd"))
	want := math.NaN()
	if tvl > 0 && find(row, "pricing.priceUnavailable") == false {
		want = clamp(number(find(row, "feesUsd24h")) / tvl * 36500)
	}
	s.near(row, "feeApr", number(find(row, "feeApr")), want, 0)
}

func clamp(x float64) float64 { return math.Min(math.Max(x, -100_000), 100_000) }

// number is NaN for null.
func number(v any) float64 {
	if x, ok := v.(float64); ok {
		return x
	}
	return math.NaN()
}

// near compares two numbers that are both null or not; scale is what rounding
// may be relative to, beside the numbers themselves.
func (s *stage) near(row map[string]any, what string, got, want, scale float64) {
	s.t.Helper()
	if got != got && want != want {
		return
	}
	if !(math.Abs(got-want) <= 1e-9*max(scale, math.Abs(want))) {
		s.t.Errorf("%s: %s of %v%v is %v; its fields make %v",
			s.where, what, row["positionId"], row["poolId"], got, want)
	}
}
