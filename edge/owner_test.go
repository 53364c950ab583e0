package edge

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// ownerSums are the fields of an owner that are sums over the rows.
var ownerSums = []string{"underlyingValueUsd", "pendingFeesUsd", "pnlUsd"}

// TestOwner holds what every owner of chain 1 has against the rows of the list.
func TestOwner(t *testing.T) {
	s, st := serve(t, nil), stateOf(1)
	unknown := 0.0
	for i := range st.Owners.Len() {
		owner := st.Owners.At(i).String()
		rows := s.rows("/v1/positions?status=all&minPoolTvl=0&includeRisky=1&sort=nft_id_asc&owner=" + owner)
		m := s.get("/v1/owners/0x" + strings.ToUpper(owner[2:])).decoded(t)
		if m["owner"] != owner || m["asOf"] == nil || len(m["chains"].([]any)) != 3 {
			t.Errorf("%s: got %v", owner, m)
		}

		for k, chain := range []float64{1, 42161, 43114} {
			c := m["chains"].([]any)[k].(map[string]any)
			if c["chainId"] != chain {
				t.Errorf("%s: chain %d is %v", owner, k, c["chainId"])
			}
			want := sumRows(rows, chain)
			checkSums(t, owner, c, want)
			unknown += want["unknown"]
		}
		checkSums(t, owner, m["total"].(map[string]any), sumRows(rows, 0))
	}
	if unknown == 0 {
		t.Error("every value of every owner is known")
	}

	// Asked again, the sums are those that were kept.
	hits := func() string { return s.metric(`tidemark_edge_page_cache_total{result="hit"}`) }
	before, path := hits(), "/v1/owners/"+st.Owners.At(0).String()
	for end := time.Now().Add(10 * time.Second); hits() == before; s.get(path) {
		if time.Now().After(end) {
			t.Fatal("an owner's sums are not kept")
		}
	}

	m := s.get("/v1/owners/" + somePool[:42]).decoded(t)
	if got := fmt.Sprint(m["total"]); got != "map[closedPositions:0 openPositions:0 pendingFeesUsd:0 pnlUsd:0 underlyingValueUsd:0 unknown:0]" {
		t.Errorf("nobody has %s", got)
	}
}

// rows reads every page of a list.
func (f *front) rows(path string) (all []map[string]any) {
	f.t.Helper()
	for page := 1; ; page++ {
		m := f.get(fmt.Sprintf("%s&limit=100&page=%d", path, page)).decoded(f.t)
		for _, row := range m["positions"].([]any) {
			all = append(all, row.(map[string]any))
		}
		if m["pagination"].(map[string]any)["hasMore"] == false {
			return all
		}
	}
}

// sumRows adds up the rows of a chain; 0 is all.
func sumRows(rows []map[string]any, chain float64) map[string]float64 {
	sums := map[string]float64{}
	known := map[string]bool{}
	for _, r := range rows {
		if chain != 0 && r["chainId"] != chain {
			continue
		}
		if r["isActive"] == true {
			sums["openPositions"]++
		} else {
			sums["closedPositions"]++
		}

		complete := 0
		for _, name := range ownerSums {
			usd, ok := r["metrics"].(map[string]any)[name].(float64)
			if ok {
				sums[name], known[name], complete = sums[name]+usd, true, complete+1
			}
		}
		if complete < len(ownerSums) {
			sums["unknown"]++
		}
	}

	for _, name := range ownerSums {
		if !known[name] && sums["openPositions"]+sums["closedPositions"] > 0 {
			sums[name] = math.NaN()
		}
	}
	return sums
}

func checkSums(t *testing.T, owner string, got map[string]any, want map[string]float64) {
	t.Helper()
	for _, name := range []string{"openPositions", "closedPositions", "unknown"} {
		if got[name] != want[name] {
			t.Errorf("%s: %s is %v; want %v", owner, name, got[name], want[name])
		}
	}
	for _, name := range ownerSums {
		usd, ok := got[name].(float64)
		if ok == math.IsNaN(want[name]) || ok && math.Abs(usd-want[name]) > 1e-9*max(1, math.Abs(want[name])) {
			t.Errorf("%s: %s is %v; want %v", owner, name, got[name], want[name])
		}
	}
}

// TestOwnerPartial checks an owner without one of the chains, with old data, and
// while records load.
func TestOwnerPartial(t *testing.T) {
	path := "/v1/owners/" + stateOf(1).Owners.At(0).String()
	s := serve(t, func(c *Config) { offline(c, chainsWith(0)...) })
	a := s.get(path)
	m := a.decoded(t)
	if m["partial"] != true || fmt.Sprint(m["missingChains"]) != "[1]" || len(m["chains"].([]any)) != 2 ||
		a.header.Get("X-Units-Charged") != "0" || a.header.Get("X-Generation") != "42161:1,43114:1" {
		t.Errorf("without chain 1: %v, %v", m, a.header)
	}
	if told := s.get("/v1/pricing/units").body; !strings.Contains(told, `"an answer with partial: true"`) {
		t.Errorf("%s does not say that this is free", told)
	}

	s = serve(t, func(c *Config) { c.Limits.Freshness = -time.Second })
	m = s.get(path).decoded(t)
	if m["stale"] != true || m["dataAsOf"] != m["asOf"] {
		t.Errorf("old data: stale %v, dataAsOf %v, asOf %v", m["stale"], m["dataAsOf"], m["asOf"])
	}

	s = serve(t, func(c *Config) { c.Board = reopenBoard(t) })
	if a := s.get(path); a.code != 503 || !strings.Contains(a.body, "still loading") {
		t.Errorf("after a restart: %d %s", a.code, a.body)
	}
}
