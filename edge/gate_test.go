package edge

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/edge/gate"
	"tidemark/storage/accounts"
)

// findKey returns the book's entry of a key that issue made.
func (f *front) findKey(key string) *accounts.Key {
	f.t.Helper()
	k, reason := f.book.Resolve([]byte(key))
	if k == nil {
		f.t.Fatalf("key %.16s is not in the book: %d", key, reason)
	}
	return k
}

// TestUnauthorized checks that every 401 has the same body, that its reason is in
// the metrics, and that a key in the query is never read.
func TestUnauthorized(t *testing.T) {
	s := serve(t, nil)
	revoked, suspended := s.issue("free", accounts.Server), s.issue("free", accounts.Server)
	s.book.Revoke(s.findKey(revoked), 1)
	cell := s.findKey(suspended).Cell
	s.book.SetTerms(cell, accounts.NewTerms(&cell.Terms().Plan, true))

	stranger := s.key[:7] + strings.Repeat("0", 30)
	body := ""
	f := func(reason string, headers ...string) {
		t.Helper()
		a := s.get("/v1/positions", headers...)
		if body == "" {
			body = a.body
		}
		if a.code != 401 || a.body != body {
			t.Errorf("%s: %d %s; want 401 %s", reason, a.code, a.body, body)
		}
		for name := range a.header {
			if strings.HasPrefix(name, "X-Quota") || strings.HasPrefix(name, "X-Units") ||
				strings.HasPrefix(name, "Access-Control") || strings.HasPrefix(name, "Ratelimit") {
				t.Errorf("%s: a 401 has %s", reason, name)
			}
		}
		if a.header.Get("Vary") != "Origin" || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers %v; want Vary and X-Request-Id", reason, a.header)
		}
		if got := a.header.Get("WWW-Authenticate"); got != `ApiKey header="KC-APIKey"` {
			t.Errorf("%s: WWW-Authenticate is %q", reason, got)
		}
		if got := s.metric(`tidemark_edge_unauthorized_total{reason="` + reason + `"}`); got == "0" {
			t.Errorf("%s is not counted", reason)
		}
	}

	f("missing", gate.HeaderKey+": ")
	f("missing", gate.HeaderKey+":")
	f("missing", gate.HeaderKey+":", "Origin: https://app.example.com")
	f("malformed", gate.HeaderKey+": nonsense")
	f("malformed", gate.HeaderKey+": "+s.key[:20])
	f("malformed", gate.HeaderKey+": Bearer "+s.key)
	f("unknown", gate.HeaderKey+": "+withSum(stranger))
	f("revoked", gate.HeaderKey+": "+revoked)
	f("suspended", gate.HeaderKey+": "+suspended)
	f("repeated", gate.HeaderKey+": "+s.key, gate.HeaderKey+": "+s.key)
	if a := s.get("/v1/positions?KC-APIKey="+s.key, gate.HeaderKey+": "); a.code != 401 {
		t.Errorf("a key in the query: %d; want 401", a.code)
	}

	if a := s.get("/v1/positions?KC-APIKey=" + s.key); a.code != 400 {
		t.Errorf("a key in header and query: %d; want 400 for the unknown parameter", a.code)
	}

	if a := s.get("/v1/nothing/under", gate.HeaderKey+": "); a.code != 404 {
		t.Errorf("an unknown path elsewhere without key: %d; want 404", a.code)
	}

	if a := s.get("/v1/pools/x/y/z/and/more", gate.HeaderKey+": "); a.code != 401 {
		t.Errorf("an unknown path under /v1/pools without key: %d; want 401", a.code)
	}
}

// withSum adds the checksum to a key that was never issued.
func withSum(key string) string {
	for _, sum := range []string{"1m4K7Y", "3eDdDQ"} { // of 30 zeros, server and browser
		if _, ok := accounts.ParseKey([]byte(key + sum)); ok {
			return key + sum
		}
	}
	panic("BUG: no checksum fits " + key)
}

