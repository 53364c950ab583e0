package field

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// checkField walks one kind of field over values at the ends of its range: their bytes are the
// given ones, they are read back as they were, whatever stood there, and nothing shorter is
// read at all.
func checkField[T any](t *testing.T, name string, walk func(*Coder, *T), values []T, bytes ...string) {
	t.Helper()
	for i, want := range values {
		value, before := want, "before"
		w := Coder{Buf: []byte(before)}
		walk(&w, &value)
		raw := w.Buf[len(before):]
		if got := fmt.Sprintf("%x", raw); string(w.Buf[:len(before)]) != before || got != bytes[i] {
			t.Errorf("%s %v is %s; want %s", name, want, got, bytes[i])
		}

		got, r := values[(i+1)%len(values)], Reader(append(raw[:len(raw):len(raw)], 7))
		walk(&r, &got)
		if r.Failed() || len(r.Buf) != 1 || !reflect.DeepEqual(got, want) && !isUnknown(got, want) {
			t.Errorf("%s %v is read as %v, with %x left, %v", name, want, got, r.Buf, r.Done())
		}
		for n := range raw {
			r := Reader(raw[:n])
			if walk(&r, new(T)); !r.Failed() {
				t.Errorf("%s %v is read from %d of %d bytes", name, want, n, len(raw))
			}
		}
	}
}

func isUnknown[T any](a, b T) bool {
	x, ok := any(a).(float64)
	y, _ := any(b).(float64)
	return ok && !market.Known(x) && !market.Known(y)
}

// TestEveryKindOfField: every kind reads back what it wrote, in the bytes that the
// format has for it.
func TestEveryKindOfField(t *testing.T) {
	checkField(t, "U64", func(c *Coder, v *uint64) { c.U64("x", v) }, []uint64{0, 127, 128, math.MaxUint64},
		"00", "7f", "8001", "ffffffffffffffffff01")
	checkField(t, "U32", func(c *Coder, v *uint32) { c.U32("x", v) }, []uint32{0, 300, math.MaxUint32},
		"00", "ac02", "ffffffff0f")
	checkField(t, "U16", func(c *Coder, v *uint16) { c.U16("x", v) }, []uint16{0, 1, math.MaxUint16}, "00", "01", "ffff03")
	checkField(t, "I64", func(c *Coder, v *int64) { c.I64("x", v) },
		[]int64{0, -1, 1, -60, math.MaxInt64, math.MinInt64},
		"00", "01", "02", "77", "feffffffffffffffff01", "ffffffffffffffffff01")
	checkField(t, "I32", func(c *Coder, v *int32) { c.I32("x", v) }, []int32{0, -1, math.MaxInt32, math.MinInt32},
		"00", "01", "feffffff0f", "ffffffff0f")
	checkField(t, "Time32", func(c *Coder, v *uint32) { c.Time32("x", v) }, []uint32{0, 1, math.MaxUint32},
		"00", "02", "feffffff1f")
	checkField(t, "Index", func(c *Coder, v *uint32) { c.Index("x", v) }, []uint32{market.NoIndex, 0, market.NoIndex - 1},
		"00", "01", "ffffffff0f")

	const f8, f16 = "ffffffffffffffff", "ffffffffffffffffffffffffffffffff"
	checkField(t, "U256", func(c *Coder, v *clmath.U256) { c.U256("x", v) },
		[]clmath.U256{{}, {1}, {65536}, {0, 1}, {math.MaxUint64}, {0, 0, 0, 1 << 63}},
		"00", "0101", "03000001", "09000000000000000001", "08"+f8, "20"+strings.Repeat("00", 31)+"80")
	checkField(t, "U128", func(c *Coder, v *clmath.U128) { c.U128("x", v) },
		[]clmath.U128{{}, {Lo: 255}, {Lo: 256}, {Lo: math.MaxUint64}, {Hi: 1}, {Hi: 256}, {Lo: math.MaxUint64, Hi: math.MaxUint64}},
		"00", "01ff", "020001", "08"+f8, "09000000000000000001", "0a00000000000000000001", "10"+f16)
	checkField(t, "I128", func(c *Coder, v *clmath.I128) { c.I128("x", v) },
		[]clmath.I128{{}, {Lo: math.MaxUint64, Hi: -1}, {Lo: 1}, {Lo: 1 << 63}, {Hi: math.MinInt64}, {Lo: math.MaxUint64, Hi: math.MaxInt64}},
		"00", "0101", "0102", "09000000000000000001", "10"+f16, "10fe"+f16[2:])

	checkField(t, "F64", func(c *Coder, v *float64) { c.F64("x", v) }, []float64{0, 1.5, math.Inf(-1)},
		"0000000000000000", "3ff8000000000000", "fff0000000000000")
	checkField(t, "USD", func(c *Coder, v *float64) { c.USD("x", v) },
		[]float64{0, market.Unknown, 1.5, math.Copysign(0, -1), math.Inf(1)},
		"00", "01", "083ff8000000000000", "088000000000000000", "087ff0000000000000")

	checkField(t, "Fixed", func(c *Coder, v *[3]byte) { c.Fixed("x", v[:]) }, [][3]byte{{}, {1, 2, 3}}, "000000", "010203")
	checkField(t, "Bytes", func(c *Coder, v *[]byte) { c.Bytes("x", v) }, [][]byte{nil, {0}, []byte("abc")}, "00", "0100", "03616263")
	checkField(t, "Text", func(c *Coder, v *texts.Text) { c.Text("x", true, v) },
		[]texts.Text{texts.New(""), texts.New("ab")}, "00", "026162")
	checkField(t, "no Text", func(c *Coder, v *texts.Text) { c.Text("x", false, v) }, []texts.Text{0}, "")
	checkField(t, "Small", func(c *Coder, v *uint8) { c.Small("x", v, 9) }, []uint8{0, 9}, "00", "09")
	checkField(t, "Flags", func(c *Coder, v *[3]bool) { c.Flags("x", &v[0], &v[1], &v[2]) },
		[][3]bool{{}, {true}, {true, false, true}, {true, true, true}}, "00", "01", "05", "07")
}

