package consistency

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// dynamicFee is the fee of a key that leaves it to a hook; no row shows it.
const dynamicFee = 8388608

// poolRow checks a pool's row by its own fields.
func (j judge) poolRow(r row) {
	j.poolFields(r)
	j.poolMarket(r)
	j.poolPricing(r)
}

func (j judge) poolFields(r row) {
	j = j.by("fields")
	j.fieldsOf("", r, poolFields)
	j.fieldsOf("metrics", group(r, "metrics"), poolMetricsFields)
	j.fieldsOf("pricing", group(r, "pricing"), poolPricingFields)
	for _, leg := range legs {
		token := group(r, "token"+leg)
		j.fieldsOf("token"+leg, token, tokenFields)
		j.fieldsOf("pricing.token"+leg, group(r, "pricing.token"+leg), priceFields)
		j.tokenText("token"+leg+".symbol", text(token, "symbol"), 64)
		j.tokenText("token"+leg+".name", text(token, "name"), 128)
		zero := strings.Trim(text(token, "address"), "0x") == ""
		j.equal("token"+leg+".isNative", flag(token, "isNative"), zero)
	}

	j.holds("token0.address", text(r, "token0.address") < text(r, "token1.address"),
		text(r, "token0.address"), "below token1.address")
	j.equal("protocol", r["protocol"], protocol)
	fee := number(r, "fee")
	unseen, pips := !known(fee) && flag(r, "isDynamicFee"), fee >= 0 && fee <= 1_000_000
	j.holds("fee", unseen || pips && fee != dynamicFee, fee, "pips, null only where it is dynamic")
}

// tokenText checks that text from the chain was cut and cleaned.
func (j judge) tokenText(at, shown string, most int) {
	runes := []rune(shown)
	j.holds(at, len(runes) <= most, len(runes), "at most so many characters as the API says")
	dirty := slices.IndexFunc(runes, func(r rune) bool {
		return unicode.IsControl(r) || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e ||
			r >= 0x2060 && r <= 0x2069 || r == 0xfeff
	})
	j.holds(at, dirty < 0, shown, "without control, bidirectional and zero-width characters")
}

// poolMarket checks prices, windows and rates.
func (j judge) poolMarket(r row) {
	j = j.by("pool market")
	sqrt := integerOf(text(r, "sqrtPriceX96"))
	if sqrt == nil {
		return
	}

	// A price that fell onto a tick leaves the pool one tick lower.
	tick := int64(number(r, "currentTick"))
	lower, upper := sqrtPriceAtTick(tick), sqrtPriceAtTick(tick+1)
	j.holds("currentTick", sqrt.Cmp(lower) >= 0 && sqrt.Cmp(upper) <= 0, tick, "the tick of sqrtPriceX96")

	price := floatOf(sqrt, 0) / (1 << 96)
	price *= price * math.Pow10(int(number(r, "token0.decimals")-number(r, "token1.decimals")))
	if shown := number(r, "metrics.currentPrice"); known(shown) {
		j.near("metrics.currentPrice", shown, price, 0)
	} else {
		reason := text(r, "pricing.reason")
		j.holds("metrics.currentPrice", reason == "bad_decimals", reason, "a price, as decimals are known")
	}

	tvl, fees := number(r, "metrics.tvlUsd"), number(r, "metrics.feesUsd24h")
	rate := clamped(fees / tvl * 36500)
	if !(tvl > 0) || flag(r, "pricing.priceUnavailable") {
		rate = math.NaN()
	}
	j.near("metrics.feeApr", number(r, "metrics.feeApr"), rate, 0)
	j.holds("metrics.tvlUsd", !(tvl < 0), tvl, "at least 0")

	// A longer window has what a shorter one has; unknown ones say nothing.
	windows := []string{"1h", "24h", "7d", "30d"}
	for k := range windows {
		volume, fees := "metrics.volumeUsd"+windows[k], "metrics.feesUsd"+windows[k]
		paid := number(r, fees)
		j.holds(fees, isAtMost(paid, number(r, volume)), paid, "at most the volume")
		for _, longer := range windows[k+1:] {
			for _, what := range []string{"metrics.volumeUsd", "metrics.feesUsd"} {
				short, long := number(r, what+windows[k]), number(r, what+longer)
				j.holds(what+windows[k], isAtMost(short, long), short, "at most that of "+longer)
			}
		}
	}
}

