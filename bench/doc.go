// Package bench measures a node, and says with every figure what it is to be
// compared with.
//
// A suite starts the node that it measures as a child process of its own
// executable, on a copy of a corpus (bench/corpus) with thousands of keys. The
// limit is another child: a bare handler that answers a constant body of the
// same size (load.Constant). Both are asked in turns within the same seconds,
// over as many connections, by the same client; the ratio is what counts.
// Absolute figures of a shared machine say little, and ratios between runs
// hardly more. Where a constant body is no measure, a yardstick of the same
// kind of work runs on the server's cores (yardsticks.go).
//
// Late answers beside refreshes are compared with those of a node that does not
// refresh, at the same rate: the half-live scenarios take theirs from half and
// half-two of the same run, and are refused without them.
//
//	suite.go       a run from the copy of the corpus to the units billed
//	scenarios.go   what is measured; live.go has the node, and what is about a
//	               market that moves
//	mixes.go       what is asked; target.go finds out what there is to ask for,
//	               remote.go prepares for a node that was started elsewhere
//	comparison.go  a load on the node and on the limit, in turns; delays.go tells what
//	               delayed answers besides the work for them
//	wait.go        until a node has caught up, or never will
//	check.go       is an answer right (edge/consistency)
//	goals.toml     the table of goals, which goals.go holds against a run
//	yardsticks.go  the plainest way to do work of the same kind
//	peersrun.go    databases as limits (bench/peers)
//	output.go      NDJSON; package report has tables and pages
//
// Pieces of the node alone are Go benchmarks of their packages, each with its
// yardstick (yardstick_test.go); `make bench` runs them first, and the suite
// reads what they printed.
//
// Speed reached with wrong answers is worth nothing. So a sample of the answers
// is kept and checked after every load, and at the end the units that the
// accounts were billed must be those that the answers said and those that
// follow from routes and statuses.
package bench
