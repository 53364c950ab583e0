package rankings

import (
	"encoding/binary"
	"fmt"
	"math"

	"tidemark/rankings/block"
	"tidemark/rankings/field"
)

// hints are what a node that builds a generation tells those that follow it, so that they
// need not find it out again. A follower checks that they add up. The bytes are
//
//	base      varint        the generation before it, that the rest is told against; 0: none
//	in range  8             a sum of all rows that are in range, little-endian
//	values    8             a sum of the values of all open rows
//	turned    varint        words of 64 rows of which some entered or left their range
//	          varint, 8     for each: the words before it since the last one, and which rows
//	crossed   the same      of rows that are out of range as before, though a price crossed
//	                        an end of them
//	leaves    varint        leaves that the base has too, and of which the default filters
//	                        admit other rows now
//	          varint        for each: the leaves before it since the last one, in the order
//	                        of the directory
//	passing   1 bit a row   of both kinds of leaves, in the order of the directory, low bit
//	                        first. Of a leaf that the generation wrote: the default filters
//	                        admit the row. Of one of the base: they admit it now and did
//	                        not then, or the reverse, so that nearly all bits are alike
//
// To find a row's range takes a read of its record, which is hardly ever in the processor's
// cache, and to find the rows of a leaf takes reading and decoding it with its bases.
type hints struct {
	base    uint64
	inRange uint64
	values  uint64
	turned  rowWords
	crossed rowWords
	leaves  []uint32 // by number in the directory, ascending
	passing *block.Bitmap

	at   uint32 // rows of passing that are used
	leaf uint32 // the next one of the directory
}

// rowWords are rows, by the words of 64 that have any, which ascend.
type rowWords []rowWord

type rowWord struct {
	word uint32
	rows uint64
}

// next returns the rows of word w. Words that are not asked for in their turn are passed over.
func (r *rowWords) next(w uint32) (rows uint64) {
	for len(*r) > 0 && (*r)[0].word < w {
		*r = (*r)[1:]
	}
	if len(*r) > 0 && (*r)[0].word == w {
		rows = (*r)[0].rows
	}
	return rows
}

// AppendHints appends what a generation, which was built after prev, tells the nodes that
// follow it.
func (v *View) AppendHints(dst []byte, prev *View) []byte {
	h := &hints{inRange: sumWords(v.columns.inRange.Words()), values: sumFloats(v.columns.value)}
	var kept keptLeaves
	if prev != nil && prev.columns != nil && v.columns.continued {
		h.base, h.turned = prev.Generation, findTurnedRange(prev.columns, v.columns)
		h.crossed = v.columns.crossedRows
		h.leaves, kept = v.findTurnedLeaves(prev)
	}

	h.passing = block.NewBitmap(v.toldRows(h.leaves))
	at := uint32(0)
	v.eachTold(h.leaves, func(id orderID, i int, turned bool) {
		o := &v.orders[id]
		n := o.Rows[i+1] - o.Rows[i]
		h.passing.CopyRange(at, v.columns.passingByRank[id], o.Rows[i], n)
		if turned {
			h.passing.XorRange(at, prev.columns.passingByRank[id], kept[id][o.Numbers[i]], n)
		}
		at += n
	})

	c := field.Coder{Buf: dst}
	v.codeHints(&c, h)
	return c.Buf
}

// codeHints walks hints of v. passing is made where they are read, since its length follows
// from the leaves.
func (v *View) codeHints(c *field.Coder, h *hints) {
	c.U64("base", &h.base)
	codeWord(c, "in range", &h.inRange)
	codeWord(c, "values", &h.values)
	v.codeRows(c, "turned", &h.turned)
	v.codeRows(c, "crossed", &h.crossed)

	if n := c.Count("leaves", len(h.leaves)); c.Read {
		h.leaves = make([]uint32, n)
	}
	next, leaves := uint32(0), v.leafCount()
	for i := range h.leaves {
		codeGap(c, "leaf", &h.leaves[i], &next, leaves)
	}

	if c.Failed() {
		return
	}
	if c.Read {
		h.passing = block.NewBitmap(v.toldRows(h.leaves))
	}
	for i := range h.passing.Words() {
		codeWord(c, "passing", &h.passing.Words()[i])
	}
}

// codeRows walks some positions of v.
func (v *View) codeRows(c *field.Coder, name string, r *rowWords) {
	if n := c.Count(name, len(*r)); c.Read {
		*r = make(rowWords, n)
	}
	next, words := uint32(0), (v.State.Positions.Len()+63)/64
	for i := range *r {
		codeGap(c, "word", &(*r)[i].word, &next, words)
		codeWord(c, "rows", &(*r)[i].rows)
	}
}

// codeGap walks one of some numbers that ascend, as what is between it and next, the least
// that it can be. next goes past it. Each is less than bound.
func codeGap(c *field.Coder, name string, v, next *uint32, bound uint32) {
	gap := *v - *next
	c.U32(name, &gap)
	c.Require(name, *next < bound && gap < bound-*next)
	if c.Read {
		*v = *next + gap
	}
	*next = *v + 1
}