func TestOrigins(t *testing.T) {
	s := serve(t, nil)
	const app = "https://app.example.com"
	web := s.issue("starter", accounts.Browser, app, "http://localhost:3000")
	f := func(key, origin string, code int, granted, says string) {
		t.Helper()
		headers := []string{gate.HeaderKey + ": " + key}
		if origin != "" {
			headers = append(headers, origin)
		}
		a := s.get("/v1/pools?limit=1", headers...)
		if a.code != code || !strings.Contains(a.body, says) {
			t.Errorf("%.7s %q: %d %.100s; want %d with %q", key, origin, a.code, a.body, code, says)
		}
		if got := a.header.Get("Access-Control-Allow-Origin"); got != granted {
			t.Errorf("%.7s %q: %s is %q; want %q", key, origin, "Access-Control-Allow-Origin", got, granted)
		}
		if a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%.7s %q: credentials are allowed", key, origin)
		}
		if !strings.HasPrefix(a.header.Get("Vary"), "Origin") {
			t.Errorf("%.7s %q: Vary is %q", key, origin, a.header.Get("Vary"))
		}
	}

	f(s.key, "", 200, "", `"pools"`)
	f(s.key, "Origin: https://app.example.com", 403, "", "server key")
	f(s.key, "Origin: null", 403, "", "server key")
	f(s.key, "Origin:", 403, "", "server key")
	f(web, "", 403, "", "needs an Origin")
	f(web, "Origin: "+app, 200, app, `"pools"`)
	f(web, "Origin: http://localhost:3000", 200, "http://localhost:3000", `"pools"`)
	f(web, "Origin: https://APP.example.com:443", 200, "https://APP.example.com:443", `"pools"`)
	f(web, "Origin: http://app.example.com", 403, "", "not allowed from that origin")
	f(web, "Origin: https://evil.example", 403, "", "not allowed from that origin")
	f(web, "Origin: null", 403, "", "not allowed from that origin")
	f(web, "Origin:", 403, "", "not allowed from that origin")

	a := s.get("/v1/pools?sort=no", gate.HeaderKey+": "+web, "Origin: "+app)
	if a.code != 400 || a.header.Get("Access-Control-Allow-Origin") != app {
		t.Errorf("an error for a listed origin: %d, granted %q", a.code, a.header.Get("Access-Control-Allow-Origin"))
	}

	for _, name := range []string{
		"X-Units-Charged", "X-Quota-Limit", "X-Quota-Remaining", "X-Quota-Reset", "RateLimit-Policy",
		"RateLimit", "X-Generation", "X-Request-Id", "Retry-After",
	} {
		if !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s is not exposed", name)
		}
	}
}

// TestTwoOrigins checks that a browser key is refused when there are two Origin
// headers, even if it lists both.
func TestTwoOrigins(t *testing.T) {
	s := serve(t, nil)
	const one, two = "https://app.example.com", "https://www.example.com"
	key := gate.HeaderKey + ": " + s.issue("starter", accounts.Browser, one, two)
	f := func(code int, origins ...string) {
		t.Helper()
		headers := []string{key}
		for _, o := range origins {
			headers = append(headers, "Origin: "+o)
		}
		if a := s.get("/v1/pools?limit=1", headers...); a.code != code {
			t.Errorf("origins %q: got %d %s; want %d", origins, a.code, a.body, code)
		}
	}

	f(200, one)
	f(200, two)
	f(403, one, two)
	f(403, one, one)
	f(403, one, "https://evil.example")
}

// TestForbiddenTakesNoToken checks that a 403 leaves the burst bucket as it is, and
// reports it.
func TestForbiddenTakesNoToken(t *testing.T) {
	s := serve(t, nil)
	key := gate.HeaderKey + ": " + s.issue("free", accounts.Server) // a burst of 10
	for range 30 {
		a := s.get("/v1/pools?limit=1", key, "Origin: https://app.example.com")
		if got := a.header.Get("RateLimit"); a.code != 403 || !strings.HasPrefix(got, `"burst";r=10;t=0,`) {
			t.Fatalf("got %d with RateLimit %s; want 403 with all 10 tokens", a.code, got)
		}
	}
	a := s.get("/v1/pools?limit=1", key)
	if got := a.header.Get("RateLimit"); a.code != 200 || !strings.HasPrefix(got, `"burst";r=9;`) {
		t.Errorf("after 30 refusals: got %d with RateLimit %s; want 200 with 9 tokens left", a.code, got)
	}
}

