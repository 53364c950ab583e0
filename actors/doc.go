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
//   - each actor is poisoned exactly once, by Node.Stop.
package actors
