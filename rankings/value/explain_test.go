package value

import (
	"math"
	"testing"

	"tidemark/rankings/market"
)

// calculator redoes a step from its terms alone.
var calculator = map[string]func(x terms) float64{
	"G":              func(x terms) float64 { return x["wei"] / 1e18 * x["nativePriceUsd"] },
	"F":              func(x terms) float64 { return x["uncollectedUsd"] + x["collectedUsd"] },
	"divergence":     func(x terms) float64 { return x["V"] + x["W"] - x["D"] },
	"pnlUsd":         func(x terms) float64 { return x["divergence"] + x["F"] - x["G"] },
	"pnlCostUsd":     func(x terms) float64 { return x["V"] + x["uncollectedUsd"] + x["flows"] },
	"roi":            func(x terms) float64 { return x["pnlUsd"] / x["D"] * 100 },
	"apr":            func(x terms) float64 { return x["pnlUsd"] / x["D"] * 100 * 365 / x["ageDays"] },
	"feeApr":         func(x terms) float64 { return x["F"] / x["D"] * 100 * 365 / x["ageDays"] },
	"V":              bothLegs,
	"D":              bothLegs,
	"W":              bothLegs,
	"uncollectedUsd": bothLegs,
	"collectedUsd":   bothLegs,
	"leg0Claim":      limitedClaim,
	"leg1Claim":      limitedClaim,
}

type terms map[string]float64

func bothLegs(x terms) float64 {
	return x["amount0"]/x["unit0"]*x["price0Usd"] + x["amount1"]/x["unit1"]*x["price1Usd"]
}

func limitedClaim(x terms) float64 {
	if x["claim"] > x["exit"]-x["own"] {
		return 0
	}
	return x["claim"]
}

// TestExplanationCanBeRedone goes down the steps of the worked example: each
// follows from its terms, and each term that an earlier step gave is its value.
func TestExplanationCanBeRedone(t *testing.T) {
	st, w, i := workedExample()
	e := Explain(st, &w.params, nil, i)
	given, redone := map[string]float64{}, 0
	for _, step := range e.Steps {
		x := terms{}
		for _, term := range step.Terms {
			if term.Name == "" {
				t.Errorf("%s has a term without a name: %+v", step.Name, term)
			}
			x[term.Name] = term.Value
			if value, ok := given[term.Name]; ok && value != term.Value {
				t.Errorf("%s: %s is %v; its step gave %v", step.Name, term.Name, term.Value, value)
			}
		}
		if redo := calculator[step.Name]; redo != nil {
			mustNear(t, step.Name, redo(x), step.Value, 1e-9)
			given[step.Name] = step.Value
			redone++
		}
	}

	if want := len(calculator) - 1; redone != want { // the stable leg claims nothing
		t.Errorf("%d steps could be redone; want %d", redone, want)
	}

	redoPrincipal(t, e)
}

// redoPrincipal is the formula of a position around the price, in whole units.
func redoPrincipal(t *testing.T, e *Explanation) {
	x := map[string]float64{}
	for _, term := range e.Steps[0].Terms {
		x[term.Name] = term.Value
	}
	q96 := math.Pow(2, 96)
	amount0 := x["L"] * q96 * (x["sqrtUpper"] - x["sqrtPrice"]) / x["sqrtUpper"] / x["sqrtPrice"]
	mustNear(t, "amount0", x["amount0"], amount0, 1e-9)
	mustNear(t, "amount1", x["amount1"], x["L"]*(x["sqrtPrice"]-x["sqrtLower"])/q96, 1e-9)
}

func TestExplainedPrices(t *testing.T) {
	w := newWorld()
	through, far := w.token(10, 6), w.token(11, 18)
	w.poolFull(through, w.eth, 0.001, 1000)
	good := w.poolFull(far, through, 3, 500_000)
	off := w.poolFull(far, through, 5, 150_000)
	dead := w.poolFull(far, w.usd, 6, 100_000)
	w.pools.Mut(dead).LastSwapAt = testNow - 8*market.Day
	i := w.openWhole(good, 10)
	st := w.state()
	e := Explain(st, &w.params, nil, i)

	tokens := []uint32{w.eth, far, through} // through is a leg itself
	if len(e.Prices) != len(tokens) {
		t.Fatalf("%d prices; want %d: %+v", len(e.Prices), len(tokens), e.Prices)
	}
	for k, token := range tokens {
		if got := e.Prices[k]; got.Token != token || got.Price.Usd != st.Prices.At(token).Usd {
			t.Errorf("price %d is %+v; want token %d at %v", k, got, token, st.Prices.At(token).Usd)
		}
	}
	f := func(pool uint32, usd float64, used bool, reason market.Reason) {
		t.Helper()
		for _, m := range e.Prices[1].Markets {
			if m.Pool == pool {
				mustNear(t, "usd", m.Usd, usd, 1e-9)
				if m.Used != used || m.Reason != reason {
					t.Errorf("market %+v", m)
				}
				return
			}
		}
		t.Errorf("market %d is missing", pool)
	}
	f(good, 6, true, market.ReasonNone)
	f(off, 10, false, market.ReasonUncorroborated)
	f(dead, market.Unknown, false, market.ReasonStalePrice)
}

