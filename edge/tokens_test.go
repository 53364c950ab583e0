package edge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// poolsByToken reads all pools, and lists those of every token by chain and address.
func (f *front) poolsByToken() map[string][]map[string]any {
	f.t.Helper()
	all := map[string][]map[string]any{}
	for page := 1; ; page++ {
		m := f.get(fmt.Sprintf("/v1/pools?includeRisky=1&limit=100&page=%d", page)).decoded(f.t)
		for _, each := range m["pools"].([]any) {
			pool := each.(map[string]any)
			for _, leg := range []string{"token0", "token1"} {
				key := fmt.Sprint(pool["chainId"], " ", pool[leg].(map[string]any)["address"])
				all[key] = append(all[key], pool)
			}
		}

		if m["pagination"].(map[string]any)["hasMore"] == false {
			return all
		}
	}
}

// TestTokenList holds the tokens of all chains against the rows of their pools: none
// is missing, the highest TVL stands first, and each is what the pools show.
func TestTokenList(t *testing.T) {
	s := serve(t, nil)
	pools := s.poolsByToken()
	f := func(limit int) {
		t.Helper()
		var last map[string]any
		seen := map[string]bool{}
		for page := 1; len(seen) < len(pools); page++ {
			m := s.get(fmt.Sprintf("/v1/tokens?limit=%d&page=%d", limit, page)).decoded(t)
			for _, each := range m["tokens"].([]any) {
				token := each.(map[string]any)
				key := fmt.Sprint(token["chainId"], " ", token["address"])
				if seen[key] || token["rank"] != float64(len(seen)+1) {
					t.Errorf("%s: rank %v", key, token["rank"])
				}
				seen[key] = true
				checkTokenRow(t, key, token, pools[key])
				if last != nil && !standsAfter(last, token) {
					t.Errorf("%v stands after %v", token, last)
				}
				last = token
			}

			p := m["pagination"].(map[string]any)
			if p["page"] != float64(page) || p["total"] != float64(len(pools)) || p["hasMore"] != (page*limit < len(pools)) {
				t.Fatalf("page %d: pagination %v of %d tokens", page, p, len(pools))
			}
		}
	}
	f(7)
	f(100)

	rows := s.get("/v1/tokens?limit=100&page=999999999999999999").decoded(t)
	if n := len(rows["tokens"].([]any)); n != 0 {
		t.Errorf("a page past the end has %d rows", n)
	}
	s = serve(t, func(c *Config) { offline(c, chainsWith(1)...) })
	if m := s.get("/v1/tokens?limit=1").decoded(t); m["partial"] != true || fmt.Sprint(m["missingChains"]) != "[42161]" {
		t.Errorf("without a chain: partial %v, missingChains %v", m["partial"], m["missingChains"])
	}
	s = serve(t, func(c *Config) { c.Limits.Freshness = -time.Second })
	if m := s.get("/v1/tokens").decoded(t); m["stale"] != true || m["dataAsOf"] == nil {
		t.Errorf("old data: stale %v, dataAsOf %v", m["stale"], m["dataAsOf"])
	}
	s = serve(t, func(c *Config) { c.Board = reopenBoard(t) })
	if a := s.get("/v1/tokens"); a.code != 503 || !strings.Contains(a.body, "still loading") {
		t.Errorf("after a restart: %d %s", a.code, a.body)
	}
}

// checkTokenRow holds a token against the pools that trade it.
func checkTokenRow(t *testing.T, key string, token map[string]any, pools []map[string]any) {
	t.Helper()
	tvl, known := 0.0, false
	for _, pool := range pools {
		for _, leg := range []string{"token0", "token1"} {
			if shown := pool[leg].(map[string]any); shown["address"] == token["address"] {
				for name, value := range shown {
					if token[name] != value && pool["pricing"].(map[string]any)["reason"] != "quarantined" {
						t.Errorf("%s: %s is %v; the pool has %v", key, name, token[name], value)
					}
				}
			}
		}
		if usd, ok := pool["metrics"].(map[string]any)["tvlUsd"].(float64); ok {
			tvl, known = tvl+usd, true
		}
	}

	usd, ok := token["tvlUsd"].(float64)
	if token["pools"] != float64(len(pools)) || ok != known || ok && !near(usd, tvl) {
		t.Errorf("%s: %v pools with %v; want %d with %v", key, token["pools"], token["tvlUsd"], len(pools), tvl)
	}
}

// near reports whether two sums of the same numbers differ by rounding only.
func near(a, b float64) bool { return a-b <= 1e-9*b && b-a <= 1e-9*b }

// standsAfter reports whether the second of two tokens may stand after the first.
func standsAfter(a, b map[string]any) bool {
	x, known := a["tvlUsd"].(float64)
	y, also := b["tvlUsd"].(float64)
	switch {
	case known != also:
		return known
	case x != y:
		return x > y
	case a["chainId"] != b["chainId"]:
		return a["chainId"].(float64) < b["chainId"].(float64)
	}
	return a["address"].(string) < b["address"].(string)
}

