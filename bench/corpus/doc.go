// Package corpus makes what a benchmark asks about: a data directory with
// chains of a wanted size, and thousands of keys.
//
//	DIR/corpus.json   the Spec, how long it took, and the Shape that came out
//	DIR/node/         a data directory, as `tidemark serve` keeps it:
//	  market/         written by the node itself, from the simulated market
//	  accounts/       of a Copy only
//
// There is no second writer. Building a corpus means to start the node with the
// Spec's configuration and to wait until it has caught up: events go through
// the same ledger and the same publisher as any others, and the node that is
// measured later continues where the first one stopped.
//
// The figures are about a certain shape: zipf pool sizes, 0.40 owners a
// position, 35 % open, 30 % of those out of range, 5 % of the pools traded
// within a day. It follows from how the people of the simulated market behave,
// the Spec's sim.Crowd, and is measured afterwards: see Shape. The history is
// longer than a year, for charts of a year and positions with a thousand
// transactions, but 99 % of it is in its last ten days.
//
// What no operator sets, such as the crowd, is a sim.Workload: a node gets it from
// the command line (`tidemark bench node`).
//
// A measurement never works on the corpus itself but on a Copy of it, a
// checkpoint made of hard links. Before that the store is compacted once, so
// that no figure includes work that building the corpus left behind.
package corpus
