package edge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tidemark/edge/gate"
)

const (
	somePool = "0x0000000000000000000000000000000000000000000000000000000000000001"
	noOne    = "0x00000000000000000000000000000000000000aA" // no owner and no token
)

// TestParameters checks the table of parameters in api.md over HTTP: the status
// and what the message says.
func TestParameters(t *testing.T) {
	s := serve(t, nil)
	f := func(path string, code int, want string) {
		t.Helper()
		a := s.get(path)
		var e struct{ Error string }
		if err := json.Unmarshal([]byte(a.body), &e); err != nil {
			t.Fatalf("%s: %v: %.200s", path, err, a.body)
		}
		if a.code != code || !strings.Contains(e.Error, want) {
			t.Errorf("%s: got %d %q; want %d %q", path, a.code, e.Error, code, want)
		}
		if charged := a.header.Get("X-Units-Charged"); code == 400 && charged != "0" {
			t.Errorf("%s: X-Units-Charged is %q; want 0", path, charged)
		}
		if kind := a.header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("%s: Content-Type is %q", path, kind)
		}
	}

	const p, q = "/v1/positions", "/v1/pools"
	detail, pool := p+"/1/swapdex-v4/1", q+"/1/swapdex-v4/"+somePool
	f(p+"?foo=1", 400, `unknown parameter "foo"; allowed are chainId,`)
	f(q+"?owner=1", 400, `unknown parameter "owner"`)
	f(detail+"?page=1", 400, `unknown parameter "page"; this route takes none`)
	f(pool+"?page=1", 400, `unknown parameter "page"`)
	f("/v1/usage?month=1", 400, `unknown parameter "month"`)
	f(p+"?sort=tvl", 400, "allowed are apr, fee_apr")
	f(p+"?sort=Apr", 400, `sort "Apr" is not allowed`)
	f(q+"?sort=apr", 400, "allowed are tvl, volume, fees, fee_apr, age")
	f(p+"?status=open", 400, "allowed are active, inactive, all")
	f(p+"?range=inside", 400, "allowed are all, in, out")
	f(p+"?range=all", 200, "")
	f(p+"?protocol=swapdex-v3", 400, "allowed is swapdex-v4")
	f(p+"?includeRisky=TRUE", 200, "")
	f(q+"?includeRisky=False", 200, "")
	f(p+"?includeRisky=yes", 400, `includeRisky "yes" is not allowed; allowed are true, false, 1, 0`)
	f(p+"?includeRisky=01", 400, "allowed are true, false, 1, 0")
	f(p+"?includeRisky=tru%C3%AB", 400, "allowed are true, false, 1, 0")
	f(p+"?owner=", 400, "parameter owner has no value")
	f(p+"?page=1&page=2", 400, "parameter page is given more than once")
	f(q+"?search=", 200, "")
	f(p+"?owner=%zz", 400, `malformed percent-encoding "%zz"`)
	f(q+"?search=%ff", 400, "not valid UTF-8")
	f(q+"?search=%00", 200, "")
	f(p+"?positionId=1%00", 200, "")
	f(q+"?search=a+b", 200, "")
	for _, n := range []string{"%2B5", "1e1", "1.0", "0x1", "-1", "020", "%205", "5%20", "1000000000000000000"} {
		f(p+"?page="+n, 400, "page")
		f(p+"?limit="+n, 400, "limit")
		f(p+"?chainId="+n, 400, "chainId")
	}

	for _, name := range []string{"page", "limit", "chainId"} {
		f(p+"?"+name+"=1000000000000000000", 400, name+` "1000000000000000000" is too large; allowed are up to 18 digits`)
		f(p+"?"+name+"=01000000000000000000", 400, "is not an integer")
		f(p+"?"+name+"=9999999999999999999999", 400, "is too large")
	}

	f(p+"/1000000000000000000/swapdex-v4/1", 400, "chain \"1000000000000000000\" is too large")
	f(p+"?minValueUsd=1E3&minPoolTvl=1E-2", 200, "")
	f(q+"?minTvlUsd=1.5E%2B3", 200, "")
	f(q+"?minTvlUsd=1E", 400, "is not a finite number; allowed are digits")
	f(p+"?limit=0", 400, "allowed are 1 to 100")
	f(p+"?limit=101", 400, "allowed are 1 to 100")
	f(p+"?page=0", 400, "pages count from 1")
	f(p+"?page=999999999999999999", 200, "")
	f(q+"?page=999999999999999999&limit=100", 200, "")
	for _, x := range []string{"NaN", "Infinity", "0x1", "1_0", "1e400", ".5", "%2B5"} {
		f(p+"?minValueUsd="+x, 400, "is not a finite number")
		f(p+"?minPoolTvl="+x, 400, "is not a finite number")
		f(q+"?minTvlUsd="+x, 400, "is not a finite number")
	}

	f(p+"?minValueUsd=-1e300&minPoolTvl=1.5e-3", 200, "")
	f(p+"?includeRisky=1", 200, "")
	f(p+"?owner=0X00000000000000000000000000000000000000aa", 400, "the format is 0x and 40 hex digits")
	f(p+"?owner=0xaA000000000000000000000000000000000000Aa", 200, "")
	f(p+"?poolId=0x1", 400, "Invalid poolId")
	f(p+"?poolId="+somePool, 200, "")
	f(p+"?positionId=abc", 200, "")
	for _, list := range []string{p, q} {
		f(list+"?tokens=0x00000000000000000000000000000000000000AA&fee=3000&hooks=none", 200, "")
		f(list+"?tokens=0xaa", 400, `tokens "0xaa" is not one or two addresses`)
		f(list+"?fee=1000001", 400, "allowed are 0 to 1000000")
		f(list+"?hooks=some", 400, "allowed are none, any and an address")
	}
	f(q+"?search="+strings.Repeat("%C3%A9", 64), 200, "")
	f(q+"?search="+strings.Repeat("e", 65), 400, "search has 65 characters; allowed are up to 64")
	f(p+"?KC-APIKey="+s.key, 400, `unknown parameter "KC-APIKey"`)
	f(p+"?chainId=5", 400, "registered are 1, 10, 42161, 43114")
	f(p+"?chainId=10", 400, "chainId 10 has no enabled protocol")
	f(p+"/5/swapdex-v4/1", 400, "chain 5 is not registered")
	f(p+"/10/swapdex-v4/1", 400, "chain 10 has no enabled protocol")
	f(p+"/ethereum/swapdex-v4/1", 400, `chain "ethereum" is not an integer`)
	f(p+"/1/swapdex-v3/1", 400, `protocol "swapdex-v3" is not served`)
	f(p+"/1/swapdex-v4/999999", 404, "no such position on chain 1")
	f(p+"/1/swapdex-v4/abc", 404, "no such position")
	f(p+"/1/swapdex-v4/0", 404, "no such position")
	f(p+"/1/swapdex-v4/%zz", 400, `path segment "%zz": malformed percent-encoding "%zz"`)
	f(p+"/1/swapdex-v4/1%2", 400, `malformed percent-encoding "%2"`)
	f(p+"/1/swapdex-v4/%ff", 400, `path segment "%ff": its value is not valid UTF-8`)
	f(p+"/1/swapdex-v4/\xff", 400, "not valid UTF-8")
	f(p+"/%zz/swapdex-v4/1/charts", 400, `malformed percent-encoding "%zz"`)
	f(p+"/1/%zz/1/explain", 400, `malformed percent-encoding "%zz"`)
	f(p+"/1/swapdex-v4/1+1", 404, "no such position")
	f(p+"/1/swapdex-v4/%zz/nothing", 404, "no such route")
	f(p+"/%zz", 404, "no such route")
	f(q+"/1/swapdex-v4/%zz", 400, "Invalid poolId")
	f(q+"/%zz/swapdex-v4/%zz/charts", 400, "Invalid poolId")
	f(q+"/%zz/swapdex-v4/"+somePool, 400, `malformed percent-encoding "%zz"`)
	f(q+"/1/swapdex-v4/"+somePool, 404, "no such pool on chain 1")
	f(q+"/5/swapdex-v4/0x1", 400, "Invalid poolId")
	f(q+"/1/swapdex-v3/0x00000000000000000000000000000000000000aa", 400, `protocol "swapdex-v3"`)
	f(q+"/1/swapdex-v3/"+somePool, 400, "Invalid poolId")
	f(q+"/1/swapdex-v9/"+somePool, 400, `protocol "swapdex-v9"`)
	f(q+"/1/swapdex-v4/"+somePool+"/ticks", 404, "no such pool on chain 1")
	f(q+"/1/swapdex-v4/"+somePool+"/ticks?limit=1001", 400, "allowed are 1 to 1000")
	f(q+"/1/swapdex-v4/"+somePool+"/ticks?range=30d", 400, `unknown parameter "range"; allowed are page, limit`)
	f(q+"/1/swapdex-v4/"+somePool+"/estimate"+someRange, 404, "no such pool on chain 1")
	f(q+"/1/swapdex-v4/"+somePool+"/estimate", 400, "parameter tickLower is missing")
	f(q+"/1/swapdex-v4/"+somePool+"/estimate"+someRange+"&interval=1h", 400, `unknown parameter "interval"`)
	f(q+"/1/swapdex-v4/"+somePool+"/estimate"+someRange+"&range=&range=7d", 404, "no such pool on chain 1")
	f(q+"/1/swapdex-v4/0x1/estimate", 400, "Invalid poolId")
	f(q+"/1/swapdex-v4/0x1/ticks", 400, "Invalid poolId")
	const someone = "/v1/owners/" + noOne
	f(someone, 200, "")
	f(someone+"?chainId=1", 400, `unknown parameter "chainId"; this route takes none`)
	f("/v1/owners/0x1", 400, `owner "0x1" is not an address; the format is 0x and 40 hex digits`)
	f("/v1/owners/%zz", 400, `malformed percent-encoding "%zz"`)
	f("/v1/owners", 404, "no such route")
	f("/v1/tokens?search=", 200, "")
	f("/v1/tokens?search=%ff", 400, "not valid UTF-8")
	f("/v1/tokens?limit=101", 400, "allowed are 1 to 100")
	f("/v1/tokens?sort=tvl", 400, "allowed are chainId, search, page, limit")
	f("/v1/tokens/1", 404, "no such route")
	f("/v1/tokens/5/"+noOne, 400, "chain 5 is not registered")
	f("/v1/tokens/10/"+noOne, 400, "chain 10 has no enabled protocol")
	f("/v1/tokens/1/USDC", 400, `token "USDC" is not an address; the format is 0x and 40 hex digits`)
	f("/v1/tokens/1/%zz", 400, `malformed percent-encoding "%zz"`)
	f("/v1/tokens/1/"+noOne+"?page=1", 400, `unknown parameter "page"; this route takes none`)
	f("/v1/tokens/1/"+noOne, 404, "no such token on chain 1")
	f(someone+"/positions", 404, "no such route")
	f(p+"/batch", 400, "parameter ids is missing")
	f(p+"/batch?ids=1-abc,1-1", 200, "")
	f(p+"/batch?ids=1-1,1-1", 400, `ids names "1-1" twice`)
	f(p+"/batch?ids=1-1&page=1", 400, `unknown parameter "page"; allowed are ids`)
	f(q+"/batch?ids=1-"+somePool, 200, "")
	f(q+"/batch?ids=10-"+somePool, 400, "ids: chain 10 has no enabled protocol")
	f(q+"/batch?ids=1-0x12", 400, `"1-0x12": Invalid poolId`)
}

