// Package accounts holds what the edge asks about a caller on every request,
// and answers from memory: whose key is this, may it ask now, may it spend.
//
// Keys and accounts stand in a Book. A key is found by its prefix in a hash
// table that one writer extends while readers walk it, and is accepted by its
// SHA-256; the account behind it is a Cell of atomics. No call of the request
// path locks, allocates, waits or sends a message:
//
//	Resolve -> *Key -> Cell     who asks (checksum, hash, one probe)
//	Take                        burst: GCRA on one word, the arrival time
//	Reserve                     quota: units held before the work
//	Settle                      the answer is known: units billed or given back
//
// A cell has two slots, by the parity of the month, so that a request of the
// last second of a month is charged to that month while the next one has begun.
// A slot is one word, changed only by compare-and-swap, beside its totals:
//
//	63     62 ....... 55   54 .. 48   47 ................................ 0
//	open   month mod 2^8   epoch      spent: billed, held and reserved
//
// While the open bit is set, units may be reserved up to the lease: what is
// durably noted as perhaps used. The metering side raises the lease after a
// synced write and never before, so that a crash cannot forget an admission.
// It lowers the lease in the cell, and begins another epoch, before it writes a
// lower one; it clears the open bit before it gives the rest of a lease back.
// Since spent, bit, epoch and month change together, no reservation slips in
// between.
//
// After a crash spent starts at the lease and billed at what was written. The
// difference is reserved: it counts against the quota, at most one lease for
// each crash, and is never billed.
//
// While nothing can be written for want of disk space, leases that are durable
// are spent, and accounts without a quota are served. WhenFull says what
// happens to the rest.
//
// Everything here is pure: time is an argument, keys come from a reader, and
// the only goroutines are the caller's. Methods marked "writer" belong to one
// goroutine at a time, those marked "meter" to the metering side.
package accounts
