package edge

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/edge/gate"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// asked is a metered route with the paths that lead to its outcomes.
type asked struct {
	name            string
	meter           accounts.Route
	good, bad, none string // a 200, a 400, and a 404 of a thing that is not there
}

// askedRoutes returns the metered routes with existing ids.
func askedRoutes(s *front) []asked {
	first := func(list, id string) string {
		rows := s.get("/v1/" + list + "?chainId=1&limit=1&includeRisky=true").decoded(s.t)
		return rows[list].([]any)[0].(map[string]any)[id].(string)
	}

	const positions, pools = "/v1/positions/1/swapdex-v4/", "/v1/pools/1/swapdex-v4/"
	position, pool := positions+first("positions", "positionId"), pools+first("pools", "poolId")
	const noPosition, noPool = positions + "999999999", pools + "0x" + noSuchPool
	const badPosition, badPool = "/v1/positions/7/swapdex-v4/1", pools + "0x12"
	return []asked{
		{"positions", accounts.RoutePositions, "/v1/positions", "/v1/positions?sort=no", ""},
		{"pools", accounts.RoutePools, "/v1/pools", "/v1/pools?limit=101", ""},
		{"position", accounts.RoutePosition, position, badPosition, noPosition},
		{"pool", accounts.RoutePool, pool, badPool, noPool},
		{
			"position charts", accounts.RoutePositionCharts,
			position + "/charts", badPosition + "/charts", noPosition + "/charts",
		},
		{
			"pool charts", accounts.RoutePoolCharts,
			pool + "/charts", badPool + "/charts", noPool + "/charts",
		},
		{
			"explain", accounts.RouteExplain,
			position + "/explain", badPosition + "/explain", noPosition + "/explain",
		},
		{
			"position batch", accounts.RoutePositionBatch,
			"/v1/positions/batch?ids=1-" + path.Base(position), "/v1/positions/batch", "",
		},
		{
			"owner", accounts.RouteOwner, "/v1/owners/" + somePool[:42], "/v1/owners/" + somePool, "",
		},
		{"tokens", accounts.RouteTokens, "/v1/tokens", "/v1/tokens?sort=tvl", ""},
		{
			"token", accounts.RouteToken,
			"/v1/tokens/1/" + stateOf(1).Tokens.At(0).Address.String(), "/v1/tokens/1/USDC", "",
		},
		{
			"pool ticks", accounts.RoutePoolTicks,
			pool + "/ticks", badPool + "/ticks", noPool + "/ticks",
		},
		{
			"pool estimate", accounts.RoutePoolEstimate,
			pool + "/estimate" + someRange, badPool + "/estimate" + someRange, noPool + "/estimate" + someRange,
		},
		{
			"pool batch", accounts.RoutePoolBatch,
			"/v1/pools/batch?ids=1-" + path.Base(pool), "/v1/pools/batch?ids=1-0x12", "",
		},
	}
}

// someRange is the query of an estimate in any pool.
const someRange = "?tickLower=-198000&tickUpper=-192000&valueUsd=1000"

// noSuchPool is the id of a pool that does not exist.
const noSuchPool = "abababababababababababababababababababababababababababababababab"

// outcome is a column of the table.
type outcome struct {
	name    string
	change  func(*Config)               // of the server
	prepare func(*front, string, asked) // of the account behind the key
	method  string                      // GET when empty
	path    func(asked) string
	headers []string
	code    func(asked) int
	charged bool
	says    func(asked) string
}

func always(code int) func(asked) int       { return func(asked) int { return code } }
func goodPath(r asked) string               { return r.good }
func saying(text string) func(asked) string { return func(asked) string { return text } }
func isList(r asked) bool {
	return slices.Contains([]string{"positions", "pools", "owner", "tokens"}, r.name)
}
func empty(f *front, key string, left int64)      { f.drainTo(key, left) }
func offline(c *Config, chains ...rankings.Chain) { c.Board = boardOf(chains...) }

