package edge

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/query"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// allOf is a list of everything in a small market.
const allOf = "status=all&sort=nft_id_asc&minPoolTvl=0&includeRisky=true&limit=10"

// TestPinRules checks which generations a list is answered from, and what is refused.
func TestPinRules(t *testing.T) {
	n := newNode(t)
	one, other := n.begin(small(1)), n.begin(small(42161))
	next := func() {
		for _, g := range []*growing{one, other} {
			g.advance()
			g.publish()
		}
	}
	next()
	s := walkable(t, n, func(l *pages.Limits) { l.Pins = 2 })
	keys := map[string]string{}
	ask := func(who, query string, code int, want string) answer {
		t.Helper()
		if keys[who] == "" {
			keys[who] = gate.HeaderKey + ": " + s.issue("unlimited", accounts.Server)
		}
		a := s.get("/v1/positions?"+allOf+"&"+query, keys[who])
		got := a.header.Get("X-Generation")
		if code != 200 {
			got = a.body
		}
		if a.code != code || !strings.Contains(got, want) {
			t.Errorf("%s asks %s: got %d %.200s; want %d %s", who, query, a.code, got, code, want)
		}
		if charged := a.header.Get("X-Units-Charged"); (code == 200) != (charged == "1") {
			t.Errorf("%s asks %s: %d charges %s units", who, query, code, charged)
		}
		return a
	}

	// A walk keeps its generations, and is asked with the same path otherwise.
	first := ask("alice", "generation=pin", 200, "1:1,42161:1")
	next()
	again := ask("alice", "generation=1:1,42161:1", 200, "1:1,42161:1")
	if first.body != again.body {
		t.Error("the first page of a walk is another one after a generation was published")
	}
	ask("alice", "generation=42161:1,1:1", 200, "1:1,42161:1")
	ask("alice", "", 200, "1:2,42161:2")
	ask("alice", "chainId=1&generation=1:1", 200, "1:1")
	ask("alice", "page=2&generation=1%3A1%2C42161%3A1", 200, "1:1,42161:1")

	// Another walk joins a young one; anyone may name what is kept or published.
	ask("bob", "generation=pin", 200, "1:1,42161:1")
	ask("bob", "chainId=42161&generation=pin", 200, "42161:1")
	ask("carol", "chainId=42161&generation=42161:2", 200, "42161:2")
	next()
	ask("carol", "generation=1:2,42161:2", 200, "1:2,42161:2")
	ask("bob", "generation=pin", 200, "1:2,42161:2") // the youngest
	ask("dave", "generation=1:1,42161:1", 200, "1:1,42161:1")

	// What is not kept, and what does not fit the question.
	const again410 = "start again with generation=pin"
	ask("alice", "generation=1:1,42161:2", 410, again410)
	ask("alice", "generation=1:9,42161:9", 410, again410)
	ask("alice", "chainId=1&generation=1:9", 410, again410)
	ask("alice", "generation=1:1", 400, "generation names chains 1; the question is about chains 1, 42161")
	ask("alice", "chainId=1&generation=1:1,42161:1", 400, "the question is about chain 1")
	ask("alice", "chainId=1&generation=42161:1", 400, "the question is about chain 1")

	// There are two pins, and both are of others: eve waits. Who has one alone may
	// replace it.
	ask("alice", "generation=1:1,42161:1", 200, "")
	full := ask("eve", "generation=1:3,42161:3", 503, "as many generations as possible are pinned")
	if after, err := strconv.Atoi(full.header.Get("Retry-After")); err != nil || after < 1 || after > 60 {
		t.Errorf("Retry-After is %q", full.header.Get("Retry-After"))
	}
	ask("alice", "generation=1:2,42161:2", 200, "")
	ask("dave", "generation=1:3,42161:3", 200, "1:3,42161:3")
	ask("alice", "generation=1:1,42161:1", 410, again410)

	// Nobody gets the rows of a chain that its operator took offline.
	c, _ := n.board.Load().Chain(42161)
	status := c.Status
	status.Offline = true
	n.board.SetStatus(42161, status)
	ask("alice", "generation=1:2,42161:2", 503, "chain 42161 is temporarily unavailable")
	ask("alice", "chainId=42161&generation=42161:9", 503, "chain 42161 is temporarily unavailable")
	ask("alice", "chainId=1&generation=1:2", 200, "1:2")

	// A walk that began without a chain goes on without it.
	n.board.SetStatus(1, n.board.Load().Chains[0].Status)
	partial := s.get("/v1/positions?"+allOf+"&generation=pin", keys["dave"])
	named := partial.header.Get("X-Generation")
	status.Offline = false
	n.board.SetStatus(42161, status)
	rest := s.get("/v1/positions?"+allOf+"&generation="+named, keys["dave"])
	if named != "1:3" || rest.body != partial.body || !strings.Contains(rest.body, `"missingChains":[42161]`) {
		t.Errorf("a walk of %s without a chain goes on with %.200s", named, rest.body)
	}

	status.Offline = true
	for _, id := range []market.ChainID{1, 42161} {
		n.board.SetStatus(id, status)
	}
	ask("alice", "generation=pin", 503, "every chain is temporarily unavailable")
}

