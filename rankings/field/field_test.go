package field

import (
	"strings"
	"testing"

	"tidemark/rankings/clmath"
)

// TestValuesHaveOneEncoding gives the reader bytes that no walk appends.
func TestValuesHaveOneEncoding(t *testing.T) {
	var (
		u64  uint64
		u32  uint32
		u16  uint16
		i32  int32
		u8   uint8
		wide clmath.U256
		half clmath.U128
		usd  float64
		flag bool
		raw  []byte
	)

	eight := strings.Repeat("\x00", 8)
	for _, c := range []struct {
		why, bytes string
		walk       func(*Coder)
	}{
		{"overlong", "\x80\x00", func(c *Coder) { c.U64("x", &u64) }},
		{"past 64 bits", strings.Repeat("\xff", 9) + "\x02", func(c *Coder) { c.U64("x", &u64) }},
		{"past 32 bits", "\xff\xff\xff\xff\x1f", func(c *Coder) { c.U32("x", &u32) }},
		{"past 16 bits", "\x80\x80\x04", func(c *Coder) { c.U16("x", &u16) }},
		{"past 32 bits, signed", "\xff\xff\xff\xff\x1f", func(c *Coder) { c.I32("x", &i32) }},
		{"a time before 1970", "\x01", func(c *Coder) { c.Time32("x", &u32) }},
		{"a late field that is 0", "\x00", func(c *Coder) { c.LateU32("x", &u32) }},
		{"a high byte of 0", "\x01\x00", func(c *Coder) { c.U256("x", &wide) }},
		{"longer than 256 bits", "\x21" + strings.Repeat("1", 33), func(c *Coder) { c.U256("x", &wide) }},
		{"longer than 128 bits", "\x11" + strings.Repeat("1", 17), func(c *Coder) { c.U128("x", &half) }},
		{"no amount", "\x02", func(c *Coder) { c.USD("x", &usd) }},
		{"a long 0", "\x08" + eight, func(c *Coder) { c.USD("x", &usd) }},
		{"a long unknown", "\x08\x7f\xf8\x00\x00\x00\x00\x00\x01", func(c *Coder) { c.USD("x", &usd) }},
		{"an unused flag", "\x02", func(c *Coder) { c.Flags("x", &flag) }},
		{"past the limit", "\x03", func(c *Coder) { c.Small("x", &u8, 2) }},
		{"shorter than its length", "\x05abc", func(c *Coder) { c.Bytes("x", &raw) }},
		{"more elements than bytes", "\x02a", func(c *Coder) { c.Take("x", c.Count("x", 0)) }},
		{"a byte too many", "\x00\x00", func(c *Coder) { c.U64("x", &u64) }},
		{"nothing", "", func(c *Coder) { c.F64("x", &usd) }},
	} {
		r := Reader([]byte(c.bytes))
		if c.walk(&r); r.Done() == nil {
			t.Errorf("%s: %x is read", c.why, c.bytes)
		}
	}
}

// TestAFailedWalkReadsZeros goes on behind a field that cannot be read.
func TestAFailedWalkReadsZeros(t *testing.T) {
	short, after := uint32(7), uint64(7)
	c := Reader([]byte("\xff"))
	c.U32("short", &short)
	c.U64("after", &after)

	if err := c.Done(); !c.Failed() || err == nil || err.Error() != "bad field short" {
		t.Errorf("the error is %v; it must name the first bad field", err)
	}
}

// TestCountsPastTheEnd reads counts before two bytes: more elements than bytes are
// left is damage.
func TestCountsPastTheEnd(t *testing.T) {
	for n, ok := range []bool{true, true, true, false} {
		c := Reader([]byte{byte(n), 9, 9})
		got := c.Count("rows", 0)
		if good := !c.Failed() && got == n; good != ok || !ok && got != 0 {
			t.Errorf("a count of %d before 2 bytes: %d, %v", n, got, c.Done())
		}
	}
}