// under returns a path below a route.
func under(r asked, path string) string {
	above, _, _ := strings.Cut(r.good, "?")
	return above + path
}

// drainTo reserves all but left of an account's units.
func (f *front) drainTo(key string, left int64) {
	k := f.findKey(key)
	ticket := f.book.Admit(k, time.Now().UnixNano())
	if v := f.book.Reserve(&ticket, ticket.Quota().Left-left); v != accounts.Granted {
		f.t.Fatalf("cannot spend down to %d units: %d", left, v)
	}
}

// boardOf returns a board with the given chains.
func boardOf(chains ...rankings.Chain) *rankings.Board {
	b := new(rankings.Board)
	for _, c := range chains {
		if c.View != nil {
			b.Publish(c.View)
		}
		b.SetStatus(c.ID, c.Status)
	}
	return b
}

// chainsWith returns the shared node's chains, with those at the given indices
// offline.
func chainsWith(off ...int) []rankings.Chain {
	var chains []rankings.Chain
	for i, c := range sharedNode().board.Load().Chains {
		for _, at := range off {
			c.Status.Offline = c.Status.Offline || i == at
		}
		chains = append(chains, c)
	}
	return chains
}

var outcomes = []outcome{
	{name: "200", path: goodPath, code: always(200), charged: true},
	{name: "HEAD", method: "HEAD", path: goodPath, code: always(200), charged: true},
	{
		name: "stale", change: func(c *Config) { c.Limits.Freshness = -time.Second },
		path: goodPath, code: always(200), charged: true, says: saying(`"stale":true`),
	},
	{
		name: "degraded", change: func(c *Config) { c.Limits.TransactionsWait = 1 },
		path: goodPath, code: always(200), charged: true,
	},
	{name: "400", path: func(r asked) string { return r.bad }, code: always(400)},
	{
		name: "400 over quota", prepare: func(f *front, key string, r asked) { empty(f, key, 0) },
		path: func(r asked) string { return r.bad }, code: always(400),
	},
	{name: "401", path: goodPath, headers: []string{gate.HeaderKey + ": nonsense"}, code: always(401)},
	{name: "403", path: goodPath, headers: []string{"Origin: https://app.example.com"}, code: always(403)},
	{
		name: "404", path: func(r asked) string { return r.none }, code: always(404), charged: true,
	},
	{
		name: "404 route", path: func(r asked) string { return under(r, "/a/b/c/d/e") }, code: always(404),
	},
	{name: "405", method: "POST", path: goodPath, code: always(405)},
	{name: "OPTIONS", method: "OPTIONS", path: goodPath, code: always(204)},
	{
		name: "429 burst", prepare: func(f *front, key string, r asked) { f.takeAll(key) },
		path: goodPath, code: always(429), says: saying("too many requests"),
	},
	{
		name: "429 burst before 404", prepare: func(f *front, key string, r asked) { f.takeAll(key) },
		path: func(r asked) string { return under(r, "/a/b/c/d/e") }, code: always(429),
	},
	{
		name: "429 quota", prepare: func(f *front, key string, r asked) { empty(f, key, 0) },
		path: goodPath, code: always(429), says: saying(`"retryAfterSec":`),
	},
	{
		name: "the last units", path: goodPath, code: always(200), charged: true,
		prepare: func(f *front, key string, r asked) { empty(f, key, r.meter.Units()) },
	},
	{
		name: "429 quota, one unit short", path: goodPath, code: always(429),
		prepare: func(f *front, key string, r asked) { empty(f, key, r.meter.Units()-1) },
	},
	{
		name: "503 metering", prepare: func(f *front, key string, r asked) { f.book.SetAlive(0) },
		path: goodPath, code: always(503), says: saying("metering"),
	},
	{
		name: "503 chains", change: func(c *Config) { offline(c, chainsWith(0, 1, 2)...) },
		path: goodPath, code: always(503),
	},
	{
		name: "partial", change: func(c *Config) { offline(c, chainsWith(2)...) },
		path: goodPath, code: always(200), charged: true,
	},
}