// TestWalkOfAnotherNode checks that a walk which began at another node of the cluster goes
// on at this one, once that has told of it.
func TestWalkOfAnotherNode(t *testing.T) {
	n := newNode(t)
	g := n.begin(small(1))
	g.advance()
	g.publish()
	s := serve(t, func(c *Config) {
		n.over(c)
		c.TellWalk = func(*pages.Walk) {}
	})

	began := s.get("/v1/positions?chainId=1&" + allOf)
	s.server.HearWalk(&pages.Walk{Generations: []query.Generation{{Chain: 1, Number: 1}}, Accounts: []uint64{7}})
	for range 3 {
		g.advance()
		g.publish()
	}

	goesOn := s.get("/v1/positions?chainId=1&generation=1:1&" + allOf)
	if goesOn.code != 200 || goesOn.header.Get("X-Generation") != "1:1" || goesOn.body != began.body {
		t.Errorf("the walk goes on with %d %.200s; want %.200s", goesOn.code, goesOn.body, began.body)
	}
	if lost := s.get("/v1/positions?chainId=1&generation=1:2&" + allOf); lost.code != 410 {
		t.Errorf("a generation that no walk keeps is answered %d %.200s", lost.code, lost.body)
	}
}

// TestPagesOfThePast checks that the page cache keeps a page of a walk for as long as its
// generation is the newest, and none after that.
func TestPagesOfThePast(t *testing.T) {
	n := newNode(t)
	g := n.begin(small(1))
	next := func() {
		g.advance()
		g.publish()
	}
	next()
	s := walkable(t, n, func(*pages.Limits) {})

	path := "/v1/positions?" + allOf + "&generation="
	s.get(path + "pin")
	s.cached(path + "1:1")
	next()
	first := s.get(path + "1:1&page=2")
	hits := func() string { return s.metric(`tidemark_edge_page_cache_total{result="hit"}`) }
	before := hits()
	for range 20 {
		time.Sleep(time.Millisecond) // a page is in the cache a moment after it was offered
		if a := s.get(path + "1:1&page=2"); a.code != 200 || a.body != first.body {
			t.Fatalf("page 2 asked again: %d %.100s; want %.100s", a.code, a.body, first.body)
		}
	}
	if after := hits(); after != before {
		t.Errorf("a page of the past was kept: %s hits; want %s", after, before)
	}
}

// TestPinExpires checks that answers keep a walk's generations, and that they go
// some time after the last one.
func TestPinExpires(t *testing.T) {
	const pin = 400 * time.Millisecond
	n := newNode(t)
	size := small(1)
	size.Actions = 3000
	g := n.begin(size)
	next := func() {
		g.advance()
		g.publish()
	}
	for range 30 { // until rows pass the default filters
		g.advance()
	}
	next()
	s := walkable(t, n, func(l *pages.Limits) { l.Pin = pin })

	old := n.view(1)
	last, began := time.Now(), time.Now()
	s.get("/v1/positions?" + allOf + "&generation=pin")
	for time.Since(began) < 2*pin {
		a := s.get("/v1/positions?" + allOf + "&generation=1:1")
		if a.code == 200 {
			last = time.Now()
		} else if time.Since(last) < pin {
			t.Fatalf("%s after the last answer: %d %s", time.Since(last), a.code, a.body)
		}
		next()
		time.Sleep(pin / 20)
	}
	a := s.get("/v1/positions?" + allOf + "&generation=1:1")
	if readable := n.readable(old); a.code == 200 && time.Since(last) < pin && !readable {
		t.Error("the leaves of a pinned generation are gone")
	}

	// Nothing has to be asked for a pin to end.
	for end := time.Now().Add(100 * pin); s.metric("tidemark_edge_pins") != "0"; time.Sleep(pin / 10) {
		if time.Now().After(end) {
			t.Fatal("a pin that nobody uses does not end")
		}
	}
	if kept := s.metric("tidemark_edge_pins"); kept != "0" {
		t.Errorf("%s pins are kept although nobody asks", kept)
	}
	if a := s.get("/v1/positions?" + allOf + "&generation=1:1"); a.code != 410 {
		t.Errorf("a pin that nobody used answers %d %.200s", a.code, a.body)
	}
	next()
	if n.readable(old) {
		t.Error("the leaves of a generation are kept although its pin has ended")
	}
}
