package block

import (
	"fmt"
	"math/bits"
	"slices"
)

// Relative leaves of version 2 are read and no longer written. They have each row as the
// place in the bases, counted from the place of the row before it:
//
//	+---------+-------+------+-------+---------------+------------------+-------+
//	| version | code  | rows | bases | base          | places, from the | crc   |
//	| u8 = 2  | u8    | u16  | u8    | a varint each | low bit up       | u32   |
//	+---------+-------+------+-------+---------------+------------------+-------+
//
// Bases and places are those of version 3; see relative.go. The place that is expected is
// the one after the last; a step is the difference to it, zigzag. Steps are in Rice code: as
// many ones as step>>k, a zero, and the low k bits. Instead of riceEscape ones or more there
// are riceEscape, a zero and the place itself in placeBits; for a row that no base has,
// riceEscape ones, a one and the row in 32 bits. k is in the low bits of code. With codeRuns,
// each step that is not 0 is stored less one, after the number of zeros before it, in Elias's
// gamma code of that number plus one.
const (
	stepsVersion = 2
	maxStepsRice = 24
	literalBits  = 32
)

// decodeSteps decodes the rows of a leaf of version 2 from what follows its bases.
func (p *placed) decodeSteps(rest []byte, dst []uint32, rows int, code byte) ([]uint32, error) {
	k := int(code &^ codeRuns)
	if k > maxStepsRice {
		return dst, fmt.Errorf("its code has %d low bits; at most %d", k, maxStepsRice)
	}
	r := bitReader{b: rest}
	dst, err := p.readSteps(&r, dst, rows, k, code&codeRuns != 0)
	if err == nil {
		err = r.done()
	}
	return dst, err
}

func (p *placed) readSteps(r *bitReader, dst []uint32, rows, k int, runs bool) ([]uint32, error) {
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

		place, id, isPlace := r.step(k, runs, expected)
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

// step reads a step: a place or a row.
func (r *bitReader) step(k int, runs bool, expected int64) (place int64, id uint32, isPlace bool) {
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
