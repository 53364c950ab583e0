package consistency

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// checkExplanation asks how a row comes about and redoes it.
func (c *checker) checkExplanation(chain int64, id, path string) error {
	path += "/explain"
	return c.with(chain, path, func(s *snapshot, a *answer) {
		e := explained{
			judge: c.judge("explain", path), row: s.position[id], said: a.object(),
			known: map[string]float64{},
		}

		s.learnNow(e.judge, "timestamp", number(e.said, "timestamp"))
		e.equal("positionId", e.said["positionId"], e.row["positionId"])
		e.equal("asOfBlock", e.said["asOfBlock"], e.row["asOfBlock"])
		e.equal("reason", e.said["reason"], group(e.row, "pricing")["reason"])
		e.checkPrices()
		for _, step := range list(e.said, "steps") {
			e.checkStep(step)
		}
		e.checkResults()
	})
}

// explained redoes the explanation of a row from nothing but its numbers.
type explained struct {
	judge
	row, said row
	known     map[string]float64 // results so far
}

// checkPrices redoes the price of every token from its markets, and checks that the
// tokens that those are priced in have been explained before.
func (e *explained) checkPrices() {
	usd, anchors := map[string]float64{}, map[string]bool{}
	// A token with a market against another than an anchor: markets against it were read at
	// the price that it had without that one.
	moved := map[string]bool{}
	for _, p := range list(e.said, "prices") {
		token, price := text(p, "token"), group(p, "price")
		at := "price of " + token
		usd[token], anchors[token] = number(price, "priceUsd"), flag(p, "anchor")
		var used []map[string]any
		for _, m := range list(p, "markets") {
			e.checkMarket(at, m)
			if !flag(m, "used") {
				continue
			}
			used = append(used, m)
			against := text(m, "against")
			by, explained := usd[against]
			if explained && !moved[against] {
				e.near(at+": againstUsd", number(m, "againstUsd"), by, 0)
			}
			moved[token] = moved[token] || explained && !anchors[against]
		}
		omitted := number(p, "marketsOmitted") > 0
		if !omitted && flag(e.row, "isActive") {
			e.equal(at+": markets", number(price, "markets"), float64(len(used)))
		}
		if len(used) > 0 && !omitted && known(usd[token]) {
			e.near(at, usd[token], medianOf(used, flag(p, "anchor")), 0)
		}
		e.checkPrice(at, price)
		e.checkHeld(at, p, price)
	}

	if !flag(e.row, "isActive") {
		return
	}
	for _, leg := range legs {
		by, ok := usd[text(e.row, "token"+leg+".address")]
		e.holds("prices", ok, "none of leg "+leg, "an explanation")
		if used := number(e.row, "pricing.token"+leg+".priceUsd"); ok && known(used) {
			e.near("price of leg "+leg, by, used, 0)
		}
	}
}

// checkHeld checks that a price from markets of which none is left is held for a
// while, and no longer. What a closed row's price was is not kept.
func (e *explained) checkHeld(at string, p, price map[string]any) {
	source := text(price, "source")
	if !flag(e.row, "isActive") || source != "pool" && source != "derived" || number(price, "markets") > 0 {
		return
	}

	held := false
	for _, check := range list(p, "checks") {
		held = held || text(check, "name") == "hold-time of the price" && flag(check, "met")
	}
	e.holds(at, held, "of no market", "a price that is held, by its checks")
}

// bounded are the checks of a market whose threshold is the most that it may
// have; switchedOff those of them that a threshold of 0 does without.
var (
	bounded = map[string]bool{
		"quarantined": true, "hook-allow": true, "market-recency": true, "outlier": true,
	}
	switchedOff = map[string]bool{"market-recency": true}
)

// checkMarket checks that a market is left out for a threshold that it misses.
func (e *explained) checkMarket(at string, m map[string]any) {
	at += ": market " + text(m, "poolId")
	missed := 0
	for _, check := range list(m, "checks") {
		name, have, want := text(check, "name"), number(check, "have"), number(check, "want")
		met := have >= want
		if bounded[name] {
			met = have <= want || want == 0 && switchedOff[name]
		}
		e.equal(at+": "+name, flag(check, "met"), met)
		if !flag(check, "met") {
			missed++
		}
	}

	if flag(m, "used") {
		e.holds(at, known(number(m, "priceUsd")), m["priceUsd"], "a price, as it is used")
		e.holds(at, missed == 0, missed, "no threshold missed, as it is used")
		return
	}
	e.holds(at, missed == 0 || m["reason"] != nil, m["reason"], "a reason, as a threshold is missed")
}

// medianOf is the weighted median, or of an anchor's markets the plain one.
func medianOf(used []map[string]any, plain bool) float64 {
	used = slices.Clone(used)
	slices.SortFunc(used, func(a, b map[string]any) int {
		return int(math.Copysign(1, number(a, "priceUsd")-number(b, "priceUsd")))
	})

	n := len(used)
	if plain {
		return (number(used[(n-1)/2], "priceUsd") + number(used[n/2], "priceUsd")) / 2
	}

	all, sum := 0.0, 0.0
	for _, m := range used {
		all += number(m, "weightUsd")
	}
	for _, m := range used {
		if sum += number(m, "weightUsd"); sum >= all/2 {
			return number(m, "priceUsd")
		}
	}
	return number(used[n-1], "priceUsd")
}

// terms are the numbers that go into a step, and the raw ones as integers.
type terms struct {
	value map[string]float64
	raw   map[string]*big.Int
}

