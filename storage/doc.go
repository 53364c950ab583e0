// Package storage keeps the chains: one Pebble database that holds, for every
// chain, one cut. A cut is the ledger's state at one block with everything
// that was made of it: rows, series, inverses, prices, the leaves and the
// directory of the generation. Commit replaces a cut with the next in one
// synced batch, so there is no moment at which ledger, rankings and cursor are
// of different blocks, and none at which an acknowledged cut can be lost.
//
//	Commit(cut)      one batch, one sync                       publish.go
//	Restore(chain)   the cut as a cold State and a directory   restore.go
//	Replica(chain)   the cut in memory, kept up by batches     replica.go
//	Leaf             a leaf's bytes, copied                    leaves.go
//	Transactions, PoolDays, TickDays, HourPrices               series.go
//	Undos            for a ledger that goes on                 restore.go
//	Check            every invariant of all of it              check.go
//
// The accounts live in a database of their own, beside this one
// (accountstore.go), so that nothing that happens to chains touches billing.
//
// # Tables
//
// tables.go and series.go have a line for each table and series: kind, name, key,
// codec and what a row refers to. Commits, restores, undos, checks and replicas
// are loops over these two lists.
//
// # Keys
//
// All of a chain lies together, under its length-prefixed id and a kind; see
// schema.go, which has every key. Position row 5 of chain 42161:
//
//	02 a4 b1 | 16 | 00 00 00 05
//	chain    | position | row
//
// # Records
//
// A record is its fields one after the other, in the order in which its walk
// in records.go names them, without tags or padding:
//
//	u16 u32 u64   base-128 varint, low groups first      300      ac 02
//	i32 i64       zigzag varint                          -60      77
//	index         varint of the number plus one          NoIndex  00
//	u128 u256     length, then bytes, low first          65536    03 00 00 01
//	i128          zigzag, then as u128                   -1       01 01
//	usd           0, or 1 for Unknown, or 8 and          1.5      08 3f f8 00…
//	              the float's bytes, high first
//	flags         one byte, first flag lowest            {1,0,1}  05
//	fixed         the bytes: addresses, hashes, ids
//
// So a tick's day is two u256, and one whose fee growth outside is 258 and 0 is
//
//	02 02 01              | 00
//	feeGrowthOutside0X128 | feeGrowthOutside1X128
//
// Every record is drawn so, field by field with its bytes, in
// testdata/records.txt, which a test holds to the code.
//
// Numbers are written in as few bytes as they take, and decoders refuse any
// other encoding of them: a record has exactly one, so that comparing bytes is
// comparing records. What a field must be to be safe (a source, a type, a count
// of what follows) is checked while decoding; whether a row names rows that are
// there is checked when a chunk is read; the rest is what Check is for.
//
// Three things are kept in fewer bytes than their records, because they are
// written at every refresh and would otherwise be most of what it writes: an
// undo holds the fields that differ from the row after its span (undo.go), a
// ring of minutes is four keys of which a swap changes one, and a running day
// is kept in the series only, and the row in the table of days refers to it
// (forms.go).
//
// There is no version in a record. The store has one, Format, which stands
// under a key of its own; see identity.go.
//
// # When the disk returns something else
//
// Pebble checks blocks, a leaf carries its own checksum, and rows are decoded
// as above. What does not check out becomes a *Damage: an error where a call
// can return one, and a panic where a row of a cold State is read, because a
// State has no way to fail and a page must not be made of guesses. Whoever
// reads cold States recovers it: the edge per request, the chain's actor per
// message. The first one is logged.
//
// A write that fails is not an error but the end of the process (Options.Exit):
// Pebble cannot go on from it, and the next start reads what the disk has. Guard
// keeps a full disk from being such a failure.
package storage
