// Package rankings turns the State of a chain into sorted orders and answers
// questions from them.
//
// A View is one generation of one chain. Build computes it: the columns, a few
// bytes of every row in memory; and the orders, 10 of positions and 5 of
// pools, cut into leaves (package block) which the store keeps. What stays of
// an order in memory is its directory: for every leaf the sort key of its
// first row, its number, and how many rows stand before it.
//
//	State ── value ──► columns ──► keys ── radix ──► order ── cut ──► leaves
//	                                                              └──► directory
//
// A Search is a filter and a sort over the views of one Snapshot of the Board.
// It merges runs, one or two a chain: open and closed positions are orders of
// their own, since the closed ones hardly ever move. The total order of all
// rows is by (sort key, chain, id), and nothing compares equal, so every place
// in the merged ranking is a place in each of its runs, and a page is found by
// bisection on the directories' fences and then inside a few leaves, whatever
// its number. How depends on what is known:
//
//	default filters or none   bitmaps by rank are part of the view: a seek
//	few rows could match      owner, pool and id have lists: counted at once
//	a search of pools         symbols and grams of ids: rare ones are looked up
//	Count ended               the matching rows before every leaf are known: a seek
//	Selection ended           the matching rows are known by rank: a seek
//	none of those             Walk reads the runs from the front with the filter,
//	                          or from where walks before it got
//
// A restarted node has directories before it has columns: Open gives a view
// that serves the default questions from leaves and records, with the counts
// that the directory keeps, and Complete makes it whole.
//
// Everything here is pure. What may take long goes in steps of a given budget,
// so that the caller decides about time.
package rankings
