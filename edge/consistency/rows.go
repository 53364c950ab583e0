package consistency

import (
	"math"
	"math/big"
	"slices"
	"strconv"
)

// legs are the two tokens of a pool, by what their fields end in.
var legs = [2]string{"0", "1"}

// amountGroups are the groups of a row that have both tokens.
var amountGroups = []string{
	"current", "deposits", "withdrawals", "collectedFees", "uncollectedFees",
}

var sources = []any{"anchor", "pool", "derived", "feed", "none"}

var reasons = []any{
	nil, "no_market", "thin_market", "uncorroborated", "own_pool_only", "stale_price",
	"bad_decimals", "hook_delta", "unrealizable", "quarantined",
}

// mostPercent is where percentages a year and of a return are cut off.
const mostPercent = 100_000

func clamped(x float64) float64 { return max(-mostPercent, min(x, mostPercent)) }

// positionRow checks a row by its own fields.
func (j judge) positionRow(r row) {
	j.positionFields(r)
	j.positionAmounts(r)
	j.positionUsd(r)
	j.positionResults(r)
	j.positionMarkers(r)
	j.positionRange(r)
	j.positionLifecycle(r)
	j.positionPricing(r)
}

func (j judge) positionFields(r row) {
	j = j.by("fields")
	j.fieldsOf("", r, positionFields)
	j.fieldsOf("metrics", group(r, "metrics"), metricsFields)
	j.fieldsOf("poolStats", group(r, "poolStats"), poolMetricsFields)
	j.fieldsOf("pricing", group(r, "pricing"), positionPricingFields)
	for _, name := range amountGroups {
		j.fieldsOf("amounts."+name, group(r, "amounts."+name), amountsFields)
	}
	j.fieldsOf("amounts.gas", group(r, "amounts.gas"), gasFields)
	for _, leg := range legs {
		j.fieldsOf("token"+leg, group(r, "token"+leg), tokenFields)
		j.fieldsOf("pricing.token"+leg, group(r, "pricing.token"+leg), priceFields)
	}

	j.equal("tokenId", r["tokenId"], r["positionId"])
	j.equal("protocol", r["protocol"], protocol)
	j.equal("pricing.pnlBasis", text(r, "pricing.pnlBasis"), "hodl")
}

// positionAmounts checks the digits of amounts against the raw integers.
func (j judge) positionAmounts(r row) {
	j = j.by("amounts")
	for _, name := range amountGroups {
		for _, leg := range legs {
			at := "amounts." + name + ".amount" + leg
			decimals := number(r, "token"+leg+".decimals")
			j.equal(at, field(r, at), amountOf(text(r, at+"Raw"), decimals))
		}
	}
	if text(r, "amounts.gas.nativeRaw") != "" {
		j.equal("amounts.gas.native", text(r, "amounts.gas.native"),
			decimalOf(text(r, "amounts.gas.nativeRaw"), nativeDecimals))
	}
}

// nativeDecimals are those of the native currency of every chain.
const nativeDecimals = 18

// worth is what the amounts of a group come to; NaN when an amount that is not
// 0 has no price.
func worth(r row, name string, prices [2]float64) (usd float64) {
	for k, leg := range legs {
		raw := integerOf(text(r, "amounts."+name+".amount"+leg+"Raw"))
		if raw != nil && raw.Sign() == 0 {
			continue
		}
		usd += floatOf(raw, int(number(r, "token"+leg+".decimals"))) * prices[k]
	}
	return usd
}

// isQuarantined reports whether a row is of a pool whose events contradict each
// other, or is that pool's: nothing of it is worth anything, not even an amount
// of 0.
func isQuarantined(r row) bool { return text(r, "pricing.reason") == "quarantined" }

// noUsd checks that the values of a quarantined position are null.
func (j judge) noUsd(r row) {
	j = j.by("quarantine")
	for _, name := range amountGroups {
		j.near("amounts."+name+".valueUsd", number(r, "amounts."+name+".valueUsd"), math.NaN(), 0)
	}
	for _, name := range []string{
		"amounts.gas.valueUsd", "metrics.pnlCostUsd", "pricing.nativePriceUsd",
		"pricing.token0.priceUsd", "pricing.token1.priceUsd",
	} {
		j.near(name, number(r, name), math.NaN(), 0)
	}
}

