// Package storage stores market data in one Pebble database. For every chain it
// holds one cut: the ledger's state at one block with everything computed from it,
// which is rows, series, undos, prices, and the leaves and the directory of a
// generation. Commit replaces a cut by the next one in one synced batch. So ledger,
// rankings and cursor are always of the same block, and an acknowledged cut is never
// lost.
//
//	Commit(cut)      one batch, one sync                       commit.go, writer.go
//	Restore(chain)   the cut as a cold State and a directory   restore.go
//	Replica(chain)   the cut in memory, updated by batches     replica.go
//	Leaf             the ids of a leaf                         leaves.go
//	Transactions, PoolDays, TickDays, HourPrices               histories.go
//	Undos            the undos, for a ledger that continues    restore.go
//	Follow(batch)    a batch that another node committed       follow.go
//	Check            verifies every invariant                  check.go
//
// Accounts are in another database, of package accountstore, so that nothing that
// happens to chains affects billing. What both databases need of Pebble and of their
// directories is in package database.
//
// # Tables
//
// tables.go and series.go list every table and series: kind, name, key, codec and
// references to other rows. Commits, restores, undos, checks and replicas loop over
// these two lists.
//
// # Keys
//
// All keys of a chain begin with its length-prefixed id and a kind. schema.go has
// every key. Position row 5 of chain 42161:
//
//	02 a4 b1 | 16 | 00 00 00 05
//	chain    | position | row
//
// # Records
//
// A record is its fields in the order of its walk in records.go, laid out by package
// field, without tags or padding:
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
// testdata/records.txt shows every record in this way, and a test compares it with
// the code.
//
// Numbers are written in the shortest form, and decoders refuse any other form: a
// value has exactly one encoding, so records can be compared by their bytes. Fields
// that must be valid for safe decoding (a source, a type, a count) are checked by
// the decoder. References to rows are checked when a chunk is read. Check verifies
// the rest.
//
// What every refresh writes would be most of the bytes, so these are stored in fewer than
// their whole records take:
//
//	undos           only the fields that differ from the row after their span (undo.go)
//	rings           of minutes: four keys, of which a swap changes one (forms.go)
//	pools           what changes of them has a key of its own (forms.go)
//	running days    once, in the series, to which the table of days refers (forms.go), and
//	                there without what the pool has (openday.go)
//	statistics      without what follows from prices, and without windows that equal
//	                shorter ones (stats.go)
//	prices          what moves with the native price is in one record a commit (patches.go)
//	directories     most of them as the difference to an earlier one (delta.go)
//
// Undos and differences of directories are packed (pack.go).
//
// Records have no version. The store has one, Format, under its own key; see
// identity.go. A later format may add fields to the end of a record or behind a new
// flag, which are left out where they are empty. So records and undos of an earlier
// format are read as they are, and nothing is rewritten when a store is opened.
//
// # Damage
//
// Pebble's blocks and our leaves have checksums, and decoders check what they read.
// Damaged data is a *Damage: an error where a call can return one, and a panic where
// a row of a cold State is read, because a State cannot return errors. Whoever reads
// cold States recovers it: the edge for each request, the chain's actor for each
// message. The actor then drops the chain and builds it again from its feed; the
// other chains are not affected (damage.go).
//
// A block with keys of two chains takes out both (excise.go). What no chain owns is
// kept twice (header.go). A table that is missing or cut gets a stand-in (standin.go),
// in memory if the store is only read. If nothing can be opened, files are set aside
// (salvage.go).
//
// Pebble does not notice commits that are missing at the end of its log. The store
// does, because it records the last commit of each chain in a file of its own
// (heads.go). It does not notice commits that are missing between others either: marks
// show them (marks.go).
//
// A failed write is not an error: it ends the process (Options.Exit), because Pebble
// cannot continue, and the next start reads what is on the disk. Guard keeps a full
// disk from causing such a failure.
package storage
