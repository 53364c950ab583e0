package edge

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// generator makes random requests, valid and invalid, to every route.
type generator struct {
	*rand.Rand
	keys []string
}

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// values has values for each parameter. Sometimes a parameter gets another one's.
var values = map[string][]string{
	"chainId":  {"1", "42161", "43114", "10", "5", "", "0", "-1", "1e0", "01"},
	"protocol": {"swapdex-v4", "swapdex-v3", "", "SWAPDEX-V4"},
	"sort": append(slices.Concat(rankings.PositionSorts[:], rankings.PoolSorts[:]),
		"APR", "", "nft_id"),
	"page":         {"1", "2", "3", "28", "400", "999999999999999999", "0", "x", "1000000000000000000"},
	"limit":        {"1", "2", "3", "5", "7", "20", "0", "101", "%31"},
	"status":       {"active", "inactive", "all", "open"},
	"range":        {"in", "out", "all", "30d", "60d", "90d", "180d", "7d", ""},
	"owner":        {"0x00000000000000000000000000000000000000aa", "0xA", "0X" + somePool[26:], ""},
	"poolId":       {somePool, "0x1", ""},
	"positionId":   {"1", "77", "abc", "18446744073709551616", ""},
	"minValueUsd":  {"0", "-1", "17", "1e3", "1e400", "NaN", ".5"},
	"minPoolTvl":   {"0", "1000", "1e6", "0x1"},
	"minTvlUsd":    {"0", "-0", "1e5", "Infinity"},
	"includeRisky": {"true", "false", "1", "0", "yes"},
	"tokens": {
		"0x0000000000000000000000000000000000000000", "0x0101000000000000000000000000000000000000", "",
		"0x0101000000000000000000000000000000000000,0x0000000000000000000000000000000000000000",
	},
	"fee":        {"500", "3000", "0", "1000001", "x"},
	"generation": {"pin", "1:1", "1:1,42161:1,43114:1", "1:9", "1:", "x"},
	"hooks":      {"none", "any", "0x00000000000000000000000000000000000000c0", "None"},
	"search": {
		"", "e", "0x", "0xa", "eth", "USDC", "%E2%82%AC", "%F0%9F%9A%80", "%ff", "%zz", "%00", "a+b", "eth%2Fusdc", "usdc+eth", "us-t",
		"%22%27%3C", "%CE%A3", "dead", strings.Repeat("%C3%9F", 64), strings.Repeat("x", 65),
	},
	"tickLower": {"-887400", "-600", "0", "-198000", "1", "-0", "x"},
	"tickUpper": {"887400", "600", "-192000", "887273", "+5", ""},
	"valueUsd":  {"1000", "1e3", "0.5", "0", "-1", "1e300", "NaN"},
	"ids": {
		"1-1", "1-77,42161-12,43114-3", "1-abc", "1-1,1-1", "10-1", "1-", "1-" + somePool, "1-0x1",
		"1-" + somePool + ",42161-" + somePool,
	},
	"KC-APIKey": {"secret"}, "x": {"1"}, "": {"", "1"},
}

var parameterNames = slices.Sorted(maps.Keys(values))

