// Package rankings turns the State of a chain into sorted orders and answers
// questions from them.
//
// A View is one generation of one chain. Build computes two things: columns,
// which hold a few bytes of every row in memory, and orders, 10 of positions
// and 5 of pools. An order is cut into leaves (package block), which the store
// keeps. Only the directory of an order stays in memory: for every leaf, the
// sort key of its first row, its number, and the number of rows before it.
//
//	State ── value ──► columns ──► keys ── radix ──► order ── cut ──► leaves
//	                                                              └──► directory
//
// A Search is a filter and a sort over the views of one Snapshot of the Board.
// It merges runs, one to three for each chain: open and closed positions have
// separate orders, because closed ones hardly ever move, and the value of closed ones
// in quarantined pools is unknown, while that of others is 0. All rows are ordered
// by (sort key, chain, id), and no two rows compare equal. A page at any depth
// is therefore found by bisection: first over the directories' fences, then
// inside a few leaves. How a page is found depends on what the search knows:
//
//	default filters or none   the view has a bitmap by rank: a seek
//	few rows could match      owner, pool and id have lists: counted at once
//	a search of pools         symbols and trigrams of ids: rare ones are looked up
//	Count is complete         the matching rows before every leaf are known: a seek
//	Selection is complete     the rank of every matching row is known: a seek
//	none of those             Walk reads the runs from the front and filters them,
//	                          or continues where an earlier walk stopped
//
// A restarted node has directories before it has columns. Open returns a view
// that answers the default questions from leaves and records, with the counts
// in the directory. Complete adds the columns. A node that follows another one has the
// orders from that one's leaves: Follow fills columns and sorts nothing, and hints
// (hints.go) spare it most of the leaves.
//
// What finds rows by id, by group and by text is in package index.
//
// Everything here is pure. Work that may take long is done in steps with a
// budget, so that the caller controls the time.
package rankings
