// Package rpc feeds a ledger from the JSON-RPC nodes of an EVM chain.
//
// A node is not trusted to be there, in time, or whole. It may be down, slow,
// rate-limited, behind the others, on another chain, or behind a balancer that
// asks a backend which has the block's number but not its logs yet. What is
// never allowed is a span that misses an event: the ledger would replay every
// later swap on a wrong state. So:
//
//   - Below the finalized block (or 256 under the head where a node knows no
//     such tag) blocks are read by ranges, and the answer counts only together
//     with the header of the range's last block from the same URL. No header
//     is read of a block without events: some chains have hundreds of millions.
//   - Above it a span is one poll: the head, the headers from the ledger's head
//     up to it, linked by their parent hashes; the logs of each of them by
//     block hash, which a node either has or refuses; and the last block once
//     more, still the same. A header whose bloom filter may hold one of our
//     events while no log came is asked again of every URL.
//   - Before every span the ledger's anchors must be on the chain; if not, the
//     answer is where to go back to.
//   - Every log is checked to be ours, in its place, not removed and not
//     repeated, and every field to be in the contracts' bounds.
//
// What fails is tried at the next URL, and after that again with growing
// pauses. A Feed holds no history: after a restart the cursor is enough.
//
// The files, in reading order: feed (the life of a Feed), anchor, poll,
// backfill, span (logs to blocks), decode (log to event), receipts, tokens;
// below them sight (which URL, which head), node (one URL), wire, bloom.
package rpc
