// Package ledger turns the events of one chain into its exact state, and back.
//
// A Ledger is a state machine over spans of blocks with a single writer. From
// events alone, with no archive node and no call per position, it keeps pools,
// initialised ticks, positions, non-NFT liquidity, owners and the sums of their
// flows in the contracts' own integers, so that what a position could collect
// is known to the wei. It is pure: the time is that of the blocks.
//
//	Span ──Apply──▶ tables ──Freeze──▶ *market.State, immutable
//	                  │ ▲
//	                  │ └──Revert── Undo, one a span that is not final
//	                  └──Changes──▶ rows to store again, series, undos
//
// # Exactness checks itself
//
// A Swap event says where the pool ended. The replay (clmath.Replay) knows
// where it must end, and any difference in tick, liquidity or a static fee
// means that logs are missing, doubled or out of order. That is a Mismatch, which
// names the log. The same holds for ids that do not ascend, transfers by somebody
// who is not the owner, liquidity that would fall below zero, and a mint or burn
// without its change of liquidity.
//
// A Mismatch quarantines the event's pool and the ledger goes on with all others
// (quarantine.go). In a Strict span, or when no pool can be blamed, Apply returns
// it and the ledger is what it was.
//
// # What a span changed
//
// Every table row carries two stamps: the span that saved it and the batch of
// Changes that noted it. The first write to a row in a span copies the old row
// aside, and the copies are the span's Undo: a failed Apply and a Revert put them
// back. Indexes (names, holdings, lists of ticks, free
// records) follow from the tables and are brought back with them. Free records
// are reused lowest first, so that nothing depends on what was reverted.
//
// # Series
//
// What grows without bound is not kept in memory: transactions, ended days, the
// fee growth outside of ticks by day, hour prices. They leave as Ops, in
// order, and an Undo holds the Ops that take them back. Of a key written more
// than once (a tick and its day) the Undo puts the older value back.
//
//	PoolDays      put at the day's end, and at Changes while the day runs
//	TickDays      put at the end of a span or day, for the ticks that were
//	              initialised or crossed; dropped when one is cleared
//	Transactions  put for each change of a position
//	HourPrices    put by BeginHour
//
// # Time and USD
//
// Hours and days are those of the chain's own clock. USD of the past comes
// from the hour's price record, which BeginHour puts into the tokens before
// the hour's first span; nothing revalues it later. The first moment of a day
// ends the day before it in every pool that had one, and frees the hour
// buckets that no window reaches any more.
package ledger
