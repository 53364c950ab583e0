// Package rpc feeds a ledger from the JSON-RPC nodes of an EVM chain.
//
// A node may be down, slow, rate-limited, behind the others, on another chain, or
// behind a load balancer whose backends know a block's number before its logs.
// A span must never miss an event: the ledger would replay every later swap on a
// wrong state. So:
//
//   - Below the finalized block (or 256 under the head where a node knows no
//     such tag) blocks are read by ranges. No header is read of a block without
//     events: some chains have hundreds of millions. A range that ends near the
//     head is read again later, from another node where there is one, and never
//     reaches beyond the lowest head that a backend of its URL showed lately.
//   - A range that a reorganisation may still reach is read twice in a row, and taken if
//     nothing changed: a node may answer the calls of one request before and after its
//     blocks were replaced.
//   - Above it a span is one poll: the head and the headers from the ledger's
//     head up to it, linked by their parent hashes. A block whose bloom filter
//     excludes our events has none. For the others the block's receipts are read
//     and checked against the root in the header. An answer to eth_getLogs is not
//     enough, since it may be empty or short. Where no node has the receipts, logs
//     are taken if they explain every bit of the bloom filter that could be ours;
//     otherwise the chain waits.
//   - Before every span the ledger's anchors must be on the chain. If they are
//     not, the step says which anchor to revert to.
//   - Every log must be of our contracts, in order, not removed and not repeated,
//     and every field within the contracts' bounds. Times of logs are compared with
//     headers. A log that is out of those bounds is taken from proven receipts only: the
//     ledger gets an event that it refuses, and quarantines the pool.
//   - What the ledger refuses is read again block by block, with proof.
//
// A failed call is tried at the next URL, and then again after growing pauses. A
// Feed holds no history: after a restart the cursor is enough. Ranges that were
// still to be read again are forgotten then; the comparison with the contracts
// that follows every start finds what they missed.
//
// Ranges are read ahead of the ledger, several at once, and given out in order.
// Each names the block before it as its parent, so that a reorganisation shows
// wherever it falls; then what was read ahead is dropped.
//
// The files, in reading order: feed (the life of a Feed), heads, settled,
// anchor, poll, proof, receiptsroot, bloom, shown (heads of subscriptions). Then the way of a range: plan (which
// blocks), rangesize (how many at once), ahead (several at once, within memory),
// ranges and logs (one of them), span, decode and words (logs to blocks and
// events), times, receipts and gas, tokens and tokencalls (what events need), backfill
// (to the ledger), recheck (once more). Beside them: source (which URL), wire,
// progress, status, warnings. How to run it: the guide edge/docs/chains.md.
package rpc
