// Package actors is what moves by itself: one actor a chain, which pulls its
// feed and refreshes its rankings, and one that meters.
//
// A Receive is a switch of one-call cases over plain structs that know no
// mailbox (actors/chain, Meter). The mailboxes of the library are unbounded
// and its restarts lose state and finally the process, so here
//   - nobody sends an actor more than it asked for: a fetch is started when
//     the last one was handled, a tick when the last one was;
//   - a middleware recovers every panic and keeps the receiver, which then
//     rebuilds itself from the store after a pause that grows;
//   - each actor is poisoned exactly once, by Node.Stop.
package actors