func TestPreflight(t *testing.T) {
	s := serve(t, nil)
	const app = "https://app.example.com"
	web := s.issue("starter", accounts.Browser, app)
	f := func(path, origin, granted string) {
		t.Helper()
		a := s.ask("OPTIONS", path, gate.HeaderKey+": ", "Origin: "+origin, "Access-Control-Request-Method: GET",
			"Access-Control-Request-Headers: kc-apikey")
		if a.code != 204 || a.body != "" || a.header.Get("Access-Control-Allow-Origin") != granted {
			t.Errorf("%s from %s: %d, granted %q; want 204, %q", path, origin, a.code, a.header.Get("Access-Control-Allow-Origin"), granted)
		}
		metered := granted != "*"
		if vary := a.header.Get("Vary"); (vary == "Origin") != metered {
			t.Errorf("%s from %s: Vary is %q", path, origin, vary)
		}
		methods, age := a.header.Get("Access-Control-Allow-Methods"), a.header.Get("Access-Control-Max-Age")
		if (methods == gate.AllowedMethods && age == "60") != (granted != "") {
			t.Errorf("%s from %s: methods %q, age %q", path, origin, methods, age)
		}
		if granted != "" && !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), gate.HeaderKey) {
			t.Errorf("%s from %s: allowed headers are %q", path, origin, a.header.Get("Access-Control-Allow-Headers"))
		}
	}

	f("/v1/positions", app, app)
	f("/v1/pools/1/swapdex-v4/0x00", app, app)
	f("/v1/usage", app, app)
	f("/v1/positions", "https://evil.example", "")
	f("/v1/positions", "null", "")
	f("/v1/plans", "https://evil.example", "*")
	f("/health", app, "*")
	s.book.Revoke(s.findKey(web), 1)
	f("/v1/positions", app, "")

	a := s.ask("OPTIONS", "/v1/positions")
	if a.code != 204 || a.header.Get("Allow") != gate.AllowedMethods || a.header.Get("X-Units-Charged") != "0" {
		t.Errorf("a plain OPTIONS: %d %v; want 204 with Allow and no units", a.code, a.header)
	}

	if a := s.ask("OPTIONS", "/v1/positions", gate.HeaderKey+": "); a.code != 401 {
		t.Errorf("a plain OPTIONS without key: %d; want 401", a.code)
	}
}

// TestStanding checks the headers about units, quota and burst limit.
func TestStanding(t *testing.T) {
	s := serve(t, nil)
	key := s.issue("free", accounts.Server)
	reset := s.book.Calendar().This
	a := s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key)
	f := func(name, pattern string) {
		t.Helper()
		if got := a.header.Get(name); !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
			t.Errorf("%s: %q; want %s", name, got, pattern)
		}
	}

	window := strconv.Itoa(reset.Days * 86400)
	f("X-Units-Charged", "2")
	f("X-Quota-Limit", "25000")
	f("X-Quota-Remaining", "24998")
	f("X-Quota-Reset", regexp.QuoteMeta(reset.Reset))
	f("RateLimit-Policy", `"burst";q=10;w=2, "month";q=25000;w=`+window)
	f("RateLimit", `"burst";r=9;t=1, "month";r=24998;t=[1-9][0-9]*`)
	f("Cache-Control", "private, no-store")
	f("X-Request-Id", "[0-9a-f]{16}")
	f("Retry-After", "")
	if _, err := time.Parse(time.RFC3339, a.header.Get("X-Quota-Reset")); err != nil {
		t.Error(err)
	}

	a = s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key, "X-Request-Id: my_own-ID")
	f("X-Request-Id", "my_own-ID")
	f("X-Quota-Remaining", "24996")

	a = s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key, "X-Request-Id: not mine")
	f("X-Request-Id", "[0-9a-f]{16}")
	a = s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key, "X-Request-Id: "+strings.Repeat("x", 65))
	f("X-Request-Id", "[0-9a-f]{16}")

	a = s.get("/v1/pools?limit=1")
	f("X-Units-Charged", "2")
	for _, name := range []string{"X-Quota-Limit", "X-Quota-Remaining", "X-Quota-Reset", "RateLimit", "RateLimit-Policy"} {
		if got := a.header.Values(http.CanonicalHeaderKey(name)); len(got) > 0 {
			t.Errorf("an unlimited account has %s: %q", name, got)
		}
	}
}

// TestFreeRoutes checks that free routes ignore keys and origins.
func TestFreeRoutes(t *testing.T) {
	s := serve(t, nil)
	for _, path := range []string{"/v1/plans", "/v1/pricing/units", "/v1/stats", "/v1/chains", "/v1/protocols"} {
		for _, h := range []string{"", "nonsense", s.key} {
			a := s.get(path, gate.HeaderKey+": "+h, "Origin: https://anywhere.example")
			if a.code != 200 || a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("X-Units-Charged") != "" {
				t.Errorf("%s with key %.7q: %d %v; want an open 200", path, h, a.code, a.header)
			}
		}
	}
}

