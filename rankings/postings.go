package rankings

import (
	"math/bits"
	"slices"

	"tidemark/rankings/block"
)

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
func (p *postings) extend(old, col []uint32, groups uint32, pause func()) postings {
	n := uint32(len(col))
	if n < p.covered || p.starts == nil {
		return newPostings(col, groups, pause)
	}
	recent := make([]uint32, 0, len(p.recent))
	next := p.recent
	inStretches(int(p.covered), pause, func(from, to int) {
		for i := from; i < to; i++ {
			if len(next) > 0 && next[0] == uint32(i) {
				recent, next = append(recent, next[0]), next[1:]
			} else if old[i] != col[i] {
				recent = append(recent, uint32(i))
			}
		}
	})
	if len(recent)+int(n-p.covered) > postingsSlack {
		return newPostings(col, groups, pause)
	}

	for i := p.covered; i < n; i++ {
		recent = append(recent, i)
	}

	return postings{starts: p.starts, rows: p.rows, covered: p.covered, recent: recent}
}

func newPostings(col []uint32, groups uint32, pause func()) postings {
	starts := make([]uint32, groups+2) // group g is counted at g+2, filled at g+1
	inStretches(len(col), pause, func(from, to int) {
		for _, g := range col[from:to] {
			starts[g+2]++
		}
	})

	for g := range groups {
		starts[g+2] += starts[g+1]
	}

	rows := make([]uint32, len(col))
	inStretches(len(col), pause, func(from, to int) {
		for i := from; i < to; i++ {
			g := col[i]
			rows[starts[g+1]] = uint32(i)
			starts[g+1]++
		}
	})
	return postings{starts: starts[:groups+1], rows: rows, covered: uint32(len(col))}
}

// of returns rows among which are all those of the group, each once. The
// caller must not change them.
func (p *postings) of(group uint32) []uint32 {
	if len(p.recent) == 0 {
		return p.listed(group)
	}
	return p.appendListed(slices.Clone(p.recent), group)
}

// listed returns the rows that were in the group when the list was made.
func (p *postings) listed(group uint32) []uint32 {
	if int(group)+1 >= len(p.starts) {
		return nil
	}
	return p.rows[p.starts[group]:p.starts[group+1]]
}

// appendListed appends the listed rows of the group that are not recent.
func (p *postings) appendListed(among []uint32, group uint32) []uint32 {
	for _, row := range p.listed(group) {
		if _, also := slices.BinarySearch(p.recent, row); !also {
			among = append(among, row)
		}
	}
	return among
}

// ofGroups returns rows among which are all those of the groups, each once,
// unless they are more than most.
func (p *postings) ofGroups(groups *block.Bitmap, most int) (among []uint32, few bool) {
	n := len(p.recent)
	words := groups.Words()
	for w, word := range words {
		for ; word != 0 && n <= most; word &= word - 1 {
			n += len(p.listed(uint32(w*64 + bits.TrailingZeros64(word))))
		}
	}

	if n > most {
		return nil, false
	}
	among = append(make([]uint32, 0, n), p.recent...)
	for w, word := range words {
		for ; word != 0; word &= word - 1 {
			among = p.appendListed(among, uint32(w*64+bits.TrailingZeros64(word)))
		}
	}

	return among, true
}
