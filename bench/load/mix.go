package load

import (
	"math/rand/v2"
	"time"
)

// Mix is what is asked: parts by weight.
type Mix []Part

// Part is one kind of request.
type Part struct {
	Name   string // ByPath: in problems, each request has its own
	Weight int    // of the sum of all; at least 1
	// Path appends path and query; every worker calls it, with an r of its own.
	Path func(dst []byte, r *rand.Rand) []byte
	// Units are what a 200 or 404 costs. AnyUnits: what the answers say.
	Units int64
	// Accept are the statuses besides 200 that are no failure.
	Accept []int
}

const (
	// ByPath is the name of a part whose requests have nothing in common.
	ByPath = ""
	// AnyUnits are the units of a part whose cost is not known.
	AnyUnits = -1
)

// Fixed returns a Path that is always the same.
func Fixed(path string) func([]byte, *rand.Rand) []byte {
	return func(dst []byte, _ *rand.Rand) []byte { return append(dst, path...) }
}

// pick draws a part by weight; sum is that of all weights.
func (m Mix) pick(r *rand.Rand, sum int) *Part {
	x := r.IntN(sum)
	for i := range m {
		if x -= m[i].Weight; x < 0 {
			return &m[i]
		}
	}
	panic("BUG: a draw beyond the sum of the weights")
}

// Pace is a constant rate of requests a second. When a request is due depends
// on nothing but how many were due before it.
type Pace float64

// At returns when request hit is due, counted from the start.
func (p Pace) At(hit uint64) time.Duration {
	return time.Duration(float64(hit) / float64(p) * float64(time.Second))
}