// TestIdle checks that the first request after idleness waits for a lease, and is
// a 503 if none comes.
func TestIdle(t *testing.T) {
	s := serve(t, nil)
	key := s.issue("free", accounts.Server)
	cell, month := s.findKey(key).Cell, s.book.Calendar().This.Month
	cell.Shut(month)
	go func() {
		<-s.book.Wakes()
		for _, c := range s.book.Dirty(nil) {
			c.Open(month, 1000)
			c.Wake()
		}
	}()
	if a := s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key); a.code != 200 {
		t.Errorf("with a meter: %d; want 200", a.code)
	}

	cell.Shut(month)
	s.server.gate.LeaseWait = 10 * time.Millisecond
	a := s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key)
	if a.code != 503 || a.header.Get("Retry-After") != "1" || a.header.Get("X-Units-Charged") != "0" {
		t.Errorf("without: %d %v; want 503 with Retry-After: 1", a.code, a.header)
	}

	if a := s.get("/v1/usage", gate.HeaderKey+": "+key); a.code != 200 {
		t.Errorf("usage, which costs nothing: %d; want 200", a.code)
	}
}

// TestLateLease checks that a request goes on waiting when metering wakes it
// before there is a lease, and that each refusal is counted.
func TestLateLease(t *testing.T) {
	s := serve(t, nil)
	key := s.issue("free", accounts.Server)
	cell, month := s.findKey(key).Cell, s.book.Calendar().This.Month
	cell.Shut(month)

	go func() {
		<-s.book.Wakes()
		cell.Wake() // without a lease
		<-s.book.Wakes()
		cell.Open(month, 1000)
		cell.Wake()
	}()
	if a := s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key); a.code != 200 {
		t.Errorf("got %d %s; want 200 once there is a lease", a.code, a.body)
	}
	if got := s.metric("tidemark_edge_lease_waits_total"); got != "1" {
		t.Errorf("%s waits are counted; want 1", got)
	}
}

// TestRefusalsCounted checks the metrics of refusals, and that a burst's 429 says
// how long to wait.
func TestRefusalsCounted(t *testing.T) {
	s := serve(t, nil)
	f := func(reason string, code int, prepare func(key string), headers ...string) answer {
		t.Helper()
		key := s.issue("free", accounts.Server)
		prepare(key)
		a := s.get("/v1/pools?limit=1", append(headers, gate.HeaderKey+": "+key)...)
		name := `tidemark_edge_refused_total{reason="` + reason + `"}`
		if got := s.metric(name); a.code != code || got != "1" {
			t.Errorf("%s: got %d, and %s are counted; want %d and 1", reason, a.code, got, code)
		}
		return a
	}

	f("origin", 403, func(string) {}, "Origin: https://app.example.com")
	f("quota", 429, func(key string) { s.drainTo(key, 0) })
	a := f("burst", 429, s.takeAll) // and those of the next minute
	if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 50 || wait > 61 {
		t.Errorf("Retry-After is %q; want about a minute", a.header.Get("Retry-After"))
	}
	s.server.gate.LeaseWait = time.Millisecond
	f("lease", 503, func(key string) { s.findKey(key).Cell.Shut(s.book.Calendar().This.Month) })
	f("stalled", 503, func(string) { s.book.SetAlive(0) })
}

// TestPublishedGenerations checks that an answer without data does not name chains
// that are disabled.
func TestPublishedGenerations(t *testing.T) {
	chains := chainsWith()
	chains[1].Status.Enabled = false
	s := serve(t, func(c *Config) { c.Board = boardOf(chains...) })
	if got := s.get("/v1/pools?x=1").header.Get("X-Generation"); got != "1:1,43114:1" {
		t.Errorf("got %q; want 1:1,43114:1", got)
	}
}