// positionUsd checks what the groups are worth at the row's own prices.
func (j judge) positionUsd(r row) {
	if isQuarantined(r) {
		j.noUsd(r)
		return
	}
	j = j.by("usd")
	prices := [2]float64{number(r, "pricing.token0.priceUsd"), number(r, "pricing.token1.priceUsd")}
	for _, name := range []string{"deposits", "withdrawals", "collectedFees"} {
		at := "amounts." + name + ".valueUsd"
		j.near(at, number(r, at), worth(r, name, prices), 0)
	}

	// What cannot be realised counts 0. The row does not say of which leg.
	counted := [][2]float64{prices}
	if flag(r, "metrics.unrealizableLeg") {
		counted = [][2]float64{{0, prices[1]}, {prices[0], 0}, {0, 0}}
	}
	current := number(r, "amounts.current.valueUsd")
	pending := number(r, "amounts.uncollectedFees.valueUsd")
	best := counted[0]
	for _, option := range counted {
		if isNear(current, worth(r, "current", option), 0) &&
			isNear(pending, worth(r, "uncollectedFees", option), 0) {
			best = option
		}
	}
	j.near("amounts.current.valueUsd", current, worth(r, "current", best), 0)
	j.near("amounts.uncollectedFees.valueUsd", pending, worth(r, "uncollectedFees", best), 0)

	gas := integerOf(text(r, "amounts.gas.nativeRaw"))
	want := floatOf(gas, nativeDecimals) * number(r, "pricing.nativePriceUsd")
	if gas != nil && gas.Sign() == 0 {
		want = 0
	}
	j.near("amounts.gas.valueUsd", number(r, "amounts.gas.valueUsd"), want, 0)
}

// parts are the groups of a row in USD, by the letters of the formulas.
type parts struct{ v, w, d, collected, uncollected, g float64 }

func partsOf(r row) parts {
	usd := func(name string) float64 { return number(r, "amounts."+name+".valueUsd") }
	return parts{
		usd("current"), usd("withdrawals"), usd("deposits"), usd("collectedFees"),
		usd("uncollectedFees"), usd("gas"),
	}
}

// fees is F.
func (p *parts) fees() float64 { return p.uncollected + p.collected }

// divergence is V + W - D.
func (p *parts) divergence() float64 { return p.v + p.w - p.d }

// scale is the largest that rounding may be relative to.
func (p *parts) scale() (sum float64) {
	for _, x := range []float64{p.v, p.w, p.d, p.collected, p.uncollected, p.g} {
		if known(x) {
			sum += math.Abs(x)
		}
	}
	return sum
}

// positionResults recomputes the metrics from their parts.
func (j judge) positionResults(r row) {
	j = j.by("results")
	p := partsOf(r)
	j.near("metrics.underlyingValueUsd", number(r, "metrics.underlyingValueUsd"), p.v, 0)
	j.near("metrics.pendingFeesUsd", number(r, "metrics.pendingFeesUsd"), p.uncollected, 0)

	pnl, fees := p.divergence()+p.fees()-p.g, p.fees()
	if flag(r, "metrics.unrealizableLeg") {
		pnl, fees = math.NaN(), math.NaN()
		j.near("metrics.pnlCostUsd", number(r, "metrics.pnlCostUsd"), math.NaN(), 0)
	}
	j.near("metrics.pnlUsd", number(r, "metrics.pnlUsd"), pnl, p.scale())

	years := max(number(r, "metrics.ageSeconds"), 3600) / 86400 / 365
	perDeposit := 100 / p.d
	if !(p.d > 0) {
		perDeposit = math.NaN()
	}
	percent := p.scale() * math.Abs(perDeposit)
	j.near("metrics.roi", number(r, "metrics.roi"), clamped(pnl*perDeposit), percent)
	j.near("metrics.apr", number(r, "metrics.apr"), clamped(pnl*perDeposit/years), percent/years)
	j.near("metrics.feeApr", number(r, "metrics.feeApr"), clamped(fees*perDeposit/years), percent/years)
}

// positionMarkers checks the flags against what they are about.
func (j judge) positionMarkers(r row) {
	j = j.by("markers")
	liquidity := integerOf(text(r, "liquidity"))
	open := liquidity != nil && liquidity.Sign() > 0
	j.equal("isActive", flag(r, "isActive"), open)
	tick := number(r, "currentTick")
	inside := number(r, "tickLower") <= tick && tick < number(r, "tickUpper")
	j.equal("metrics.inRange", flag(r, "metrics.inRange"), inside)
	for _, end := range []string{"tickLower", "tickUpper"} {
		aligned := math.Mod(number(r, end), number(r, "tickSpacing")) == 0
		j.holds(end, aligned, r[end], "a multiple of tickSpacing")
	}
	j.holds("tickLower", number(r, "tickLower") < number(r, "tickUpper"), r["tickLower"], "below tickUpper")

	unpriced := isQuarantined(r)
	for _, leg := range legs {
		if known(number(r, "pricing.token"+leg+".priceUsd")) {
			continue
		}
		for _, name := range amountGroups {
			unpriced = unpriced || text(r, "amounts."+name+".amount"+leg+"Raw") != "0"
		}
	}
	j.equal("metrics.priceUnavailable", flag(r, "metrics.priceUnavailable"), unpriced)

	if !open {
		for _, leg := range legs {
			for _, name := range []string{"current", "uncollectedFees"} {
				at := "amounts." + name + ".amount" + leg + "Raw"
				j.equal(at, text(r, at), "0")
			}
		}
		j.equal("metrics.unrealizableLeg", flag(r, "metrics.unrealizableLeg"), false)
	}
}

