package rankings

import "slices"

// postings lists the positions of every group, a pool or an owner: those below
// covered by a counting sort, and beside them the few rows that came or
// changed their group since it was made.
type postings struct {
	starts  []uint32 // of each group in rows, and the end
	rows    []uint32
	covered uint32
	recent  []uint32 // ascending: changed ones, then all from covered on
}

// postingsSlack is how many recent rows a list may carry along: each question
// that uses it tests them all, some microseconds, while a new one costs
// milliseconds.
const postingsSlack = 4096

// extend returns the postings of col, given p of old, both columns of groups
// by position.
func (p *postings) extend(old, col []uint32, groups uint32) postings {
	n := uint32(len(col))
	if n < p.covered || p.starts == nil {
		return newPostings(col, groups)
	}
	recent := make([]uint32, 0, len(p.recent))
	next := p.recent
	for i, g := range old[:p.covered] {
		at := uint32(i)
		if len(next) > 0 && next[0] == at {
			recent, next = append(recent, at), next[1:]
		} else if g != col[i] {
			recent = append(recent, at)
		}
	}
	if len(recent)+int(n-p.covered) > postingsSlack {
		return newPostings(col, groups)
	}
	for i := p.covered; i < n; i++ {
		recent = append(recent, i)
	}
	return postings{starts: p.starts, rows: p.rows, covered: p.covered, recent: recent}
}

func newPostings(col []uint32, groups uint32) postings {
	starts := make([]uint32, groups+2) // group g is counted at g+2, filled at g+1
	for _, g := range col {
		starts[g+2]++
	}
	for g := range groups {
		starts[g+2] += starts[g+1]
	}
	rows := make([]uint32, len(col))
	for i, g := range col {
		rows[starts[g+1]] = uint32(i)
		starts[g+1]++
	}
	return postings{starts: starts[:groups+1], rows: rows, covered: uint32(len(col))}
}

// of returns rows among which are all those of the group, each once. The
// caller must not change them.
func (p *postings) of(group uint32) []uint32 {
	var listed []uint32
	if int(group)+1 < len(p.starts) {
		listed = p.rows[p.starts[group]:p.starts[group+1]]
	}
	if len(p.recent) == 0 {
		return listed
	}
	among := slices.Clone(p.recent)
	for _, row := range listed {
		if _, also := slices.BinarySearch(p.recent, row); !also {
			among = append(among, row)
		}
	}
	return among
}
