package edge

import (
	"strings"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// docsPath is the page that lists every route.
const docsPath = "/docs"

// sitePaths are the web pages that a 404 may suggest.
var sitePaths = []string{docsPath, "/ui", "/llms.txt"}

// maxComparedPath bounds how much of a path is compared with the routes, which takes the
// square of its length. The longest path that has a route is some 100 bytes.
const maxComparedPath = 120

// errNoRoute is the 404 for a path without a route. It suggests the nearest one.
func errNoRoute(path string) *render.Error {
	nearest := nearestRoute(path)
	if nearest == docsPath {
		return render.NoRoute("no such route; " + docsPath + " lists them all")
	}
	return render.NoRoute(
		"no such route; the nearest is " + nearest + ", and " + docsPath + " lists them all")
}

// nearestRoute returns the route or page with the smallest edit distance from path; of
// several, the first. It returns docsPath if half of the path or more would have to
// change: then no route is near.
func nearestRoute(path string) string {
	path = path[:min(len(path), maxComparedPath)]
	best, fewest := docsPath, (len(path)+1)/2
	consider := func(route string) {
		filled := fillPlaceholders(route, path)
		if max(len(filled)-len(path), len(path)-len(filled)) >= fewest {
			return // each byte more or less is an edit
		}
		if n := EditDistance(filled, path); n < fewest {
			best, fewest = route, n
		}
	}

	for r := range accounts.Route(accounts.NumRoutes) {
		consider(r.Path())
	}
	for r := range routes {
		if routes[r].path != "" {
			consider(routes[r].path)
		}
	}
	for _, path := range sitePaths {
		consider(path)
	}
	return best
}

// fillPlaceholders replaces the {placeholders} of a route by the segments of a
// path. One that the path lacks becomes empty: that a segment is missing counts
// little, whatever it is called.
func fillPlaceholders(route, path string) string {
	parts, given := strings.Split(route, "/"), strings.Split(path, "/")
	for i := range parts {
		if !strings.HasPrefix(parts[i], "{") {
			continue
		}
		parts[i] = ""
		if i < len(given) {
			parts[i] = given[i]
		}
	}
	return strings.Join(parts, "/")
}

// EditDistance is the number of bytes to insert, delete or replace to turn a into
// b (Levenshtein).
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}

	for i := range len(a) {
		before := row[0] // the value up and to the left
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
