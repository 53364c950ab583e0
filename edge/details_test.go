package edge

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"tidemark/edge/pages"
)

// busiest returns the path of chain 1's position with the longest history.
func busiest() (path string, entries int) {
	c, _ := sharedNode().board.Load().Chain(1)
	st := c.View.State
	for i := range st.Positions.Len() {
		if p := st.Positions.At(i); int(p.Entries) > entries {
			path, entries = fmt.Sprintf("/v1/positions/1/swapdex-v4/%d", p.ID), int(p.Entries)
		}
	}
	return path, entries
}

func TestPositionDetail(t *testing.T) {
	s := serve(t, nil)
	path, entries := busiest()
	m := s.get(path).decoded(t)
	list := m["transactions"].([]any)
	if len(list) != entries || entries < 4 || m["rank"] != nil || m["transactionsDegraded"] != nil {
		t.Fatalf("got %d transactions of %d, rank %v", len(list), entries, m["rank"])
	}

	minted := 0
	last := [2]float64{1e18, 0}
	for _, entry := range list {
		e := entry.(map[string]any)
		at := [2]float64{e["blockNumber"].(float64), e["logIndex"].(float64)}
		if at[0] > last[0] || at[0] == last[0] && at[1] >= last[1] {
			t.Errorf("%v stands after %v", at, last)
		}
		last = at
		if e["type"] == "mint" {
			minted++
		}
		if len(e) != 23 {
			t.Errorf("an entry has %d fields: %v", len(e), e)
		}
	}

	if minted == 0 || list[len(list)-1].(map[string]any)["type"] != "mint" {
		t.Errorf("no mint at the end: %v", list)
	}
}

func TestTransactionsDegraded(t *testing.T) {
	path, entries := busiest()
	s := serve(t, func(c *Config) { c.Limits.TransactionsWait, c.Limits.TransactionsPartial = 1, 2 })
	a := s.get(path)
	m := a.decoded(t)
	if m["transactionsDegraded"] != true || m["transactionsPartial"] != true || len(m["transactions"].([]any)) != 2 {
		t.Errorf("first: got %v %v %v", m["transactionsDegraded"], m["transactionsPartial"], m["transactions"])
	}
	if a.header.Get("X-Units-Charged") != "0" {
		t.Errorf("a degraded answer is not charged: got %q", a.header.Get("X-Units-Charged"))
	}

	newest := m["transactions"].([]any)[0]
	eventually(t, func() bool { return s.get(path).decoded(t)["transactionsDegraded"] == nil })
	a = s.get(path)
	m = a.decoded(t)
	if list := m["transactions"].([]any); len(list) != entries || fmt.Sprint(list[0]) != fmt.Sprint(newest) {
		t.Errorf("retry: got %d transactions; want %d", len(list), entries)
	}
	if m["transactionsPartial"] != nil || a.header.Get("X-Units-Charged") != "1" {
		t.Errorf("retry: partial %v, charged %q", m["transactionsPartial"], a.header.Get("X-Units-Charged"))
	}
}

func TestTransactionsTruncated(t *testing.T) {
	path, entries := busiest()
	all := serve(t, nil).get(path).decoded(t)["transactions"].([]any)
	s := serve(t, func(c *Config) { c.Limits.TransactionsMax = 3 })
	a := s.get(path)
	m := a.decoded(t)
	if m["transactionsTruncated"] != true || fmt.Sprint(m["transactions"]) != fmt.Sprint(all[entries-3:]) {
		t.Errorf("got truncated %v, %v; want %v", m["transactionsTruncated"], m["transactions"], all[entries-3:])
	}
	if a.header.Get("X-Units-Charged") != "1" {
		t.Errorf("a truncated answer is charged: got %q", a.header.Get("X-Units-Charged"))
	}
}

// TestTransactionBounds checks a history that is exactly as long as the limit, and
// a degraded one without any entries.
func TestTransactionBounds(t *testing.T) {
	path, entries := busiest()
	f := func(longest int, truncated bool) {
		t.Helper()
		s := serve(t, func(c *Config) { c.Limits.TransactionsMax = longest })
		m := s.get(path).decoded(t)
		if n := len(m["transactions"].([]any)); (m["transactionsTruncated"] == true) != truncated || n != min(entries, longest) {
			t.Errorf("at most %d of %d: got %d, truncated %v", longest, entries, n, m["transactionsTruncated"])
		}
		if series := s.get(path + "/charts").decoded(t)["positionSeries"]; (series == nil) != truncated {
			t.Errorf("at most %d of %d: the series is null: %t", longest, entries, series == nil)
		}
	}
	f(entries+1, false)
	f(entries, false)
	f(entries-1, true)

	s := serve(t, func(c *Config) { c.Limits.TransactionsWait, c.Limits.TransactionsPartial = 0, 0 })
	m := s.get(path).decoded(t)
	if m["transactionsDegraded"] != true || m["transactionsPartial"] != nil || len(m["transactions"].([]any)) != 0 {
		t.Errorf("without entries: degraded %v, partial %v", m["transactionsDegraded"], m["transactionsPartial"])
	}
}

