package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/bench/process"
	"tidemark/rankings"
)

// What PostgreSQL and SQLite are asked. Both have the same tables:
//
//	position   what is sorted and filtered by, narrow, so that scans are short
//	body       the rest of the answer, by row
//
// and the same indexes: for every list one in its order, partial where the list
// is. The lists of all chains also carry what filters look at, so that a filter
// walks an order without touching the table; and a count has an index of its
// own, by value.

// sqlPeer answers from either, over sessions that are idle between requests.
type sqlPeer struct {
	dialect
	idle  chan session // of one while it is loaded
	marks map[list]*marks
	pages map[list]string // texts of pages with the usual number of rows
}

// dialect is what the two differ in.
type dialect struct {
	version  string
	server   *process.Child // nil: it is in this process
	key      string         // the column type of a key, which is a row
	include  bool           // columns that an index carries are no part of its order
	begin    []string       // before the tables
	tune     []string       // after them
	finish   []string       // after the indexes
	sessions int            // to ask with
	dial     func(ctx context.Context, loading bool) (session, error)
	cleanup  func() error
}

// session is a connection, which one request uses at a time.
type session interface {
	exec(text string) error
	insert(table string, rows [][]any) error
	// prepare plans a text that has so many parameters.
	prepare(text string, parameters int) error
	// ask adds the rows of a page, and counts where there is a text for it.
	ask(out *page, text string, args []any, count string, countArgs []any) error
	close() error
}

// sortColumns are the columns of scores.
var sortColumns = rankings.PositionSorts

// conditions are the columns of flags.
var conditions = []struct {
	flag flags
	name string
}{
	{isOpen, "open"}, {isValued, "valued"}, {isInRange, "in_range"}, {isSafe, "safe"},
	{isStandard, "standard"},
}

// names are the columns of flags.
func (f flags) names() (names []string) {
	for _, c := range conditions {
		if f.has(c.flag) {
			names = append(names, c.name)
		}
	}
	return names
}

// where spells flags as a condition; that of none always holds.
func (f flags) where() string {
	if f == 0 {
		return "true"
	}
	return strings.Join(f.names(), " AND ")
}

// tables are those of both; SQLite takes types by parts of their names.
func (d *dialect) tables() []string {
	position := "CREATE TABLE position (row BIGINT, chain BIGINT, value FLOAT, tvl FLOAT"
	for _, c := range conditions {
		position += ", " + c.name + " BOOL"
	}
	for _, c := range sortColumns {
		position += ", " + c + " FLOAT"
	}
	return []string{position + ")", "CREATE TABLE body (row " + d.key + ", body BYTEA)"}
}

// indexes spells those of some chains.
func (d *dialect) indexes(chains []uint32) (texts []string) {
	add := func(name string, order, carried []string, where flags) {
		columns := strings.Join(order, ", ")
		switch {
		case !d.include: // with the flags, or they would be looked up, which all rows of it have
			columns = strings.Join(slices.Concat(order, carried, where.names()), ", ")
		case carried != nil:
			columns += ") INCLUDE (" + strings.Join(carried, ", ")
		}
		text := fmt.Sprintf("CREATE INDEX %s ON position (%s)", name, columns)
		if where != 0 {
			text += " WHERE " + where.where()
		}
		texts = append(texts, text)
	}

	for sort, column := range sortColumns {
		l := list{sort: rankings.PositionSort(sort)}
		add("of_"+column, []string{column, "row"}, []string{"value", "tvl", "in_range"}, l.needs())
		if len(chains) > 1 {
			add("of_chain_"+column, []string{"chain", column, "row"}, nil, l.needs())
		}
		if !leavesOut(l.sort) {
			add("of_every_"+column, []string{column, "row"}, nil, 0)
		}
	}
	add("of_value", []string{"value"}, []string{"tvl", "in_range"}, isOpen|isSafe)
	return texts
}

// pageText asks for a page of a list: rows from a mark on, $1 and $2, of chain
// $3 if the list is of one, less the first ones, the last parameter. SQLite
// numbers parameters by first sight, so they are named in this sequence.
func pageText(l list, limit uint64) string {
	terms := fmt.Sprintf("%s AND (%s, row) >= ($1, $2)", l.needs().where(), sortColumns[l.sort])
	skip := "$3"
	if l.chain != 0 {
		terms, skip = terms+" AND chain = $3", "$4"
	}
	return selectBodies(l.sort, terms, fmt.Sprintf("LIMIT %d OFFSET %s", limit, skip))
}

// selectBodies joins the rows of a page with their bodies, in its order.
func selectBodies(sort rankings.PositionSort, terms, end string) string {
	return fmt.Sprintf("SELECT b.body FROM (SELECT row, %[1]s AS score FROM position WHERE %[2]s "+
		"ORDER BY %[1]s, row %[3]s) p JOIN body b ON b.row = p.row ORDER BY p.score, p.row",
		sortColumns[sort], terms, end)
}

// countText counts a list, as far as totals are told; of chain $1.
func countText(l list) string {
	terms := l.needs().where()
	if l.chain != 0 {
		terms += " AND chain = $1"
	}
	return countCapped(terms)
}

func countCapped(terms string) string {
	return fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM position WHERE %s LIMIT %d) c", terms, totalCap+1)
}

