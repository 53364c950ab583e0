package rankings

import (
	"slices"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// baseFinder finds the bases from which the leaves of an order can be coded, and where
// rows are in them. It reads bases only near leaves that changed.
//
// Its memory is one number a row. Ranks grow from order to order, so entries of earlier
// orders are below start and are ignored.
type baseFinder struct {
	leaves LeafReader // nil: orders have no bases but their own leaves
	chain  market.ChainID
	start  uint32       // what is added to the ranks of the order
	end    uint32       // above them
	bases  []block.Base // of the order; so is their First
	read   []bool       // by base: its rows have ranks
	ranks  []uint32     // by row: rank among the bases plus one; at most start: not known
	coder  block.Relative
	buf    []byte
	pause  func()
}

// nearRows is how far from its old rank most rows are when prices have moved, so that
// they are in the bases within this distance of a leaf.
const nearRows = 1536

// mostStart leaves room above it for the ranks of any order.
const mostStart = 1 << 30

// begin begins an order of rows below n.
func (f *baseFinder) begin(bases []block.Base, n uint32) {
	if f.start = f.end; f.start > mostStart {
		clear(f.ranks)
		f.start = 0
	}

	f.end = f.start
	f.bases, f.read = append(f.bases[:0], bases...), append(f.read[:0], make([]bool, len(bases))...)
	for i := range f.bases {
		f.bases[i].First += f.start
		f.end += f.bases[i].Rows
	}
	if grown := int(n) - len(f.ranks); grown > 0 {
		f.ranks = append(f.ranks, make([]uint32, grown)...)
	}
}

// near returns the bases around the ranks from first to end, with the ranks of their
// rows known. It returns none if one cannot be read: the leaf is written whole then, and
// the store has noted the damage.
func (f *baseFinder) near(first, end int) []block.Base {
	if len(f.bases) == 0 {
		return nil
	}

	from := f.baseAt(first - nearRows)
	to := f.baseAt(end+nearRows) + 1
	// With many small bases, those in the middle have most of the rows.
	if surplus := to - from - block.MaxBases; surplus > 0 {
		from += surplus / 2
		to = from + block.MaxBases
	}
	for i := from; i < to; i++ {
		if f.read[i] {
			continue
		}
		if !f.readBase(i) {
			return nil
		}
		f.pause()
	}
	return f.bases[from:to]
}

// baseAt returns the index of the base that has a rank, or the nearest one.
func (f *baseFinder) baseAt(rank int) int {
	i, found := slices.BinarySearchFunc(f.bases, rank+int(f.start), func(b block.Base, rank int) int {
		return int(b.First) - rank
	})
	if !found {
		i--
	}
	return max(i, 0)
}

func (f *baseFinder) readBase(i int) bool {
	base := &f.bases[i]
	ids, err := f.leaves.Leaf(f.chain, base.Number)
	if err != nil || len(ids) != int(base.Rows) {
		return false
	}

	if len(ids) > 0 && int(slices.Max(ids)) >= len(f.ranks) {
		return false // a reorganisation took rows away; none may have a rank by halves
	}
	for n, row := range ids {
		f.ranks[row] = base.First + uint32(n) + 1
	}
	f.read[i] = true
	return true
}

// encode returns a leaf whose first row has a rank: coded from its bases, unless that
// saves too little for what it costs readers.
func (f *baseFinder) encode(ids []uint32, rank int) []byte {
	const most = 7.0 / 8 // of a whole leaf
	if bases := f.near(rank, rank+len(ids)); bases != nil {
		f.buf = f.coder.Append(f.buf[:0], ids, f.ranks, bases)
		if float64(len(f.buf)) < most*float64(block.WholeSize(ids)) {
			return slices.Clone(f.buf)
		}
	}
	return block.AppendLeaf(nil, ids)
}

// baseCost is what the bases of an order have cost since they were written. It is not
// stored: the first generation of a node writes new bases, since what happened while it
// was down may have moved every row far from the old ones.
type baseCost struct {
	keep        bool // the bases serve the next generation too
	generations int
	written     int // bytes of the leaves of these
}

// maxBaseAge is after how many generations bases are written anew in any case: a sum of
// what was, as next looks at it, does not tell how much shorter leaves would become.
const maxBaseAge = 64

// next returns the cost after a generation that wrote so many bytes of leaves. whole is
// what it costs to write the leaves whole that are no bases. Rows get farther from their
// bases, so that leaves get longer: when those of a generation are longer than the mean
// of all with new bases included, to wait longer would raise that mean.
func (c baseCost) next(written, whole int) baseCost {
	if !c.keep {
		return baseCost{keep: true}
	}
	c.generations++
	c.written += written
	c.keep = written*(c.generations+1) < whole+c.written && c.generations < maxBaseAge || written == 0
	return c
}
