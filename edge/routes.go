package edge

import (
	"bytes"

	"tidemark/edge/query"
	"tidemark/storage/accounts"
)

// route is one kind of question.
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
	routeChains
	routeProtocols
	routePlans
	routeUnits
	routeStats
	routeHealth
	routeOpenAPI
	routeIndex // of what there is, for programs
	routeSite  // pages and what they load
	numRoutes
)

// access is what stands before a route.
type access uint8

const (
	free   access = iota // no key
	keyed                // a key; 404 and 405 come before it
	priced               // a key, which comes before everything
)

// routes says of each route how metrics call it, what stands before it, and
// what it is to the meter.
var routes = [numRoutes]struct {
	name   string
	access access
	meter  accounts.Route
}{
	routeNone:           {name: "none"},
	routePositions:      {"positions", priced, accounts.RoutePositions},
	routePosition:       {"position", priced, accounts.RoutePosition},
	routePositionCharts: {"position_charts", priced, accounts.RoutePositionCharts},
	routeExplain:        {"explain", priced, accounts.RouteExplain},
	routePools:          {"pools", priced, accounts.RoutePools},
	routePool:           {"pool", priced, accounts.RoutePool},
	routePoolCharts:     {"pool_charts", priced, accounts.RoutePoolCharts},
	routeUsage:          {"usage", keyed, accounts.RouteUsage},
	routeChains:         {name: "chains"},
	routeProtocols:      {name: "protocols"},
	routePlans:          {name: "plans"},
	routeUnits:          {name: "units"},
	routeStats:          {name: "stats"},
	routeHealth:         {name: "health"},
	routeOpenAPI:        {name: "openapi"},
	routeIndex:          {name: "index"},
	routeSite:           {name: "site"},
}

// target is where a path leads.
type target struct {
	route  route
	access access
	// The segments of a detail: chain, protocol, and position or pool.
	chain, protocol, id []byte
	malformed           error // why a segment could not be decoded
}

// maxSegments is one more than the deepest route has.
const maxSegments = 7

// match finds the route of a path, which begins with a slash. A trailing slash
// is the same route; an empty segment or an escaped slash is none. The
// segments of the target may stand in buf.
func match(path, buf []byte) (t target) {
	var parts [maxSegments][]byte
	n, clean, malformed := split(&parts, path, buf)
	t.malformed = malformed
	s := func(i int) string { return string(parts[i]) }
	listed := n >= 2 && s(0) == "v1" && (s(1) == "positions" || s(1) == "pools")
	if listed {
		t.access = priced
	}

	if !clean {
		return t
	}

	switch {
	case n == 0 || n == 1 && s(0) == "":
		t.route = routeIndex
	case n == 1 && s(0) == "health":
		t.route = routeHealth
	case n == 1 && s(0) == "openapi.json":
		t.route = routeOpenAPI
	case n == 2 && s(0) == "v1":
		t.route = top(parts[1])
	case n == 3 && s(0) == "v1" && s(1) == "pricing" && s(2) == "units":
		t.route = routeUnits
	case listed && (n == 5 || n == 6):
		t.chain, t.protocol, t.id = parts[2], parts[3], parts[4]
		t.route = detail(s(1) == "positions", n == 5, parts[5])
	}

	t.access = max(t.access, routes[t.route].access)
	return t
}

// top finds the route /v1/{name}.
func top(name []byte) route {
	switch string(name) {
	case "positions":
		return routePositions
	case "pools":
		return routePools
	case "chains":
		return routeChains
	case "protocols":
		return routeProtocols
	case "plans":
		return routePlans
	case "stats":
		return routeStats
	case "usage":
		return routeUsage
	}

	return routeNone
}

// detail finds the route of one position or pool, or of what hangs under it.
func detail(position, bare bool, under []byte) route {
	switch {
	case position && bare:
		return routePosition
	case bare:
		return routePool
	case position && string(under) == "charts":
		return routePositionCharts
	case position && string(under) == "explain":
		return routeExplain
	case !position && string(under) == "charts":
		return routePoolCharts
	}

	return routeNone
}

// split cuts a path into decoded segments. It is not clean when a segment is
// empty or holds a slash, or when there are too many. A segment that cannot be
// decoded stands for itself, so that the route is found and can refuse it.
func split(parts *[maxSegments][]byte, path, buf []byte) (n int, clean bool, malformed error) {
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
