// Package ledger computes the exact state of one chain from its events, and can
// undo them.
//
// A Ledger is a state machine over spans of blocks with a single writer. From
// events alone, without an archive node and without a call per position, it
// keeps pools, initialised ticks, positions, non-NFT liquidity, owners and the
// sums of their flows. All of it is in the contracts' own integers, so the fees
// that a position could collect are known to the wei. The package is pure: the
// only clock is the time of the blocks.
//
//	Span ──Apply──▶ tables ──Freeze──▶ *market.State, immutable
//	                  │ ▲
//	                  │ └──Revert── Undo, one a span that is not final
//	                  └──Changes──▶ rows to store again, series, undos
//
// # Self-checks
//
// A Swap event contains the state in which the pool ended. The replay
// (clmath.Replay) computes the same state. A difference in tick, liquidity or a
// static fee means that logs are missing, duplicated or out of order. It is
// reported as a Mismatch, which names the log. So are ids that do not ascend,
// transfers from somebody who is not the owner, liquidity that would fall below
// zero, and a mint or burn without its change of liquidity.
//
// A Mismatch quarantines the event's pool, and the ledger continues with all
// others (quarantine.go). In a Strict span, or if no pool can be blamed, Apply
// returns the Mismatch and leaves the ledger unchanged.
//
// # Undo
//
// Every table has two sets of rows: those that the present span has saved, and those
// noted since the last Changes. The first write to a row in a span saves the old row.
// The saved rows are the span's Undo, which a failed Apply and a Revert write back.
// Indexes (by name, holdings, lists of ticks, free records) follow from the tables and
// are restored with them. The lowest free record is always used first, so nothing
// depends on what was reverted.
//
// # Series
//
// What grows without bound is not kept in memory: transactions, ended days, the
// fee growth outside of ticks by day, hour prices. It is passed on as Ops, in
// order, and an Undo has the Ops that revert them. If a key was written before
// (a tick and its day), the Undo writes the older value again.
//
//	PoolDays      put at the day's end, and at Changes while the day runs
//	TickDays      put at the day's end, and at Changes, for ticks that were
//	              initialised or crossed; dropped when a tick is cleared
//	Transactions  put for each entry of a position's history
//	HourPrices    put at the start of the span after BeginHour
//	PoolHours     put by the pool's first event in a later hour of the same day
//	TickHours     likewise, when the tick is written again; the last hours of a
//	              day are in PoolDays and TickDays
//
// # Time and USD
//
// Hours and days are those of block times. An event is valued in USD by the
// price record of its hour, which BeginHour announces before the hour's first
// span, and is never valued again. At the start of a day the ledger ends the day
// before in every pool that had events, joins the hour buckets of days that are
// older than a week, and frees those that are older than every window.
//
// Seconds in range follow the fee growth: every tick has the seconds outside of it,
// which a crossing flips, and the clock is the global. They are kept in 32 bits and
// all arithmetic is modulo 2^32, so differences are exact over 136 years.
package ledger
