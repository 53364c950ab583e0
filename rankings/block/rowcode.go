package block

import (
	"fmt"
	"math/bits"
)

// rowCode is how the rows of a relative leaf are coded. A step is the difference of a row's
// place to the one that is expected, zigzag. It is in Rice code: as many ones as step>>k, a
// zero, and the low k bits. A row that no base has is literal ones, a zero, and itself in
// width bits; steps with as many ones or more have one more. Instead of riceEscape ones or
// more there are riceEscape, a zero and the place itself in placeBits. With runs, each step
// that is not 0 is stored less one, after the number of zeros before it, in Elias's gamma
// code of that number plus one.
//
// In version 2 a row that no base has is riceEscape ones, another one, and 32 bits.
type rowCode struct {
	k       int
	runs    bool
	shift   int // see expected
	literal int
	width   int
}

// The first byte of a code: low bits, and flags.
const (
	codeRuns   = 1 << 7
	codeSlow   = 1 << 6 // shift is slowShift; else it is 0
	codeLow    = 1<<5 - 1
	maxRice    = 24
	riceEscape = 20
	placeBits  = 15 // of a place in MaxBases leaves of MaxLeafRows
	oldLiteral = 32 // bits of a row in version 2
	noLiteral  = riceEscape
)

// slowShift is for leaves whose rows moved far and each by itself: their places lie around
// a line that the mean of many finds better than the last one.
const slowShift = 4

// expected is the place that is expected of the next row: the first one after the last
// row's, or the one after a mean of the rows before it, in which the last one weighs
// 1/2^shift.
type expected struct {
	place int64
	shift int
	begun bool
}

// follow takes the place of a row into account. What is expected is never below 0.
func (e *expected) follow(place int64) {
	if !e.begun {
		e.place, e.begun = place, true
	}
	e.place += (place-e.place)>>e.shift + 1
}

// step returns the step to the place of the next row, which it takes into account.
func (e *expected) step(place int32) uint64 {
	step := zigzag(int64(place) - e.place)
	e.follow(int64(place))
	return step
}

// flags returns the first byte of a code.
func (c rowCode) flags() byte {
	flags := byte(c.k)
	if c.runs {
		flags |= codeRuns
	}
	if c.shift != 0 {
		flags |= codeSlow
	}
	return flags
}

// readCode returns the code of a relative leaf, and the length of its header.
func readCode(body []byte) (c rowCode, header int, err error) {
	c = rowCode{k: int(body[1] & codeLow), runs: body[1]&codeRuns != 0, literal: noLiteral}
	header = relativeHeader
	if body[0] == relativeVersion {
		c.literal, c.width = int(body[5]), int(body[6])
		if body[1]&codeSlow != 0 {
			c.shift = slowShift
		}
	} else {
		header = oldRelativeHeader
	}

	switch {
	case c.k > maxRice:
		err = fmt.Errorf("its code has %d low bits; at most %d", c.k, maxRice)
	case c.literal > noLiteral:
		err = fmt.Errorf("its code has rows of no base after %d ones; at most %d", c.literal, noLiteral)
	case c.width > maxWidth:
		err = fmt.Errorf("its code has rows of %d bits; at most %d", c.width, maxWidth)
	}
	return c, header, err
}

// chooseCode returns the code in which rows take the fewest bits.
func chooseCode(ids []uint32, places []int32) rowCode {
	last := tallyOf(ids, places, 0)
	c, size := last.best()
	if last.lengths[0] > len(places)/2 {
		return c // no mean finds more than half of the places
	}

	mean := tallyOf(ids, places, slowShift)
	if slow, less := mean.best(); less < size {
		return slow
	}
	return c
}

// tally counts the steps of a leaf by their length: the exact sums would have to be made for
// each parameter.
type tally struct {
	code     rowCode // what is known of it
	lengths  [maxSteps + 1]int
	runBits  int
	literals int
}

// maxSteps is the greatest length of a step: of a place, a sign, and a carry, since what is
// expected may be a few places after the last one.
const maxSteps = placeBits + 2