// TestExplainedChecks: a threshold that is missed says what stands against it.
func TestExplainedChecks(t *testing.T) {
	w := newWorld()
	token, pool := w.honest()
	w.pools.Mut(pool).LastSwapAt = testNow - 8*market.Day

	i := w.openWhole(pool, 10)
	e := Explain(w.state(), &w.params, nil, i)
	missed := 0
	for _, c := range e.Prices[1].Markets[0].Checks {
		if c.Met == (c.Name == "market-recency") {
			t.Errorf("%+v", c)
		}
		if !c.Met {
			missed++
		}
	}
	if e.Prices[1].Token != token || missed != 1 || len(e.Prices[1].Checks) != 5 {
		t.Errorf("%+v", e.Prices[1])
	}
}

// TestExplainedNeverTraded: a market without a trade has no time since its last one, and
// misses the threshold unless there is none.
func TestExplainedNeverTraded(t *testing.T) {
	f := func(name string, recency int64, met bool) {
		t.Helper()
		w := newWorld()
		_, pool := w.honest()
		w.pools.Mut(pool).LastSwapAt = 0
		w.params.MarketRecency = recency

		i := w.openWhole(pool, 10)
		e := Explain(w.state(), &w.params, nil, i)
		for _, c := range e.Prices[1].Markets[0].Checks {
			if c.Name == "market-recency" && (market.Known(c.Have) || c.Met != met) {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}

	f("a threshold", 7*market.Day, false)
	f("no threshold", 0, true)
}

// TestExplainedNulls: a price that is null says why, has no source, and no
// market is used for it.
func TestExplainedNulls(t *testing.T) {
	f := func(name string, reason market.Reason, change func(w *world, token, pool uint32)) {
		t.Helper()
		w := newWorld()
		token, pool := w.honest()
		w.pools.Mut(pool).Swaps = 99 // one short of corroborating alone
		i := w.openWhole(pool, 10)
		change(w, token, pool)
		e := Explain(w.state(), &w.params, nil, i)
		for _, p := range e.Prices {
			if p.Token != token {
				continue
			}
			if market.Known(p.Price.Usd) || p.Price.Source != market.SourceNone || p.Price.Reason != reason {
				t.Errorf("%s: price %+v; want reason %d", name, p.Price, reason)
			}
			for _, m := range p.Markets {
				met := true
				for _, c := range m.Checks {
					met = met && c.Met
				}
				own := m.Pool == pool
				if m.Used || own && market.Known(m.Usd) || m.Reason != reason || met {
					t.Errorf("%s: market %+v", name, m)
				}
			}
			return
		}
		t.Errorf("%s: not explained: %+v", name, e.Prices)
	}

	f("own pool", market.ReasonOwnPoolOnly, func(*world, uint32, uint32) {})
	f("contradicted", market.ReasonUncorroborated, func(w *world, token, _ uint32) {
		w.pools.Mut(w.poolFull(token, w.usd, 4.6, 150_000)).Swaps = 99
	})
	f("bad decimals", market.ReasonBadDecimals, func(w *world, token, _ uint32) {
		w.tokens.Mut(token).BadDecimals = true
	})

	f("stale", market.ReasonStalePrice, func(w *world, _, pool uint32) {
		w.pools.Mut(pool).LastSwapAt = 0
	})
}

// TestExplainedClose: a closed row is explained at the prices it closed at.
func TestExplainedClose(t *testing.T) {
	w := newWorld()
	token, pool := w.honest()
	i := w.openWhole(pool, 10)
	closed(w.positions.Mut(i))
	e := Explain(w.state(), &w.params, nil, i)
	if len(e.Prices) != 2 || e.Prices[0].Token != token || e.Prices[0].Price.Usd != 5 ||
		e.Prices[1].Price.Usd != 1.5 || !e.Prices[1].Price.Anchor || e.Prices[0].Price.Anchor {
		t.Errorf("%+v", e.Prices)
	}
}
