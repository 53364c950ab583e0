// Package edge is the HTTP face: requests in, rows of the published snapshot
// out. A request is served in one straight line, serve.go, in the order of
// checks that api.md fixes:
//
//	read       sound HTTP? which route?          400, 431, 505 (or fasthttp)
//	preflight  204
//	admit      key, origin, burst                401, 403, 429
//	exists     route, method                     404, 405
//	ask        parameters -> question            400
//	reserve    units                             429, 503
//	work       question -> page                  503
//	settle     units billed or given back
//	send       flags of age, coding
//
// Everything that shared state is to it stands behind one atomic load: the
// board's snapshot of all chains. Nothing on the way takes a lock that a writer
// holds, or asks an actor; the disk is touched for leaves, histories and days
// that are in no cache.
//
// A list is a page of a ranking. Its bytes are kept under the question and the
// generations it was asked of, so nothing is ever invalidated; whether they
// are stale is judged when they are sent. A filter that nobody asked before is
// counted and selected beside the request: works.go.
package edge