func TestInvalidPoolBody(t *testing.T) {
	s := serve(t, nil)
	for _, under := range []string{"", "/charts", "/ticks", "/estimate"} {
		a := s.get("/v1/pools/1/swapdex-v4/0xabc" + under)
		if a.code != 400 || a.body != `{"error":"Invalid poolId"}` {
			t.Errorf("%s: got %d %s", under, a.code, a.body)
		}
	}
}

// TestOrder checks the order of checks: which of two errors is reported.
func TestOrder(t *testing.T) {
	s := serve(t, nil)
	f := func(method, path string, code int, headers ...string) {
		t.Helper()
		if a := s.ask(method, path, headers...); a.code != code {
			t.Errorf("%s %s %q: got %d %s; want %d", method, path, headers, a.code, a.body, code)
		}
	}

	const none, origin = gate.HeaderKey + ": ", "Origin: https://app.example.com"
	f("GET", "/v1/positions?sort=bad", 401, none)
	f("GET", "/v1/positions/nothing/there", 401, none)
	f("DELETE", "/v1/pools", 401, none)
	f("OPTIONS", "/v1/pools", 401, none)
	f("GET", "/v1/owners", 401, none)
	f("GET", "/v1/tokens/anything", 401, none)
	f("POST", "/v1/owners/x", 401, none)
	f("GET", "/v1/positions?sort=bad", 403, origin)
	f("GET", "/v1/positions/nothing/there", 403, origin)
	f("GET", "/v1/positions/nothing/there", 404)
	f("GET", "/v1/pools/1/swapdex-v4/0x1/nothing", 404)
	f("POST", "/v1/positions/nothing", 404)
	f("POST", "/v1/positions?sort=bad", 405)
	f("OPTIONS", "/v1/positions?sort=bad", 204)
	f("OPTIONS", "/v1/positions/nothing", 404)
	f("GET", "/v1/nothing", 404, none)
	f("POST", "/v1/chains", 405, none)
	f("OPTIONS", "/v1/chains", 204, none)
	f("GET", "/v1/chains?anything=1", 200, "KC-APIKey: bad", origin)
	for _, path := range []string{"/v1/chains", "/v1/protocols", "/v1/plans", "/v1/pricing/units", "/v1/stats",
		"/health", "/openapi.json", "/"} {
		f("GET", path+"?a=b+c&&=&d=%C3%A9&", 200, none)
		for _, query := range []string{"%zz", "a=%zz", "a=1&b=%2", "a=%ff"} {
			f("GET", path+"?"+query, 400, none)
		}
	}
	f("POST", "/v1/usage", 401, none)
	f("OPTIONS", "/v1/usage", 401, none)
	f("GET", "/v1/usage/anything", 401, none)
	f("POST", "/v1/usage", 403, origin)
	f("GET", "/v1/usage/anything", 404)
	f("POST", "/v1/usage", 405)
	f("OPTIONS", "/v1/usage", 204)
	f("GET", "/v1/usage", 401, none)
	f("GET", "/v1/usage", 403, origin)
	f("GET", "/v1/positionsx", 404, none)
	f("GET", "/v1/positions/", 200)
	f("GET", "/v1/chains/", 200)
	f("GET", "/v1//chains", 404)
	f("GET", "//v1/chains", 404)
	f("GET", "/v1/positions//", 404)
	f("GET", "/v1%2Fchains", 404)
	f("GET", "/v1/positions/1%2Fswapdex-v4/1", 404)
	f("GET", "/v1/%63hains", 200)
	f("GET", "/v1/positions/1/swapdex-v4/1/", 200)
	f("GET", "/v1/../v1/chains", 404)
	f("GET", "/", 200)
	f("GET", "/v1", 404)
	f("GET", "/health/", 200, none)
	f("GET", "/openapi.json/", 200, none)
	f("GET", "/health//", 404, none)
	for _, under := range []string{"/charts", "/explain"} {
		f("GET", "/v1/positions/1/swapdex-v4/1"+under, 200)
		f("GET", "/v1/positions/1/swapdex-v4/1"+under+"/more", 404)
		f("GET", "/v1/positions/1/swapdex-v4/1/x"+under, 404)
	}
	f("GET", "/v1/pools/1/swapdex-v4", 404)
}

