package main

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
)

// calculator redoes the explanation of a row from its JSON alone, and holds
// every result against the row. Integers are redone exactly.
type calculator struct {
	t     *testing.T
	where string
	row   map[string]any
	said  map[string]any
	known map[string]float64 // results so far
}

// explain asks for a row's explanation and redoes it.
func (s *stage) explain(row map[string]any) {
	path := fmt.Sprintf("/v1/positions/%v/swapdex-v4/%v/explain", row["chainId"], row["positionId"])
	a := s.ask(s, path, "")
	if a.status != 200 {
		s.t.Fatalf("%s: %s is answered %d %s", s.where, path, a.status, a.body)
	}
	c := &calculator{
		t: s.t, where: s.where + " " + path, row: row, said: s.decode(a.body),
		known: map[string]float64{},
	}

	c.prices()
	for _, step := range c.said["steps"].([]any) {
		c.step(step.(map[string]any))
	}

	c.results()
}

func (c *calculator) errorf(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf(c.where+": "+format, args...)
}

func (c *calculator) equal(what string, got, want float64) {
	c.t.Helper()
	if same := got != got && want != want; !same && !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		c.errorf("%s is %v; the calculator makes it %v", what, got, want)
	}
}

// prices redoes the price of every token from its markets, and looks whether
// the prices of what those markets are against have been explained before.
func (c *calculator) prices() {
	usd := map[string]float64{}
	for _, each := range c.said["prices"].([]any) {
		p := each.(map[string]any)
		price := p["price"].(map[string]any)
		token := p["token"].(string)
		usd[token] = number(price["priceUsd"])
		var used []map[string]any
		for _, each := range p["markets"].([]any) {
			m := each.(map[string]any)
			c.market(m)
			if m["used"] == true {
				used = append(used, m)
				if by, ok := usd[m["against"].(string)]; ok {
					c.equal("what a market is against", number(m["againstUsd"]), by)
				}
			}
		}

		if price["priceUsd"] == nil && (price["source"] != "none" || p["reason"] == nil || len(used) > 0) {
			c.errorf("a price that is null has %d markets: %v", len(used), price)
		}

		// The markets of a closing price are not kept.
		if c.row["isActive"] == true && len(used) != int(number(price["markets"])) {
			c.errorf("%d markets are used; the price says %v", len(used), price["markets"])
		}

		if len(used) > 0 {
			c.equal("price of "+token, usd[token], medianOf(used, p["anchor"] == true))
		}
	}
	for leg := range 2 {
		token := c.row[fmt.Sprintf("token%d", leg)].(map[string]any)
		by, ok := usd[token["address"].(string)]
		if !ok {
			c.errorf("the price of leg %d is not explained", leg)
		}
		c.equal("the row's price", number(find(c.row, fmt.Sprintf("pricing.token%d.priceUsd", leg))), by)
	}
}

// market checks that a market is left out for a threshold that it misses.
func (c *calculator) market(m map[string]any) {
	missed := 0
	for _, each := range m["checks"].([]any) {
		check := each.(map[string]any)
		have, want := number(check["have"]), number(check["want"])
		met := have >= want
		name := check["name"]
		if slices.Contains([]any{"hook-allow", "market-recency", "quarantined", "outlier"}, name) {
			met = have <= want || name == "market-recency" && want == 0 // a rule switched off
		}

		if check["met"] != met {
			c.errorf("%v is %v against %v, and met is %v", check["name"], have, want, check["met"])
		}
		if check["met"] != true {
			missed++
		}
	}
	if (m["reason"] == nil) != (missed == 0) {
		c.errorf("a market misses %d thresholds and its reason is %v", missed, m["reason"])
	}
}

// medianOf is the weighted median, or of an anchor's markets the plain one.
func medianOf(used []map[string]any, plain bool) float64 {
	slices.SortFunc(used, func(a, b map[string]any) int {
		return int(math.Copysign(1, number(a["priceUsd"])-number(b["priceUsd"])))
	})
	n := len(used)
	if plain {
		return (number(used[(n-1)/2]["priceUsd"]) + number(used[n/2]["priceUsd"])) / 2
	}
	all, sum := 0.0, 0.0
	for _, m := range used {
		all += number(m["weightUsd"])
	}

	for _, m := range used {
		if sum += number(m["weightUsd"]); sum >= all/2 {
			return number(m["priceUsd"])
		}
	}

	return number(used[n-1]["priceUsd"])
}

// terms are the numbers that go into a step, and the raw ones as integers.
type terms struct {
	value map[string]float64
	raw   map[string]*big.Int
}

func (c *calculator) step(step map[string]any) {
	name := step["name"].(string)
	x := terms{map[string]float64{}, map[string]*big.Int{}}
	for _, each := range step["terms"].([]any) {
		term := each.(map[string]any)
		id := term["name"].(string)
		x.value[id] = number(term["value"])
		if before, ok := c.known[id]; ok {
			c.equal(name+" takes "+id, x.value[id], before)
		}
		if text, ok := term["raw"].(string); ok {
			x.raw[id], _ = new(big.Int).SetString(text, 10)
		}
	}

	c.integers(name, &x)
	if redo := redone[name]; redo != nil {
		c.known[name] = number(step["value"])
		want := redo(x.value)
		if c.row["metrics"].(map[string]any)["unrealizableLeg"] == true && slices.Contains(results, name) {
			want = math.NaN()
		}
		if find(c.row, "pricing.reason") == "quarantined" {
			want = math.NaN()
		}
		c.equal(name, c.known[name], want)
	}
}

