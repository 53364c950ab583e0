package storage

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// coder walks the fields of a record. Each record has one walk, which appends it,
// reads it back and, with note set, reports which bytes belong to which field. So
// encoder and decoder cannot disagree about a layout.
//
// Every value has exactly one encoding. A decoder refuses bytes that the encoder
// would not have written: what decodes without an error encodes to the same bytes.
type coder struct {
	// buf holds the bytes appended so far, or the bytes left to read.
	buf  []byte
	read bool
	bad  string // name of the first field that could not be read
	note func(field string, raw []byte)
	// With split set, ends receives the length of buf after every appended field.
	split bool
	ends  []int
}

// end notes the end of an appended field.
func (c *coder) end() {
	if c.split {
		c.ends = append(c.ends, len(c.buf))
	}
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

// require fails a reading walk unless ok.
func (c *coder) require(field string, ok bool) {
	if c.read && !ok {
		c.fail(field)
	}
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
		c.end()
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

// u16 is a u64 that fits 16 bits.
func (c *coder) u16(field string, v *uint16) {
	x := uint64(*v)
	c.u64(field, &x)
	if x > math.MaxUint16 {
		c.fail(field)
		return
	}
	*v = uint16(x)
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

// time32 is a unix time as an i64 that is not negative and fits 32 bits.
func (c *coder) time32(field string, v *uint32) {
	x := int64(*v)
	c.i64(field, &x)
	if x < 0 || x > math.MaxUint32 {
		c.fail(field)
		return
	}
	*v = uint32(x)
}

// late reports whether the fields that earlier formats do not have follow, which
// can only be at the end of a record. They are left out where present is false, so
// a record of an earlier format is also one of this format. After reading them, the
// caller requires that present is true of what it read.
func (c *coder) late(present bool) bool { return !c.read && present || c.read && len(c.buf) > 0 }

// lateU32 is a late u32, left out if it is 0.
func (c *coder) lateU32(field string, v *uint32) {
	if c.late(*v != 0) {
		c.u32(field, v)
		c.require(field, *v != 0)
	}
}

// index is a row number plus one, so that NoIndex is a single 0.
func (c *coder) index(field string, v *uint32) {
	x := *v + 1
	c.u32(field, &x)
	*v = x - 1
}

// u256 is a length of at most 32 and as many bytes, low first; the last is
// not 0.
func (c *coder) u256(field string, v *clmath.U256) {
	if !c.read {
		c.words(v[:], (v.BitLen()+7)/8)
		return
	}
	c.readWords(field, v[:])
}

// u128 is a u256 of at most 16 bytes.
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

// i128 is the zigzag of a two's complement number as a u128.
func (c *coder) i128(field string, v *clmath.I128) {
	sign := uint64(v.Hi >> 63)
	u := clmath.U128{
		Lo: v.Lo<<1 ^ sign,
		Hi: (uint64(v.Hi)<<1 | v.Lo>>63) ^ sign,
	}
	c.u128(field, &u)
	sign = -(u.Lo & 1)
	*v = clmath.I128{
		Lo: (u.Lo>>1 | u.Hi<<63) ^ sign,
		Hi: int64(u.Hi>>1 ^ sign),
	}
}

func (c *coder) words(w []uint64, n int) {
	c.buf = append(c.buf, byte(n))
	end := len(c.buf) + n
	for i := 0; i*8 < n; i++ {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, w[i])
	}
	c.buf = c.buf[:end]
	c.end()
}

func (c *coder) readWords(field string, w []uint64) {
	clear(w)
	if len(c.buf) == 0 || int(c.buf[0]) > 8*len(w) {
		c.fail(field)
		return
	}

	b := c.take(field, 1+int(c.buf[0]))
	switch {
	case b == nil:
		return
	case len(b) > 1 && b[len(b)-1] == 0:
		c.fail(field)
		return
	}

	for i, b := 0, b[1:]; len(b) > 0; i++ {
		if len(b) >= 8 {
			w[i], b = binary.LittleEndian.Uint64(b), b[8:]
			continue
		}
		for k, x := range b {
			w[i] |= uint64(x) << (8 * k)
		}
		break
	}
}

// f64 is the eight bytes of the number, high first.
func (c *coder) f64(field string, v *float64) {
	if !c.read {
		c.buf = binary.BigEndian.AppendUint64(c.buf, math.Float64bits(*v))
		c.end()
		return
	}
	if b := c.take(field, 8); b != nil {
		*v = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
}

// usd is an f64 after the byte 8; Unknown is a single 1 and 0 a single 0.
func (c *coder) usd(field string, v *float64) {
	if !c.read {
		switch x := math.Float64bits(*v); {
		case x == 0:
			c.buf = append(c.buf, 0)
		case !market.Known(*v):
			c.buf = append(c.buf, 1)
		default:
			c.buf = binary.BigEndian.AppendUint64(append(c.buf, 8), x)
		}
		c.end()
		return
	}

	n := 0
	if len(c.buf) > 0 && c.buf[0] == 8 {
		n = 8
	}

	b := c.take(field, 1+n)
	switch {
	case n == 8 && b != nil:
		*v = math.Float64frombits(binary.BigEndian.Uint64(b[1:]))
		if math.Float64bits(*v) == 0 || !market.Known(*v) {
			c.fail(field)
		}
	case b == nil || b[0] > 1:
		c.fail(field)
	case b[0] == 1:
		*v = market.Unknown
	default:
		*v = 0
	}
}

// fixed is bytes of a length that the layout knows.
func (c *coder) fixed(field string, v []byte) {
	if !c.read {
		c.buf = append(c.buf, v...)
		c.end()
		return
	}
	if b := c.take(field, len(v)); b != nil {
		copy(v, b)
	}
}

// bytes is a length and as many bytes. A decoded slice is a copy.
func (c *coder) bytes(field string, v *[]byte) {
	n := c.count(field, len(*v))
	if !c.read {
		c.buf = append(c.buf, *v...)
		c.end()
		return
	}
	*v = append([]byte(nil), c.take(field, n)...)
}

// text is an optional string. present is its flag, which the caller codes.
func (c *coder) text(field string, present bool, v **string) {
	if !present {
		return
	}
	var b []byte
	if !c.read {
		b = []byte(**v)
	}
	c.bytes(field, &b)
	s := string(b)
	*v = &s
}

// count is the number of elements that follow. Each takes at least one byte, so a
// decoder never allocates more elements than there are bytes left.
func (c *coder) count(field string, n int) int {
	x := uint64(n)
	c.u64(field, &x)
	if c.read && x > uint64(len(c.buf)) {
		c.fail(field)
		return 0
	}
	return int(x)
}

// flags is a byte of booleans, the first in the lowest bit. Unused bits are 0.
func (c *coder) flags(field string, v ...*bool) {
	var b byte
	for i, f := range v {
		if *f {
			b |= 1 << i
		}
	}

	if !c.read {
		c.buf = append(c.buf, b)
		c.end()
		return
	}

	raw := c.take(field, 1)
	if raw == nil {
		return
	}
	if raw[0]>>len(v) != 0 {
		c.fail(field)
		return
	}

	for i, f := range v {
		*f = raw[0]>>i&1 != 0
	}
}

// small is a byte that is at most the limit.
func (c *coder) small(field string, v *uint8, limit uint8) {
	if !c.read {
		c.buf = append(c.buf, *v)
		c.end()
		return
	}
	if b := c.take(field, 1); b != nil {
		if *v = b[0]; b[0] > limit {
			c.fail(field)
		}
	}
}