func TestMethods(t *testing.T) {
	s := serve(t, nil)
	a := s.ask("POST", "/v1/positions")
	if got := a.header.Get("Allow"); got != "GET, HEAD, OPTIONS" || a.header.Get("X-Units-Charged") != "0" {
		t.Errorf("405: Allow %q, charged %q", got, a.header.Get("X-Units-Charged"))
	}
	a = s.ask("OPTIONS", "/v1/positions")
	if got := a.header.Get("Allow"); got != "GET, HEAD, OPTIONS" || a.body != "" || a.header.Get("X-Units-Charged") != "0" {
		t.Errorf("OPTIONS: Allow %q, body %q, headers %v", got, a.body, a.header)
	}

	get, head := s.get("/v1/positions?limit=3"), s.ask("HEAD", "/v1/positions?limit=3")
	if head.code != 200 || head.body != "" || head.header.Get("X-Units-Charged") != "1" ||
		head.header.Get("Content-Length") != fmt.Sprint(len(get.body)) {
		t.Errorf("HEAD: got %d, %d bytes, %v; GET has %d bytes", head.code, len(head.body), head.header, len(get.body))
	}

	a = s.ask("OPTIONS", "/v1/positions", gate.HeaderKey+": ", "Origin: https://x.example", "Access-Control-Request-Method: GET")
	if a.code != 204 || a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of an origin nobody lists: got %d %v", a.code, a.header)
	}
	a = s.ask("OPTIONS", "/v1/nothing", gate.HeaderKey+": ", "Origin: https://x.example", "Access-Control-Request-Method: GET")
	if a.code != 204 || a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("preflight outside: got %d %v", a.code, a.header)
	}
}

