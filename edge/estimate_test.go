package edge

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// estimate asks what a position of a range and value would have earned.
func (f *front) estimate(pool *market.Pool, lower, upper int32, usd float64, more string) map[string]any {
	f.t.Helper()
	path := fmt.Sprintf("/v1/pools/1/swapdex-v4/%s/estimate?tickLower=%d&tickUpper=%d&valueUsd=%g%s",
		pool.ID, lower, upper, usd, more)
	a := f.get(path)
	if a.code != 200 || a.header.Get("X-Units-Charged") != "10" {
		f.t.Fatalf("%s: %d, %s units: %s", path, a.code, a.header.Get("X-Units-Charged"), a.body)
	}
	return a.decoded(f.t)
}

// TestEstimate asks for estimates in every pool: of the widest range, which is never
// left, and of one that the price never came to. A number is null where the pool has no
// prices, and never 0 for that.
func TestEstimate(t *testing.T) {
	s, st := serve(t, nil), stateOf(1)
	known, unknown := 0, 0
	for i := range st.Pools.Len() {
		p := st.Pools.At(i)
		most := 887272 / p.TickSpacing * p.TickSpacing
		wide, twice := s.estimate(p, -most, most, 1000, ""), s.estimate(p, -most, most, 2000, "")
		from := max((st.Now()/market.Day-29)*market.Day, p.CreatedAt)
		if wide["from"] != float64(from) || wide["to"] != float64(st.Now()) {
			t.Errorf("pool %d: from %v to %v; want %d to %d", i, wide["from"], wide["to"], from, st.Now())
		}

		if parts := fmt.Sprint(wide["approximated"]); parts != "[dilution]" && (parts != "[dilution valueUsd]" || wide["feesUsd"] == nil) {
			t.Errorf("pool %d: %v", i, wide)
		}
		if share := wide["timeInRange"]; p.Quarantined != (share == nil) || share != nil && share != 1.0 {
			t.Errorf("pool %d: in the widest range for %v", i, share)
		}

		fees, ok := wide["feesUsd"].(float64)
		if unknown++; !ok {
			for _, name := range []string{"feesUsd", "feeApr", "divergenceLossUsd"} {
				if wide[name] != nil {
					t.Errorf("pool %d: %s is %v without prices", i, name, wide[name])
				}
			}
			continue
		}
		unknown, known = unknown-1, known+1
		s.checkEstimate(i, wide, twice)

		// A range that ends below every price that the pool had earned nothing, and one
		// above holds the other token.
		far := 600_000 / p.TickSpacing * p.TickSpacing
		for _, ends := range [][2]int32{{-far - p.TickSpacing, -far}, {far, far + p.TickSpacing}} {
			away := s.estimate(p, ends[0], ends[1], 1000, "")
			if away["feesUsd"] != 0.0 || away["timeInRange"] != 0.0 || slices.Contains(away["approximated"].([]any), any("feesUsd")) {
				t.Errorf("pool %d, which earned %g: far away %v", i, fees, away)
			}
		}
	}
	if known < 10 || unknown == 0 {
		t.Errorf("only %d pools with prices and %d without", known, unknown)
	}
}

// checkEstimate checks a known estimate against one of the double value. A token that
// cannot be sold for what it is worth leaves only the fees.
func (f *front) checkEstimate(pool uint32, once, twice map[string]any) {
	f.t.Helper()
	if twice["divergenceLossUsd"] == nil {
		return
	}

	for _, name := range []string{"feesUsd", "divergenceLossUsd"} {
		one, two := once[name].(float64), twice[name].(float64)
		if math.Abs(two-2*one) > 1e-3 || one*map[string]float64{"feesUsd": 1, "divergenceLossUsd": -1}[name] < -1e-6 {
			f.t.Errorf("pool %d: %s is %g, and %g of the double value", pool, name, one, two)
		}
	}

	one, two := once["feeApr"].(float64), twice["feeApr"].(float64)
	if math.Abs(one-two) > 1e-3*one+1e-6 || (one > 0) != (once["feesUsd"].(float64) > 0) {
		f.t.Errorf("pool %d: feeApr is %g, and %g of the double value", pool, one, two)
	}
}