func (g *generator) path() string {
	if g.IntN(40) == 0 {
		return g.pick("/", "/v1", "/v1/nothing", "//v1/plans", "/v1%2Fpools", "/v1/pools/1", "/v1/positions//",
			"/v1/../health", "/%00", "/v1/positions/%zz/a/b", "/"+strings.Repeat("a", 500), "/é", "/v1/usage/x")
	}

	path := g.pick("/v1/positions", "/v1/positions", "/v1/pools", "/v1/pools", "/v1/usage", "/v1/chains",
		"/v1/positions/batch", "/v1/pools/batch", "/v1/tokens", "/v1/protocols", "/v1/plans", "/v1/pricing/units", "/v1/stats", "/health", "/openapi.json", "", "", "", "")
	if path == "" && g.IntN(6) == 0 {
		return "/v1/tokens/" + g.pick("1", "1", "1", "43114", "10", "x") + "/" + g.pick(noOne, somePool, "", "%ff",
			stateOf(1).Tokens.At(g.Uint32N(stateOf(1).Tokens.Len())).Address.String())
	}
	if path == "" && g.IntN(6) == 0 {
		return "/v1/owners/" + g.pick("0x00000000000000000000000000000000000000aa", somePool, "", "0xA", "%ff",
			stateOf(1).Owners.At(g.Uint32N(stateOf(1).Owners.Len())).String())
	}
	if path == "" {
		id := g.pick("1", "77", fmt.Sprint(g.IntN(320)), somePool, "0x1", url.PathEscape("a/b"), "%F0%9F%9A%80")
		if g.IntN(2) == 0 {
			id = stateOf(1).Pools.At(g.Uint32N(stateOf(1).Pools.Len())).ID.String()
		}
		path = "/v1/" + g.pick("positions", "pools") + "/" + g.pick("1", "1", "43114", "10", "x") + "/" +
			g.pick("swapdex-v4", "swapdex-v4", "swapdex-v4", "swapdex-v3") + "/" + id +
			g.pick("", "", "/charts", "/charts", "/explain", "/ticks", "/estimate", "/estimate?tickLower=-600&tickUpper=600&valueUsd=9", "/x", "/")
	}

	return path
}

// ask sets up a random request.
func (g *generator) ask(r *fasthttp.Request) {
	r.Reset()
	target := g.path()
	for k := range g.IntN(4) {
		name := g.pick(parameterNames...)
		value := g.pick(values[name]...)
		if g.IntN(12) == 0 {
			value = g.pick(values[g.pick(parameterNames...)]...)
		}
		target += string("?&&&"[k]) + name + "=" + value
	}

	r.Header.SetRequestURI(target)
	r.Header.SetMethod(g.pick("GET", "GET", "GET", "GET", "GET", "GET", "HEAD", "OPTIONS", "POST", "BREW"))
	r.Header.SetHost("api.example.com")
	if g.IntN(12) > 0 {
		r.Header.Set(gate.HeaderKey, g.pick(g.keys...))
	}

	if g.IntN(12) == 0 {
		r.Header.Set("Origin", g.pick("https://app.example.com", "https://evil.example", "null", ""))
	}

	if g.IntN(30) == 0 {
		r.Header.Set("Access-Control-Request-Method", "GET")
	}
	if g.IntN(30) == 0 {
		r.Header.Set(gate.HeaderRequestID, g.pick("mine", "not mine", strings.Repeat("x", 65)))
	}
}

// conditions are the configurations that are tested.
var conditions = []struct {
	name   string
	change func(*testing.T, *Config)
}{
	{"healthy", func(*testing.T, *Config) {}},
	{"no waits", func(_ *testing.T, c *Config) {
		c.Limits.TotalCap, c.Limits.CountWait, c.Limits.ScanWait, c.Limits.TransactionsWait = 40, 0, 0, 0
		c.Limits.Selections, c.Limits.Freshness = 2, time.Nanosecond
	}},
	{"partial", func(_ *testing.T, c *Config) { offline(c, chainsWith(0)...) }},
	{"nothing", func(_ *testing.T, c *Config) { offline(c, chainsWith(0, 1, 2)...) }},
	{"restarted", func(t *testing.T, c *Config) { c.Board = reopenBoard(t) }},
}

const (
	generatedPerCondition = 4000
	generatedShort        = 200 // under -short
)