func TestCharges(t *testing.T) {
	s := serve(t, nil)
	f := func(path string, code int, units string) {
		t.Helper()
		a := s.get(path)
		if got := a.header.Get("X-Units-Charged"); a.code != code || got != units {
			t.Errorf("%s: got %d and %q units; want %d and %q", path, a.code, got, code, units)
		}
		if a.header.Get("X-Generation") == "" || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers %v", path, a.header)
		}
	}

	f("/v1/positions", 200, "1")
	f("/v1/pools", 200, "2")
	f("/v1/positions/1/swapdex-v4/1", 200, "1")
	f("/v1/positions/1/swapdex-v4/99999", 404, "1")
	f("/v1/pools/1/swapdex-v4/"+somePool, 404, "1")
	f("/v1/pools/1/swapdex-v4/0x1", 400, "0")
	f("/v1/positions/nothing", 404, "0")

	var usage struct {
		UnitsUsed  int
		UnitsLimit *int
		Routes     []struct {
			Path            string
			Requests, Units int
		}
	}

	if err := json.Unmarshal([]byte(s.get("/v1/usage").body), &usage); err != nil {
		t.Fatal(err)
	}

	if usage.UnitsUsed != 6 || usage.UnitsLimit != nil || len(usage.Routes) != 4 {
		t.Errorf("usage: got %+v", usage)
	}
}
