package load

import "math/rand/v2"

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
func (p *Part) accepts(status int) bool {
	if status == 200 {
		return true
	}
	for _, s := range p.Accept {
		if s == status {
			return true
		}
	}
	return false
}

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

// picker draws parts of a mix by weight.
type picker struct {
	until []int // cumulative weights
}

func newPicker(m Mix) picker {
	var p picker
	sum := 0
	for i := range m {
		sum += m[i].Weight
		p.until = append(p.until, sum)
	}
	return p
}

func (p *picker) pick(r *rand.Rand) int {
	if len(p.until) == 1 {
		return 0
	}
	x := r.IntN(p.until[len(p.until)-1])
	for i, until := range p.until {
		if x < until {
			return i
		}
	}
	panic("BUG: a draw beyond the sum of the weights")
}
