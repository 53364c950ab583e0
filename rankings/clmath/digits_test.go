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
		if got := string(append8(nil, both)); got != want {
			t.Fatalf("got %s; want %s", got, want)
		}
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
