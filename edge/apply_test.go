package edge

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tidemark/edge/pages"
	"tidemark/storage/accounts"
)

// While a server drains it goes on answering, and every answer says that its
// connection closes.
func TestDrain(t *testing.T) {
	s := serve(t, nil)
	f := func(request string, code int, want bool) {
		t.Helper()
		c := s.dial(request, 200*time.Millisecond)
		defer c.Close()

		text, err := io.ReadAll(c) // ends with the connection, or with the deadline
		said, closed := strings.Contains(string(text), "\r\nConnection: close\r\n"), err == nil
		if !strings.HasPrefix(string(text), fmt.Sprintf("HTTP/1.1 %d ", code)) || closed != want || said != want {
			t.Errorf("%q: %s, closed %v, announced %v; want %d, %v", request, text, closed, said, code, want)
		}
	}

	for _, draining := range []bool{false, true} {
		if draining {
			s.server.Drain()
		}
		f("GET /v1/plans HTTP/1.1\r\nHost: x\r\n\r\n", 200, draining)
		f("GET /v1/pools?limit=1 HTTP/1.1\r\nHost: x\r\nKC-APIKey: "+s.key+"\r\n\r\n", 200, draining)
		f("GET /v1/pools HTTP/1.1\r\nHost: x\r\n\r\n", 401, draining)
	}
}

// A slow request is logged with its route and account, and never with a key.
func TestSlowRequests(t *testing.T) {
	s := serve(t, func(c *Config) { c.Slow = time.Hour })
	s.get("/v1/pools?limit=1&owner=0x00")
	if text := s.log.String(); text != "" {
		t.Errorf("logged %s", text)
	}

	s.server.Apply(Settings{
		Limits: pages.DefaultLimits(), Connections: DefaultConnections(), Plans: accounts.DefaultPlans(),
		Slow: time.Nanosecond,
	})
	s.get("/v1/pools?limit=1")
	text := s.log.String()
	for _, want := range []string{"slow request", "route=pools", "account=someone", "status=200", "took="} {
		if !strings.Contains(text, want) {
			t.Errorf("logged %q; want %q", text, want)
		}
	}
	if strings.Contains(text, s.key[:12]) || strings.Contains(text, "limit=1") {
		t.Errorf("a key or a question is in the log: %s", text)
	}
}

// Limits and plans change while the server serves.
func TestApply(t *testing.T) {
	s := serve(t, nil)
	total := func(limit string) any {
		t.Helper()
		return s.get("/v1/positions?includeRisky=true&limit=" + limit).decoded(t)["pagination"].(map[string]any)["total"]
	}
	before, tag := total("1"), s.get("/v1/plans").header.Get("Etag")

	changed := Settings{
		Limits: pages.DefaultLimits(), Connections: DefaultConnections(),
		Plans: []accounts.Plan{{ID: "only", Name: "Only", MaxAPIKeys: 1, Public: true}},
	}
	changed.Limits.TotalCap = 3
	s.server.Apply(changed)
	if after := total("2"); after == before || after != 3.0 {
		t.Errorf("total is %v and was %v; want 3, the new cap", after, before)
	}
	plans := s.get("/v1/plans")
	if !strings.Contains(plans.body, `"only"`) || plans.header.Get("Etag") == tag {
		t.Errorf("the plans are %s with the ETag %s", plans.body, plans.header.Get("Etag"))
	}

	l := s.server.listener.Load()
	changed.Connections.ConnectionsPerAddress, changed.Connections.ReaderMinRate = 7, 9
	s.server.Apply(changed)
	if l.bounds != changed.Connections {
		t.Errorf("the bounds are %+v", l.bounds)
	}
}

// TestApplyAnotherCap checks that the total of a filter that was counted up to another cap is
// that of the cap in force.
func TestApplyAnotherCap(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.TotalCap = 40 })
	changed := Settings{Limits: pages.DefaultLimits(), Connections: DefaultConnections()}
	f := func(limit, most int, want string) {
		t.Helper()
		changed.Limits.TotalCap = most
		s.server.Apply(changed)
		_, p, _, _ := s.page(fmt.Sprint(everything, "&range=in&limit=", limit))
		if got := fmt.Sprint(p["total"], " capped ", p["totalCapped"]); got != want {
			t.Errorf("with a cap of %d: got %s; want %s", most, got, want)
		}
	}

	_, p, _, _ := serve(t, nil).page(everything + "&range=in")
	all := fmt.Sprint(p["total"])
	f(1, 40, "40 capped true")
	f(2, 100, "100 capped true")
	f(3, 1000, all+" capped <nil>")
	f(4, 40, "40 capped true")
}