// positionPricing checks what the row says of its prices.
func (j judge) positionPricing(r row) {
	j = j.by("pricing")
	for _, leg := range legs {
		j.checkPrice("pricing.token"+leg, group(r, "pricing.token"+leg))
	}
	reason := field(r, "pricing.reason")
	j.holds("pricing.reason", slices.Contains(reasons, reason), reason, "null or a known reason")

	// No reason is about gas whose receipt was not read. Then pnlCostUsd is unknown too.
	gas, cost := known(number(r, "amounts.gas.valueUsd")), known(number(r, "metrics.pnlCostUsd"))
	needs := flag(r, "metrics.priceUnavailable") || flag(r, "metrics.unrealizableLeg") || gas && !cost
	for _, leg := range legs {
		needs = needs || !known(number(r, "pricing.token"+leg+".priceUsd"))
	}
	j.holds("pricing.reason", reason != nil || !needs, reason, "a reason, as a number is missing")
	j.holds("pricing.reason", reason == nil || needs || !gas, reason, "null, as no number is missing")
}

// checkPrice checks one leg of a pricing group.
func (j judge) checkPrice(at string, p map[string]any) {
	source, _ := p["source"]
	usd := number(p, "priceUsd")
	j.holds(at+".source", slices.Contains(sources, source), source, "a known source")
	j.holds(at+".source", (source == "none") == !known(usd), source, "none exactly where the price is null")
	j.holds(at+".priceUsd", !known(usd) || usd > 0, usd, "above 0, or null")
	j.holds(at+".corroborated", source != "anchor" && source != "feed" || flag(p, "corroborated"),
		p["corroborated"], "true for an anchor and a feed")
	j.holds(at+".markets", source != "none" && source != "feed" || number(p, "markets") == 0,
		p["markets"], "0 for a price that is of no market")
}

// positionInPool checks a row against the row of its pool.
func (j judge) positionInPool(r, pool row) {
	j = j.by("position in pool")
	j.holds("poolId", pool != nil, r["poolId"], "a pool of the chain")
	if pool == nil {
		return
	}
	for _, name := range []string{"chainId", "currentTick", "tickSpacing", "fee", "asOfBlock"} {
		j.equal(name, r[name], pool[name])
	}
	j.leaves("poolStats", group(r, "poolStats"), group(pool, "metrics"))
	j.equal("pricing.reason is quarantined", isQuarantined(r), isQuarantined(pool))
	for _, leg := range legs {
		j.leaves("token"+leg, group(r, "token"+leg), group(pool, "token"+leg), "priceUsd")
		j.positionPrice(r, pool, leg)
	}

	if flag(r, "isActive") {
		j.near("pricing.nativePriceUsd", number(r, "pricing.nativePriceUsd"),
			number(pool, "pricing.nativePriceUsd"), 0)
		j.positionPrincipal(r, pool)
	}
}

// positionPrice checks the price of a leg: of an open row that of now, unless
// nothing but the position's own pool says so; of a closed row the snapshot's
// is that of now.
func (j judge) positionPrice(r, pool row, leg string) {
	now := number(pool, "token"+leg+".priceUsd")
	shown, used := number(r, "token"+leg+".priceUsd"), number(r, "pricing.token"+leg+".priceUsd")
	if !flag(r, "isActive") {
		j.near("token"+leg+".priceUsd", shown, now, 0)
		return
	}
	j.near("token"+leg+".priceUsd", shown, used, 0)
	if known(used) {
		j.near("pricing.token"+leg+".priceUsd", used, now, 0)
		j.leaves("pricing.token"+leg, group(r, "pricing.token"+leg), group(pool, "pricing.token"+leg))
	}
}

// positionPrincipal recomputes the amounts behind an open position's liquidity.
func (j judge) positionPrincipal(r, pool row) {
	j = j.by("principal")
	liquidity, at := integerOf(text(r, "liquidity")), integerOf(text(pool, "sqrtPriceX96"))
	if liquidity == nil || at == nil {
		return
	}

	lower, upper := number(r, "tickLower"), number(r, "tickUpper")
	amounts := [2]*big.Int{}
	amounts[0], amounts[1] = principal(liquidity, at,
		sqrtPriceAtTick(int64(lower)), sqrtPriceAtTick(int64(upper)))
	for k, leg := range legs {
		name := "amounts.current.amount" + leg + "Raw"
		j.equal(name, text(r, name), amounts[k].String())
	}
}

func integer(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
