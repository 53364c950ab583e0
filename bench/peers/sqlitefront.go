package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/mattn/go-sqlite3"
)

// sqlite answers from a file in its own process.
type sqlite struct {
	conns chan *sqliteConn // the idle ones
	marks map[list]*marks
	pages map[list]string // texts of pages with pageRows
}

// sqliteConn is a connection with its prepared statements.
type sqliteConn struct {
	db     *sqlite3.SQLiteConn
	ready  map[string]*sqlite3.SQLiteStmt
	values []driver.Value
}

// openSQLite opens a database that nobody writes: the file is mapped, and
// never locked.
func openSQLite(_ context.Context, at string, chains []uint32) (peer, error) {
	n := 2 * runtime.GOMAXPROCS(0)
	s := &sqlite{conns: make(chan *sqliteConn, n), marks: map[list]*marks{}, pages: map[list]string{}}
	for range n {
		db, err := openFile("file:" + at + "?mode=ro&immutable=1&_mutex=no")
		if err != nil {
			s.close()
			return nil, err
		}
		c := &sqliteConn{db: db, ready: map[string]*sqlite3.SQLiteStmt{}}
		s.conns <- c
		// Beyond the size of any file: the build has a limit of its own.
		if err := runSQLite(db, "PRAGMA mmap_size = 1099511627776", "PRAGMA cache_size = -65536"); err != nil {
			s.close()
			return nil, err
		}
	}
	c := <-s.conns
	defer func() { s.conns <- c }()
	names := byName(chains)
	var m markRow
	err := c.each("SELECT list, n, score, row FROM mark ORDER BY list, n", func(v []driver.Value) {
		m.list, m.n, m.score, m.row = v[0].(string), v[1].(int64), v[2].(float64), v[3].(int64)
		takeMark(s.marks, names, m)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read marks: %w", err)
	}
	for l := range s.marks {
		s.pages[l] = pageText(l, pageRows)
	}
	return s, nil
}

func (s *sqlite) close() {
	for len(s.conns) > 0 {
		(<-s.conns).close()
	}
}

func (c *sqliteConn) close() error {
	var errs []error
	for _, stmt := range c.ready {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.db.Close())...)
}

// each calls f with every row of a result; values are good until it returns.
func (c *sqliteConn) each(text string, f func([]driver.Value), args ...driver.Value) error {
	stmt := c.ready[text]
	if stmt == nil {
		var err error
		if stmt, err = prepare(c.db, text); err != nil {
			return err
		}
		c.ready[text] = stmt
	}
	rows, err := stmt.Query(args)
	if err != nil {
		return fmt.Errorf("cannot ask %q: %w", text, err)
	}
	if n := len(rows.Columns()); len(c.values) != n {
		c.values = make([]driver.Value, n)
	}
	for err = rows.Next(c.values); err == nil; err = rows.Next(c.values) {
		f(c.values)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

func (s *sqlite) answer(out *page, q *asked) error {
	c := <-s.conns
	defer func() { s.conns <- c }()
	add := func(v []driver.Value) { out.add(v[0].([]byte)) }
	count := func(v []driver.Value) { out.total = uint64(v[0].(int64)) }
	l, ok := listOf(&q.PositionQuestion)
	if !ok {
		if err := filterable(&q.PositionQuestion); err != nil {
			return err
		}
		text, counting := filterTexts(&q.PositionQuestion)
		if err := c.each(text, add, q.MinValueUsd, q.MinPoolTVLUsd, int64(q.Offset())); err != nil {
			return err
		}
		return c.each(counting, count, q.MinValueUsd, q.MinPoolTVLUsd)
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
	var chain []driver.Value
	if l.chain != 0 {
		chain = []driver.Value{int64(l.chain)}
	}
	args := append(append([]driver.Value{from.score, int64(from.row)}, chain...), int64(skip))
	if err := c.each(text, add, args...); err != nil {
		return err
	}
	if !q.counted {
		return nil
	}
	return c.each(countText(l), count, chain...)
}

// versionOfSQLite is that of the library that is built in.
func versionOfSQLite(context.Context) (string, error) {
	text, _, _ := sqlite3.Version()
	return text, nil
}
