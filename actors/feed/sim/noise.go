package sim

import (
	"encoding/binary"
	"math"
	"math/bits"

	"tidemark/rankings/clmath"
)

// mix is a bijection of 64 bits in which every input bit moves every output
// bit (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15

// hash folds words into one; their order matters.
func hash(words ...uint64) uint64 {
	h := uint64(golden)
	for _, w := range words {
		h = mix(h+golden) ^ mix(w+golden)
		h = mix(h)
	}
	return h
}

// hashName folds a text, so that what it names has noise of its own.
func hashName(seed uint64, name string) uint64 {
	h := hash(seed, uint64(len(name)))
	for i := range len(name) {
		h = hash(h, uint64(name[i]))
	}
	return h
}

// fillBytes fills dst with bytes that depend on key alone.
func fillBytes(dst []byte, key uint64) {
	for i := 0; i < len(dst); i += 8 {
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], mix(key+uint64(i+1)*golden))
		copy(dst[i:], word[:])
	}
}

// dice is the randomness of one action: its key names seed, chain, block and
// action, and every draw counts.
type dice struct{ key, draws uint64 }

func (d *dice) next() uint64 {
	d.draws++
	return mix(d.key + d.draws*golden)
}

// below returns 0 to n-1; n must not be 0.
func (d *dice) below(n uint64) uint64 {
	hi, _ := bits.Mul64(d.next(), n)
	return hi
}

// chance is true in so many of a thousand draws.
func (d *dice) chance(permille uint64) bool { return d.below(1000) < permille }

// normal returns about a normal deviate in thousandths of its deviation, the
// sum of four uniform ones: at most 3.46 deviations away.
func (d *dice) normal() int64 {
	x := d.next()
	sum := int64(x&0xffff) + int64(x>>16&0xffff) + int64(x>>32&0xffff) + int64(x>>48)
	return (sum - 2*0xffff) * 1000 / 37837
}

// skewed returns 0 to n-1, small numbers far more often: the k-th is drawn
// about k^(-3/4) times as often as the first.
func (d *dice) skewed(n uint64) uint64 {
	u := d.next()
	u, _ = bits.Mul64(u, u)
	u, _ = bits.Mul64(u, u)
	hi, _ := bits.Mul64(u, n)
	return hi
}

// logNormal returns a multiple of 1 with the median 1 and the given standard
// deviation of its natural logarithm, in thousandths.
func (d *dice) logNormal(sigma int64) float64 {
	return exp(d.normal() * sigma / 100) // 1 in the logarithm is 10^4 ticks
}

// exp returns 1.0001^ticks, by the contracts' integers instead of a library's
// exponential: the market must not depend on the machine.
func exp(ticks int64) float64 {
	ticks = min(max(ticks, clmath.MinTick), clmath.MaxTick)
	root := clmath.SqrtPriceAtTick(int32(ticks))
	x := clmath.Float64(&root) / (1 << 96)
	return x * x
}

// waveOne is the amplitude of wave.
const waveOne = 1 << 15

// wave is smooth noise between -waveOne and waveOne: random values every
// period seconds, and a cubic between them.
func wave(key uint64, t, period int64) int64 {
	i, f := t/period, t%period
	if f < 0 {
		i, f = i-1, f+period
	}
	f = f << 16 / period
	a, b := lattice(key, i), lattice(key, i+1)
	smooth := f * f * (3<<16 - 2*f) >> 32
	return a + (b-a)*smooth>>16
}

func lattice(key uint64, i int64) int64 {
	return int64(mix(key+uint64(i)*golden)>>48) - waveOne
}

// whole returns x cut to an integer; x is at least 0 and below 2^128.
func whole(x float64) clmath.U128 {
	if !(x >= 1) {
		return clmath.U128{}
	}
	frac, exponent := math.Frexp(x)
	if exponent > 128 {
		panic("BUG: amount above 128 bits")
	}

	mantissa := uint64(frac * (1 << 53))
	if exponent <= 53 {
		return clmath.U128{Lo: mantissa >> (53 - exponent)}
	}

	shift := uint(exponent - 53)
	if shift >= 64 {
		return clmath.U128{Hi: mantissa << (shift - 64)}
	}
	return clmath.U128{Lo: mantissa << shift, Hi: mantissa >> (64 - shift)}
}
