package block

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// bitWriter appends numbers of any width, low bit first.
type bitWriter struct {
	dst  []byte
	word uint64
	held int // bits of word, fewer than 8 between calls
}

// put appends the low width bits of v, which has no others; width is at most 56, what fits
// a word beside the bits that are held.
func (w *bitWriter) put(v uint64, width int) {
	w.word |= v << w.held
	w.held += width
	w.dst = binary.LittleEndian.AppendUint64(w.dst, w.word)
	whole := w.held >> 3
	w.dst = w.dst[:len(w.dst)-8+whole]
	w.word >>= whole << 3
	w.held &= 7
}

// gamma appends v, at least 1, in Elias's gamma code: as many zeros as v has bits after
// its first, a one, and those bits.
func (w *bitWriter) gamma(v uint64) {
	n := bits.Len64(v) - 1
	w.put(1<<n|(v&(1<<n-1))<<(n+1), 2*n+1)
}

// flush pads the last byte with zeros and returns everything.
func (w *bitWriter) flush() []byte {
	if w.held > 0 {
		w.dst = append(w.dst, byte(w.word))
	}
	return w.dst
}

// bitReader reads what a bitWriter wrote. Beyond the end it reads zeros, which done
// reports.
type bitReader struct {
	b  []byte
	at int // bit
}

// peek returns the next bits, 57 or more.
func (r *bitReader) peek() uint64 {
	i := r.at >> 3
	if i+8 <= len(r.b) {
		return binary.LittleEndian.Uint64(r.b[i:]) >> (r.at & 7)
	}
	var tail [8]byte
	if i < len(r.b) {
		copy(tail[:], r.b[i:])
	}
	return binary.LittleEndian.Uint64(tail[:]) >> (r.at & 7)
}

// gamma reads a number in Elias's gamma code; 0, which no such number is, for more than
// maxGamma zeros.
func (r *bitReader) gamma() uint64 {
	word := r.peek()
	n := bits.TrailingZeros64(word)
	if n > maxGamma {
		return 0
	}
	r.at += 2*n + 1
	return 1<<n | word>>(n+1)&(1<<n-1)
}

// maxGamma is how many zeros a number in gamma code can begin with, so that all of it is
// in what peek returns.
const maxGamma = 28

var errBits = errors.New("its rows do not end with its bytes")

// done checks that everything was read, but for zeros in the last byte.
func (r *bitReader) done() error {
	if (r.at+7)/8 != len(r.b) || r.at&7 != 0 && r.b[len(r.b)-1]>>(r.at&7) != 0 {
		return errBits
	}
	return nil
}
