package edge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/storage/accounts"
)

// TestBatch checks that a batch has the rows of the lists without their rank, in
// the order asked, and says which ids there are not.
func TestBatch(t *testing.T) {
	s := serve(t, nil)
	f := func(list, id, query, none string) {
		t.Helper()
		var ids []string
		rows, _, _, _ := s.page("/v1/" + list + "?limit=39&includeRisky=true" + query)
		slices.Reverse(rows)
		for _, row := range rows {
			r := row.(map[string]any)
			r["rank"] = nil
			ids = append(ids, fmt.Sprintf("%v-%v", r["chainId"], r[id]))
		}
		if len(ids) != 39 {
			t.Fatalf("%s: %d rows", list, len(ids))
		}

		ids = slices.Insert(ids, 7, none)
		a := s.get("/v1/" + list + "/batch?ids=" + strings.Join(ids, ","))
		m := a.decoded(t)
		if !reflect.DeepEqual(m[list], rows) {
			t.Errorf("%s: got %.300v; want %.300v", list, m[list], rows)
		}
		if !reflect.DeepEqual(m["missing"], []any{strings.ToLower(none)}) {
			t.Errorf("%s: missing %v; want %s", list, m["missing"], none)
		}
	}

	f("positions", "positionId", "&status=all&sort=pnl", "43114-999999")
	f("positions", "positionId", "&status=inactive&sort=pnl", "1-none")
	f("pools", "poolId", "", "42161-0x"+strings.ToUpper(noSuchPool))

	// The id of a pool is that of no position, whoever asked for it before.
	id := fmt.Sprintf("1-%s", stateOf(1).Pools.At(0).ID)
	for list, missing := range map[string][]any{"pools": {}, "positions": {id}} {
		m := s.get("/v1/" + list + "/batch?ids=" + id).decoded(t)
		if rows, _ := m[list].([]any); len(rows)+len(missing) != 1 || !reflect.DeepEqual(m["missing"], missing) {
			t.Errorf("%s of %s: %.300v", list, id, m)
		}
	}
}

// TestBatchCharges checks that a batch costs a price for every 20 ids begun,
// whether they exist or not.
func TestBatchCharges(t *testing.T) {
	s := serve(t, nil)
	f := func(n int, positions, pools string) {
		t.Helper()
		var numbers, hashes []string
		for i := range n {
			numbers = append(numbers, fmt.Sprintf("1-%d", 1+i*7))
			hashes = append(hashes, fmt.Sprintf("43114-0x%064x", i))
		}
		a := s.get("/v1/positions/batch?ids=" + strings.Join(numbers, ","))
		if got := a.header.Get("X-Units-Charged"); a.code != 200 || got != positions {
			t.Errorf("%d positions: got %d, %s units; want %s", n, a.code, got, positions)
		}
		a = s.get("/v1/pools/batch?ids=" + strings.Join(hashes, "%2C"))
		if got := a.header.Get("X-Units-Charged"); a.code != 200 || got != pools {
			t.Errorf("%d pools: got %d %s, %s units; want %s", n, a.code, a.body, got, pools)
		}
	}

	f(1, "1", "2")
	f(20, "1", "2")
	f(21, "2", "4")
	f(100, "5", "10")
	for route, want := range map[string]string{"position_batch": "9", "pool_batch": "18"} {
		if got := s.metric(`tidemark_edge_units_charged_total{route="` + route + `"}`); got != want {
			t.Errorf("%s units of %s are counted; want %s", got, route, want)
		}
	}

	units := s.get("/v1/pricing/units").body
	if want := `"path":"/v1/pools/batch","units":2,"per":"20 ids begun"}`; !strings.Contains(units, want) {
		t.Errorf("the price list lacks %s: %s", want, units)
	}

	key := s.issue("free", accounts.Server)
	s.drainTo(key, 9)
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprintf("1-0x%064x", i))
	}
	if a := s.get("/v1/pools/batch?ids="+strings.Join(ids, ","), "KC-APIKey: "+key); a.code != 429 {
		t.Errorf("10 units of 9: got %d", a.code)
	}
}

// TestBatchUnavailable checks that a batch needs the chains that it names, and no
// others.
func TestBatchUnavailable(t *testing.T) {
	s := serve(t, func(c *Config) { offline(c, chainsWith(1)...) })
	f := func(ids string, code int, generations string) {
		t.Helper()
		a := s.get("/v1/positions/batch?ids=" + ids)
		if got := a.header.Get("X-Generation"); a.code != code || generations != "" && got != generations {
			t.Errorf("%s: got %d %.200s, generations %s", ids, a.code, a.body, got)
		}
	}

	f("1-1", 200, "1:1")
	f("43114-1,1-1", 200, "1:1,43114:1")
	f("1-1,42161-1", 503, "")
	f("42161-none", 503, "")

	s = serve(t, func(c *Config) { c.Limits.Freshness = -time.Second })
	if m := s.get("/v1/positions/batch?ids=1-1").decoded(t); m["stale"] != true || m["dataAsOf"] == nil {
		t.Errorf("old data: stale %v, dataAsOf %v", m["stale"], m["dataAsOf"])
	}
}
