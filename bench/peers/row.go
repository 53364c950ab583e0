package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// row is a position as the peers keep it: what they sort and filter by, and
// the rest of the answer as it is sent. Rows are numbered from 0 by chain and
// then id, so that the number alone breaks ties.
//
//	chain u32 | flags u8 | value f64 | tvl f64 | scores 8 x f64 | size u32 | body
//
// All little-endian. The body is the row that the node renders, from the comma
// after its rank on: a rank belongs to a page and not to a position.
type row struct {
	chain      uint32
	flags      flags
	value, tvl float64 // Unknown is NaN, which is below every floor
	scores     scores
}

// scores are by what a row is sorted, ascending in every order: values are
// negated where the greatest comes first. What is not known is +Inf.
type scores [sortCount]float64

// sortCount is how many orders of positions there are.
const sortCount = 8

// flags are what a filter asks of a row.
type flags uint8

const (
	isOpen     flags = 1 << iota // has liquidity
	isValued                     // open, with a value that is known and not 0
	isInRange                    // by its ticks
	isSafe                       // neither token is risky
	isStandard                   // safe, in a pool above the default floor
)

func (f flags) has(all flags) bool { return f&all == all }

// headBytes is a row before its body.
const headBytes = 4 + 1 + 8 + 8 + 8*sortCount + 4

// maxRowBody bounds a body: three times the longest that was seen.
const maxRowBody = 16 << 10

// appendRow appends a row and its body.
func appendRow(dst []byte, r *row, body []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, r.chain)
	dst = append(dst, byte(r.flags))
	dst = appendFloat(dst, r.value)
	dst = appendFloat(dst, r.tvl)
	for _, s := range r.scores {
		dst = appendFloat(dst, s)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	return append(dst, body...)
}

func appendFloat(dst []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
}

// rowReader reads what appendRow appended, one row after the other.
type rowReader struct {
	in   *bufio.Reader
	head [headBytes]byte
	body []byte
	row  row
	err  error
}

func newRowReader(in io.Reader) *rowReader { return &rowReader{in: bufio.NewReaderSize(in, 1<<20)} }

// next reads a row into r.row and r.body, which are good until the next call.
// It is false at the end and after an error.
func (r *rowReader) next() bool {
	if r.err != nil {
		return false
	}
	if _, err := io.ReadFull(r.in, r.head[:]); err != nil {
		if !errors.Is(err, io.EOF) {
			r.err = fmt.Errorf("cannot read a row: %w", err)
		}
		return false
	}
	float := func(at int) float64 {
		return math.Float64frombits(binary.LittleEndian.Uint64(r.head[at:]))
	}
	r.row.chain = binary.LittleEndian.Uint32(r.head[:])
	r.row.flags = flags(r.head[4])
	r.row.value, r.row.tvl = float(5), float(13)
	for i := range r.row.scores {
		r.row.scores[i] = float(21 + 8*i)
	}
	size := binary.LittleEndian.Uint32(r.head[headBytes-4:])
	if size > maxRowBody {
		r.err = fmt.Errorf("too big a row; got %d bytes; cannot exceed %d", size, maxRowBody)
		return false
	}
	if cap(r.body) < int(size) {
		r.body = make([]byte, maxRowBody)
	}
	r.body = r.body[:size]
	if _, err := io.ReadFull(r.in, r.body); err != nil {
		r.err = fmt.Errorf("cannot read a row's body: %w", err)
		return false
	}
	return true
}
