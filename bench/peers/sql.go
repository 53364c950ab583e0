package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"text/template"

	"github.com/valyala/fasthttp"

	"tidemark/bench/process"
	"tidemark/rankings"
)

// sqlPeer answers from PostgreSQL or SQLite, over sessions that are idle between
// requests. schema.sql says what both have.
type sqlPeer struct {
	dialect
	idle  chan session
	marks map[list]*marks
	pages map[list]string // texts of pages with the usual number of rows
}

// dialect is what the two differ in besides schema.sql.
type dialect struct {
	version  string
	server   *process.Child // nil: it is in this process
	sessions int            // to ask with
	dial     func(ctx context.Context, loading bool) (session, error)
	cleanup  func() error
}

// session is a connection, which one request uses at a time.
type session interface {
	exec(script string) error
	insert(table string, rows [][]any) error
	// ask adds the rows of a page, and counts where there is a text for it. A
	// text is planned when it is asked first.
	ask(out *page, text string, args []any, count string, countArgs []any) error
	close() error
}

//go:embed schema.sql
var schemaText string

var schema = template.Must(template.New("").Funcs(template.FuncMap{
	"flagOf": func(sort int) string { return flagOf(rankings.PositionSort(sort)) },
}).Parse(schemaText))

// script is one of the two halves of schema.sql, where every order has a column.
func (s *sqlPeer) script(name string, c *corpus) string {
	var text strings.Builder
	err := schema.ExecuteTemplate(&text, name, map[string]any{
		"Postgres": s.server != nil, "Columns": rankings.PositionSorts, "Chains": len(c.chains) > 1,
	})
	if err != nil {
		panic("BUG: schema.sql cannot be filled: " + err.Error())
	}
	return text.String()
}

// flagOf is the flag of the rows in an order that have their place in it.
func flagOf(s rankings.PositionSort) string {
	if leavesOut(s) {
		return "valued"
	}
	return "open"
}

// where is the condition of a list's rows, but for the chain.
func (l list) where() string {
	if l.every {
		return "true"
	}
	return flagOf(l.sort) + " AND standard"
}

// pageText asks for a page of a list: rows from a mark on, $1 and $2, of chain
// $3 if the list is of one, less the first ones, the last parameter. SQLite
// numbers parameters by first sight, so they are named in this sequence.
func pageText(l list, limit uint64) string {
	terms := fmt.Sprintf("%s AND (%s, row) >= ($1, $2)", l.where(), l.sort)
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
		sort, terms, end)
}

// countText counts a list, as far as totals are told; of chain $1.
func countText(l list) string {
	if l.chain != 0 {
		return countCapped(l.where() + " AND chain = $1")
	}
	return countCapped(l.where())
}

func countCapped(terms string) string {
	return fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM position WHERE %s LIMIT %d) c", terms, totalCap+1)
}

// filterTexts ask for a page of open positions that are worth at least $1 in
// pools of at least $2, from row $3 of them on, and for their number. Where the
// floor of the pools is above the default, the rows are among those of a list,
// and are looked for in its words, so that its index alone is read.
func filterTexts(q *rankings.PositionQuestion) (page, count string) {
	floors := " AND value >= $1 AND tvl >= $2" +
		[...]string{"", " AND in_range", " AND NOT in_range"}[q.Range]
	counted := "open AND safe"
	among := counted
	if q.MinPoolTVLUsd >= rankings.DefaultMinPoolTVLUsd {
		among = list{sort: q.Sort}.where()
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
// is not the database's work, and not counted; nor is what comes after it: marks,
// and a first question for every list, by which it is planned.
func (s *sqlPeer) load(ctx context.Context, c *corpus, w *clock) error {
	loader, err := s.dial(ctx, true)
	if err != nil {
		return err
	}
	exec := func(half string) error { return w.run(func() error { return loader.exec(s.script(half, c)) }) }
	if err = exec("begin"); err == nil {
		err = loadRows(c, loader, w)
	}
	if err == nil {
		err = exec("end")
	}
	if err = errors.Join(err, loader.close()); err != nil {
		return fmt.Errorf("cannot load: %w", err)
	}

	s.marks, s.pages, s.idle = map[list]*marks{}, map[list]string{}, make(chan session, s.sessions)
	for _, l := range listsOf(c.chains) {
		s.marks[l], s.pages[l] = markList(c.sorted(l)), pageText(l, pageRows)
	}
	for range s.sessions {
		one, err := s.dial(ctx, false)
		if err != nil {
			return err
		}
		s.idle <- one
		for l, text := range s.pages {
			nowhere := &page{body: new(fasthttp.Response)}
			if err := one.ask(nowhere, text, l.arguments(place{}, 0), "", nil); err != nil {
				return fmt.Errorf("cannot plan %q: %w", text, err)
			}
		}
	}
	return nil
}

func loadRows(c *corpus, to session, w *clock) error {
	var rows [][]any
	flush := func(table string) error {
		err := w.run(func() error { return to.insert(table, rows) })
		rows = rows[:0]
		return err
	}
	add := func(table string, row ...any) error {
		if rows = append(rows, row); len(rows) < insertBatch {
			return nil
		}
		return flush(table)
	}

	for i := range c.rows {
		r := &c.rows[i]
		values := []any{
			int64(i), int64(r.chain), nullable(r.value), nullable(r.tvl),
			r.open, r.valued, r.inRange, r.safe, r.standard,
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
	return errors.Join(err, flush("body"))
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

	l, filtered, err := listOf(&q.PositionQuestion)
	if err != nil {
		return err
	}
	if filtered {
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