func tallyOf(ids []uint32, places []int32, shift int) tally {
	t := tally{code: rowCode{shift: shift}}
	next := expected{shift: shift}
	widest, zeros := uint32(0), uint64(0)

	for i, place := range places {
		if place == noPlace {
			t.literals++
			widest |= ids[i]
		} else {
			step := next.step(place)
			t.lengths[bits.Len64(step)]++
			if step == 0 {
				zeros++
				continue
			}
		}
		t.runBits += gammaBits(zeros + 1)
		zeros = 0
	}
	t.code.width = bits.Len32(widest)
	return t
}

// best returns the code with which the steps take the fewest bits, and how many.
func (t *tally) best() (best rowCode, size int) {
	size = 1 << 62
	moved, steps := t.lengths, 0
	moved[0] = 0
	for _, n := range t.lengths {
		steps += n
	}

	for k := range maxSteps + 1 {
		// A step takes k bits and one more at least.
		if least := steps * (k + 1); min(least, least-t.lengths[0]*(k+1)+t.runBits) >= size {
			break
		}
		c := t.code
		c.k = k
		if n := t.fit(&c, &moved) + t.runBits; n < size {
			best, size = c, n
			best.runs = true
		}
		if n := t.fit(&c, &t.lengths); n < size {
			best, size = c, n
		}
	}
	return best, size
}

// fit sets the number of ones that means a row of no base to the best one, and returns the
// bits of all rows.
func (t *tally) fit(c *rowCode, lengths *[maxSteps + 1]int) (size int) {
	var ones [riceEscape + 1]int // how many steps have as many, or escape
	for i, n := range lengths {
		q := min(3<<i>>2>>c.k, riceEscape) // as if all were in the middle of their length
		ones[q] += n
		size += n * riceBits(q, c.k)
	}

	// The steps with as many ones or more take one more bit, the rows fewer.
	least, above := 1<<62, 0
	for q := riceEscape - 1; q >= 0 && above < least; q-- {
		above += ones[q]
		if n := above + t.literals*(q+1+c.width); n < least {
			c.literal, least = q, n
		}
	}
	return size + least
}

func riceBits(q, k int) int {
	if q < riceEscape {
		return q + 1 + k
	}
	return riceEscape + 1 + placeBits
}

func gammaBits(v uint64) int { return 2*bits.Len64(v) - 1 }

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// rows appends the rows of a leaf.
func (w *bitWriter) rows(ids []uint32, places []int32, c rowCode) {
	next, zeros := expected{shift: c.shift}, uint64(0)
	for i, place := range places {
		step := uint64(0)
		if place != noPlace {
			step = next.step(place)
		}
		if c.runs {
			if place != noPlace && step == 0 {
				zeros++
				continue
			}
			w.gamma(zeros + 1)
			zeros = 0
		}

		switch {
		case place == noPlace:
			w.put(1<<c.literal-1|uint64(ids[i])<<(c.literal+1), c.literal+1+c.width)
		case c.runs:
			w.step(step-1, place, c)
		default:
			w.step(step, place, c)
		}
	}
	if zeros > 0 {
		w.gamma(zeros + 1)
	}
}

// step appends a step, or its place.
func (w *bitWriter) step(step uint64, place int32, c rowCode) {
	q := step >> c.k
	if q >= uint64(c.literal) {
		q++
	}
	if q < riceEscape {
		w.put(1<<q-1|(step&(1<<c.k-1))<<(q+1), int(q)+1+c.k)
	} else {
		w.put(1<<riceEscape-1|uint64(place)<<(riceEscape+1), riceEscape+1+placeBits)
	}
}

// row reads what bitWriter.rows wrote of one: a place or a row.
func (r *bitReader) row(c rowCode, expected int64) (place int64, id uint32, isPlace bool) {
	word := r.peek()
	q := bits.TrailingZeros64(^word)
	rest := word >> (q + 1)

	switch {
	case q > riceEscape:
		r.at += riceEscape + 1 + oldLiteral
		return 0, uint32(word >> (riceEscape + 1)), false
	case q == riceEscape:
		r.at += riceEscape + 1 + placeBits
		return int64(rest & (1<<placeBits - 1)), 0, true
	case q == c.literal:
		r.at += q + 1 + c.width
		return 0, uint32(rest & (1<<c.width - 1)), false
	}

	r.at += q + 1 + c.k
	if q > c.literal {
		q--
	}
	step := uint64(q)<<c.k | rest&(1<<c.k-1)
	if c.runs {
		step++
	}
	return expected + unzigzag(step), 0, true
}
