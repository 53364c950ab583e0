package field

import (
	"encoding/binary"
	"math"
	"math/bits"

	"tidemark/rankings/clmath"
)

// U64 is a base-128 varint, low groups first, in the shortest form.
func (c *Coder) U64(name string, v *uint64) {
	if !c.Read {
		c.Buf = binary.AppendUvarint(c.Buf, *v)
		c.end()
		return
	}

	if b := c.Buf; len(b) > 0 && b[0] < 1<<7 && c.Note == nil { // most of them are small
		*v, c.Buf = uint64(b[0]), b[1:]
		return
	}
	x, n := binary.Uvarint(c.Buf)
	if n <= 0 || n > 1 && c.Buf[n-1] == 0 {
		c.Fail(name)
		return
	}

	c.Take(name, n)
	*v = x
}

// U32 is a U64 that fits 32 bits.
func (c *Coder) U32(name string, v *uint32) {
	x := uint64(*v)
	c.U64(name, &x)
	if x > math.MaxUint32 {
		c.Fail(name)
		return
	}
	if c.Read {
		*v = uint32(x)
	}
}

// U16 is a U64 that fits 16 bits.
func (c *Coder) U16(name string, v *uint16) {
	x := uint64(*v)
	c.U64(name, &x)
	if x > math.MaxUint16 {
		c.Fail(name)
		return
	}
	if c.Read {
		*v = uint16(x)
	}
}

// I64 is a zigzag varint: 0, -1, 1, -2 are 0, 1, 2, 3.
func (c *Coder) I64(name string, v *int64) {
	x := Zigzag(*v)
	c.U64(name, &x)
	if c.Read {
		*v = Unzigzag(x)
	}
}

// Zigzag maps numbers near 0, of either sign, to small ones.
func Zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

// Unzigzag is the inverse of Zigzag.
func Unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// I32 is an I64 that fits 32 bits.
func (c *Coder) I32(name string, v *int32) {
	x := int64(*v)
	c.I64(name, &x)
	if x != int64(int32(x)) {
		c.Fail(name)
		return
	}
	if c.Read {
		*v = int32(x)
	}
}

// Time32 is a unix time as an I64 that is not negative and fits 32 bits.
func (c *Coder) Time32(name string, v *uint32) {
	x := int64(*v)
	c.I64(name, &x)
	if x < 0 || x > math.MaxUint32 {
		c.Fail(name)
		return
	}
	if c.Read {
		*v = uint32(x)
	}
}

// Late reports whether the record goes on with fields that earlier formats do not have,
// which can only be at its end. They are left out where present is false, so
// a record of an earlier format is also one of this format. After reading them, the
// caller requires that present is true of what it read.
func (c *Coder) Late(present bool) bool { return !c.Read && present || c.Read && len(c.Buf) > 0 }

// LateU32 is a late U32, left out if it is 0.
func (c *Coder) LateU32(name string, v *uint32) {
	if c.Late(*v != 0) {
		c.U32(name, v)
		c.Require(name, *v != 0)
	}
}

// Mark is an optional small number v in front of a U256, which earlier formats do not have.
// It is stored as 32+v, which no U256 begins with, and left out if v is 0.
func (c *Coder) Mark(name string, v *uint8, most uint8) {
	if !c.Read && *v == 0 || c.Read && (len(c.Buf) == 0 || c.Buf[0] <= maxWide) {
		return
	}
	x := maxWide + *v
	c.Small(name, &x, maxWide+most)
	if c.Read {
		*v = x - maxWide
	}
}

// maxWide is how many bytes a U256 has at most.
const maxWide = 32

// Index is a row number plus one, so that NoIndex is a single 0.
func (c *Coder) Index(name string, v *uint32) {
	x := *v + 1
	c.U32(name, &x)
	if c.Read {
		*v = x - 1
	}
}

// U256 is a length of at most 32 and as many bytes, low first; the last is
// not 0.
func (c *Coder) U256(name string, v *clmath.U256) {
	if !c.Read {
		c.words(v[:], (v.BitLen()+7)/8)
		return
	}
	c.readWords(name, v[:])
}

// U128 is a U256 of at most 16 bytes.
func (c *Coder) U128(name string, v *clmath.U128) {
	w := [2]uint64{v.Lo, v.Hi}
	if !c.Read {
		n := (bits.Len64(v.Lo) + 7) / 8
		if v.Hi != 0 {
			n = 8 + (bits.Len64(v.Hi)+7)/8
		}
		c.words(w[:], n)
		return
	}
	c.readWords(name, w[:])
	*v = clmath.U128{Lo: w[0], Hi: w[1]}
}

// I128 is the zigzag of a two's complement number as a U128.
func (c *Coder) I128(name string, v *clmath.I128) {
	sign := uint64(v.Hi >> 63)
	u := clmath.U128{
		Lo: v.Lo<<1 ^ sign,
		Hi: (uint64(v.Hi)<<1 | v.Lo>>63) ^ sign,
	}
	c.U128(name, &u)
	if !c.Read {
		return
	}
	sign = -(u.Lo & 1)
	*v = clmath.I128{
		Lo: (u.Lo>>1 | u.Hi<<63) ^ sign,
		Hi: int64(u.Hi>>1 ^ sign),
	}
}

func (c *Coder) words(w []uint64, n int) {
	c.Buf = append(c.Buf, byte(n))
	end := len(c.Buf) + n
	for i := 0; i*8 < n; i++ {
		c.Buf = binary.LittleEndian.AppendUint64(c.Buf, w[i])
	}
	c.Buf = c.Buf[:end]
	c.end()
}

func (c *Coder) readWords(name string, w []uint64) {
	clear(w)
	if len(c.Buf) == 0 || int(c.Buf[0]) > 8*len(w) {
		c.Fail(name)
		return
	}

	all := c.Buf[1:]
	b := c.Take(name, 1+int(c.Buf[0]))
	switch {
	case b == nil:
		return
	case len(b) > 1 && b[len(b)-1] == 0:
		c.Fail(name)
		return
	}

	// A word is read as a whole where the record goes on for so long.
	for i, n := 0, len(b)-1; n > 0; i, n = i+1, n-8 {
		if rest := all[8*i:]; len(rest) >= 8 {
			w[i] = binary.LittleEndian.Uint64(rest) & (math.MaxUint64 >> (64 - 8*min(n, 8)))
			continue
		}
		for k, x := range all[8*i : 8*i+n] {
			w[i] |= uint64(x) << (8 * k)
		}
	}
}
