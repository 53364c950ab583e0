package load

import (
	"math/rand/v2"
	"slices"
)

// Mix is what is asked: parts by weight.
type Mix []Part

// Part is one kind of request.
type Part struct {
	Name   string
	Weight int // of the sum of all; at least 1
	// Path appends the path and query of a request. It is called from every
	// worker; r is the worker's own.
	Path func(dst []byte, r *rand.Rand) []byte
	// Units are what a 200 or 404 costs; other answers are free.
	Units int64
	// Accept are the statuses besides 200 that are no failure.
	Accept []int
}

// accepts reports whether a status is what the part may be answered with.
func (p *Part) accepts(status int) bool { return status == 200 || slices.Contains(p.Accept, status) }

// price is what an answer of a status costs.
func (p *Part) price(status int) int64 {
	if status == 200 || status == 404 {
		return p.Units
	}
	return 0
}

// Fixed returns a Path that is always the same.
func Fixed(path string) func([]byte, *rand.Rand) []byte {
	return func(dst []byte, _ *rand.Rand) []byte { return append(dst, path...) }
}

// pick draws a part by weight; sum is that of all weights.
func (m Mix) pick(r *rand.Rand, sum int) int {
	if len(m) == 1 {
		return 0
	}
	x := r.IntN(sum)
	for i := range m {
		if x -= m[i].Weight; x < 0 {
			return i
		}
	}
	panic("BUG: a draw beyond the sum of the weights")
}
