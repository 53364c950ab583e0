// Package rpc feeds a ledger from the JSON-RPC nodes of an EVM chain.
//
// A node is not trusted to be there, in time, or whole. It may be down, slow,
// rate-limited, behind the others, on another chain, or behind a balancer that
// asks a backend which has the block's number but not its logs yet. What is
// never allowed is a span that misses an event: the ledger would replay every
// later swap on a wrong state. So:
//
//   - Below the finalized block (or 256 under the head where a node knows no
//     such tag) blocks are read by ranges. No header is read of a block without
//     events: some chains have hundreds of millions. A range that ends near the
//     head is read again later, from another node where there is one, and never
//     reaches beyond the lowest head that a backend of its URL showed lately.
//   - Above it a span is one poll: the head and the headers from the ledger's
//     head up to it, linked by their parent hashes. A header whose bloom filter
//     excludes our events ends the matter. For the others the block's receipts
//     decide, whose root stands in the header; an answer to eth_getLogs does not,
//     least of all an empty one. Where no node has the receipts, logs count that
//     explain everything at which the bloom filter hints; else the chain waits.
//   - Before every span the ledger's anchors must be on the chain; if not, the
//     answer is where to go back to.
//   - Every log is checked to be ours, in its place, not removed and not
//     repeated, and every field to be in the contracts' bounds. Times of logs are
//     compared with headers.
//   - What the ledger refuses is read again block by block, with proof.
//
// What fails is tried at the next URL, and after that again with growing
// pauses. A Feed holds no history: after a restart the cursor is enough.
//
// The files, in reading order: feed (the life of a Feed), heads, settled,
// anchor, poll, proof, receiptsroot, bloom; backfill, rangesize, recheck, times;
// span (logs to blocks), decode and words (log to event), receipts, tokens;
// source (which URL), wire, progress, status, warnings. How to run it: the guide
// edge/docs/chains.md.
package rpc