// codeWord walks 64 bits, the low ones first.
func codeWord(c *field.Coder, name string, v *uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], *v)
	c.Fixed(name, b[:])
	if c.Read {
		*v = binary.LittleEndian.Uint64(b[:])
	}
}

// findTurnedRange compares the rows that two generations have in range, as far as both
// have them.
func findTurnedRange(was, is *columns) (turned rowWords) {
	old, now := was.inRange.Words(), is.inRange.Words()
	for w := range min(len(old), len(now)) {
		if rows := old[w] ^ now[w]; rows != 0 {
			turned = append(turned, rowWord{uint32(w), rows})
		}
	}
	return turned
}

// keptLeaves are the ranks of the first rows of leaves, by order and their numbers.
type keptLeaves [orderCount]map[uint64]uint32

// findTurnedLeaves finds the leaves that prev has too and of which the default filters admit
// other rows now, by their places in the directory. It also returns all leaves of prev.
func (v *View) findTurnedLeaves(prev *View) (leaves []uint32, kept keptLeaves) {
	leaf := uint32(0)
	for id := range orderCount {
		o := &v.orders[id]
		kept[id] = prev.leafRanks(id)
		was, is := prev.columns.passingByRank[id], v.columns.passingByRank[id]

		for i, number := range o.Numbers {
			first := o.Rows[i]
			if at, ok := kept[id][number]; ok && !is.EqualRange(first, was, at, o.Rows[i+1]-first) {
				leaves = append(leaves, leaf)
			}
			leaf++
		}
	}
	return leaves, kept
}

// leafRanks returns the ranks of the first rows of the leaves of an order, by their numbers.
func (v *View) leafRanks(id orderID) map[uint64]uint32 {
	o := &v.orders[id]
	ranks := make(map[uint64]uint32, o.Leaves())
	for i, number := range o.Numbers {
		ranks[number] = o.Rows[i]
	}
	return ranks
}

// eachTold calls f for every leaf that the generation wrote, and for the turned ones, in the
// order of the directory.
func (v *View) eachTold(leaves []uint32, f func(id orderID, i int, turned bool)) {
	told := hints{leaves: leaves}
	for id := range orderCount {
		for i, number := range v.orders[id].Numbers {
			if turned := told.nextTurned(); turned || block.LeafGeneration(number) == v.Generation {
				f(id, i, turned)
			}
		}
	}
}

// leafCount counts the leaves of the directory.
func (v *View) leafCount() (leaves uint32) {
	for i := range v.orders {
		leaves += uint32(v.orders[i].Leaves())
	}
	return leaves
}

// toldRows counts the rows of these leaves.
func (v *View) toldRows(leaves []uint32) (rows uint32) {
	v.eachTold(leaves, func(id orderID, i int, _ bool) {
		rows += v.orders[id].Rows[i+1] - v.orders[id].Rows[i]
	})
	return rows
}

// sumWords returns a checksum of bitmaps.
func sumWords(words []uint64) (sum uint64) {
	for _, word := range words {
		sum = addWord(sum, word)
	}
	return sum
}

// sumFloats is sumWords of numbers.
func sumFloats(numbers []float64) (sum uint64) {
	for _, x := range numbers {
		sum = addWord(sum, math.Float64bits(x))
	}
	return sum
}

func addWord(sum, word uint64) uint64 {
	sum = (sum ^ word) * 0x9e3779b97f4a7c15
	return sum ^ sum>>32
}

// readHints reads what a node told of v; nil if it told nothing.
func (v *View) readHints(b []byte) (*hints, error) {
	if len(b) == 0 {
		return nil, nil
	}
	h, c := new(hints), field.Reader(b)
	v.codeHints(&c, h)
	if err := c.Done(); err != nil {
		return nil, fmt.Errorf("cannot read what the node that built it tells: %w", err)
	}
	return h, nil
}

// follows reports whether what turned was told against prev.
func (h *hints) follows(prev *View) bool {
	return h != nil && prev != nil && prev.columns != nil && prev.Generation == h.base
}

// checkColumns refuses columns that differ from those of the node that told.
func (h *hints) checkColumns(c *columns) error {
	switch {
	case h == nil:
		return nil
	case sumWords(c.inRange.Words()) != h.inRange:
		return fmt.Errorf("other rows are in range than on the node that built it")
	case sumFloats(c.value) != h.values:
		return fmt.Errorf("rows have other values than on the node that built it")
	}
	return nil
}

// nextTurned goes on to the next leaf of the directory and reports whether it is told as one
// that the base has too.
func (h *hints) nextTurned() bool {
	turned := len(h.leaves) > 0 && h.leaves[0] == h.leaf
	if h.leaf++; turned {
		h.leaves = h.leaves[1:]
	}
	return turned
}

// nextPassing returns where the rows stand of the next leaf that is told, which has n: those
// that pass.
func (h *hints) nextPassing(n uint32) (passing *block.Bitmap, at uint32) {
	at = h.at
	h.at += n
	return h.passing, at
}
