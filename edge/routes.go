package edge

import (
	"bytes"
	"slices"
	"strings"

	"tidemark/edge/gate"
	"tidemark/edge/query"
	"tidemark/storage/accounts"
)

// route is a route of the API or the site.
type route uint8

const (
	routeNone route = iota
	routePositions
	routePosition
	routePositionCharts
	routeExplain
	routePools
	routePool
	routePoolCharts
	routeUsage
	routePositionBatch
	routePoolBatch
	routePoolTicks
	routePoolEstimate
	routeOwner
	routePositionExport
	routePoolExport
	routeTokens
	routeToken
	routeStream
	routeChains
	routeProtocols
	routePlans
	routeUnits
	routeStats
	routeHealth
	routeOpenAPI
	routeIndex // / as JSON, for programs
	routeSite  // the web pages and their assets
	numRoutes
)

// access is what a route requires, and when that is checked.
type access uint8

const (
	free  access = iota // no key
	keyed               // a key, checked before everything else
)

// routes has, for each route, its name in metrics, its access and the route that
// its requests are metered as, which has its path; a free route has a path here.
var routes = [numRoutes]struct {
	name   string
	access access
	meter  accounts.Route
	path   string
}{
	routeNone:           {name: "none"},
	routePositions:      {name: "positions", access: keyed, meter: accounts.RoutePositions},
	routePosition:       {name: "position", access: keyed, meter: accounts.RoutePosition},
	routePositionCharts: {name: "position_charts", access: keyed, meter: accounts.RoutePositionCharts},
	routeExplain:        {name: "explain", access: keyed, meter: accounts.RouteExplain},
	routePools:          {name: "pools", access: keyed, meter: accounts.RoutePools},
	routePool:           {name: "pool", access: keyed, meter: accounts.RoutePool},
	routePoolCharts:     {name: "pool_charts", access: keyed, meter: accounts.RoutePoolCharts},
	routeUsage:          {name: "usage", access: keyed, meter: accounts.RouteUsage},
	routePositionBatch:  {name: "position_batch", access: keyed, meter: accounts.RoutePositionBatch},
	routePoolBatch:      {name: "pool_batch", access: keyed, meter: accounts.RoutePoolBatch},
	routePoolTicks:      {name: "pool_ticks", access: keyed, meter: accounts.RoutePoolTicks},
	routePoolEstimate:   {name: "pool_estimate", access: keyed, meter: accounts.RoutePoolEstimate},
	routeOwner:          {name: "owner", access: keyed, meter: accounts.RouteOwner},
	routePositionExport: {name: "position_export", access: keyed, meter: accounts.RoutePositionExport},
	routePoolExport:     {name: "pool_export", access: keyed, meter: accounts.RoutePoolExport},
	routeTokens:         {name: "tokens", access: keyed, meter: accounts.RouteTokens},
	routeToken:          {name: "token", access: keyed, meter: accounts.RouteToken},
	routeStream:         {name: "stream", access: keyed, meter: accounts.RouteStream},
	routeChains:         {name: "chains", path: "/v1/chains"},
	routeProtocols:      {name: "protocols", path: "/v1/protocols"},
	routePlans:          {name: "plans", path: "/v1/plans"},
	routeUnits:          {name: "units", path: "/v1/pricing/units"},
	routeStats:          {name: "stats", path: "/v1/stats"},
	routeHealth:         {name: "health", path: "/health"},
	routeOpenAPI:        {name: "openapi", path: "/openapi.json"},
	routeIndex:          {name: "index"},
	routeSite:           {name: "site"},
}

// isExport reports whether the answers of a route are exports.
func (r route) isExport() bool { return r == routePositionExport || r == routePoolExport }

// isLong reports whether the answers of a route are long ones. They have no HEAD: its
// headers could not say how the answer ends.
func (r route) isLong() bool { return r.isExport() || r == routeStream }

// methods returns the methods that a route allows, as the Allow header lists them.
func (r route) methods() string {
	if r.isLong() {
		return gate.LongMethods
	}
	return gate.AllowedMethods
}

// target is what a path refers to.
type target struct {
	route  route
	access access
	// The decoded path segments of a detail; id is of a position or pool, or the
	// address of an owner or token.
	chain, protocol, id []byte
	malformed           error // why a segment could not be decoded
}

// maxSegments is one more than the longest route has, so that a longer path is
// recognised as such.
const maxSegments = 7