// TestPoolDetail checks that a detail is the list's row without its rank.
func TestPoolDetail(t *testing.T) {
	s := serve(t, nil)
	rows, _, _, _ := s.page("/v1/pools?limit=100&includeRisky=1")
	for _, row := range rows {
		r := row.(map[string]any)
		delete(r, "rank")
		id := strings.ToUpper(fmt.Sprint(r["poolId"])[2:])
		m := s.get(fmt.Sprintf("/v1/pools/%v/swapdex-v4/0x%s", r["chainId"], id)).decoded(t)
		if fmt.Sprint(m) != fmt.Sprint(r) {
			t.Errorf("got %v; want %v", m, r)
		}
	}
}

func TestCompression(t *testing.T) {
	s := serve(t, nil)
	const path = "/v1/positions?limit=5"
	want := s.get(path).body
	f := func(accept, coding string) {
		t.Helper()
		a := s.get(path, "Accept-Encoding: "+accept)
		if got := a.header.Get("Content-Encoding"); got != coding || a.header.Get("Vary") != "Origin, Accept-Encoding" {
			t.Fatalf("%s: got %q, Vary %q; want %q", accept, got, a.header.Get("Vary"), coding)
		}
		if got := unpack(t, coding, a.body); got != want {
			t.Errorf("%s: unpacks to %.100s", accept, got)
		}
	}

	f("gzip", "gzip")
	f("gzip", "gzip")
	f("gzip, deflate, br, zstd", "zstd")
	f("GZIP;q=0.5", "gzip")
	f("zstd;q=0, gzip;q=1.0", "gzip")
	f("gzip;q=1.0, zstd;q=0.999", "gzip")
	f("br;q=1, gzip;q=0.1, zstd;q=0.10", "zstd")
	f("br", "")
	f("gzip;q=0", "")
	f("gzip;q=0.5, identity", "")
	if a := s.get(path, "Accept-Encoding: gzip;q=0.2", "Accept-Encoding: zstd;q=0.1"); a.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("two headers: got %q; want gzip", a.header.Get("Content-Encoding"))
	}

	if a := s.get("/v1/protocols", "Accept-Encoding: gzip"); a.header.Get("Content-Encoding") != "" {
		t.Errorf("a short body was compressed")
	}

	stale := serve(t, func(c *Config) { c.Limits.Freshness = -time.Second }).get(path, "Accept-Encoding: gzip")
	if got := unpack(t, "gzip", stale.body); !strings.Contains(got, `"stale":true`) {
		t.Errorf("stale and compressed: %.100s", got)
	}
}

func TestChooseCoding(t *testing.T) {
	f := func(header string, want pages.Coding) {
		t.Helper()
		if got := chooseCoding([][]byte{[]byte(header)}); got != want {
			t.Errorf("%q: got %v; want %v", header, got, want)
		}
	}

	f("", pages.Identity)
	f("gzip", pages.Gzip)
	f("x-gzip", pages.Gzip)
	f("gzip, zstd", pages.Zstd)
	f("zstd, gzip", pages.Zstd)
	f("ZSTD;Q=0.3,GZIP;q=0.300", pages.Zstd)
	f("zstd;q=0.3, gzip;q=0.31", pages.Gzip)
	f("zstd ; q=0.001 , gzip;q=0", pages.Zstd)
	f("gzip;q=0", pages.Identity)
	f("gzip;q=0.0, zstd;q=0.000", pages.Identity)
	f("*", pages.Zstd)
	f("*;q=0.5, zstd;q=0", pages.Gzip)
	f("*;q=0", pages.Identity)
	f("*;q=0, gzip;q=0.1", pages.Gzip)
	f("identity, gzip", pages.Gzip)
	f("identity;q=0.5, gzip;q=0.5", pages.Gzip)
	f("identity;q=0.9, gzip;q=0.5, *;q=0.1", pages.Identity)
	f("identity;q=0", pages.Identity)
	f("identity;q=0, *", pages.Zstd)
	f("br, deflate", pages.Identity)
	f("gzipped, zstandard", pages.Identity)
	f("gzip;level=9;q=0", pages.Identity)
	f("gzip;q=0;q=1", pages.Identity)
	for _, q := range []string{"", "2", "1.001", "0.1234", "-1", ".5", "0,5", "1e0", "NaN", "0.x", "01"} {
		f("gzip;q="+q, pages.Identity)
	}

	f(",,;,gzip,", pages.Gzip)
}

func unpack(t *testing.T, coding, body string) string {
	t.Helper()
	var r io.Reader = strings.NewReader(body)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	must(err)
	out, err := io.ReadAll(r)
	must(err)
	return string(bytes.TrimSpace(out))
}
