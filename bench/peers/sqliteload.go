package main

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// loadSQLite writes a new database beside the old one and puts it in its
// place: no reader ever waits for it, and no page is written twice. Nothing is
// journaled in a file that nobody has seen; it is synced before it is renamed.
func loadSQLite(at, path string, c *columns, all map[list]*marks) error {
	next := at + ".next"
	if err := os.RemoveAll(next); err != nil {
		return fmt.Errorf("cannot replace a database: %w", err)
	}
	db, err := openFile("file:" + next)
	if err != nil {
		return err
	}
	err = fillSQLite(db, path, c, all)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	file, err := os.Open(next)
	if err == nil {
		err = errors.Join(file.Sync(), file.Close(), os.Rename(next, at))
	}
	if err != nil {
		return fmt.Errorf("cannot replace a database: %w", err)
	}
	return nil
}

// openFile opens a database below database/sql, whose bookkeeping would be a
// third of a short question.
func openFile(name string) (*sqlite3.SQLiteConn, error) {
	conn, err := new(sqlite3.SQLiteDriver).Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	return conn.(*sqlite3.SQLiteConn), nil
}

func prepare(db *sqlite3.SQLiteConn, text string) (*sqlite3.SQLiteStmt, error) {
	stmt, err := db.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare %q: %w", text, err)
	}
	return stmt.(*sqlite3.SQLiteStmt), nil
}

// pageSize holds seven bodies without an overflow page; in the usual 4 KB,
// one fits and the rest of the page is empty.
const pageSize = 16 << 10

func fillSQLite(db *sqlite3.SQLiteConn, path string, c *columns, all map[list]*marks) error {
	begin := append([]string{
		fmt.Sprintf("PRAGMA page_size = %d", pageSize),
		"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA locking_mode = EXCLUSIVE",
		"PRAGMA cache_size = -1000000", // KB
		"BEGIN",
	}, sqliteTables()...)
	if err := runSQLite(db, begin...); err != nil {
		return err
	}
	if err := insertPositions(db, c); err != nil {
		return err
	}
	if err := insertBodies(db, path); err != nil {
		return err
	}
	if err := insertMarks(db, all); err != nil {
		return err
	}
	for _, x := range indexes(c.chains) {
		// With the flags, or it would look them up that every row of it has.
		columns := slices.Concat(x.order, x.carried, x.where.names())
		if err := runSQLite(db, x.create("("+strings.Join(columns, ", ")+")")); err != nil {
			return err
		}
	}
	return runSQLite(db, "ANALYZE", "COMMIT")
}

func runSQLite(db *sqlite3.SQLiteConn, statements ...string) error {
	for _, text := range statements {
		if _, err := db.Exec(text, nil); err != nil {
			return fmt.Errorf("cannot run %q: %w", text, err)
		}
	}
	return nil
}

func sqliteTables() []string {
	var b strings.Builder
	// The row is no key here: an index cannot seek by a table's key behind a score.
	b.WriteString("CREATE TABLE position (row INTEGER, chain INTEGER")
	for _, c := range conditions {
		b.WriteString(", " + c.name + " INTEGER")
	}
	b.WriteString(", value REAL, tvl REAL")
	for _, c := range sortColumns {
		b.WriteString(", " + c + " REAL")
	}
	return []string{
		b.String() + ")", "CREATE TABLE body (row INTEGER PRIMARY KEY, body BLOB)",
		"CREATE TABLE mark (list TEXT, n INTEGER, score REAL, row INTEGER)",
	}
}

// insert runs a prepared insertion for as many rows as next fills.
func insert(db *sqlite3.SQLiteConn, table string, fields int, next func([]driver.Value) bool) error {
	text := "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", fields-1) + ")"
	stmt, err := prepare(db, text)
	if err != nil {
		return err
	}
	defer stmt.Close()
	values := make([]driver.Value, fields)
	for next(values) {
		if _, err := stmt.Exec(values); err != nil {
			return fmt.Errorf("cannot insert into %s: %w", table, err)
		}
	}
	return nil
}

func insertPositions(db *sqlite3.SQLiteConn, c *columns) error {
	i := 0
	return insert(db, "position", 2+len(conditions)+2+sortCount, func(v []driver.Value) bool {
		if i == len(c.rows) {
			return false
		}
		r := &c.rows[i]
		v = append(v[:0], int64(i), int64(r.chain))
		for _, c := range conditions {
			v = append(v, r.flags.has(c.flag))
		}
		v = append(v, known(r.value), known(r.tvl))
		for _, s := range r.scores {
			v = append(v, s)
		}
		i++
		return true
	})
}

// known is NULL for what is no number.
func known(x float64) driver.Value {
	if math.IsNaN(x) {
		return nil
	}
	return x
}

func insertBodies(db *sqlite3.SQLiteConn, path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read rows: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in := newRowReader(file)
	row := int64(0)
	err = insert(db, "body", 2, func(v []driver.Value) bool {
		if !in.next() {
			return false
		}
		v[0], v[1] = row, in.body
		row++
		return true
	})
	return errors.Join(err, in.err)
}

func insertMarks(db *sqlite3.SQLiteConn, all map[list]*marks) error {
	rows := markRows(all)
	return insert(db, "mark", 4, func(v []driver.Value) bool {
		if len(rows) == 0 {
			return false
		}
		v[0], v[1], v[2], v[3] = rows[0].list, rows[0].n, rows[0].score, rows[0].row
		rows = rows[1:]
		return true
	})
}
