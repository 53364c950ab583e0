package value

import "slices"

// poolRows finds the rows of a table by their pool, which never changes. The rows of a
// pool form a list, newest first:
//
//	newest  by pool  [3 0 5]      older  by row  [0 0 1 0 2]
//	pool 0: row 2, row 0          pool 2: row 4, row 1
//
// Numbers are those of rows plus one; 0 ends a list. It costs 4 bytes a row.
type poolRows struct {
	newest []uint32 // by pool
	older  []uint32 // by row
	found  []uint32 // scratch of rowsOf
}

// extend adds the rows that a table of so many has beyond those that are known.
func (x *poolRows) extend(pools int, rows uint32, poolOf func(row uint32) uint32) {
	if int(rows) < len(x.older) {
		x.cut(rows)
	}
	x.newest = resize(x.newest, pools)
	for row := uint32(len(x.older)); row < rows; row++ {
		newest := &x.newest[poolOf(row)]
		x.older = append(x.older, *newest)
		*newest = row + 1
	}
}

// cut removes the rows from n on. It costs one pass over the pools.
func (x *poolRows) cut(n uint32) {
	if int(n) >= len(x.older) {
		return
	}
	for pool := range x.newest {
		for x.newest[pool] > n {
			x.newest[pool] = x.older[x.newest[pool]-1]
		}
	}
	x.older = x.older[:n]
}

// rowsOf returns the rows of a pool, ascending. They are good until the next call.
func (x *poolRows) rowsOf(pool uint32) []uint32 {
	x.found = x.found[:0]
	for at := x.newest[pool]; at != 0; at = x.older[at-1] {
		x.found = append(x.found, at-1)
	}
	slices.Reverse(x.found)
	return x.found
}
