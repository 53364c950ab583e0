package main

import "slices"

// marks make the n-th row of a list found without walking to it, in a database
// whose indexes do not count: every markEvery-th row of the list, so that a
// page begins at most so many behind one that is known. The total stands beside
// them: a count cache. Both are made anew with every refresh, by the loader,
// and a front holds them in memory.
type marks struct {
	total uint64
	every []place
}

// markEvery is ten pages: a few microseconds to walk, and a mark takes 16
// bytes of memory for 200 rows.
const markEvery = 200

func markList(sorted []place) *marks {
	m := &marks{total: uint64(len(sorted))}
	for i := 0; i < len(sorted); i += markEvery {
		m.every = append(m.every, sorted[i])
	}
	return m
}

// before returns the last mark at or before an offset into the list, and how
// many rows lie between; false when the offset is at or behind the end.
func (m *marks) before(offset uint64) (from place, skip uint64, ok bool) {
	if m == nil || offset >= m.total {
		return place{}, 0, false
	}
	return m.every[offset/markEvery], offset % markEvery, true
}

// markAll makes the marks of every list, and tells each sorted list, if there
// is somebody to tell.
func markAll(c *columns, tell func(list, []place) error) (map[list]*marks, error) {
	all := map[list]*marks{}
	for _, l := range lists(c.chains) {
		sorted := c.sorted(l)
		all[l] = markList(sorted)
		if tell == nil {
			continue
		}
		if err := tell(l, sorted); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// byName is how a database has the lists of marks.
func byName(chains []uint32) map[string]list {
	names := map[string]list{}
	for _, l := range lists(chains) {
		names[l.name()] = l
	}
	return names
}

// markRow is a mark as a database keeps it. Row n = -1 has the total instead.
type markRow struct {
	list  string
	n     int64
	score float64
	row   int64
}

// markRows returns what a database is to keep, by list and number.
func markRows(all map[list]*marks) (rows []markRow) {
	for l, m := range all {
		rows = append(rows, markRow{l.name(), -1, 0, int64(m.total)})
		for n, p := range m.every {
			rows = append(rows, markRow{l.name(), int64(n), p.score, int64(p.row)})
		}
	}
	slices.SortFunc(rows, func(a, b markRow) int {
		if a.list != b.list {
			if a.list < b.list {
				return -1
			}
			return 1
		}
		return int(a.n - b.n)
	})
	return rows
}

// takeMark enters what a database kept; marks come by list and number.
func takeMark(all map[list]*marks, names map[string]list, r markRow) {
	l := names[r.list]
	if r.n < 0 {
		all[l] = &marks{total: uint64(r.row)}
		return
	}
	all[l].every = append(all[l].every, place{r.score, uint32(r.row)})
}