// takeAll takes all burst tokens of an account, and those of the next minute.
func (f *front) takeAll(key string) {
	k := f.findKey(key)
	for {
		ticket := f.book.Admit(k, time.Now().Add(time.Minute).UnixNano())
		if !ticket.TakeToken() {
			return
		}
	}
}

// TestOutcomes checks every outcome of every metered route: the status, the
// charge, and that headers and the account agree about it.
func TestOutcomes(t *testing.T) {
	routes := askedRoutes(serve(t, nil))
	for _, o := range outcomes {
		t.Run(o.name, func(t *testing.T) {
			for _, r := range routes {
				if path := o.path(r); path != "" {
					o.check(t, r, path)
				}
			}
		})
	}
}

func (o *outcome) check(t *testing.T, r asked, path string) {
	s := serve(t, o.change)
	key := s.issue("starter", accounts.Server)
	k, month := s.findKey(key), s.book.Calendar().This.Month
	if o.prepare != nil {
		o.prepare(s, key, r)
	}

	before, _ := k.Cell.Tally(month)
	headers := append([]string{}, o.headers...)
	if len(headers) == 0 || !strings.HasPrefix(headers[0], gate.HeaderKey) {
		headers = append(headers, gate.HeaderKey+": "+key)
	}

	method := cmp.Or(o.method, "GET")
	a := s.ask(method, path, headers...)
	code, units := o.code(r), o.units(r, &a)
	if a.code != code {
		t.Errorf("%s: %d %.200s; want %d", r.name, a.code, a.body, code)
	}

	if o.says != nil && !strings.Contains(a.body, o.says(r)) {
		t.Errorf("%s: body %.200s; want %s", r.name, a.body, o.says(r))
	}
	after, _ := k.Cell.Tally(month)
	if got := after.Billed() - before.Billed(); got != units || after.Routes[r.meter].Units != units {
		t.Errorf("%s: %d units billed, %d on its route; want %d", r.name, got, after.Routes[r.meter].Units, units)
	}
	if got := after.Lease - before.Lease; got != units {
		t.Errorf("%s: %d units spent and held at the end; want %d", r.name, got, units)
	}
	o.checkHeaders(t, r, &a, units)
}

// units returns what the answer must cost.
func (o *outcome) units(r asked, a *answer) int64 {
	switch {
	case !o.charged:
		return 0
	case o.name == "404":
		return 1 // whatever the route
	case o.name == "partial" && isList(r):
		return 0
	case o.name == "degraded" && r.name == "position":
		return 0
	}
	return r.meter.Units()
}

func (o *outcome) checkHeaders(t *testing.T, r asked, a *answer, units int64) {
	want := fmt.Sprint(units)
	if a.code == 401 {
		want = ""
	}
	if got := a.header.Get("X-Units-Charged"); got != want {
		t.Errorf("%s: X-Units-Charged is %q; want %q", r.name, got, want)
	}

	if again := a.header.Get("Retry-After"); (a.code == 429 || a.code == 503) != (again != "" && again != "0") {
		t.Errorf("%s: %d with Retry-After %q", r.name, a.code, again)
	}

	if strings.Contains(a.body, "retryAfterSec") != strings.HasPrefix(o.name, "429 quota") {
		t.Errorf("%s: retryAfterSec stands in quota answers only: %s", r.name, a.body)
	}
	if o.method == "HEAD" && a.body != "" {
		t.Errorf("%s: a HEAD has a body", r.name)
	}
	flag := map[string]string{"partial": `"partial":true`, "degraded": `"transactionsDegraded":true`}[o.name]
	if flag != "" && strings.Contains(a.body, flag) != (units == 0) {
		t.Errorf("%s: %d units, body %.200s", r.name, units, a.body)
	}
}
