package clmath

import "testing"

func TestAppendAmount(t *testing.T) {
	f := func(raw string, decimals uint8, want string) {
		t.Helper()
		v, err := ParseDecimal(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendAmount([]byte("x"), &v, decimals)); got != "x"+want {
			t.Errorf("AppendAmount(%s, %d) = %s; want x%s", raw, decimals, got, want)
		}
	}

	f("0", 0, "0")
	f("0", 18, "0")
	f("7", 0, "7")
	f("1", 18, "0.000000000000000001")
	f("10", 1, "1")
	f("10", 18, "0.00000000000000001")
	f("1000000000000000000", 18, "1")
	f("1500000000000000000", 18, "1.5")
	f("123456789", 6, "123.456789")
	f("123000000", 6, "123")
	f("100000000000000000000000000000000000000", 6, "100000000000000000000000000000000")

	// 2^256 - 1.
	f("115792089237316195423570985008687907853269984665640564039457584007913129639935", 0,
		"115792089237316195423570985008687907853269984665640564039457584007913129639935")
	f("115792089237316195423570985008687907853269984665640564039457584007913129639935", 77,
		"1.15792089237316195423570985008687907853269984665640564039457584007913129639935")
	f("5", 77, "0.00000000000000000000000000000000000000000000000000000000000000000000000000005")
}

func TestParseDecimalRefuses(t *testing.T) {
	f := func(s string) {
		t.Helper()
		if v, err := ParseDecimal(s); err == nil {
			t.Errorf("ParseDecimal(%q) = %s; want an error", s, v.Dec())
		}
	}

	f("")
	f("+1")
	f("-1")
	f("01")
	f("1.0")
	f("0x1")
	f("115792089237316195423570985008687907853269984665640564039457584007913129639936")
}

func FuzzDecimal(f *testing.F) {
	f.Add(uint64(1), uint64(0), uint64(9), uint64(1)<<63)
	f.Add(uint64(0), uint64(0), uint64(0), uint64(0))
	f.Add(uint64(tenTo19), uint64(0), uint64(0), uint64(0))
	f.Add(uint64(tenTo19-1), uint64(tenTo19-1), uint64(0), uint64(0))
	f.Add(uint64(0), uint64(tenTo19), uint64(0), uint64(1))
	f.Add(^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0))

	f.Fuzz(func(t *testing.T, a, b, c, d uint64) {
		v := U256{a, b, c, d}
		if got := string(AppendDecimal(nil, &v)); got != v.Dec() {
			t.Fatalf("AppendDecimal = %s; want %s", got, v.Dec())
		}
	})
}

func TestU128(t *testing.T) {
	f := func(v U128, d I128, want U128, over bool) {
		t.Helper()
		if got, o := v.Apply(d); got != want || o != over {
			t.Errorf("%v.Apply(%v) = %v, %v; want %v, %v", v, d, got, o, want, over)
		}
	}
	f(U128{5, 0}, I128{3, 0}, U128{8, 0}, false)
	f(U128{5, 0}, I128{3, 0}.Neg(), U128{2, 0}, false)
	f(U128{0, 1}, I128{1, 0}.Neg(), U128{^uint64(0), 0}, false)
	f(U128{2, 0}, I128{3, 0}.Neg(), U128{^uint64(0), ^uint64(0)}, true)
	f(U128{^uint64(0), ^uint64(0)}, I128{1, 0}, U128{}, true)
}

func BenchmarkAppendAmount(b *testing.B) {
	v, _ := ParseDecimal("123456789012345678901234567")
	buf := make([]byte, 0, 100)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendAmount(buf[:0], &v, 18)
	}
}
