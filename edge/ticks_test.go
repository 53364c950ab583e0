package edge

import (
	"fmt"
	"math/big"
	"testing"
	"time"
)

// TestTicks reads the ticks of the busiest pool by pages of several lengths: they
// ascend, sum up to nothing, and up to the price to the pool's liquidity.
func TestTicks(t *testing.T) {
	s, st := serve(t, nil), stateOf(1)
	pool := uint32(0)
	for i := range st.Pools.Len() {
		if len(st.TickLists.At(i)) > len(st.TickLists.At(pool)) {
			pool = i
		}
	}

	refs := st.TickLists.At(pool)
	path := fmt.Sprintf("/v1/pools/1/swapdex-v4/%s", st.Pools.At(pool).ID)
	row := s.get(path).decoded(t)
	f := func(query string, limit int) {
		t.Helper()
		net, inRange, last := new(big.Int), new(big.Int), -1e9
		for from := 0; from <= len(refs); from += limit {
			m := s.get(fmt.Sprintf("%s/ticks?page=%d%s", path, 1+from/limit, query)).decoded(t)
			for _, each := range m["ticks"].([]any) {
				tick := each.(map[string]any)
				if tick["tick"].(float64) <= last {
					t.Errorf("%v stands after %v", tick["tick"], last)
				}
				last = tick["tick"].(float64)
				net.Add(net, bigOf(tick["liquidityNet"]))
				if last <= m["currentTick"].(float64) {
					inRange.Set(net)
				}
				if bigOf(tick["liquidityGross"]).CmpAbs(bigOf(tick["liquidityNet"])) < 0 || tick["price"] == nil {
					t.Errorf("a tick of %v", tick)
				}
			}

			want := fmt.Sprintf("map[hasMore:%t limit:%d page:%d total:%d totalPages:%d]",
				from+limit < len(refs), limit, 1+from/limit, len(refs), (len(refs)+limit-1)/limit)
			if got := fmt.Sprint(m["pagination"]); got != want {
				t.Errorf("%s: pagination is %s; want %s", query, got, want)
			}
			if m["liquidity"] != row["liquidity"] || m["currentTick"] != row["currentTick"] || m["asOfBlock"] != row["asOfBlock"] {
				t.Errorf("%s: stands at %v, %v, %v; the pool at %v, %v, %v", query, m["liquidity"], m["currentTick"],
					m["asOfBlock"], row["liquidity"], row["currentTick"], row["asOfBlock"])
			}
		}
		if net.Sign() != 0 || inRange.String() != row["liquidity"] {
			t.Errorf("%s: %d ticks sum up to %s, and to %s in range; want 0 and %s", query, len(refs), net, inRange, row["liquidity"])
		}
	}

	if len(refs) < 10 {
		t.Fatalf("the busiest pool has %d ticks", len(refs))
	}
	f("", 100)
	f("&limit=3", 3)
	f("&limit=1000", 1000)
	f(fmt.Sprintf("&limit=%d", len(refs)), len(refs))

	for _, page := range []string{"2", "999999999999999999"} {
		m := s.get(path + "/ticks?limit=1000&page=" + page).decoded(t)
		if rows := m["ticks"].([]any); len(rows) != 0 || m["pagination"].(map[string]any)["hasMore"] != false {
			t.Errorf("page %s: %v, %v", page, rows, m["pagination"])
		}
	}

	s = serve(t, func(c *Config) { c.Limits.Freshness = -time.Second })
	if m := s.get(path + "/ticks").decoded(t); m["stale"] != true || m["dataAsOf"] == nil {
		t.Errorf("old data: stale %v, dataAsOf %v", m["stale"], m["dataAsOf"])
	}
}

func bigOf(digits any) *big.Int {
	v, ok := new(big.Int).SetString(digits.(string), 10)
	if !ok {
		panic("BUG: not an integer: " + digits.(string))
	}
	return v
}
