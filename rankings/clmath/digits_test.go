package clmath

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestAppendUint(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := func(v uint64) {
		t.Helper()
		if got, want := string(AppendUint([]byte("x"), v)), "x"+strconv.FormatUint(v, 10); got != want {
			t.Fatalf("got %s; want %s", got, want)
		}
	}

	f(0)
	f(math.MaxUint64)
	for power := uint64(10); power < 1e19; power *= 10 {
		for _, v := range []uint64{power - 1, power, power + 1, 9 * power} {
			f(v)
		}
	}

	for range 1_000_000 {
		f(r.Uint64() >> r.IntN(64))
	}
}

// TestEightDigits sees every four digits in both halves of a word.
func TestEightDigits(t *testing.T) {
	for v := range uint64(10_000) {
		both := v*1e4 + 9999 - v
		want := strconv.FormatUint(1e8+both, 10)[1:]
		got := make([]byte, 8)
		if put8(got, both); string(got) != want {
			t.Fatalf("got %s; want %s", got, want)
		}
	}
}

func FuzzScaled(f *testing.F) {
	f.Add(uint64(1), uint8(0))
	f.Add(uint64(1), uint8(22))
	f.Add(uint64(1e16-1), uint8(1))
	f.Add(uint64(1e16), uint8(16))
	f.Add(uint64(1e16), uint8(17))
	f.Add(uint64(1e17-1), uint8(16))
	f.Add(uint64(1e17-1), uint8(22))
	f.Add(uint64(120_000_000), uint8(8))
	f.Add(uint64(120_000_000), uint8(3))
	f.Add(uint64(1_234_567_800_000_000), uint8(9))

	f.Fuzz(func(t *testing.T, digits uint64, decimals uint8) {
		digits, decimals = max(digits%1e17, 1), decimals%23
		want := string(AppendPoint([]byte("x"), strconv.AppendUint(nil, digits, 10), decimals))
		if got := string(AppendScaled([]byte("x"), digits, int(decimals))); got != want {
			t.Fatalf("%d, %d decimals: got %s; want %s", digits, decimals, got, want)
		}
	})
}

// TestScaled sees all lengths, with zeros at the end, and all places of the point.
func TestScaled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for power := uint64(1); power < 1e17; power *= 10 {
		for zeros := uint64(1); zeros <= power; zeros *= 10 {
			digits := max(1, r.Uint64N(9*power/zeros)+power/zeros) * zeros % 1e17
			for decimals := range 23 {
				want := string(AppendPoint(nil, strconv.AppendUint(nil, digits, 10), uint8(decimals)))
				if got := string(AppendScaled(nil, digits, decimals)); digits > 0 && got != want {
					t.Fatalf("%d, %d decimals: got %s; want %s", digits, decimals, got, want)
				}
			}
		}
	}
}

func BenchmarkScaled(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var digits [1 << 10]uint64
	for i := range digits {
		digits[i] = 1 + r.Uint64N(1e17)>>r.IntN(20)
	}

	buf := make([]byte, 0, 64)
	for i := 0; b.Loop(); i++ {
		AppendScaled(buf, digits[i%len(digits)], 14)
	}
}

func BenchmarkAppendUint(b *testing.B) {
	buf := make([]byte, 0, 32)
	for _, v := range []uint64{12_345, 123_456_789_012, 12_345_678_901_234_567} {
		b.Run(strconv.FormatUint(v, 10), func(b *testing.B) {
			for b.Loop() {
				AppendUint(buf, v)
			}
		})

		b.Run("strconv", func(b *testing.B) {
			for b.Loop() {
				strconv.AppendUint(buf, v, 10)
			}
		})
	}
}
