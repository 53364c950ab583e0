// Package archive keeps the spans of a chain as they were fetched. The store is a
// projection of it: what the ledger makes of these spans can be made again, without a
// node, after damage, for another format of the store, or on another machine.
//
// # Order of writes
//
// A span is appended when the ledger has applied it, and Sync returns before the
// state after it is committed. So after a kill at any moment the archive is at or
// ahead of the store. A Feed gives what it has ahead before it asks the nodes. Only while
// blocks are read again may it end below: the store keeps what was served until they are
// there, and after a kill the nodes fill what the archive lacks.
//
// It may also have another branch than the store, if blocks were replaced before the kill.
// Only the ends of spans have hashes. So the ledger goes on with the archive only from a
// block at which a span ends with the same hash; within a span, or from another block, the
// nodes say where the chain goes. Likewise a span that replaces others keeps what lies
// above it only where the hashes at the joint are the same, or after a hole: the nodes are
// asked for the blocks of a hole up to its end, whose hash then shows whether it is joined.
// A span of which a part is replaced or taken back is lost as a whole: what is left of it is a
// hole.
//
// # Files
//
// A segment is a file of spans that follow one another, named by its first block. The
// newest is appended to; a full one has a footer and is not written any more. Numbers
// are big-endian. A block is number(8) hash(32) time(8).
//
//	00000000000021688329.spans
//	header  "TMSPANS1" chain(8) poolManager(20) positionManager(20) start(8)
//	        base: the block before the first(48) CRC-32C of the header(4)
//	frame   "TMF1" packed(4) first(8) last(8) finalized(8) spans(4) events(4) size(4)
//	        CRC-32C of the packed bytes(4) CRC-32C of the frame's header(4)
//	        packed bytes: zstd of the records of the spans, one after the other
//	frame   …
//	footer  "TMSPANSE" last block(48) spans(8) events(8) finalized(8) CRC-32C(4)
//
// A frame's first block decides what it replaces: spans of earlier frames at or above
// it are superseded. A frame without spans only supersedes: the chain went back. A
// segment's spans above the base of the next segment are superseded too. finalized is
// the newest block that no reorganisation could reach when the frame was written.
//
// An exported archive is one such file.
//
// # Records
//
// A span is its fields in the order of its walk in record.go, without padding:
//
//	u32 u64    base-128 varint, low groups first     300     ac 02
//	i32 i64    zigzag varint                         -60     77
//	u128 u256  length, then bytes, low first         65536   03 00 00 01
//	i128       zigzag, then as u128                  -1      01 01
//	text       length plus one, then bytes; none: 0  "ab"    03 61 62
//	flags      one byte, first flag lowest
//	fixed      the bytes: addresses, hashes, ids
//
// Numbers of blocks and indexes of logs are relative to those before them. So a
// transfer of NFT 300 in the second log of a block, four after the first, is
//
//	04  | 00 | 06   | 20 bytes | 20 bytes | ac 02
//	log | on | kind | from     | to       | id
//
// testdata/format.txt shows a span with every event, and the headers, in this way; a
// test compares it with the code. A value has one encoding; decoders refuse others.
//
// # Damage
//
// Every byte is under a checksum. Damage is found when a segment is read, and by
// Scrub, which goes around the archive while the chain is at its head. The damaged
// frames are cut out and named, what follows them is kept, and the Feed fetches the
// blocks that are missing from the nodes. Blocks before the first segment, which were
// never fetched or are beyond what is to be kept, are not.
//
// Check reads a whole archive, names every damaged part, and changes nothing.
//
// The files, in reading order: record (a span's bytes), frame, segment (a file), archive,
// write, replace, reader, writer (whole files), transfer (export and import), repair,
// check, feed, meters.
package archive
