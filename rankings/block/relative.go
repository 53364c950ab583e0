package block

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// When prices move, rows move a little in their order, so most of a leaf is known from
// the leaves of an earlier generation around the same rank, its bases. A relative leaf
// has each row as the place in the bases, counted from the place of the row before it:
//
//	+---------+-------+------+-------+---------------+------------------+-------+
//	| version | code  | rows | bases | base          | places, from the | crc   |
//	| u8 = 2  | u8    | u16  | u8    | a varint each | low bit up       | u32   |
//	+---------+-------+------+-------+---------------+------------------+-------+
//
// The first base is a leaf's number, each other one the difference to the number before
// it, zigzag. The rows of the bases, one after the other, are numbered from 0. The place
// that is expected is the one after the last; a step is the difference to it, zigzag.
// Steps are in Rice code: as many ones as step>>k, a zero, and the low k bits. Instead of
// riceEscape ones or more there are riceEscape, a zero and the place itself in placeBits;
// for a row that no base has, riceEscape ones, a one and the row in 32 bits. k is in the
// low bits of code. With codeRuns, each step that is not 0 is stored less one, after the
// number of zeros before it, in Elias's gamma code of that number plus one.
//
// Bases are whole leaves, so that a row is found by reading a leaf and a few bases.
const (
	relativeVersion = 2
	relativeHeader  = 5 // version, code, rows, bases
	codeRuns        = 1 << 7
	maxRice         = 24
	riceEscape      = 20
	placeBits       = 15 // of a place in MaxBases leaves of MaxLeafRows
	literalBits     = 32

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
	used  [MaxBases]uint32 // by base: rows that are in it
	start [MaxBases]uint32 // by base: place of its first row; those that are left out have none
	steps []step           // of every row
}

// step is the place of a row; size is noPlace for a row that is in no base.
type step struct {
	size  uint64 // difference to the place that is expected, zigzag
	place uint32
}

const noPlace = 1 << 63

// Append appends a leaf of ids, 1 to MaxLeafRows. ranks has by id the rank among all
// bases plus one, 0 for a row that is in none. bases, at most MaxBases, ascend by rank
// without a gap.
func (r *Relative) Append(dst []byte, ids, ranks []uint32, bases []Base) []byte {
	r.chooseBases(ids, ranks, bases)
	r.findSteps(ids, ranks, bases)
	k, runs := r.chooseCode()

	start := len(dst)
	code := byte(k)
	if runs {
		code |= codeRuns
	}
	dst = append(dst, relativeVersion, code)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(ids)))
	dst = r.appendBases(append(dst, 0), start+relativeHeader-1, bases)

	w := bitWriter{dst: dst}
	zeros := uint64(0)
	for i, s := range r.steps {
		if runs && s.size == 0 {
			zeros++
			continue
		}
		if runs {
			w.gamma(zeros + 1)
			zeros = 0
			s.size--
		}
		w.rice(&s, ids[i], k)
	}
	if zeros > 0 {
		w.gamma(zeros + 1)
	}
	return appendChecksum(w.flush(), start)
}

// rice appends a step, or its row.
func (w *bitWriter) rice(s *step, id uint32, k int) {
	const ones = 1<<riceEscape - 1
	switch q := s.size >> k; {
	case q < riceEscape:
		w.put(1<<q-1|(s.size&(1<<k-1))<<(q+1), int(q)+1+k)
	case s.size < noPlace-1:
		w.put(ones|uint64(s.place)<<(riceEscape+1), riceEscape+1+placeBits)
	default:
		w.put(ones|1<<riceEscape|uint64(id)<<(riceEscape+1), riceEscape+1+literalBits)
	}
}

