// Package block is the stored form of the rankings: leaves, which are runs of
// row numbers in ranked order, and the directory, which says where in an order
// a leaf stands. Both are little-endian and end in a CRC-32C of what is before.
//
// A leaf:
//
//	+---------+-------+--------+--------+---------------------------+-------+
//	| version | width | rows   | base   | (id - base) in width bits | crc   |
//	| u8      | u8    | u16    | u32    | each, from the low bit up | u32   |
//	+---------+-------+--------+--------+---------------------------+-------+
//
// An order is cut into leaves after every id whose hash is 0 modulo 1024, but
// no leaf has fewer than 256 rows (the last of an order may) nor more than
// 4096. So where a leaf begins and ends depends on what is near it alone: a row
// that moves changes the leaf that it left and the one that it came to, and
// all others keep their content, their number and their bytes.
//
// A number is given once. It begins with the generation that wrote the leaf,
// so a leaf never changes and may be cached for ever:
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
//	| leaves  |  once an order, before its entries
//	| u32     |
//	+---------+--------+--------+--------+-------+-------+
//	| key     | number | hash   | first  | rows  | pass  |  once a leaf
//	| u64     | u64    | u64    | u32    | u16   | u16   |
//	+---------+--------+--------+--------+-------+-------+
//	| number  | last   |                                     once a retired leaf
//	| u64     | u64    |
//	+---------+--------+
//	| crc     |
//	| u32     |
//	+---------+
//
// key is the sort key of the leaf's first row and first that row; hash is over
// the leaf's ids, so that the next generation knows it again; pass is how many
// of its rows the default filters admit, so that pages and totals of a node
// that has just started are those of the one that stopped. A retired leaf is
// one that no order of this generation uses, but generation last did.
package block
