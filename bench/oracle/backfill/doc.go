// Command backfill measures how fast a node reads a chain from a provider, beside
// what the ledger takes from memory and what the provider allows, all in one run. A
// mock provider has the latency and the limits of plans.
//
//	dense    events a second through the network into a whole node (ledger, store,
//	         generations) from its first blocks on to the last, against the same node
//	         fed from memory; both stores must hold the same state
//	rebuild  events a second from an archive, as the command builds a chain from one,
//	         against the same from memory
//	small    a small plan: which part of its limit is used, and its fullest second
//	sparse   blocks a second in ranges of 2,000, with one range in flight and many
//	live     calls a second at the head of a chain with four blocks a second
//
// What is measured is a node and the latency. So the provider of the dense history is a
// process of its own, whose answers about logs and receipts are rendered before the time
// is taken. It needs a processor too: on two cores that is a part of what the node could
// have, so its CPU time is printed beside the node's.
//
// Dense histories are taken by turns, from memory and from the other source, after a
// pair that does not count: a process that touches memory for the first time is up to
// twice as slow in a virtual machine, and garbage of the turn before is collected
// before the next. The ratio is the median of the pairs. It is one of two idle cores: a
// node that fetches needs both, one fed from memory needs one. Turns in which others
// used more than a quarter of a core are taken again for a while; where the machine
// stays busy they count, and the table says so.
//
// It prints a table and exits with 1 when a figure is missed.
//
// The files, in reading order: main, market (a simulated market as spans), encode
// (events to logs), chain (blocks, logs, receipts), provider (latency and limits), serve,
// heads (a subscription), node (one that takes a history), turns, dense, rebuild, small,
// sparse, live.
package main
