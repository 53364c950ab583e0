package block

import (
	"encoding/binary"
	"slices"
)

// When prices move, rows move a little in their order, so most of a leaf is known from
// the leaves of an earlier generation around the same rank, its bases. A relative leaf
// has each row as its place in the bases, counted from the place that is expected of it:
//
//	+---------+-------+------+-------+---------+-------+---------------+--------+-------+
//	| version | code  | rows | bases | literal | width | base          | places | crc   |
//	| u8 = 3  | u8    | u16  | u8    | u8      | u8    | a varint each | bits   | u32   |
//	+---------+-------+------+-------+---------+-------+---------------+--------+-------+
//
// The first base is a leaf's number, each other one the difference to the number before
// it, zigzag. The rows of the bases, one after the other, have places from 0 on. Bits are
// from the low one up. How a row is coded is in rowcode.go.
//
// Bases are whole leaves, so that a row is found by reading a leaf and a few bases.
//
// Version 2, of stores up to format 9, has neither literal nor width.
const (
	relativeVersion    = 3
	oldRelativeVersion = 2
	relativeHeader     = 7 // version, code, rows, bases, literal, width
	oldRelativeHeader  = 5
	basesAt            = 4 // of the number of bases

	// MaxBases is how many bases a leaf can have. A reader may have to read all of them.
	MaxBases = 8
	// leastOfBase is how many rows a base has to give: with fewer, the rows themselves
	// are not much longer than the base's number, and there is a leaf less to read.
	leastOfBase = 16
)

// isRelative reports whether leaves of a version are relative.
func isRelative(version byte) bool {
	return version == relativeVersion || version == oldRelativeVersion
}

// Base is a whole leaf from which others may be coded.
type Base struct {
	Number      uint64
	First, Rows uint32 // its rank among all bases of its order, and how many it has
}

// BaseReader returns the ids of a base, which stay as they are while a leaf is decoded.
type BaseReader func(number uint64) ([]uint32, error)

// Relative encodes leaves from bases. It reuses its memory.
type Relative struct {
	used   [MaxBases]uint32 // by base: rows that are in it; 0 for those that are left out
	places []int32          // of every row, or noPlace
}

// noPlace is the place of a row that is in no base.
const noPlace = -1

// Append appends a leaf of ids, 1 to MaxLeafRows. ranks has by id the rank among all
// bases plus one, 0 for a row that is in none. bases, at most MaxBases, ascend by rank
// without a gap.
func (r *Relative) Append(dst []byte, ids, ranks []uint32, bases []Base) []byte {
	r.findPlaces(ids, ranks, bases)
	r.leaveOut(bases)
	c := chooseCode(ids, r.places)

	start := len(dst)
	dst = append(dst, relativeVersion, c.flags())
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(ids)))
	dst = append(dst, 0, byte(c.literal), byte(c.width))
	dst = r.appendBases(dst, start+basesAt, bases)

	w := bitWriter{dst: dst}
	w.rows(ids, r.places, c)
	return appendChecksum(w.flush(), start)
}

// findPlaces finds the places of the rows in all bases, and counts the rows of each.
func (r *Relative) findPlaces(ids, ranks []uint32, bases []Base) {
	r.used = [MaxBases]uint32{}
	r.places = slices.Grow(r.places[:0], len(ids))[:len(ids)]
	first, last := bases[0].First, bases[len(bases)-1]
	total := last.First + last.Rows - first

	at := 0
	for i, id := range ids {
		place := ranks[id] - 1 - first // above all others if the row has no rank
		if place >= total {
			r.places[i] = noPlace
			continue
		}
		r.places[i] = int32(place)
		at = baseOf(bases, at, place+first)
		r.used[at]++
	}
}

// baseOf returns the base that has a rank, looking first at the one that had the last.
func baseOf(bases []Base, at int, rank uint32) int {
	for rank < bases[at].First {
		at--
	}
	for rank-bases[at].First >= bases[at].Rows {
		at++
	}
	return at
}

// leaveOut leaves out bases of which the leaf has few rows.
func (r *Relative) leaveOut(bases []Base) {
	var before [MaxBases]uint32 // rows of those that are left out
	left := uint32(0)
	for i := range bases {
		before[i] = left
		if r.used[i] < leastOfBase {
			r.used[i] = 0
			left += bases[i].Rows
		}
	}
	if left == 0 {
		return
	}

	at := 0
	for i, place := range r.places {
		if place == noPlace {
			continue
		}
		at = baseOf(bases, at, uint32(place)+bases[0].First)
		r.places[i] = place - int32(before[at])
		if r.used[at] == 0 {
			r.places[i] = noPlace
		}
	}
}

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
