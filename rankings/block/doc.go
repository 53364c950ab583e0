// Package block is the stored format of rankings: leaves, which are stretches of
// row indexes in ranked order, and the directory, which lists the leaves of every
// order. Both are little-endian and end with a CRC-32C of all bytes before it.
//
//	bits, checksum       how numbers are packed and guarded
//	leaf                 a leaf by itself
//	relative, rowcode    a leaf coded from earlier leaves; relativeread reads it
//	directory            which leaves an order has
//	publication          what a generation adds to a store, and retires
//	bitmap               a set of rows with rank and select, for default filters
//
// A whole leaf (relative.go has the other kind, coded from earlier leaves):
//
//	+---------+-------+--------+--------+---------------------------+-------+
//	| version | width | rows   | base   | (id - base) in width bits | crc   |
//	| u8      | u8    | u16    | u32    | each, from the low bit up | u32   |
//	+---------+-------+--------+--------+---------------------------+-------+
//
// An order is cut into leaves after every id whose hash is 0 modulo 1024. A leaf
// has at least 256 rows (except the last of an order) and at most 4096. The cuts
// depend only on nearby rows: a row that moves changes the leaf that it leaves
// and the leaf that it enters. Nearly all others keep their content and number.
//
// A number is never used twice, because it contains the generation that wrote the
// leaf. A leaf is therefore immutable and can be cached for ever:
//
//	63                          20 19            0
//	+-----------------------------+---------------+
//	| generation                  | leaf of it    |
//	+-----------------------------+---------------+
//
// A directory:
//
//	+---------+--------+--------+-----------+------------+
//	| magic   | chain  | gen.   | positions | pools      |
//	| u64     | u64    | u64    | u32       | u32        |
//	+---------+--------+--------+-----------+------------+
//	| orders  | retired|                                     counts
//	| u32     | u32    |
//	+---------+--------+--------+--------+-------+-------+
//	| leaves  | bases  |  once an order, before its entries
//	| u32     | u32    |
//	+---------+--------+--------+--------+-------+-------+
//	| key     | number | hash   | first  | rows  | pass  |  once a leaf
//	| u64     | u64    | u64    | u32    | u16   | u16   |
//	+---------+--------+--------+--------+-------+-------+
//	| number  | rows   |                                     once a base of the order
//	| u64     | u16    |
//	+---------+--------+
//	| number  | last   |                                     once a retired leaf
//	| u64     | u64    |
//	+---------+--------+
//	| crc     |
//	| u32     |
//	+---------+
//
// key is the sort key of the leaf's first row, and first is that row. hash is
// over the leaf's ids, so that the next generation recognises a leaf. pass is how
// many of its rows the default filters admit: a node that has just started needs
// it for pages and totals. A base is a leaf from which those of the order may be coded.
// A retired leaf is one that no order of this generation uses, as a leaf or as a base;
// generation last was the last that did. Version 1 has no bases.
package block