// results are the steps that have no value with a leg that is unrealizable.
var results = []string{"divergence", "pnlUsd", "pnlCostUsd", "roi", "apr", "feeApr"}

// redone are the steps in floats.
var redone = map[string]func(x map[string]float64) float64{
	"V": worthOf, "W": worthOf, "D": worthOf, "uncollectedUsd": worthOf, "collectedUsd": worthOf,
	"G": func(x map[string]float64) float64 {
		if x["wei"] == 0 {
			return 0
		}
		return x["wei"] / 1e18 * x["nativePriceUsd"]
	},
	"F":          func(x map[string]float64) float64 { return x["uncollectedUsd"] + x["collectedUsd"] },
	"divergence": func(x map[string]float64) float64 { return x["V"] + x["W"] - x["D"] },
	"pnlUsd":     func(x map[string]float64) float64 { return x["divergence"] + x["F"] - x["G"] },
	"pnlCostUsd": func(x map[string]float64) float64 { return x["V"] + x["uncollectedUsd"] + x["flows"] },
	"roi":        func(x map[string]float64) float64 { return clamp(x["pnlUsd"] / x["D"] * 100) },
	"apr": func(x map[string]float64) float64 {
		return clamp(x["pnlUsd"] / x["D"] * 100 * 365 / x["ageDays"])
	},
	"feeApr": func(x map[string]float64) float64 {
		return clamp(x["F"] / x["D"] * 100 * 365 / x["ageDays"])
	},
	"leg0Claim": countedClaim, "leg1Claim": countedClaim,
}

func worthOf(x map[string]float64) (usd float64) {
	for _, leg := range []string{"0", "1"} {
		if x["amount"+leg] != 0 {
			usd += x["amount"+leg] / x["unit"+leg] * x["price"+leg+"Usd"]
		}
	}
	return usd
}

func countedClaim(x map[string]float64) float64 {
	if x["claim"] > x["exit"]-x["own"] {
		return 0
	}
	return x["claim"]
}

var (
	q96  = new(big.Int).Lsh(big.NewInt(1), 96)
	q128 = new(big.Int).Lsh(big.NewInt(1), 128)
	q256 = new(big.Int).Lsh(big.NewInt(1), 256)
)

// integers redoes a step whose results are exact.
func (c *calculator) integers(name string, x *terms) {
	switch name {
	case "principal":
		amount0, amount1 := principalOf(x.raw)
		c.same("principal 0", x.raw["amount0"], amount0)
		c.same("principal 1", x.raw["amount1"], amount1)
		c.group("current", x.raw)
	case "uncollected":
		for _, leg := range []string{"0", "1"} {
			fees := new(big.Int).Sub(x.raw["inside"+leg], x.raw["insideLast"+leg])
			fees.Mod(fees, q256).Mul(fees, x.raw["L"]).Div(fees, q128)
			c.same("fees "+leg, x.raw["fees"+leg], fees)
			x.raw["amount"+leg] = fees
		}
		c.group("uncollectedFees", x.raw)

	case "deposited":
		c.group("deposits", x.raw)
	case "withdrawn":
		c.group("withdrawals", x.raw)
	case "collected":
		c.group("collectedFees", x.raw)
	}
}

// principalOf is by where the price stands within the range.
func principalOf(x map[string]*big.Int) (amount0, amount1 *big.Int) {
	at := x["sqrtPrice"]
	if at.Cmp(x["sqrtLower"]) < 0 {
		at = x["sqrtLower"]
	}
	if at.Cmp(x["sqrtUpper"]) > 0 {
		at = x["sqrtUpper"]
	}
	amount0 = new(big.Int).Sub(x["sqrtUpper"], at)
	amount0.Mul(amount0, x["L"]).Mul(amount0, q96).Div(amount0, x["sqrtUpper"]).Div(amount0, at)
	amount1 = new(big.Int).Sub(at, x["sqrtLower"])
	amount1.Mul(amount1, x["L"]).Div(amount1, q96)
	return amount0, amount1
}

func (c *calculator) same(what string, got, want *big.Int) {
	c.t.Helper()
	if got.Cmp(want) != 0 {
		c.errorf("%s is %s; the calculator makes it %s", what, got, want)
	}
}

// group holds raw amounts against a group of the row.
func (c *calculator) group(name string, raw map[string]*big.Int) {
	for _, leg := range []string{"0", "1"} {
		field := "amounts." + name + ".amount" + leg + "Raw"
		if got := find(c.row, field); got != raw["amount"+leg].String() {
			c.errorf("%s is %v; explained is %s", field, got, raw["amount"+leg])
		}
	}
}

// results holds what came out against the row.
func (c *calculator) results() {
	for step, field := range map[string]string{
		"V": "underlyingValueUsd", "D": "deposits.valueUsd", "W": "withdrawals.valueUsd",
		"uncollectedUsd": "pendingFeesUsd", "collectedUsd": "collectedFees.valueUsd",
		"pnlUsd": "pnlUsd", "pnlCostUsd": "pnlCostUsd", "roi": "roi", "apr": "apr", "feeApr": "feeApr",
	} {
		value, ok := c.known[step]
		if !ok {
			c.errorf("%s is not explained", step)
		}
		c.equal(field, number(find(c.row, field)), value)
	}

	if gas := number(find(c.row, "gas.valueUsd")); gas == gas {
		c.equal("gas", gas, c.known["G"])
	}
}
