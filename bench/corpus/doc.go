// Package corpus makes what a benchmark asks about: a data directory with
// chains of a wanted size, and thousands of keys.
//
//	DIR/corpus.json   the Spec, how long it took, and the Shape that came out
//	DIR/node/         a data directory, as `tidemark serve` keeps it:
//	  market/         written by the node itself, from the simulated market
//	  accounts/       of a Copy only
//
// There is no second writer. Whoever builds a corpus starts the node with the
// Spec's configuration and waits until it has caught up; events go through the
// same ledger and the same publisher as any others, and the node that is
// measured later goes on from where the first one stopped.
//
// The shape that the figures are about (zipf pool sizes, 0.40 owners a
// position, 35 % open, 30 % of those out of range, 5 % of the pools traded
// within a day) comes from how the simulated market's people behave: a Spec
// has a sim.Crowd. It is measured rather than assumed: see Shape. The history
// is more than a year, so that there are charts of a year and positions with a
// thousand transactions, but 99 % of it is in its last ten days.
//
// What the suite sets and no operator does, the crowd among it, is an Engine;
// a node gets it from the command line (`tidemark bench node`).
//
// A measurement never works on the corpus itself but on a Copy, which is a
// checkpoint: hard links, made in a moment.
package corpus
