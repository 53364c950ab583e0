package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// openSQLite makes a peer that answers from a file in its own process. When it
// is loaded, the file is opened anew for nobody who writes: it is mapped, and
// never locked.
func openSQLite(_ context.Context, dir string) (peer, error) {
	file := "file:" + filepath.Join(dir, "peer.sqlite")
	version, _, _ := sqlite3.Version()

	return &sqlPeer{dialect: dialect{
		version: version, sessions: 2 * runtime.GOMAXPROCS(0),
		dial: func(_ context.Context, loading bool) (session, error) {
			if loading {
				return dialSQLite(file, "")
			}
			// Beyond the size of any file: the build has a limit of its own.
			return dialSQLite(file+"?mode=ro&immutable=1&_mutex=no",
				"PRAGMA mmap_size = 1099511627776; PRAGMA cache_size = -65536")
		},
	}}, nil
}

// sqliteSession is a connection with its prepared statements, below
// database/sql, whose bookkeeping would be a third of a short question.
type sqliteSession struct {
	db     *sqlite3.SQLiteConn
	ready  map[string]*sqlite3.SQLiteStmt
	values []driver.Value // of a row
	args   []driver.Value
}

func dialSQLite(name, first string) (*sqliteSession, error) {
	conn, err := new(sqlite3.SQLiteDriver).Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	s := &sqliteSession{db: conn.(*sqlite3.SQLiteConn), ready: map[string]*sqlite3.SQLiteStmt{}}
	if err := s.exec(first); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *sqliteSession) close() (err error) {
	for _, stmt := range s.ready {
		err = errors.Join(err, stmt.Close())
	}
	return errors.Join(err, s.db.Close())
}

func (s *sqliteSession) exec(text string) error {
	_, err := s.db.Exec(text, nil)
	return err
}

// statement prepares a text once, and makes its arguments ready.
func (s *sqliteSession) statement(text string, args []any) (*sqlite3.SQLiteStmt, error) {
	s.args = s.args[:0]
	for _, a := range args {
		s.args = append(s.args, a)
	}
	if stmt := s.ready[text]; stmt != nil {
		return stmt, nil
	}

	made, err := s.db.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare %q: %w", text, err)
	}
	s.ready[text] = made.(*sqlite3.SQLiteStmt)
	return s.ready[text], nil
}

// each calls f with every row of a result; values are good until it returns.
func (s *sqliteSession) each(text string, args []any, f func([]driver.Value)) error {
	stmt, err := s.statement(text, args)
	if err != nil {
		return err
	}
	rows, err := stmt.Query(s.args)
	if err != nil {
		return fmt.Errorf("cannot ask %q: %w", text, err)
	}

	if n := len(rows.Columns()); len(s.values) != n {
		s.values = make([]driver.Value, n)
	}
	for err = rows.Next(s.values); err == nil; err = rows.Next(s.values) {
		f(s.values)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

func (s *sqliteSession) insert(table string, rows [][]any) error {
	for _, row := range rows {
		text := "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", len(row)-1) + ")"
		stmt, err := s.statement(text, row)
		if err == nil {
			_, err = stmt.Exec(s.args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sqliteSession) ask(out *page, text string, args []any, count string, countArgs []any) error {
	err := s.each(text, args, func(v []driver.Value) { out.add(v[0].([]byte)) })
	if err != nil || count == "" {
		return err
	}
	return s.each(count, countArgs, func(v []driver.Value) { out.total = uint64(v[0].(int64)) })
}
