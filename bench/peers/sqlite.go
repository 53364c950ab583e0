package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// sqlite answers from a file in its own process.
type sqlite struct {
	path string
	load *sqliteConn      // while it is loaded
	idle chan *sqliteConn // afterwards
}

// sqliteConn is a connection with its prepared statements, below database/sql,
// whose bookkeeping would be a third of a short question.
type sqliteConn struct {
	db     *sqlite3.SQLiteConn
	ready  map[string]*sqlite3.SQLiteStmt
	values []driver.Value // of a row
	args   []driver.Value
}

func openSQLite(_ context.Context, dir string) (peer, error) {
	s := &sqlite{path: filepath.Join(dir, "peer.sqlite")}
	var err error
	s.load, err = dialSQLite("file:" + s.path)
	return &sqlPeer{engine: s}, err
}

func dialSQLite(name string) (*sqliteConn, error) {
	conn, err := new(sqlite3.SQLiteDriver).Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	return &sqliteConn{db: conn.(*sqlite3.SQLiteConn), ready: map[string]*sqlite3.SQLiteStmt{}}, nil
}

func (c *sqliteConn) close() error {
	var errs []error
	for _, stmt := range c.ready {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.db.Close())...)
}

// statement prepares a text once, and makes its arguments ready.
func (c *sqliteConn) statement(text string, args []any) (stmt *sqlite3.SQLiteStmt, err error) {
	c.args = c.args[:0]
	for _, a := range args {
		c.args = append(c.args, a)
	}
	if stmt = c.ready[text]; stmt != nil {
		return stmt, nil
	}

	made, err := c.db.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare %q: %w", text, err)
	}
	stmt = made.(*sqlite3.SQLiteStmt)
	c.ready[text] = stmt
	return stmt, nil
}

// each calls f with every row of a result; values are good until it returns.
func (c *sqliteConn) each(text string, args []any, f func([]driver.Value)) error {
	stmt, err := c.statement(text, args)
	if err != nil {
		return err
	}
	rows, err := stmt.Query(c.args)
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

func (s *sqlite) version() string {
	text, _, _ := sqlite3.Version()
	return text
}

// words: a page of 16 KB holds seven bodies without an overflow page; of the
// usual 4 KB, one fits and the rest is empty. Nothing is journaled in a file
// that nobody has seen. The row is no key of positions: an index cannot seek by
// a table's key behind a score.
func (s *sqlite) words() *words {
	return &words{
		types: strings.NewReplacer(" KEY", " INTEGER PRIMARY KEY", " INT", " INTEGER", " FLAG", " INTEGER",
			" FLOAT", " REAL", " BYTES", " BLOB"),
		begin: []string{
			"PRAGMA page_size = 16384", "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF",
			"PRAGMA locking_mode = EXCLUSIVE", "PRAGMA cache_size = -1000000", "BEGIN", // KB
		},
		finish: []string{"ANALYZE", "COMMIT"},
		// With the flags, or it would look them up that every row of it has.
		carry: func(x *index) string {
			return "(" + strings.Join(slices.Concat(x.order, x.carried, x.where.names()), ", ") + ")"
		},
	}
}

func (s *sqlite) exec(texts ...string) error { return s.load.exec(texts...) }

func (c *sqliteConn) exec(texts ...string) error {
	for _, text := range texts {
		if _, err := c.db.Exec(text, nil); err != nil {
			return fmt.Errorf("cannot run %q: %w", text, err)
		}
	}
	return nil
}

func (s *sqlite) insert(table string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}

	text := "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
	for _, row := range rows {
		stmt, err := s.load.statement(text, row)
		if err == nil {
			_, err = stmt.Exec(s.load.args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// serve opens the file anew, for nobody who writes: it is mapped, and never
// locked.
func (s *sqlite) serve(context.Context, map[list]string) error {
	if err := s.load.close(); err != nil {
		return err
	}
	s.load = nil

	n := 2 * runtime.GOMAXPROCS(0)
	s.idle = make(chan *sqliteConn, n)
	for range n {
		c, err := dialSQLite("file:" + s.path + "?mode=ro&immutable=1&_mutex=no")
		if err != nil {
			return err
		}
		s.idle <- c
		// Beyond the size of any file: the build has a limit of its own.
		if err := c.exec("PRAGMA mmap_size = 1099511627776", "PRAGMA cache_size = -65536"); err != nil {
			return err
		}
	}
	return nil
}

func (s *sqlite) ask(out *page, text string, args []any, count string, countArgs []any) error {
	c := <-s.idle
	defer func() { s.idle <- c }()
	err := c.each(text, args, func(v []driver.Value) { out.add(v[0].([]byte)) })
	if err != nil || count == "" {
		return err
	}
	return c.each(count, countArgs, func(v []driver.Value) { out.total = uint64(v[0].(int64)) })
}

func (s *sqlite) close() (err error) {
	if s.load != nil {
		return s.load.close()
	}
	for len(s.idle) > 0 {
		err = errors.Join(err, (<-s.idle).close())
	}
	return err
}
