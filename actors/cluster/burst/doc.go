// Package burst shares the burst limits of accounts between the nodes of a cluster.
//
// Every node has a part of each limit, and all parts together are never more than the
// limit. A change of a part makes no token (accounts.BurstShare). So all nodes together
// admit in any time what one node would.
//
// Twice a second a node tells all others what each account asked of it, and which part it
// claims. All nodes compute the same parts from what all have told (divide.go): what each
// node needs, and the rest in equal parts. Accounts that nobody asks for are not told: of
// them every node has the same part.
//
//	node a   needs 20/s, claims 0.9 ──────────>  b   lowers its part to 0.1
//	         has heard 0.1, raises to 0.9  <──── needs 0, claims 0.1, has heard a
//
// A node lowers its part at once, before it tells so. It raises it only after every other
// node has heard that claim, and as far as their claims leave room. A node that has heard a
// claim leaves room for it. So it does not matter how long messages take, or whether some
// are lost.
//
// # Nodes that are not heard
//
// A node that hears nobody has at most the limit divided by the nodes that it knows, and
// takes that much even if it had less, after fallbackAfter. The others leave it that much
// from silentAfter on. They forget it after forgetAfter, if the NATS servers answered all
// the time: then it must be dead. One that still lives has no quota to spend, because it
// cannot take leases.
//
// A node that starts has no part at first. It listens for listenFor, which is long enough
// to hear of every other node. A node that stops says so, and is forgotten at once.
package burst