// TestEstimateOfPositions asks with the ticks of positions that stood for longer than
// the range: what the contract counted at both is what the estimate follows from.
func TestEstimateOfPositions(t *testing.T) {
	s, st := serve(t, nil), stateOf(1)
	from := (st.Now()/market.Day - 29) * market.Day
	exact, split := 0, 0
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		if int64(p.MintedAt) >= from || !p.IsOpen() || !p.Withdrawn0.IsZero() || !p.Withdrawn1.IsZero() {
			continue
		}
		pool := st.Pools.At(p.Pool)
		e := s.estimate(pool, p.TickLower, p.TickUpper, 1000, "")
		if e["feesUsd"] == nil {
			continue
		}
		if exact++; e["basis"] != "ticks" || slices.Contains(e["approximated"].([]any), any("feesUsd")) {
			t.Errorf("position %d: %v", p.ID, e)
		}
	}

	// A range of two steps at the price of now is split wherever the price came from.
	for i := range st.Pools.Len() {
		pool := st.Pools.At(i)
		lower := clmath.Aligned(pool.Tick, pool.TickSpacing)
		e := s.estimate(pool, lower, lower+2*pool.TickSpacing, 1000, "")
		parts := e["approximated"].([]any)
		fees, apr := slices.Contains(parts, any("feesUsd")), slices.Contains(parts, any("feeApr"))
		if fees != apr || fees && (e["basis"] != "hours" || e["feesUsd"] == nil) {
			t.Errorf("pool %d: %v", i, e)
		}
		if share, ok := e["timeInRange"].(float64); ok && fees && 0 < share && share < 1 {
			split++
		}
	}
	if exact < 5 || split < 5 {
		t.Errorf("only %d exact estimates, and %d split ones", exact, split)
	}

	e := s.estimate(st.Pools.At(0), -600_000, 600_000, 1000, "&range=all")
	if e["basis"] != "days" || e["from"] != float64(st.Pools.At(0).CreatedAt) {
		t.Errorf("since the pool: %v", e)
	}
}

// TestEstimateRefused: ticks at which no position of the pool can end, and more than any
// can hold, are a 400 without a charge, after the 404. Old data is flagged.
func TestEstimateRefused(t *testing.T) {
	s, st := serve(t, nil), stateOf(1)
	spaced := uint32(0)
	for st.Pools.At(spaced).TickSpacing == 1 {
		spaced++
	}
	pool := st.Pools.At(spaced)
	path := fmt.Sprintf("/v1/pools/1/swapdex-v4/%s/estimate", pool.ID)
	f := func(query, says string) {
		t.Helper()
		a := s.get(path + query)
		if a.code != 400 || a.header.Get("X-Units-Charged") != "0" || a.decoded(t)["error"] != says {
			t.Errorf("%s: %d, %s units: %s; want %s", query, a.code, a.header.Get("X-Units-Charged"), a.body, says)
		}
	}

	f("?tickLower=1&tickUpper=600&valueUsd=1", fmt.Sprintf(
		"tickLower 1 is not allowed; allowed are multiples of the pool's tickSpacing %d", pool.TickSpacing))
	f("?tickLower=-600&tickUpper=1&valueUsd=1", fmt.Sprintf(
		"tickUpper 1 is not allowed; allowed are multiples of the pool's tickSpacing %d", pool.TickSpacing))
	// It comes before the quota.
	s.key = s.issue("free", accounts.Server)
	s.drainTo(s.key, 0)
	f("?tickLower=1&tickUpper=600&valueUsd=1", fmt.Sprintf(
		"tickLower 1 is not allowed; allowed are multiples of the pool's tickSpacing %d", pool.TickSpacing))
	s = serve(t, nil)
	f("?tickLower=-600&tickUpper=600&valueUsd=1e300",
		"valueUsd 1e+300 is too large for the range -600 to 600; the liquidity that it buys cannot exceed 2^128")

	s = serve(t, func(c *Config) { c.Limits.Freshness = -time.Second })
	if m := s.get(path + "?tickLower=-600&tickUpper=600&valueUsd=1").decoded(t); m["stale"] != true || m["dataAsOf"] == nil {
		t.Errorf("old data: stale %v, dataAsOf %v", m["stale"], m["dataAsOf"])
	}
}
