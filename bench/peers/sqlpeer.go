package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// engine is what PostgreSQL and SQLite differ in.
type engine interface {
	version() string
	words() *words
	exec(texts ...string) error
	insert(table string, rows [][]any) error
	// serve ends loading: from then on pages are asked for.
	serve(ctx context.Context, pages map[list]string) error
	// ask adds the rows of a page, and counts where there is a text for it.
	ask(out *page, text string, args []any, count string, countArgs []any) error
	close() error
}

// words are how an engine spells things.
type words struct {
	types  *strings.Replacer // of columns
	begin  []string          // before the tables
	finish []string          // after the indexes
	carry  func(x *index) string
}

// tables are those of both, by the types that a Replacer knows.
func tables() []string {
	position := "CREATE TABLE position (row INT, chain INT"
	for _, c := range conditions {
		position += ", " + c.name + " FLAG"
	}
	position += ", value FLOAT, tvl FLOAT"
	for _, c := range sortColumns {
		position += ", " + c + " FLOAT"
	}
	return []string{position + ")", "CREATE TABLE body (row KEY, body BYTES)"}
}

// sqlPeer answers from either.
type sqlPeer struct {
	engine
	marks map[list]*marks
	pages map[list]string // texts of pages with the usual number of rows
}

// insertBatch is how many rows an engine takes at once: of bodies 5 MB.
const insertBatch = 2000

// load fills new tables and makes the indexes. What it takes to make rows ready
// is not the engine's work, and not counted.
func (s *sqlPeer) load(ctx context.Context, c *corpus, w *clock) error {
	spelled := s.words()
	begin := slices.Clone(spelled.begin)
	for _, text := range tables() {
		begin = append(begin, spelled.types.Replace(text))
	}
	if err := w.run(func() error { return s.exec(begin...) }); err != nil {
		return err
	}
	if err := s.loadRows(c, w); err != nil {
		return err
	}

	var finish []string
	for _, x := range indexes(c.chains) {
		finish = append(finish, x.create(spelled.carry(&x)))
	}
	finish = append(finish, spelled.finish...)
	if err := w.run(func() error { return s.exec(finish...) }); err != nil {
		return err
	}

	s.pages = map[list]string{}
	for _, l := range lists(c.chains) {
		s.pages[l] = pageText(l, pageRows)
	}
	s.marks = c.allMarks()
	return s.serve(ctx, s.pages)
}

func (s *sqlPeer) loadRows(c *corpus, w *clock) error {
	positions := batches{s, w, "position", nil}
	for i := range c.rows {
		r := &c.rows[i]
		values := []any{int64(i), int64(r.chain)}
		for _, c := range conditions {
			values = append(values, r.flags.has(c.flag))
		}
		values = append(values, known(r.value), known(r.tvl))
		for _, score := range r.scores {
			values = append(values, score)
		}
		if err := positions.add(values); err != nil {
			return err
		}
	}

	n, bodies := int64(0), batches{s, w, "body", nil}
	err := c.bodies(func(body []byte) error {
		n++
		return bodies.add([]any{n - 1, bytes.Clone(body)})
	})
	if err == nil {
		err = positions.flush()
	}
	if err == nil {
		err = bodies.flush()
	}
	return err
}

// batches gathers the rows of a table.
type batches struct {
	to    *sqlPeer
	clock *clock
	table string
	rows  [][]any
}

func (b *batches) add(row []any) error {
	if b.rows = append(b.rows, row); len(b.rows) < insertBatch {
		return nil
	}
	return b.flush()
}

func (b *batches) flush() error {
	err := b.clock.run(func() error { return b.to.insert(b.table, b.rows) })
	b.rows = b.rows[:0]
	if err != nil {
		return fmt.Errorf("cannot load %s: %w", b.table, err)
	}
	return nil
}

// known is NULL for what is no number.
func known(x float64) any {
	if math.IsNaN(x) {
		return nil
	}
	return x
}

func (s *sqlPeer) answer(out *page, q *asked) error {
	l, ok := listOf(&q.PositionQuestion)
	if !ok {
		if err := filterable(&q.PositionQuestion); err != nil {
			return err
		}
		text, count := filterTexts(&q.PositionQuestion)
		floors := []any{q.MinValueUsd, q.MinPoolTVLUsd}
		return s.ask(out, text, append(floors, int64(q.Offset())), count, floors)
	}

	m := s.marks[l]
	from, skip, ok := m.before(q.Offset())
	out.total = m.total
	if !ok {
		return nil
	}
	text := s.pages[l]
	if q.Limit != pageRows {
		text = pageText(l, q.Limit)
	}

	var chain []any
	if l.chain != 0 {
		chain = []any{int64(l.chain)}
	}
	args := append(append([]any{from.score, int64(from.row)}, chain...), int64(skip))
	count := ""
	if q.counted {
		count = countText(l)
	}
	return s.ask(out, text, args, count, chain)
}