// TestLateFields: a field that earlier formats lack is left out if it is empty, and read
// if there is more of the record.
func TestLateFields(t *testing.T) {
	for value, bytes := range map[uint32]string{0: "", 5: "05", 300: "ac02"} {
		var w Coder
		if w.LateU32("x", &value); fmt.Sprintf("%x", w.Buf) != bytes {
			t.Errorf("a late %d is %x; want %s", value, w.Buf, bytes)
		}
		got, r := uint32(0), Reader(w.Buf)
		if r.LateU32("x", &got); got != value || r.Done() != nil {
			t.Errorf("a late %d is read as %d, %v", value, got, r.Done())
		}
	}
}

// TestSplitFields: a record is taken apart at the ends of its fields, as often as it is
// begun anew.
func TestSplitFields(t *testing.T) {
	var c Coder
	for range 2 {
		number, amount, usd, flag, name := uint64(300), clmath.U256{1}, 1.5, true, []byte("ab")
		c.Split()
		c.U64("number", &number)
		c.U256("amount", &amount)
		c.USD("usd", &usd)
		c.F64("float", &usd)
		c.Flags("flag", &flag)
		c.Fixed("fixed", name)
		c.Bytes("name", &name)
		small := uint8(3)
		c.Small("small", &small, 9)

		want := []string{"ac02", "0101", "083ff8000000000000", "3ff8000000000000", "01", "6162", "02", "6162", "03"}
		if c.Fields() != len(want) {
			t.Fatalf("%d fields; want %d", c.Fields(), len(want))
		}
		for k := range want {
			if got := fmt.Sprintf("%x", c.Field(k)); got != want[k] {
				t.Errorf("field %d is %s; want %s", k, got, want[k])
			}
		}
	}
}