// pattern is the path of a route, split at its slashes.
type pattern struct {
	route               route
	words               []string // by segment; empty where any will do
	chain, protocol, id int      // the segments that are these; 0: none is
}

// pathPatterns has the routes by how many segments their paths have, and keyedWords
// the words behind /v1 that the paths of keyed routes begin with.
var pathPatterns, keyedWords = splitPaths()

func splitPaths() (by [maxSegments + 1][]pattern, words []string) {
	for r := range numRoutes {
		path := r.path()
		if path == "" {
			continue
		}

		p := newPattern(r, path)
		by[len(p.words)] = append(by[len(p.words)], p)
		if routes[r].access == keyed && !slices.Contains(words, p.words[1]) {
			words = append(words, p.words[1])
		}
	}
	return by, words
}

// plainPaths has the routes whose paths have no variable segment, which most requests ask
// for: to split a path takes several times as long.
var plainPaths = func() map[string]target {
	plain := map[string]target{}
	for r := range numRoutes {
		if path := r.path(); path != "" && !strings.Contains(path, "{") {
			plain[path] = target{route: r, access: routes[r].access}
		}
	}
	return plain
}()

// path returns the path of a route with names in braces, or "" if it has none of its own.
func (r route) path() string {
	if routes[r].access != free {
		return routes[r].meter.Path()
	}
	return routes[r].path
}

// newPattern reads a path whose variable segments are names in braces.
func newPattern(r route, path string) pattern {
	p := pattern{route: r, words: strings.Split(path[1:], "/")}

	for i, word := range p.words {
		switch {
		case !strings.HasPrefix(word, "{"):
			continue
		case word == "{chainId}":
			p.chain = i
		case word == "{protocol}":
			p.protocol = i
		default:
			p.id = i
		}
		p.words[i] = ""
	}
	return p
}

// matches reports whether a path has the pattern.
func (p *pattern) matches(parts *[maxSegments][]byte) bool {
	for i, word := range p.words {
		if word != "" && string(parts[i]) != word {
			return false
		}
	}
	return true
}

// read notes what a path that has the pattern refers to. What its route does not have is
// segment 0, which is always a word, and is not asked for.
func (p *pattern) read(t *target, parts *[maxSegments][]byte) {
	t.route = p.route
	t.chain, t.protocol, t.id = parts[p.chain], parts[p.protocol], parts[p.id]
}

// matchRoute finds the route of a path, which begins with a slash. A trailing
// slash is ignored; a path with an empty segment or an escaped slash has no
// route. The segments of the target may point into buf.
func matchRoute(path, buf []byte) (t target) {
	if t, ok := plainPaths[string(path)]; ok {
		return t
	}

	var parts [maxSegments][]byte
	n, clean, malformed := splitPath(&parts, path, buf)
	t.malformed = malformed

	// Everything below a keyed route needs a key, whether it is a route or not.
	if n >= 2 && string(parts[0]) == "v1" && slices.Contains(keyedWords, string(parts[1])) {
		t.access = keyed
	}
	if !clean {
		return t
	}

	if n == 0 || n == 1 && len(parts[0]) == 0 {
		t.route = routeIndex
		return t
	}

	all := pathPatterns[n]
	for i := range all {
		if all[i].matches(&parts) {
			all[i].read(&t, &parts)
			break
		}
	}
	t.access = max(t.access, routes[t.route].access)
	return t
}

// splitPath splits a path into decoded segments. clean is false when a segment is
// empty or contains a slash, or when there are too many. A segment that cannot be
// decoded is returned as it is, so that its route can refuse it.
func splitPath(parts *[maxSegments][]byte, path, buf []byte) (n int, clean bool, malformed error) {
	clean = true
	path = bytes.TrimPrefix(path, slash)
	for rest, more := path, len(path) > 0; more; n++ {
		if n == maxSegments {
			return n, false, malformed
		}

		var raw []byte
		raw, rest, more = bytes.Cut(rest, slash)
		if len(raw) == 0 {
			if !more && n > 0 {
				return n, clean, malformed // a trailing slash
			}
			clean = false
		}

		var err error
		if parts[n], buf, err = query.Segment(buf, raw); malformed == nil {
			malformed = err
		}
		clean = clean && bytes.IndexByte(parts[n], '/') < 0
	}
	return n, clean, malformed
}

var slash = []byte{'/'}
