package edge

import (
	"bytes"

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
	free   access = iota // no key
	keyed                // a key, checked after 404 and 405
	priced               // a key, checked first
)

// routes has, for each route, its name in metrics, its access and the route that
// its requests are metered as.
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
	routePositionBatch:  {"position_batch", priced, accounts.RoutePositionBatch},
	routePoolBatch:      {"pool_batch", priced, accounts.RoutePoolBatch},
	routePoolTicks:      {"pool_ticks", priced, accounts.RoutePoolTicks},
	routeOwner:          {"owner", priced, accounts.RouteOwner},
	routePositionExport: {"position_export", priced, accounts.RoutePositionExport},
	routePoolExport:     {"pool_export", priced, accounts.RoutePoolExport},
	routeTokens:         {"tokens", priced, accounts.RouteTokens},
	routeToken:          {"token", priced, accounts.RouteToken},
	routeStream:         {"stream", priced, accounts.RouteStream},
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

// isExport reports whether the answers of a route are exports.
func (r route) isExport() bool { return r == routePositionExport || r == routePoolExport }

// isLong reports whether the answers of a route are long ones. They have no HEAD: its
// headers could not say how the answer ends.
func (r route) isLong() bool { return r.isExport() || r == routeStream }

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

// matchRoute finds the route of a path, which begins with a slash. A trailing
// slash is ignored; a path with an empty segment or an escaped slash has no
// route. The segments of the target may point into buf.
func matchRoute(path, buf []byte) (t target) {
	var parts [maxSegments][]byte
	n, clean, malformed := splitPath(&parts, path, buf)
	t.malformed = malformed
	s := func(i int) string { return string(parts[i]) }

	// Everything below these needs a key, whether it is a route or not.
	v1 := n >= 2 && s(0) == "v1"
	listed := v1 && (s(1) == "positions" || s(1) == "pools")
	if listed || v1 && (s(1) == "owners" || s(1) == "tokens") {
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
		t.route = matchTop(parts[1])
	case n == 3 && s(0) == "v1" && s(1) == "pricing" && s(2) == "units":
		t.route = routeUnits
	case v1 && n == 3 && s(1) == "owners":
		t.id, t.route = parts[2], routeOwner
	case v1 && n == 4 && s(1) == "tokens":
		t.chain, t.id, t.route = parts[2], parts[3], routeToken
	case listed && n == 3:
		t.route = matchUnderList(s(1) == "positions", parts[2])
	case listed && (n == 5 || n == 6):
		t.chain, t.protocol, t.id = parts[2], parts[3], parts[4]
		t.route = matchDetail(s(1) == "positions", n == 5, parts[5])
	}

	t.access = max(t.access, routes[t.route].access)
	return t
}

// matchTop finds the route /v1/{name}.
func matchTop(name []byte) route {
	switch string(name) {
	case "positions":
		return routePositions
	case "pools":
		return routePools
	case "tokens":
		return routeTokens
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
	case "stream":
		return routeStream
	}

	return routeNone
}

// matchUnderList finds the route of a word below a list.
func matchUnderList(positions bool, word []byte) route {
	switch {
	case positions && string(word) == "batch":
		return routePositionBatch
	case string(word) == "batch":
		return routePoolBatch
	case positions && string(word) == "export":
		return routePositionExport
	case string(word) == "export":
		return routePoolExport
	}

	return routeNone
}

// matchDetail finds the route of one position or pool (bare) or of a route below
// it.
func matchDetail(position, bare bool, under []byte) route {
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
	case !position && string(under) == "ticks":
		return routePoolTicks
	}

	return routeNone
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
