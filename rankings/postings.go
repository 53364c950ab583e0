package rankings

import (
	"math/bits"
	"slices"

	"tidemark/rankings/block"
)

// postings lists the rows of every group; a group is a pool, an owner or a
// token. Rows below covered are in lists that were built by a counting sort.
// The few rows that were added or changed their group since then are in recent.
type postings struct {
	starts  []uint32 // where each group starts in rows, and the end
	rows    []uint32
	covered uint32   // rows below were sorted
	recent  []uint32 // ascending: changed rows, then all from covered on
}

// postingsSlack is how many recent rows there may be. A question that uses the
// list tests them all, which takes microseconds; building new lists takes
// milliseconds.
const postingsSlack = 4096

// extend returns the postings of col, given p, the postings of the column before it. A column
// has the group of each row.
func (p *postings) extend(col *steady[uint32], groups uint32, pause func()) postings {
	n := col.len()
	if n < p.covered || p.starts == nil {
		return newPostings(col, groups, pause)
	}

	// A row that was recent once stays so: the lists have it in an older group.
	unsorted, _ := slices.BinarySearch(p.recent, p.covered)
	sorted, _ := slices.BinarySearch(col.changed, p.covered)
	recent := mergeRows(p.recent[:unsorted], col.changed[:sorted])
	if len(recent)+int(n-p.covered) > postingsSlack {
		return newPostings(col, groups, pause)
	}

	for i := p.covered; i < n; i++ {
		recent = append(recent, i)
	}

	return postings{starts: p.starts, rows: p.rows, covered: p.covered, recent: recent}
}

// mergeRows returns the rows of two lists, which ascend, each once.
func mergeRows(a, b []uint32) []uint32 {
	rows := slices.Concat(a, b)
	slices.Sort(rows)
	return slices.Compact(rows)
}

// newPostings sorts the rows by group.
func newPostings(col *steady[uint32], groups uint32, pause func()) postings {
	// Group g is counted at g+2 and filled at g+1, so that its start is at g in
	// the end.
	starts := make([]uint32, groups+2)
	inStrides(int(col.len()), pause, func(from, to int) {
		for i := from; i < to; i++ {
			starts[col.at(uint32(i))+2]++
		}
	})

	for g := range groups {
		starts[g+2] += starts[g+1]
	}

	rows := make([]uint32, col.len())
	inStrides(len(rows), pause, func(from, to int) {
		for i := from; i < to; i++ {
			g := col.at(uint32(i))
			rows[starts[g+1]] = uint32(i)
			starts[g+1]++
		}
	})
	return postings{starts: starts[:groups+1], rows: rows, covered: col.len()}
}

// candidates returns rows that include all those of the group, each once. The
// caller must not change them.
func (p *postings) candidates(group uint32) []uint32 {
	if len(p.recent) == 0 {
		return p.builtRows(group)
	}
	return p.appendBuilt(slices.Clone(p.recent), group)
}

// builtRows returns the rows that were in the group when the lists were built.
func (p *postings) builtRows(group uint32) []uint32 {
	if int(group)+1 >= len(p.starts) {
		return nil
	}
	return p.rows[p.starts[group]:p.starts[group+1]]
}

// appendBuilt appends the built rows of the group that are not recent.
func (p *postings) appendBuilt(among []uint32, group uint32) []uint32 {
	for _, row := range p.builtRows(group) {
		if _, also := slices.BinarySearch(p.recent, row); !also {
			among = append(among, row)
		}
	}
	return among
}

// rowsOf returns the rows of a group in ascending order. col has the group of each
// row.
func (p *postings) rowsOf(col *steady[uint32], group uint32) groupRows {
	return groupRows{col: col, group: group, built: p.builtRows(group), recent: p.recent}
}

// groupRows iterates over the rows of a group.
type groupRows struct {
	col           *steady[uint32]
	group         uint32
	built, recent []uint32 // not read yet; both include rows of other groups
}

// left returns up to how many rows there are still.
func (g *groupRows) left() int { return len(g.built) + len(g.recent) }

// next returns the next row.
func (g *groupRows) next() (row uint32, ok bool) {
	for g.left() > 0 {
		switch {
		case len(g.recent) == 0 || len(g.built) > 0 && g.built[0] < g.recent[0]:
			row, g.built = g.built[0], g.built[1:]
		default:
			// A recent row can be in the list of its group as well.
			if len(g.built) > 0 && g.built[0] == g.recent[0] {
				g.built = g.built[1:]
			}
			row, g.recent = g.recent[0], g.recent[1:]
		}

		if g.col.at(row) == g.group {
			return row, true
		}
	}
	return 0, false
}

// candidatesOfGroups returns rows that include all those of the groups, each
// once; few is false if they are more than most.
func (p *postings) candidatesOfGroups(groups *block.Bitmap, most int) (among []uint32, few bool) {
	n := len(p.recent)
	words := groups.Words()
	for w, word := range words {
		for ; word != 0 && n <= most; word &= word - 1 {
			n += len(p.builtRows(uint32(w*64 + bits.TrailingZeros64(word))))
		}
	}

	if n > most {
		return nil, false
	}

	among = append(make([]uint32, 0, n), p.recent...)
	for w, word := range words {
		for ; word != 0; word &= word - 1 {
			among = p.appendBuilt(among, uint32(w*64+bits.TrailingZeros64(word)))
		}
	}

	return among, true
}