// TestReservedUnits checks that units which were leased before a crash count
// against the quota, and that usage, headers and the 429 agree about them.
func TestReservedUnits(t *testing.T) {
	s := serve(t, nil)
	key := s.issue("free", accounts.Server)
	cell, month := s.findKey(key).Cell, s.book.Calendar().This.Month
	tally := accounts.Tally{Month: month, Lease: 24_990}
	tally.Routes[accounts.RoutePools] = accounts.Count{Requests: 2, Units: 4}
	cell.Restore(&tally)
	cell.Open(month, 25_000)

	usage := s.get("/v1/usage", gate.HeaderKey+": "+key)
	for _, want := range []string{`"unitsUsed":4`, `"unitsReserved":24986`, `"unitsLimit":25000`} {
		if !strings.Contains(usage.body, want) {
			t.Errorf("usage is %s; want %s", usage.body, want)
		}
	}
	if got := usage.header.Get("X-Quota-Remaining"); got != "10" {
		t.Errorf("%s units remain; want 10", got)
	}
	for range 5 {
		if a := s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key); a.code != 200 {
			t.Errorf("within the quota: %d %s", a.code, a.body)
		}
	}
	a := s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key)
	if a.code != 429 || !strings.Contains(a.body, "0 of 25000 units are left") ||
		!strings.Contains(a.body, "24986 are reserved") {
		t.Errorf("beyond it: %d %s; want a 429 that tells of 24986 reserved units", a.code, a.body)
	}
}

// TestFullDisk checks that on a full disk an account without a quota is served and
// charged, and that one with a quota is treated as metering.on-full-disk says.
func TestFullDisk(t *testing.T) {
	s := serve(t, nil)
	free := s.issue("free", accounts.Server)
	s.findKey(free).Cell.Open(s.book.Calendar().This.Month, 2) // its lease
	s.book.SetDiskFull(true)
	s.book.SetAlive(0)
	f := func(key string, code int, charged string) {
		t.Helper()
		a := s.get("/v1/pools?limit=1", gate.HeaderKey+": "+key)
		if got := a.header.Get("X-Units-Charged"); a.code != code || got != charged {
			t.Errorf("%d, %s units charged; want %d, %s", a.code, got, code, charged)
		}
	}
	f(s.key, 200, "2")
	f(free, 200, "2")
	f(free, 503, "0")

	s.book.SetWhenFull(accounts.ServeUncharged)
	f(free, 200, "0")
	if u := s.get("/v1/usage", gate.HeaderKey+": "+free); !strings.Contains(u.body, `"unitsUsed":2,`) {
		t.Errorf("usage is %s; want 2 units", u.body)
	}
}

// TestHeadersEverywhere checks the headers that every answer of a metered route
// has, whatever its status.
func TestHeadersEverywhere(t *testing.T) {
	s := serve(t, nil)
	empty := s.issue("free", accounts.Server)
	s.takeAll(empty)

	const path = "/v1/positions?limit=1"
	f := func(code int, method, path string, headers ...string) {
		t.Helper()
		a := s.ask(method, path, headers...)
		want := []string{"X-Request-Id", "Cache-Control", "Vary"}
		if code != 401 {
			want = append(want, "X-Units-Charged", "X-Generation", "Access-Control-Expose-Headers")
		}
		for _, name := range want {
			if a.code != code || a.header.Get(name) == "" {
				t.Errorf("%s %s: %d %v; want %d with %s", method, path, a.code, a.header, code, name)
			}
		}
	}

	f(200, "GET", path)
	f(200, "HEAD", path)
	f(200, "GET", "/v1/usage")
	f(204, "OPTIONS", path)
	f(400, "GET", path+"&x=1")
	f(401, "GET", path, gate.HeaderKey+": ")
	f(403, "GET", path, "Origin: https://app.example.com")
	f(404, "GET", "/v1/positions/1/swapdex-v4/999999")
	f(404, "GET", "/v1/positions/nothing")
	f(404, "GET", "/v1/usage/nothing")
	f(405, "POST", path)
	f(405, "POST", "/v1/usage")
	f(204, "OPTIONS", "/v1/usage")
	f(429, "GET", path, gate.HeaderKey+": "+empty)
}

// TestUsageElsewhere checks that an account's usage has what other nodes of a cluster
// have billed and leased.
func TestUsageElsewhere(t *testing.T) {
	s := serve(t, nil)
	key := s.issueWith(1000)
	month := s.book.Calendar().This.Month
	share := &accounts.Share{Month: month, Allowance: 400, Elsewhere: 90, Reserved: 30}
	share.Routes[accounts.RoutePools] = accounts.Count{Requests: 7, Units: 60}

	s.findKey(key).Cell.SetShare(share)
	m := s.get("/v1/usage", gate.HeaderKey+": "+key).decoded(t)
	if m["unitsUsed"] != 60.0 || m["unitsReserved"] != 30.0 {
		t.Errorf("usage is %v; want the 60 units and 30 reserved ones of other nodes", m)
	}
}
