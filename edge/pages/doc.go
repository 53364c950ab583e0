// Package pages computes the bodies of answers. It knows nothing about HTTP: the
// server parses the parameters into a Question and sends the Reply.
//
//	pages.go     the way of a question to its reply; page.go what a reply is
//	list.go      a page of positions or pools; listing.go how these two lists differ
//	rows.go      the rows of lists, batches, details and exports; ahead.go reads them ahead
//	starts.go    where pages begin that are probably asked for next
//	export.go    all rows of a list
//	ticks.go     the initialised ticks of a pool
//	estimate.go  what a position of some range would have earned in a pool
//	owner.go     what an owner's positions come to
//	tokens.go    tokens, and how the price of one was found
//	batch.go     positions or pools by their ids
//	detail.go    one position or pool; history.go and charts.go hold its parts
//	chartparts.go  what all charts of a pool have in common
//	jobs.go      counts and selections that may outlive their request
//	admission.go the queue in front of expensive work
//	scope.go     the views that a question is answered from, and cache keys
//	walk.go      the views of a pinned walk, which are a cut (cut.go)
//	pins.go      keeps cuts; sharedpins.go on all nodes
//	cache.go     finished bodies; leaves.go decoded leaves; parts.go fragments
//	past.go      days and hours that are over
//	recent.go    what was used last; buffer.go memory that is used again
//	sweep.go     drops what is kept of replaced generations when nobody asks
//	meta.go      answers that need no ranking; health.go
//	coding.go    compresses bodies, whole or in parts
//	limits.go    every bound with its reason
//
// The only data shared with writers is the board's snapshot of all chains, read
// by one atomic load. Nothing here takes a lock that a writer holds or sends a
// message to an actor. The disk is read only for leaves, histories, days and hours that
// are not cached.
//
// A body is cached under its canonical question and the generations that it was
// computed from, so nothing has to be invalidated. Whether it is stale is decided
// when it is sent. A page that was sent before its count was ready is not cached,
// since the next request may have the count.
//
// A new filter is counted in the background while its request waits, and a page
// beyond the cap needs a selection: the positions of all the filter's rows. A
// page below the cap is found by walking the order with the filter, so it is
// never refused because its count is slow. It is refused only when the server is so
// busy that its work would have to wait too long for its turn.
package pages