// TestGenerated sends random requests to nodes in several conditions. Each answer
// must have a documented status, body and headers.
func TestGenerated(t *testing.T) {
	requests := generatedPerCondition
	if testing.Short() {
		requests = generatedShort
	}
	for i, with := range conditions {
		t.Run(with.name, func(t *testing.T) {
			s := serve(t, func(c *Config) { with.change(t, c) })
			drained := s.issue("free", accounts.Server)
			s.drainTo(drained, 1)
			g := &generator{Rand: rand.New(rand.NewPCG(uint64(i), 2)), keys: []string{
				s.key, s.key, s.key, s.key, s.key, s.issue("scale", accounts.Server), drained, "nonsense",
				s.issue("starter", accounts.Browser, "https://app.example.com"), s.issue("free", accounts.Server),
			}}

			var ctx fasthttp.RequestCtx
			for range requests {
				ctx.Init(&fasthttp.Request{}, nil, nil)
				ctx.Response.Reset()
				g.ask(&ctx.Request)
				s.server.serve(&ctx)
				if err := checkAnswer(&ctx); err != nil {
					t.Fatalf("%s\n%d %.300s\n%v", &ctx.Request, ctx.Response.StatusCode(), ctx.Response.Body(), err)
				}
			}

			if n := s.metric(`tidemark_edge_panics_total`); n != "0" {
				t.Errorf("%s panics: %s", n, s.log)
			}
		})
	}
}

// checkAnswer returns an error if the contract does not allow an answer.
func checkAnswer(ctx *fasthttp.RequestCtx) error {
	q, a := &ctx.Request.Header, &ctx.Response
	code, path := a.StatusCode(), template(string(q.RequestURI()))
	header := func(name string) string { return string(a.Header.Peek(name)) }
	if code == fasthttp.StatusNoContent {
		if !q.IsOptions() || len(a.Body()) > 0 {
			return fmt.Errorf("a 204 to %s with %d bytes", q.Method(), len(a.Body()))
		}
		return nil
	}

	is := schema{"$ref": "#/components/schemas/Error"}
	if path != "" {
		documented, ok := answerSchema(path, code)
		if !ok && code != 404 { // its segments may be none of a route
			return fmt.Errorf("%s has no documented %d", path, code)
		}
		if ok {
			is = documented
		}
		if q.IsGet() {
			cover(path, code)
		}
	} else if code < 400 || code >= 500 {
		return fmt.Errorf("a %d where there is no route", code)
	}

	var body any
	if err := json.Unmarshal(a.Body(), &body); err != nil {
		return err
	}
	if err := is.validate(body, "body"); err != nil {
		return err
	}
	if kind := header("Content-Type"); kind != contentJSON {
		return fmt.Errorf("Content-Type is %q", kind)
	}

	retry := header("Retry-After")
	if (code == 429 || code == 503) != (retry != "" && retry != "0") {
		return fmt.Errorf("Retry-After is %q", retry)
	}
	if header(gate.HeaderRequestID) == "" {
		return fmt.Errorf("no %s", gate.HeaderRequestID)
	}

	return checkCharge(path, code, body, header)
}

// checkCharge returns an error if the charge or the headers of metering are wrong.
func checkCharge(path string, code int, body any, header func(string) string) error {
	units := header("X-Units-Charged")
	m, _ := body.(map[string]any)
	free := m["partial"] == true || m["transactionsDegraded"] == true
	switch {
	case units == "" && header("Access-Control-Allow-Origin") != "*" && code != 401 && code != 404 && code != 405:
		return fmt.Errorf("no X-Units-Charged")
	case units == "":
		return nil
	case (code != 200 && code != 404 || free) && units != "0":
		return fmt.Errorf("X-Units-Charged is %q", units)
	case code == 200 && !free && path != "/v1/usage" && units == "0":
		return fmt.Errorf("X-Units-Charged is 0")
	case header(gate.HeaderGeneration) == "" && code != 503:
		return fmt.Errorf("no %s", gate.HeaderGeneration)
	case !strings.HasPrefix(header("Vary"), "Origin"):
		return fmt.Errorf("Vary is %q", header("Vary"))
	}

	return nil
}
