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
// measured later goes on from where the first one stopped. So the shape is the
// simulated market's, and measured rather than assumed: Shape says how many
// positions are open, how many of those are out of range, how many owners
// there are, and how many pools traded within a day.
//
// A measurement never works on the corpus itself but on a Copy, which is a
// checkpoint: hard links, made in a moment.
package corpus
