package archive

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"tidemark/rankings/clmath"
)

// coder walks the fields of a record: one walk appends it, reads it back and,
// with note set, tells which bytes belong to which field. Every value has one
// encoding, and a decoder refuses every other.
type coder struct {
	buf  []byte // appended so far, or left to read
	read bool
	bad  string // the first field that could not be read
	note func(field string, raw []byte)
}

// fail makes the rest of the walk read zeros.
func (c *coder) fail(field string) {
	if c.bad == "" {
		c.bad = field
	}
	c.buf = nil
}

// take returns the next n bytes, or nil when there are fewer.
func (c *coder) take(field string, n int) []byte {
	if n > len(c.buf) {
		c.fail(field)
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	if c.note != nil {
		c.note(field, b)
	}
	return b
}

// done returns an error unless the bytes were exactly one record.
func (c *coder) done() error {
	switch {
	case c.bad != "":
		return fmt.Errorf("bad field %s", c.bad)
	case len(c.buf) > 0:
		return fmt.Errorf("%d bytes after the end of the record", len(c.buf))
	}
	return nil
}

// u64 is a base-128 varint, low groups first, in the shortest form.
func (c *coder) u64(field string, v *uint64) {
	if !c.read {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	x, n := binary.Uvarint(c.buf)
	if n <= 0 || n > 1 && c.buf[n-1] == 0 {
		c.fail(field)
		return
	}
	c.take(field, n)
	*v = x
}

// u32 is a u64 that fits 32 bits.
func (c *coder) u32(field string, v *uint32) {
	x := uint64(*v)
	c.u64(field, &x)
	if x > math.MaxUint32 {
		c.fail(field)
		return
	}
	*v = uint32(x)
}

// i64 is a zigzag varint: 0, -1, 1, -2 are 0, 1, 2, 3.
func (c *coder) i64(field string, v *int64) {
	x := uint64(*v)<<1 ^ uint64(*v>>63)
	c.u64(field, &x)
	*v = int64(x>>1) ^ -int64(x&1)
}

// i32 is an i64 that fits 32 bits.
func (c *coder) i32(field string, v *int32) {
	x := int64(*v)
	c.i64(field, &x)
	if x != int64(int32(x)) {
		c.fail(field)
		return
	}
	*v = int32(x)
}

// u8 is one byte.
func (c *coder) u8(field string, v *uint8) {
	if !c.read {
		c.buf = append(c.buf, *v)
		return
	}
	if b := c.take(field, 1); b != nil {
		*v = b[0]
	}
}

// fixed is the bytes as they are: an address, a hash or an id.
func (c *coder) fixed(field string, v []byte) {
	if !c.read {
		c.buf = append(c.buf, v...)
		return
	}
	if b := c.take(field, len(v)); b != nil {
		copy(v, b)
	}
}

// flags is one byte, the first flag lowest.
func (c *coder) flags(field string, list ...*bool) {
	var x uint8
	for i, f := range list {
		if *f {
			x |= 1 << i
		}
	}

	c.u8(field, &x)
	if x>>len(list) != 0 {
		c.fail(field)
		return
	}
	for i, f := range list {
		*f = x>>i&1 == 1
	}
}

// u128 is a length of at most 16 and as many bytes, low first; the last is not 0.
func (c *coder) u128(field string, v *clmath.U128) {
	w := [2]uint64{v.Lo, v.Hi}
	if !c.read {
		n := (bits.Len64(v.Lo) + 7) / 8
		if v.Hi != 0 {
			n = 8 + (bits.Len64(v.Hi)+7)/8
		}
		c.words(w[:], n)
		return
	}
	c.readWords(field, w[:])
	*v = clmath.U128{Lo: w[0], Hi: w[1]}
}

// u256 is a length of at most 32 and as many bytes, low first; the last is not 0.
func (c *coder) u256(field string, v *clmath.U256) {
	if !c.read {
		c.words(v[:], (v.BitLen()+7)/8)
		return
	}
	c.readWords(field, v[:])
}

// i128 is the zigzag of a two's complement number as a u128.
func (c *coder) i128(field string, v *clmath.I128) {
	sign := uint64(v.Hi >> 63)
	u := clmath.U128{Lo: v.Lo<<1 ^ sign, Hi: (uint64(v.Hi)<<1 | v.Lo>>63) ^ sign}
	c.u128(field, &u)
	sign = -(u.Lo & 1)
	*v = clmath.I128{Lo: (u.Lo>>1 | u.Hi<<63) ^ sign, Hi: int64(u.Hi>>1 ^ sign)}
}

func (c *coder) words(w []uint64, n int) {
	c.buf = append(c.buf, byte(n))
	end := len(c.buf) + n
	for i := 0; i*8 < n; i++ {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, w[i])
	}
	c.buf = c.buf[:end]
}

func (c *coder) readWords(field string, w []uint64) {
	clear(w)
	if len(c.buf) == 0 || int(c.buf[0]) > 8*len(w) {
		c.fail(field)
		return
	}
	b := c.take(field, 1+int(c.buf[0]))
	if b == nil || len(b) > 1 && b[len(b)-1] == 0 {
		c.fail(field)
		return
	}

	for i, x := range b[1:] {
		w[i/8] |= uint64(x) << (8 * (i % 8))
	}
}

// text is a length and the bytes; a nil string is a single 0, others have their
// length plus one.
func (c *coder) text(field string, v **string) {
	var n uint64
	if *v != nil {
		n = uint64(len(**v)) + 1
	}
	c.u64(field, &n)
	if n == 0 {
		*v = nil
		return
	}
	if !c.read {
		c.buf = append(c.buf, **v...)
		return
	}

	if n-1 > uint64(len(c.buf)) {
		c.fail(field)
		return
	}
	s := string(c.take(field, int(n-1)))
	*v = &s
}

// count is the length of a list whose elements take at least one byte each, so
// that a damaged length cannot allocate more than there are bytes to read.
func (c *coder) count(field string, n int) int {
	x := uint64(n)
	c.u64(field, &x)
	if c.read && x > uint64(len(c.buf)) {
		c.fail(field)
		return 0
	}
	return int(x)
}
