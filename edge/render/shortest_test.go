package render

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestShortest compares with strconv: amounts of all sizes, few digits, and
// the neighbours of powers of 2 and of the bounds of the range.
func TestShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var got, want []byte
	f := func(x float64) {
		got, want = number(got[:0], x), strconv.AppendFloat(want[:0], x, 'f', -1, 64)
		if string(got) != string(want) {
			t.Fatalf("%b: got %s; want %s", x, got, want)
		}
	}

	for range 100_000 {
		f(math.Exp(r.Float64()*53 - 13.5))
		f(-float64(r.Uint64N(1e12)) / math.Pow10(r.IntN(6)))
		f(float64(r.Uint64N(1 << 60)))
		power := math.Float64bits(math.Ldexp(1, r.IntN(75)-19))
		f(math.Float64frombits(power + r.Uint64N(9) - 4))
	}
}

func BenchmarkNumber(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var numbers [1 << 16]float64
	for i := range numbers {
		numbers[i] = math.Exp(r.Float64()*20 - 5)
	}

	buf := make([]byte, 0, 64)
	b.Run("here", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			number(buf, numbers[i%len(numbers)])
		}
	})

	b.Run("strconv", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			strconv.AppendFloat(buf, numbers[i%len(numbers)], 'f', -1, 64)
		}
	})
}

// FuzzNumber compares with strconv.
func FuzzNumber(f *testing.F) {
	for _, x := range []float64{0, 1, 0.1, 1e-6, 1e-7, 1e21, 1e22, 123456789, 1 << 53, 1<<53 + 2, math.Inf(1)} {
		f.Add(x)
		f.Add(math.Nextafter(x, 0))
		f.Add(-math.Nextafter(x, math.Inf(1)))
	}

	f.Fuzz(func(t *testing.T, x float64) {
		format := byte('f')
		if abs := math.Abs(x); abs < 1e-6 || abs >= 1e21 {
			format = 'e'
		}
		want := strconv.FormatFloat(x+0, format, -1, 64)
		switch {
		case x == 0:
			want = "0"
		case math.IsNaN(x) || math.IsInf(x, 0):
			want = null
		}
		if got := string(number([]byte("x"), x)); got != "x"+want {
			t.Fatalf("%b: got %s; want x%s", x, got, want)
		}
	})
}