// poolQuarantine checks that nothing of a quarantined pool is worth anything.
// The risk of its tokens is what it is elsewhere.
func (j judge) poolQuarantine(r row) {
	j = j.by("quarantine")
	for _, name := range []string{
		"metrics.tvlUsd", "metrics.volumeUsd1h", "metrics.volumeUsd24h", "metrics.volumeUsd7d",
		"metrics.volumeUsd30d", "metrics.feesUsd1h", "metrics.feesUsd24h", "metrics.feesUsd7d",
		"metrics.feesUsd30d", "metrics.feeApr", "pricing.nativePriceUsd",
		"pricing.token0.priceUsd", "pricing.token1.priceUsd", "token0.priceUsd", "token1.priceUsd",
	} {
		j.near(name, number(r, name), math.NaN(), 0)
	}
	j.equal("pricing.priceUnavailable", flag(r, "pricing.priceUnavailable"), true)
	j.equal("pricing.unrealizable", flag(r, "pricing.unrealizable"), false)
}

func (j judge) poolPricing(r row) {
	if isQuarantined(r) {
		j.poolQuarantine(r)
		return
	}
	j = j.by("pricing")
	unpriced := false
	for _, leg := range legs {
		j.checkPrice("pricing.token"+leg, group(r, "pricing.token"+leg))
		usd := number(r, "pricing.token"+leg+".priceUsd")
		unpriced = unpriced || !known(usd)
		j.near("token"+leg+".priceUsd", number(r, "token"+leg+".priceUsd"), usd, 0)
		corroborated := flag(r, "pricing.token"+leg+".corroborated")
		j.equal("token"+leg+".risky", flag(r, "token"+leg+".risky"), !corroborated)
	}

	reason := field(r, "pricing.reason")
	j.holds("pricing.reason", slices.Contains(reasons, reason), reason, "null or a known reason")
	j.holds("pricing.reason", (reason != nil) == unpriced, reason,
		"a reason exactly where a leg has no price")
	j.holds("pricing.priceUnavailable", !flag(r, "pricing.priceUnavailable") || unpriced, true,
		"false, as both legs have a price")
}

// tokenSeen is what a pool said of a token, and which.
type tokenSeen struct {
	pool            string
	snapshot, price map[string]any
}

// poolTokens checks that every pool says the same of a token.
func (j judge) poolTokens(r row, seen map[string]tokenSeen) {
	j = j.by("tokens")
	for _, leg := range legs {
		token, price := group(r, "token"+leg), group(r, "pricing.token"+leg)
		at := text(token, "address")
		before, ok := seen[at]
		if isQuarantined(r) { // shows no price, whatever the token has
			if ok {
				j.leaves("token"+leg, token, before.snapshot, "priceUsd")
			}
			continue
		}

		if !ok {
			seen[at] = tokenSeen{text(r, "poolId"), token, price}
			continue
		}
		j.leaves("token"+leg, token, before.snapshot)
		j.leaves("pricing.token"+leg, price, before.price)
	}
}

// openIn is how many open positions a pool has, and of how many owners.
type openIn struct {
	positions int
	owners    map[string]bool
}

func (s *snapshot) countPositions() map[string]*openIn {
	counts := map[string]*openIn{}
	for _, r := range s.positions {
		if !flag(r, "isActive") {
			continue
		}

		id := text(r, "poolId")
		if counts[id] == nil {
			counts[id] = &openIn{owners: map[string]bool{}}
		}
		counts[id].positions++
		counts[id].owners[text(r, "owner")] = true
	}
	return counts
}

// poolCounts checks a pool's counts against the positions that there are.
func (j judge) poolCounts(r row, open *openIn) {
	j = j.by("pool counts")
	if open == nil {
		open = &openIn{}
	}
	// Null says that they are not known yet.
	if count := number(r, "positionsCount"); known(count) {
		j.equal("positionsCount", count, float64(open.positions))
	}
	if count := number(r, "holdersCount"); known(count) {
		j.equal("holdersCount", count, float64(len(open.owners)))
	}
}