// filterTexts ask for a page of open positions that are worth at least $1 in
// pools of at least $2, from row $3 of them on, and for their number. Where the
// floor of the pools is above the default, the rows are among those of a list,
// and are looked for in its words, so that the index alone has all there is to
// know.
func filterTexts(q *rankings.PositionQuestion) (page, count string) {
	floors := " AND value >= $1 AND tvl >= $2"
	switch q.Range {
	case rankings.InRange:
		floors += " AND in_range"
	case rankings.OutOfRange:
		floors += " AND NOT in_range"
	}

	counted := (isOpen | isSafe).where()
	among := counted
	if q.MinPoolTVLUsd >= rankings.DefaultMinPoolTVLUsd {
		among = list{sort: q.Sort}.needs().where()
	}
	end := fmt.Sprintf("LIMIT %d OFFSET $3", q.Limit)
	return selectBodies(q.Sort, among+floors, end), countCapped(counted + floors)
}

const (
	// pageRows is how many rows a page has when nobody says how many.
	pageRows = rankings.DefaultLimit
	// insertBatch is how many rows a database takes at once: of bodies 5 MB.
	insertBatch = 2000
)

func (s *sqlPeer) about() (string, *process.Child) { return s.version, s.server }

// load fills new tables and makes the indexes. What it takes to make rows ready
// is not the database's work, and not counted.
func (s *sqlPeer) load(ctx context.Context, c *corpus, w *clock) error {
	loader, err := s.dial(ctx, true)
	if err != nil {
		return err
	}
	exec := func(texts ...string) error {
		return w.run(func() error {
			for _, text := range texts {
				if err := loader.exec(text); err != nil {
					return fmt.Errorf("cannot run %q: %w", text, err)
				}
			}
			return nil
		})
	}
	err = exec(slices.Concat(s.begin, s.tables(), s.tune)...)
	if err == nil {
		err = loadRows(c, loader, w)
	}
	if err == nil {
		err = exec(slices.Concat(s.indexes(c.chains), s.finish)...)
	}
	if err = errors.Join(err, loader.close()); err != nil {
		return err
	}

	s.marks, s.pages, s.idle = map[list]*marks{}, map[list]string{}, make(chan session, s.sessions)
	for range s.sessions {
		one, err := s.dial(ctx, false)
		if err != nil {
			return err
		}
		s.idle <- one
		for _, l := range listsOf(c.chains) {
			s.pages[l] = pageText(l, pageRows)
			if err := one.prepare(s.pages[l], len(l.arguments(place{}, 0))); err != nil {
				return fmt.Errorf("cannot plan %q: %w", s.pages[l], err)
			}
		}
	}
	for _, l := range listsOf(c.chains) {
		s.marks[l] = markList(c.sorted(l))
	}
	return nil
}

func loadRows(c *corpus, to session, w *clock) error {
	var rows [][]any
	flush := func(table string) error {
		err := w.run(func() error { return to.insert(table, rows) })
		rows = rows[:0]
		if err != nil {
			return fmt.Errorf("cannot load %s: %w", table, err)
		}
		return nil
	}
	add := func(table string, row ...any) error {
		if rows = append(rows, row); len(rows) < insertBatch {
			return nil
		}
		return flush(table)
	}

	for i := range c.rows {
		r := &c.rows[i]
		values := []any{int64(i), int64(r.chain), nullable(r.value), nullable(r.tvl)}
		for _, c := range conditions {
			values = append(values, r.flags.has(c.flag))
		}
		for _, score := range r.scores {
			values = append(values, score)
		}
		if err := add("position", values...); err != nil {
			return err
		}
	}
	if err := flush("position"); err != nil {
		return err
	}

	n := int64(-1)
	err := c.bodies(func(body []byte) error {
		n++
		return add("body", n, bytes.Clone(body))
	})
	if err != nil {
		return err
	}
	return flush("body")
}

// nullable is NULL for what is no number.
func nullable(x float64) any {
	if math.IsNaN(x) {
		return nil
	}
	return x
}

// arguments are those of a list's pageText.
func (l list) arguments(from place, skip uint64) []any {
	args := []any{from.score, int64(from.row)}
	if l.chain != 0 {
		args = append(args, int64(l.chain))
	}
	return append(args, int64(skip))
}

func (s *sqlPeer) answer(out *page, q *asked) error {
	one := <-s.idle
	defer func() { s.idle <- one }()

	l, ok := listOf(&q.PositionQuestion)
	if !ok {
		if err := checkFilterable(&q.PositionQuestion); err != nil {
			return err
		}
		text, count := filterTexts(&q.PositionQuestion)
		floors := []any{q.MinValueUsd, q.MinPoolTVLUsd}
		return one.ask(out, text, append(floors, int64(q.Offset())), count, floors)
	}

	m := s.marks[l]
	out.total = m.total
	from, skip, ok := m.before(q.Offset())
	if !ok {
		return nil
	}
	text, args, count := s.pages[l], l.arguments(from, skip), ""
	if q.Limit != pageRows {
		text = pageText(l, q.Limit)
	}
	if q.counted {
		count = countText(l)
	}
	return one.ask(out, text, args, count, args[2:len(args)-1])
}

func (s *sqlPeer) close() (err error) {
	for len(s.idle) > 0 {
		err = errors.Join(err, (<-s.idle).close())
	}
	if s.cleanup != nil {
		err = errors.Join(err, s.cleanup())
	}
	return err
}
