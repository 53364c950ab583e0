// Package pages turns questions into bodies. It knows no HTTP: the server has
// read the parameters, and sends what it is given.
//
//	list.go      a page of positions or of pools
//	detail.go    one position or pool; history.go and charts.go its parts
//	jobs.go      counts and selections that outlive their request
//	scope.go     which views a question is asked of, and its keys
//	cache.go     bodies, leaves.go decoded leaves, parts.go shared fragments
//	meta.go      what is served without data; health.go
//
// A list is a page of a ranking. What is shared with writers stands behind one
// atomic load, the board's snapshot of all chains. Nothing here takes a lock
// that a writer holds or asks an actor; the disk is touched for leaves,
// histories and days that are in no cache.
//
// The bytes of a page are kept under the canonical question and the generations
// that it was asked of, so nothing is ever invalidated; whether they are stale
// is judged when they are sent. A page whose flags came from a wait is not
// kept, since the next request may not have to wait.
//
// A filter that nobody asked before is counted beside the request, and a page
// beyond the cap needs a selection of all its rows. Rows and count are waited
// for separately: a page below the cap is found by walking the order with the
// filter, so it is never refused for slowness.
package pages
