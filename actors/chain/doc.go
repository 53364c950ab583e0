// Package chain is one chain's life without a mailbox: it restores what was
// kept, advances the ledger by what the feed says, and turns the ledger's
// state into published generations. Whoever drives it owns the clock and the
// threads; nothing here is safe for concurrent use.
//
// The writer's whole way reads in two functions. Advance takes a step of the
// feed into the ledger, solving prices wherever an hour begins. Refresh solves
// the prices of now, values pools, builds orders, commits everything as one
// synced batch, and puts the new view on the board. A chain that is far behind its
// head only commits, and applies the next spans meanwhile; see commit.go.
package chain
