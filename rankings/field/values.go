package field

import (
	"encoding/binary"
	"math"

	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// F64 is the eight bytes of the number, high first.
func (c *Coder) F64(name string, v *float64) {
	if !c.Read {
		c.Buf = binary.BigEndian.AppendUint64(c.Buf, math.Float64bits(*v))
		c.end()
		return
	}
	if b := c.Take(name, 8); b != nil {
		*v = math.Float64frombits(binary.BigEndian.Uint64(b))
	}
}

// USD is an F64 after the byte 8; Unknown is a single 1 and 0 a single 0.
func (c *Coder) USD(name string, v *float64) {
	if !c.Read {
		switch x := math.Float64bits(*v); {
		case x == 0:
			c.Buf = append(c.Buf, 0)
		case !market.Known(*v):
			c.Buf = append(c.Buf, 1)
		default:
			c.Buf = binary.BigEndian.AppendUint64(append(c.Buf, 8), x)
		}
		c.end()
		return
	}

	n := 0
	if len(c.Buf) > 0 && c.Buf[0] == 8 {
		n = 8
	}

	b := c.Take(name, 1+n)
	switch {
	case n == 8 && b != nil:
		*v = math.Float64frombits(binary.BigEndian.Uint64(b[1:]))
		if math.Float64bits(*v) == 0 || !market.Known(*v) {
			c.Fail(name)
		}
	case b == nil || b[0] > 1:
		c.Fail(name)
	case b[0] == 1:
		*v = market.Unknown
	default:
		*v = 0
	}
}

// Fixed is bytes of a length that the layout knows.
func (c *Coder) Fixed(name string, v []byte) {
	if !c.Read {
		c.Buf = append(c.Buf, v...)
		c.end()
		return
	}
	if b := c.Take(name, len(v)); b != nil {
		copy(v, b)
	}
}

// Bytes is a length and as many bytes. A decoded slice is a copy.
func (c *Coder) Bytes(name string, v *[]byte) {
	n := c.Count(name, len(*v))
	if !c.Read {
		c.Buf = append(c.Buf, *v...)
		c.end()
		return
	}
	*v = append([]byte(nil), c.Take(name, n)...)
}

// Text is a length and the text's bytes, if there is one: present is its flag, which the
// caller codes.
func (c *Coder) Text(name string, present bool, v *texts.Text) {
	switch {
	case !present:
	case c.Read:
		*v = texts.New(string(c.Take(name, c.Count(name, 0))))
	default:
		text := v.String()
		c.Count(name, len(text))
		c.Buf = append(c.Buf, text...)
		c.end()
	}
}

// Count is the number of elements that follow. Each takes at least one byte, so a
// decoder never allocates more elements than there are bytes left.
func (c *Coder) Count(name string, n int) int {
	x := uint64(n)
	c.U64(name, &x)
	if c.Read && x > uint64(len(c.Buf)) {
		c.Fail(name)
		return 0
	}
	return int(x)
}

// Flags is a byte of booleans, the first in the lowest bit. Unused bits are 0.
func (c *Coder) Flags(name string, v ...*bool) {
	var b byte
	for i, f := range v {
		if *f {
			b |= 1 << i
		}
	}

	if !c.Read {
		c.Buf = append(c.Buf, b)
		c.end()
		return
	}

	raw := c.Take(name, 1)
	if raw == nil {
		return
	}
	if raw[0]>>len(v) != 0 {
		c.Fail(name)
		return
	}

	for i, f := range v {
		*f = raw[0]>>i&1 != 0
	}
}

// Small is a byte that is at most the limit.
func (c *Coder) Small(name string, v *uint8, limit uint8) {
	if !c.Read {
		c.Buf = append(c.Buf, *v)
		c.end()
		return
	}
	if b := c.Take(name, 1); b != nil {
		if *v = b[0]; b[0] > limit {
			c.Fail(name)
		}
	}
}