// chooseBases leaves out bases of which the leaf has few rows.
func (r *Relative) chooseBases(ids, ranks []uint32, bases []Base) {
	r.used = [MaxBases]uint32{}
	at := 0
	for _, id := range ids {
		if rank := ranks[id]; rank != 0 {
			if at = findBase(bases, at, rank-1); at < len(bases) {
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

func (r *Relative) findSteps(ids, ranks []uint32, bases []Base) {
	r.steps = slices.Grow(r.steps[:0], len(ids))
	at, expected := 0, int64(0)

	for _, id := range ids {
		s := step{size: noPlace}
		if rank := ranks[id]; rank != 0 {
			at = findBase(bases, at, rank-1)
			if at < len(bases) && r.used[at] != 0 {
				s.place = r.start[at] + rank - 1 - bases[at].First
				s.size = zigzag(int64(s.place) - expected)
				expected = int64(s.place) + 1
			}
		}
		r.steps = append(r.steps, s)
	}
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// chooseCode returns the parameters with which the steps take the fewest bits, by a count
// of the steps of each length: the exact sums would have to be made for each parameter.
func (r *Relative) chooseCode() (k int, runs bool) {
	var lengths [65]int
	runBits, zeros := 0, uint64(0)
	for i := range r.steps {
		size := r.steps[i].size
		lengths[bits.Len64(size)]++
		if size == 0 {
			zeros++
			continue
		}
		runBits += gammaBits(zeros + 1)
		zeros = 0
	}

	plain, within := 1<<62, 1<<62
	plainK, runsK := 0, 0
	for k := range maxRice + 1 {
		sum := 0
		for i, n := range lengths[1:] {
			sum += n * riceBits(3<<i>>1, k) // as if all were in the middle of their length
		}
		if all := sum + lengths[0]*(k+1); all < plain {
			plain, plainK = all, k
		}
		if all := sum + runBits; all < within {
			within, runsK = all, k
		}
	}
	if within < plain {
		return runsK, true
	}
	return plainK, false
}

func riceBits(size uint64, k int) int {
	if q := size >> k; q < riceEscape {
		return int(q) + 1 + k
	}
	return riceEscape + 1 + placeBits // all rows that are in no base take the same
}

func gammaBits(v uint64) int { return 2*bits.Len64(v) - 1 }

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

// readBases returns the bases and what follows them.
func readBases(b []byte, n int, dst []uint64) (bases []uint64, rest []byte, err error) {
	if n > MaxBases {
		return dst, b, fmt.Errorf("%d bases; at most %d", n, MaxBases)
	}

	last := uint64(0)
	for i := range n {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return dst, b, fmt.Errorf("base %d of %d is cut off", i, n)
		}
		last += uint64(unzigzag(v))
		dst, b = append(dst, last), b[size:]
	}
	return dst, b, nil
}

// decodeRelative decodes the body of a relative leaf, whose checksum holds.
func decodeRelative(body []byte, dst []uint32, base BaseReader) ([]uint32, error) {
	k, rows := int(body[1]&^codeRuns), int(binary.LittleEndian.Uint16(body[2:]))
	switch {
	case k > maxRice:
		return dst, fmt.Errorf("its code has %d low bits; at most %d", k, maxRice)
	case rows == 0 || rows > MaxLeafRows:
		return dst, fmt.Errorf("it has %d rows; allowed are 1 to %d", rows, MaxLeafRows)
	}

	var numbers [MaxBases]uint64
	list, rest, err := readBases(body[relativeHeader:], int(body[relativeHeader-1]), numbers[:0])
	if err != nil {
		return dst, err
	}
	var bases placed
	for _, number := range list {
		if base == nil {
			return dst, fmt.Errorf("it has bases; want a whole leaf")
		}
		ids, err := base(number)
		if err != nil {
			return dst, fmt.Errorf("base %d: %w", number, err)
		}
		bases.add(ids)
	}

	r := bitReader{b: rest}
	dst, err = bases.readRows(&r, dst, rows, k, body[1]&codeRuns != 0)
	if err == nil {
		err = r.done()
	}
	return dst, err
}

// placed are the rows of the bases of a leaf, by place.
type placed struct {
	ids   [MaxBases][]uint32
	start [MaxBases]int64
	n     int
	total int64
	at    int // of the base that had the last place
}

func (p *placed) add(ids []uint32) {
	p.ids[p.n], p.start[p.n] = ids, p.total
	p.n++
	p.total += int64(len(ids))
}

// get returns the row at a place, which is from 0 to below total.
func (p *placed) get(place int64) uint32 {
	if n := place - p.start[p.at]; uint64(n) < uint64(len(p.ids[p.at])) {
		return p.ids[p.at][n]
	}
	for place < p.start[p.at] {
		p.at--
	}
	for place-p.start[p.at] >= int64(len(p.ids[p.at])) {
		p.at++
	}
	return p.ids[p.at][place-p.start[p.at]]
}

func (p *placed) readRows(r *bitReader, dst []uint32, rows, k int, runs bool) ([]uint32, error) {
	dst = slices.Grow(dst, rows)
	end, expected := len(dst)+rows, int64(0)
	for len(dst) < end {
		if runs {
			zeros := r.gamma() - 1
			if zeros > uint64(end-len(dst)) || int64(zeros) > p.total-expected {
				return dst, fmt.Errorf("%d rows in their places after row %d", zeros, len(dst))
			}
			for ; zeros > 0; zeros-- {
				dst = append(dst, p.get(expected))
				expected++
			}
			if len(dst) == end {
				break
			}
		}

		place, id, isPlace := r.rice(k, runs, expected)
		if !isPlace {
			dst = append(dst, id)
			continue
		}
		if place < 0 || place >= p.total {
			return dst, fmt.Errorf("place %d; its bases have %d rows", place, p.total)
		}
		dst, expected = append(dst, p.get(place)), place+1
	}
	return dst, nil
}

// rice reads what bitWriter.rice wrote: a place or a row.
func (r *bitReader) rice(k int, runs bool, expected int64) (place int64, id uint32, isPlace bool) {
	word := r.peek()
	q := bits.TrailingZeros64(^word)

	switch {
	case q < riceEscape:
		size := uint64(q)<<k | word>>(q+1)&(1<<k-1)
		if runs {
			size++
		}
		r.at += q + 1 + k
		return expected + unzigzag(size), 0, true
	case word>>riceEscape&1 == 0:
		r.at += riceEscape + 1 + placeBits
		return int64(word >> (riceEscape + 1) & (1<<placeBits - 1)), 0, true
	}
	r.at += riceEscape + 1 + literalBits
	return 0, uint32(word >> (riceEscape + 1)), false
}
