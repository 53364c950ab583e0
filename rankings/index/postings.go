package index

import (
	"math/bits"
	"slices"

	"tidemark/rankings/block"
)

// Postings lists the rows of every group; a group is a pool, an owner or a
// token. Rows below covered are in lists that were built by a counting sort.
// The few rows that were added or changed their group since then are in recent.
type Postings struct {
	starts  []uint32 // where each group starts in rows, and the end
	rows    []uint32
	covered uint32   // rows below were sorted
	recent  []uint32 // ascending: changed rows, then all from covered on
}

// postingsSlack is how many recent rows there may be. A question that uses the
// list tests them all, which takes microseconds; building new lists takes
// milliseconds.
const postingsSlack = 4096

// Extend returns the Postings of col, given p, the Postings of the column before it. A column
// has the group of each row.
func (p *Postings) Extend(col *Column[uint32], groups uint32, pause func()) Postings {
	n := col.Len()
	if n < p.covered || p.starts == nil {
		return newPostings(col, groups, pause)
	}

	// A row that was recent once stays so: the lists have it in an older group.
	unsorted, _ := slices.BinarySearch(p.recent, p.covered)
	sorted, _ := slices.BinarySearch(col.Changed, p.covered)
	recent := mergeRows(p.recent[:unsorted], col.Changed[:sorted])
	if len(recent)+int(n-p.covered) > postingsSlack {
		return newPostings(col, groups, pause)
	}

	for i := p.covered; i < n; i++ {
		recent = append(recent, i)
	}

	return Postings{starts: p.starts, rows: p.rows, covered: p.covered, recent: recent}
}

// mergeRows returns the rows of two lists, which ascend, each once.
func mergeRows(a, b []uint32) []uint32 {
	rows := slices.Concat(a, b)
	slices.Sort(rows)
	return slices.Compact(rows)
}

// newPostings sorts the rows by group.
func newPostings(col *Column[uint32], groups uint32, pause func()) Postings {
	// Group g is counted at g+2 and filled at g+1, so that its start is at g in
	// the end.
	starts := make([]uint32, groups+2)
	InStrides(int(col.Len()), pause, func(from, to int) {
		for i := from; i < to; i++ {
			starts[col.At(uint32(i))+2]++
		}
	})

	for g := range groups {
		starts[g+2] += starts[g+1]
	}

	rows := make([]uint32, col.Len())
	InStrides(len(rows), pause, func(from, to int) {
		for i := from; i < to; i++ {
			g := col.At(uint32(i))
			rows[starts[g+1]] = uint32(i)
			starts[g+1]++
		}
	})
	return Postings{starts: starts[:groups+1], rows: rows, covered: col.Len()}
}

// Candidates returns rows that include all those of the group, each once. The
// caller must not change them.
func (p *Postings) Candidates(group uint32) []uint32 {
	if len(p.recent) == 0 {
		return p.builtRows(group)
	}
	return p.appendBuilt(slices.Clone(p.recent), group)
}

// builtRows returns the rows that were in the group when the lists were built.
func (p *Postings) builtRows(group uint32) []uint32 {
	if int(group)+1 >= len(p.starts) {
		return nil
	}
	return p.rows[p.starts[group]:p.starts[group+1]]
}

// appendBuilt appends the built rows of the group that are not recent.
func (p *Postings) appendBuilt(among []uint32, group uint32) []uint32 {
	for _, row := range p.builtRows(group) {
		if _, also := slices.BinarySearch(p.recent, row); !also {
			among = append(among, row)
		}
	}
	return among
}

// RowsOf returns the rows of a group in ascending order. col has the group of each
// row.
func (p *Postings) RowsOf(col *Column[uint32], group uint32) GroupRows {
	return GroupRows{col: col, group: group, built: p.builtRows(group), recent: p.recent}
}

// GroupRows iterates over the rows of a group.
type GroupRows struct {
	col           *Column[uint32]
	group         uint32
	built, recent []uint32 // not read yet; both include rows of other groups
}

// Left returns up to how many rows there are still.
func (g *GroupRows) Left() int { return len(g.built) + len(g.recent) }

// Next returns the next row.
func (g *GroupRows) Next() (row uint32, ok bool) {
	for g.Left() > 0 {
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

		if g.col.At(row) == g.group {
			return row, true
		}
	}
	return 0, false
}

// CandidatesOf returns rows that include all those of the groups, each
// once; few is false if they are more than most.
func (p *Postings) CandidatesOf(groups *block.Bitmap, most int) (among []uint32, few bool) {
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