// TestTokenSearch searches for parts of symbols and addresses.
func TestTokenSearch(t *testing.T) {
	s := serve(t, nil)
	all := s.get("/v1/tokens?limit=100&chainId=1").decoded(t)["tokens"].([]any)
	for _, text := range []string{"usd", "E", "0x", "0", "x", "a", "0101", "01", "00000000", "no token"} {
		var want []any
		for _, each := range all {
			token := each.(map[string]any)
			symbol, _ := token["symbol"].(string)
			if strings.Contains(strings.ToLower(symbol)+" "+token["address"].(string), strings.ToLower(text)) {
				token["rank"] = float64(len(want) + 1)
				want = append(want, token)
			}
		}

		m := s.get("/v1/tokens?limit=100&chainId=1&search=" + strings.ReplaceAll(text, " ", "+")).decoded(t)
		if got := m["tokens"].([]any); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %d tokens; want %d", text, len(got), len(want))
		}
		if m["pagination"].(map[string]any)["total"] != float64(len(want)) {
			t.Errorf("%s: total %v; want %d", text, m["pagination"], len(want))
		}
	}
}

// TestTokenDetail holds every token of a chain against its row and what pools show of
// its price: as many markets are used as they say.
func TestTokenDetail(t *testing.T) {
	s := serve(t, nil)
	pools := s.poolsByToken()
	sources := map[any]int{}
	for _, each := range s.get("/v1/tokens?limit=100&chainId=1").decoded(t)["tokens"].([]any) {
		row := each.(map[string]any)
		address := row["address"].(string)
		m := s.get("/v1/tokens/1/0x" + strings.ToUpper(address[2:])).decoded(t)
		for name, value := range row {
			if name != "rank" && m[name] != value {
				t.Errorf("%s: %s is %v; the row has %v", address, name, m[name], value)
			}
		}

		price := shownPriceOf(pools["1 "+address], address)
		for _, name := range []string{"priceUsd", "source", "corroborated", "asOf"} {
			if price != nil && m[name] != price[name] {
				t.Errorf("%s: %s is %v; pools show %v", address, name, m[name], price[name])
			}
		}
		used := 0.0
		for _, market := range m["markets"].([]any) {
			if market.(map[string]any)["used"] == true {
				used++
			}
		}
		if price != nil && price["markets"] != used {
			t.Errorf("%s: %v markets are used; pools say %v", address, used, price["markets"])
		}
		if m["risky"] == m["corroborated"] || (m["reason"] == nil) != (m["priceUsd"] != nil) {
			t.Errorf("%s: risky %v, corroborated %v, reason %v, price %v", address, m["risky"], m["corroborated"], m["reason"], m["priceUsd"])
		}
		if len(m["checks"].([]any)) == 0 && m["anchor"] == false {
			t.Errorf("%s has no checks", address)
		}
		sources[m["source"]]++
	}
	if len(sources) < 3 {
		t.Errorf("the sources are %v", sources)
	}

	a := s.get("/v1/tokens/1/" + noOne)
	if a.code != 404 || a.header.Get("X-Units-Charged") != "0" || a.header.Get("X-Generation") != "1:1" {
		t.Errorf("no token: %d %s, %v", a.code, a.body, a.header)
	}
	s = serve(t, func(c *Config) { c.Limits.Freshness = -time.Second })
	if m := s.get("/v1/tokens/1/" + somePool[:42]).decoded(t); m["stale"] != true || m["dataAsOf"] == nil {
		t.Errorf("old data: stale %v, dataAsOf %v", m["stale"], m["dataAsOf"])
	}
	want := s.get("/v1/tokens/1/" + somePool[:42]).body
	s = serve(t, func(c *Config) { c.Board = reopenBoard(t) })
	if a := s.get("/v1/tokens/1/" + somePool[:42]); a.code != 200 || !strings.HasPrefix(want, strings.TrimSuffix(a.body, "}")) {
		t.Errorf("after a restart: %d %.300s; want %.300s", a.code, a.body, want)
	}
}

// shownPriceOf returns the price that a pool shows of a token, if one does.
func shownPriceOf(pools []map[string]any, address string) map[string]any {
	i := slices.IndexFunc(pools, func(pool map[string]any) bool {
		return pool["pricing"].(map[string]any)["reason"] != "quarantined"
	})
	if i < 0 {
		return nil
	}
	for _, leg := range []string{"token0", "token1"} {
		if pools[i][leg].(map[string]any)["address"] == address {
			return pools[i]["pricing"].(map[string]any)[leg].(map[string]any)
		}
	}
	return nil
}
