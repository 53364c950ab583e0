// Package bench measures a node, and says beside every figure what the limit
// is.
//
// A suite starts the node that it measures as a child process of its own
// executable, on a copy of a corpus (bench/corpus) with thousands of keys, and
// the yardstick as another: a bare handler that answers a constant body of the
// same size (load.Constant). Both are asked in turns within the same seconds,
// over the same number of connections, by the same client; what is quoted is
// the ratio. Absolute figures of a shared machine say little, and ratios
// between runs hardly more.
//
// Three kinds of things make a scenario: what is asked (mixes.go, data), how it
// is asked (scenarios.go, a Run function each) and which row of the table of
// goals it decides (figures.go). A scenario has no state; the Suite that runs
// it holds the node, the keys and what is known of the corpus.
//
// A node runs in one of a few modes (mode.go): on a market that stands still,
// the same without a page cache, on one that goes on and moves few pools, and
// on one that moves everything. What is about a piece of the node alone runs
// without any (parts.go): the node's own code, on the run's corpus and keys.
//
// A figure that was reached with wrong answers is none. So a sample of the
// answers is read and checked (check.go) while the load runs, and at the end
// the units that the accounts were billed must be those that the answers said
// and those that routes and statuses make: the difference is printed.
package bench
