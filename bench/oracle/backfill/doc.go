// Command backfill measures how fast a node reads a chain from a provider, beside
// what the ledger takes from memory and what the provider allows, all in one run. A
// mock provider with the latency and the limits of plans answers in this process.
//
//	dense    events a second through the network into a whole node (ledger, store,
//	         generations) from its first blocks on, against the same node fed from
//	         memory; both stores must hold the same state
//	small    the same on a small plan: which part of its limit is used
//	sparse   blocks a second in ranges of 2,000, with one range in flight and many
//	live     calls a second at the head of a chain with four blocks a second
//
// The mock's answers about logs and receipts are rendered before the time is taken, and
// are in memory during the comparison too: what is measured is a node and the latency.
//
// It prints a table and exits with 1 when a figure is missed.
//
// The files, in reading order: main, market (a simulated market as spans), encode
// (events to logs), chain (blocks, logs, receipts), provider (latency and limits),
// heads (a subscription), dense, sparse, live.
package main