func (e *explained) checkStep(step map[string]any) {
	name := text(step, "name")
	x := terms{map[string]float64{}, map[string]*big.Int{}}
	for _, term := range list(step, "terms") {
		id := text(term, "name")
		x.value[id] = number(term, "value")
		if before, ok := e.known[id]; ok {
			e.near(name+" takes "+id, x.value[id], before, 0)
		}
		if raw := integerOf(text(term, "raw")); raw != nil {
			x.raw[id] = raw
		}
	}

	e.checkIntegers(name, &x)
	if redo := redone[name]; redo != nil {
		value, scale := number(step, "value"), 0.0
		for _, v := range x.value {
			if known(v) {
				scale += math.Abs(v)
			}
		}
		if name == "roi" || name == "apr" || name == "feeApr" || name == "G" || isWorth(name) {
			scale = 0
		}
		e.known[name] = value
		want := redo(x.value)
		if isQuarantined(e.row) || flag(e.row, "metrics.unrealizableLeg") && ofReturn[name] {
			want = math.NaN()
		}
		e.near(name, value, want, scale)
	}
}

// ofReturn are the steps that say nothing of a position with an unrealizable
// leg: an exit that is not there is no loss.
var ofReturn = map[string]bool{
	"divergence": true, "pnlUsd": true, "pnlCostUsd": true, "roi": true, "apr": true, "feeApr": true,
}

func isWorth(name string) bool {
	return slices.Contains([]string{"V", "W", "D", "uncollectedUsd", "collectedUsd"}, name)
}

// redone are the steps in floats.
var redone = map[string]func(x map[string]float64) float64{
	"V": explainedWorth, "W": explainedWorth, "D": explainedWorth,
	"uncollectedUsd": explainedWorth, "collectedUsd": explainedWorth,
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
	"roi":        func(x map[string]float64) float64 { return clamped(perDeposit(x["pnlUsd"], x) * 100) },
	"apr": func(x map[string]float64) float64 {
		return clamped(perDeposit(x["pnlUsd"], x) * 100 * 365 / x["ageDays"])
	},
	"feeApr": func(x map[string]float64) float64 {
		return clamped(perDeposit(x["F"], x) * 100 * 365 / x["ageDays"])
	},
}

func perDeposit(usd float64, x map[string]float64) float64 {
	if !(x["D"] > 0) {
		return math.NaN()
	}
	return usd / x["D"]
}

func explainedWorth(x map[string]float64) (usd float64) {
	for _, leg := range legs {
		if x["amount"+leg] != 0 {
			usd += x["amount"+leg] / x["unit"+leg] * x["price"+leg+"Usd"]
		}
	}
	return usd
}

// checkIntegers redoes a step whose results are exact.
func (e *explained) checkIntegers(name string, x *terms) {
	switch name {
	case "principal":
		for _, end := range []string{"Lower", "Upper"} {
			want := sqrtPriceAtTick(int64(number(e.row, "tick"+end)))
			e.equal("principal: sqrt"+end, show(x.raw["sqrt"+end]), want.String())
		}
		liquidity, price := x.raw["L"], x.raw["sqrtPrice"]
		lower, upper := x.raw["sqrtLower"], x.raw["sqrtUpper"]
		if liquidity == nil || price == nil || lower == nil || upper == nil {
			e.holds("principal", false, "without its terms", "L, sqrtPrice, sqrtLower, sqrtUpper")
			return
		}

		amount0, amount1 := principal(liquidity, price, lower, upper)
		e.equal("principal: amount0", show(x.raw["amount0"]), amount0.String())
		e.equal("principal: amount1", show(x.raw["amount1"]), amount1.String())
		e.checkGroup("current", x.raw)
	case "uncollected":
		fees := map[string]*big.Int{}
		for _, leg := range legs {
			if x.raw["inside"+leg] == nil || x.raw["insideLast"+leg] == nil || x.raw["L"] == nil {
				e.holds("uncollected", false, "without its terms", "L, inside and insideLast of both legs")
				return
			}
			fees["amount"+leg] = feesOwed(x.raw["inside"+leg], x.raw["insideLast"+leg], x.raw["L"])
			e.equal("uncollected: fees"+leg, show(x.raw["fees"+leg]), fees["amount"+leg].String())
		}
		e.checkGroup("uncollectedFees", fees)
	case "deposited":
		e.checkGroup("deposits", x.raw)
	case "withdrawn":
		e.checkGroup("withdrawals", x.raw)
	case "collected":
		e.checkGroup("collectedFees", x.raw)
	}
}

// checkGroup holds raw amounts against a group of the row.
func (e *explained) checkGroup(name string, raw map[string]*big.Int) {
	for _, leg := range legs {
		at := "amounts." + name + ".amount" + leg + "Raw"
		e.equal(name+": amount"+leg, show(raw["amount"+leg]), text(e.row, at))
	}
}

// explainedFields are the fields of the row by the steps that they come from.
var explainedFields = map[string]string{
	"V": "metrics.underlyingValueUsd", "D": "amounts.deposits.valueUsd", "W": "amounts.withdrawals.valueUsd",
	"uncollectedUsd": "metrics.pendingFeesUsd", "collectedUsd": "amounts.collectedFees.valueUsd",
	"G": "amounts.gas.valueUsd", "pnlUsd": "metrics.pnlUsd", "pnlCostUsd": "metrics.pnlCostUsd",
	"roi": "metrics.roi", "apr": "metrics.apr", "feeApr": "metrics.feeApr",
}

// checkResults holds what comes out against the row.
func (e *explained) checkResults() {
	for step, at := range explainedFields {
		value, ok := e.known[step]
		if !ok {
			e.holds(step, false, "missing", fmt.Sprintf("a step, as %s comes from it", at))
			continue
		}
		e.near(step, value, number(e.row, at), 0)
	}
}
