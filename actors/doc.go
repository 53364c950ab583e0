// Package actors has everything that runs by itself: an actor for each chain, which
// pulls its feed and refreshes its rankings, the metering actor, the watchdog and
// the price feed.
//
// Receive only dispatches. The work is in plain structs without a mailbox
// (actors/chain, Meter). The library's mailboxes are unbounded, and its restarts
// lose state and eventually end the process. Therefore:
//   - an actor never gets more messages than it asked for: the next fetch and the
//     next tick start when the last one was handled;
//   - a middleware recovers every panic and keeps the receiver, which restores
//     itself from the store after a pause that grows;
//   - each actor is poisoned exactly once: those of chains by Node.Stop, that of
//     metering by Metering.Stop.
//
// Reading order:
//
//	node, messages, chain        chains and their actors, and what these are told
//	fetch                        the feed of a chain: asked, taken in, failing
//	commands                     what operators have a chain do
//	follow, join, snapshots      a chain that another node of the cluster writes
//	repair, mending              a chain whose data or blocks are wrong
//	verifier                     the ledger compared with the contracts
//	metering, meterentry,        units charged and leased, in batches, and the actor
//	meteringactor                that does it
//	watchdog, pricefeed, gauges  the disk and the clocks; prices from outside; metrics
package actors
