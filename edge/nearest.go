package edge

import (
	"strings"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// freePaths are the routes that the meter does not know.
var freePaths = []string{
	"/v1/chains", "/v1/protocols", "/v1/plans", "/v1/pricing/units", "/v1/stats", "/health",
	"/openapi.json", "/docs", "/ui", "/llms.txt",
}

// longestCompared bounds the work for a path that nobody meant.
const longestCompared = 200

// noRoute is the 404 of a path that leads nowhere: it names the nearest route.
func noRoute(path string) *render.Error {
	return render.NoRoute("no such route; the nearest is " + nearest(path) + ", and /docs has them all")
}

// nearest returns the route whose path takes the fewest changes.
func nearest(path string) string {
	path = path[:min(len(path), longestCompared)]
	best, fewest := "", 1<<30
	consider := func(route string) {
		if n := distance(filled(route, path), path); n < fewest {
			best, fewest = route, n
		}
	}

	for r := range accounts.Route(accounts.NumRoutes) {
		consider(r.Path())
	}

	for _, route := range freePaths {
		consider(route)
	}
	return best
}

// filled puts the segments of a path in the places that a route leaves open.
func filled(route, path string) string {
	parts, given := strings.Split(route, "/"), strings.Split(path, "/")
	for i := range parts {
		if strings.HasPrefix(parts[i], "{") && i < len(given) && given[i] != "" {
			parts[i] = given[i]
		}
	}
	return strings.Join(parts, "/")
}

// distance counts the bytes to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}

	for i := range len(a) {
		before := row[0] // of the row above, one to the left
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}

	return row[len(b)]
}
