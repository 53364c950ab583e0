// Package accounts answers from memory what the edge needs to know about a caller on
// every request: the account of its key, its burst limit and its quota.
//
// A Book holds keys and accounts. A key is found by its prefix in a hash table that
// one writer extends while readers search it, and is verified by its SHA-256. Its
// account is a Cell of atomics. No call on the request path locks, allocates, waits
// or sends a message:
//
//	Resolve -> *Key -> Cell     find the key: one probe, then its hash
//	TakeToken                   take a burst token (GCRA on one word)
//	Reserve                     hold units of the quota before the work
//	Settle                      bill the units or give them back
//
// A cell has two slots, one for even and one for odd months, so that a request of a
// month's last second is charged to that month after the next one has begun. A slot
// is one word, which is only changed atomically, and the month's totals:
//
//	63 .. 57   56     55 ....... 48   47 ................................ 0
//	epoch      open   month mod 2^8   spent: billed, held and reserved
//
// While the open bit is set, units may be reserved up to the lease, which is stored
// durably as possibly used. Metering raises the lease in the cell only after a
// synced write, so that a crash cannot lose an admission. Before it writes a lower
// lease it lowers the one in the cell and begins another epoch; before it gives a
// lease back it clears the open bit. Since spent, open bit, epoch and month are in
// one word, no reservation can happen in between.
//
// After a crash spent starts at the lease and billed at the stored bill. The
// difference is reserved: it counts against the quota, at most one lease per crash,
// and is never billed.
//
// On a full disk durable leases are spent, and accounts without a quota are served.
// WhenFull says what happens to other requests.
//
// In a cluster a lease is also within the share of the quota that the node has taken
// (Share). What other nodes have taken counts as used. Its part of a burst limit is a
// number that the limiter reads atomically (BurstShare). A change of it makes no tokens.
//
// The files, in reading order: plan (limits), key and origin (who asks), route (what it
// costs), month and calendar (what month it is charged to), slot and cell (an account),
// burstshare and share (its part in a cluster), ticket (a request), slab, index and list
// (how keys and cells are kept, found and drained), book (all of them).
//
// The package is pure: time is an argument, keys come from a reader, and it starts
// no goroutines. Methods marked "writer" must be called by one goroutine at a time,
// those marked "meter" by metering, and those marked "sharer" by what shares burst limits.
package accounts
