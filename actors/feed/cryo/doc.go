// Package cryo reads what the extractor cryo writes, as spans: so a first start needs
// a provider only for the blocks that follow and for the proof by `verify`.
//
// A directory has files named NETWORK__DATASET__FIRST_to_LAST.EXT, in subdirectories
// or not; EXT is parquet, json (an array) or ndjson and jsonl (a row a line). Read are
//
//	logs            block_number transaction_index log_index transaction_hash address
//	                topic0 topic1 topic2 topic3 data
//	blocks          block_number block_hash timestamp
//	transactions    transaction_hash gas_used gas_price
//	erc20_metadata  erc20 name symbol decimals
//
// and chain_id, where a file has it, is compared. Bytes may be binary or 0x and hex.
// Parquet may have any compression; LZ4, cryo's default, is unpacked in memory first, a row
// group at a time.
//
// Logs are needed for every block from the chain's start on: a file's name says which
// blocks it has, since most have no event. The blocks with events need their row in
// blocks, for hash and time. Without its transaction the gas of a position's change is
// unknown; without its metadata a token has no decimals until a node tells them. What
// is missing is named. Whether the events are all there and true is not known here:
// the ledger replays them, and `verify` compares the outcome with the contracts.
//
// cryo drops blanks and control characters from names and symbols of tokens, so that
// "USD Coin" is "USDCoin" here.
//
// The files, in reading order: dataset (which files there are), table, lz4 and json (rows),
// source (rows to spans), lookup (what the rows of other datasets add).
package cryo
