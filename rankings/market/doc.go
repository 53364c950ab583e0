// Package market has the types that the other packages share: chains, tokens,
// pools, ticks, positions, the events that change them, spans of blocks with
// events, and State, which is everything known of one chain at one block.
//
// Records that are numerous have a fixed size and no pointers, so a million of
// them cost the garbage collector nothing. They refer to each other by index,
// which is a record's place in its Table; NoIndex refers to no record.
//
//	span, event         what a feed delivers: blocks with the events of the contracts
//	pool, tick,         what a ledger makes of them
//	position, token
//	table               many records of one kind, frozen for readers without a copy
//	state               all tables at one block, which views and rows are made from
//	id, time            the small nouns
//
// On-chain quantities are integers in raw units. USD values, prices and
// percentages are float64; one that is not known is Unknown (NaN), never 0.
package market
