package block

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// When prices move, rows move a little in their order, so most of a leaf is known from
// the leaves of an earlier generation around the same rank, its bases. A relative leaf
// says which rows of the bases it has and in which order they are now:
//
//	+---------+-------+------+-------+---------------+-----------------------+-------+
//	| version | code  | rows | bases | base          | others, places, order | crc   |
//	| u8 = 3  | u8    | u16  | u8    | a varint each | from the low bit up   | u32   |
//	+---------+-------+------+-------+---------------+-----------------------+-------+
//
// The first base is a leaf's number, each other one the difference to the number before
// it, zigzag. The rows of the bases, one after the other, have places from 0 on.
//
//	others   the rows that no base has: their number plus one in gamma code; then, if there
//	         are any, the bits of the widest less one in 5 bits, and of each the rows of the
//	         leaf since the last one, in Rice code, and itself in so many bits
//	places   which places the leaf has the rows of: the lengths of runs, in turn of places
//	         that it has not (this first one plus one) and that it has, in gamma code, to
//	         the last place that it has
//	order    of each row that has a place, how many of the places below it are of rows that
//	         come later: its skip
//
// A row that stays where it was has a skip of 0, also beside others that moved, and the sum
// of what moved rows cost is near the least that an order of so many rows can be told in.
//
// Gamma code is Elias's. Rice code of v is as many ones as v>>k, a zero, and the low k bits;
// instead of riceEscape ones or more there are riceEscape and v in skipBits. Skips are in
// Rice code, or with codeGrowing in the code of Elias with k more bits: of v+1<<k the number
// of bits beyond k+1 in zeros, a one, and its bits but the first. With codeDifferences there
// is of each the difference to the one before it, zigzag: a row that went far to the end
// makes all skips before it greater by one. The fewest bits decide. With codeRuns each
// number that is not 0 is stored less one, after the number of zeros before it
// plus one in gamma code, and zeros at the end likewise.
//
// Bases are whole leaves, so that a row is found by reading a leaf and a few bases.
const (
	relativeVersion = 3
	relativeHeader  = 5 // version, code, rows, bases
	codeRuns        = 1 << 7
	codeGrowing     = 1 << 6
	codeDifferences = 1 << 5
	maxLowBits      = 15
	riceEscape      = 20
	placeBits       = 15            // of a place in MaxBases leaves of MaxLeafRows
	skipBits        = placeBits + 1 // of the difference of two
	widthBits       = 5

	// MaxBases is how many bases a leaf can have. A reader may have to read all of them.
	MaxBases = 8
	// leastOfBase is how many rows a base has to give: with fewer, the rows themselves
	// are not much longer than the base's number, and there is a leaf less to read.
	leastOfBase = 16
)

// Base is a whole leaf from which others may be coded.
type Base struct {
	Number      uint64
	First, Rows uint32 // its rank among all bases of its order, and how many it has
}

// BaseReader returns the ids of a base, which stay as they are while a leaf is decoded.
type BaseReader func(number uint64) ([]uint32, error)

// Relative encodes leaves from bases. It reuses its memory.
type Relative struct {
	used   [MaxBases]uint32 // by base: rows that are in it
	start  [MaxBases]uint32 // by base: place of its first row; those that are left out have none
	places []uint32         // of every row
	others int              // rows without a place
	left   placeSet
	skips  []uint32
	spare  []uint32
}

const noPlace = 1<<32 - 1

// Append appends a leaf of ids, 1 to MaxLeafRows, which differ. ranks has by id the rank
// among all bases plus one, 0 for a row that is in none. bases, at most MaxBases, ascend by
// rank without a gap.
func (r *Relative) Append(dst []byte, ids, ranks []uint32, bases []Base) []byte {
	r.findPlaces(ids, ranks, bases)
	start := len(dst)
	dst = append(dst, relativeVersion, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(ids)))
	dst = r.appendBases(append(dst, 0), start+relativeHeader-1, bases)

	w := bitWriter{dst: dst}
	r.putOthers(&w, ids)
	r.left.putRuns(&w)
	r.findSkips()
	r.spare = slices.Grow(r.spare[:0], len(r.skips))[:len(r.skips)]
	code := chooseCode(r.skips, r.spare)
	w.dst[start+1] = byte(code)
	w.skips(r.skips, code)
	return appendChecksum(w.flush(), start)
}

// findPlaces finds the places of the rows. It leaves out bases of which the leaf has few.
func (r *Relative) findPlaces(ids, ranks []uint32, bases []Base) {
	r.used = [MaxBases]uint32{}
	r.places = slices.Grow(r.places[:0], len(ids))[:len(ids)]
	at := 0
	for i, id := range ids {
		rank := ranks[id] - 1 // of a row that is in none it is above all others
		if r.places[i] = rank; rank != noPlace {
			if at = findBase(bases, at, rank); at < len(bases) {
				r.used[at]++
			}
		}
	}

	place := uint32(0)
	for i := range bases {
		if r.used[i] < leastOfBase {
			r.used[i] = 0
			continue
		}
		r.start[i] = place
		place += bases[i].Rows
	}

	r.others = 0
	r.left.reset(place)
	for i, rank := range r.places {
		r.places[i] = noPlace
		if rank != noPlace {
			at = findBase(bases, at, rank)
		}
		if rank != noPlace && at < len(bases) && r.used[at] != 0 {
			r.places[i] = r.start[at] + rank - bases[at].First
			r.left.add(r.places[i])
		} else {
			r.others++
		}
	}
}

// findBase returns the base that has a rank, looking first at the one that had the last;
// len(bases) if none has.
func findBase(bases []Base, at int, rank uint32) int {
	if at < len(bases) && rank-bases[at].First < bases[at].Rows {
		return at
	}
	for at = range bases {
		if rank-bases[at].First < bases[at].Rows {
			return at
		}
	}
	return len(bases)
}

// findSkips finds the skips, and takes all places out of the set.
func (r *Relative) findSkips() {
	r.left.seal()
	r.skips = slices.Grow(r.skips[:0], len(r.places))
	for _, place := range r.places {
		if place != noPlace {
			r.skips = append(r.skips, r.left.remove(place))
		}
	}
}

// putOthers appends the rows that no base has.
func (r *Relative) putOthers(w *bitWriter, ids []uint32) {
	w.gamma(uint64(r.others) + 1)
	if r.others == 0 {
		return
	}
	widest := uint32(1)
	for i, place := range r.places {
		if place == noPlace {
			widest |= ids[i]
		}
	}
	width := bits.Len32(widest)
	w.put(uint64(width-1), widthBits)

	k, next := gapBits(len(ids), r.others), 0
	for i, place := range r.places {
		if place == noPlace {
			w.rice(uint32(i-next), k)
			w.put(uint64(ids[i]), width)
			next = i + 1
		}
	}
}

// gapBits is the parameter of the Rice code of gaps between n of some rows.
func gapBits(rows, n int) int { return max(bits.Len(uint(rows/n))-1, 0) }

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// appendBases appends the numbers of the bases in use and puts their count at a place.
func (r *Relative) appendBases(dst []byte, count int, bases []Base) []byte {
	last := uint64(0)
	for i := range bases {
		if r.used[i] == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, zigzag(int64(bases[i].Number-last)))
		last = bases[i].Number
		dst[count]++
	}
	return dst
}
