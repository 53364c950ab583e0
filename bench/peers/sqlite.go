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
				return dialSQLite(file+"?_stmt_cache_size=1", "")
			}
			// Every text stays prepared, and the map is beyond the size of any file: the
			// build has a limit of its own.
			return dialSQLite(file+"?mode=ro&immutable=1&_mutex=no&_stmt_cache_size=1024",
				"PRAGMA mmap_size = 1099511627776; PRAGMA cache_size = -65536")
		},
	}}, nil
}

// sqliteSession is below database/sql, which would be a third of a short question.
type sqliteSession struct {
	*sqlite3.SQLiteConn
	values []driver.Value // of a row
}

func dialSQLite(name, first string) (*sqliteSession, error) {
	conn, err := new(sqlite3.SQLiteDriver).Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	s := &sqliteSession{SQLiteConn: conn.(*sqlite3.SQLiteConn)}
	if err := s.exec(first); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *sqliteSession) close() error { return s.Close() }

func (s *sqliteSession) exec(text string) error {
	_, err := s.Exec(text, nil)
	return err
}

func driverValues(args []any) (values []driver.Value) {
	for _, a := range args {
		values = append(values, a)
	}
	return values
}

// each calls f with every row of a result; values are good until it returns.
func (s *sqliteSession) each(text string, args []any, f func([]driver.Value)) error {
	rows, err := s.Query(text, driverValues(args))
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
		if _, err := s.Exec(text, driverValues(row)); err != nil {
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
