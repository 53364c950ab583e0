package consistency

import (
	"fmt"
	"math"
)

// tokens asks for the tokens of a chain, and for each of them, and holds them against
// the rows of pools.
func (c *checker) tokens(chain int64) error {
	for page, more := 1, true; more; page++ {
		path := fmt.Sprintf("/v1/tokens?chainId=%d&page=%d&limit=%d", chain, page, pageLength)
		var addresses []string
		err := c.with(chain, path, func(s *snapshot, a *answer) {
			j, p := c.judge("tokens", path), group(a.object(), "pagination")
			rows, traded := list(a.object(), "tokens"), s.tokensTraded()
			j.uncapped().checkPagination(p, len(traded), len(rows), page, pageLength)
			for i, r := range rows {
				at := fmt.Sprintf("tokens[%d]", i)
				j.equal(at+".rank", r["rank"], float64((page-1)*pageLength+i+1))
				ordered := i == 0 || tokenOrder.allows(rows[i-1], r)
				j.holds(at, ordered, r["tvlUsd"], "no token before it that is behind")
				j.checkToken(at+".", r, traded[text(r, "address")])
				addresses = append(addresses, text(r, "address"))
			}
			more = flag(p, "hasMore")
		})
		if err != nil {
			return err
		}

		for _, address := range spread(addresses, manyTokens) {
			if err := c.token(chain, address); err != nil {
				return err
			}
		}
	}
	return nil
}

// manyTokens bounds how many tokens of a page are looked at one by one.
const manyTokens = 40

var tokenOrder = &order{name: "tvl", value: func(r row) float64 { return number(r, "tvlUsd") }}

// traded is what the rows of pools say of a token.
type traded struct {
	snapshot, price map[string]any // of a pool that is not in quarantine; or nil
	pools           float64
	tvlUsd          float64
	known           bool
}

// tokensTraded adds up the pools of every token.
func (s *snapshot) tokensTraded() map[string]*traded {
	all := map[string]*traded{}
	for _, pool := range s.pools {
		tvl := number(pool, "metrics.tvlUsd")
		for _, leg := range legs {
			token := group(pool, "token"+leg)
			t := all[text(token, "address")]
			if t == nil {
				t = &traded{}
				all[text(token, "address")] = t
			}

			t.pools++
			if known(tvl) {
				t.tvlUsd, t.known = t.tvlUsd+tvl, true
			}
			if t.snapshot == nil && !isQuarantined(pool) {
				t.snapshot, t.price = token, group(pool, "pricing.token"+leg)
			}
		}
	}
	return all
}

// checkToken holds a token against what pools say of it.
func (j judge) checkToken(at string, m row, t *traded) {
	j.holds(at+"address", t != nil, m["address"], "a token of a pool")
	if t == nil {
		return
	}

	for name, value := range t.snapshot {
		j.equal(at+name, m[name], value)
	}
	tvl := t.tvlUsd
	if !t.known {
		tvl = math.NaN()
	}
	j.near(at+"tvlUsd", number(m, "tvlUsd"), tvl, 0)
	j.equal(at+"pools", m["pools"], t.pools)
}

// token asks for one token, and redoes its price from its markets.
func (c *checker) token(chain int64, address string) error {
	path := fmt.Sprintf("/v1/tokens/%d/%s", chain, address)
	return c.with(chain, path, func(s *snapshot, a *answer) {
		j, m, t := c.judge("token", path), a.object(), s.tokensTraded()[address]
		j.checkToken("", m, t)
		if t == nil {
			return
		}

		for _, name := range []string{"source", "asOf", "corroborated"} {
			if t.price != nil {
				j.equal(name, m[name], t.price[name])
			}
		}
		j.equal("risky", m["risky"], !flag(m, "corroborated"))
		priced := known(number(m, "priceUsd"))
		j.holds("reason", (m["reason"] == nil) == priced, m["reason"], "a reason where there is no price")
		j.checkUsedMarkets(m, t)
	})
}

// checkUsedMarkets redoes the price of a token from the markets that are used, and
// checks that each market is used or not for its checks.
func (j judge) checkUsedMarkets(m row, t *traded) {
	var used []map[string]any
	for i, market := range list(m, "markets") {
		failed := 0
		for _, check := range list(market, "checks") {
			if !flag(check, "passed") {
				failed++
			}
		}
		if flag(market, "used") {
			used = append(used, row{"priceUsd": market["priceUsd"], "weightUsd": market["depthUsd"]})
		}
		leftOut := !flag(market, "used") && market["reason"] != nil
		j.holds(fmt.Sprintf("markets[%d]", i), failed == 0 || leftOut, market["reason"],
			"left out for a reason, as a check failed")
	}

	if number(m, "marketsOmitted") > 0 {
		return
	}
	if t.price != nil {
		j.equal("markets used", float64(len(used)), number(t.price, "markets"))
	}
	if len(used) > 0 && known(number(m, "priceUsd")) {
		j.near("priceUsd", number(m, "priceUsd"), medianOf(used, flag(m, "anchor")), 0)
	}
}
