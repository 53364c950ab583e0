package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// loadPostgres replaces everything in one transaction: new tables in a schema
// of their own, filled by COPY, indexed and analysed, and then put in the place
// of those that were asked until then. That is several times cheaper than
// updating rows of which nearly all change, and leaves nothing to vacuum.
func loadPostgres(ctx context.Context, at, path string, c *columns, all map[list]*marks) error {
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return fmt.Errorf("cannot reach PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	if err := run(ctx, conn, "BEGIN", "DROP SCHEMA IF EXISTS next CASCADE", "CREATE SCHEMA next",
		"SET LOCAL search_path = next"); err != nil {
		return err
	}
	if err := run(ctx, conn, postgresTables()...); err != nil {
		return err
	}
	for _, t := range []struct {
		name  string
		write func(*copyWriter) error
	}{
		{"position", func(w *copyWriter) error { return copyPositions(w, c) }},
		{"body", func(w *copyWriter) error { return copyBodies(w, path) }},
		{"mark", func(w *copyWriter) error { return copyMarks(w, all) }},
	} {
		if err := copyTable(ctx, conn, t.name, t.write); err != nil {
			return err
		}
	}
	for _, x := range indexes(c.chains) {
		columns := "(" + strings.Join(x.order, ", ") + ")"
		if x.carried != nil {
			columns += " INCLUDE (" + strings.Join(x.carried, ", ") + ")"
		}
		if err := run(ctx, conn, x.create(columns)); err != nil {
			return err
		}
	}
	return run(ctx, conn,
		"ALTER TABLE body ADD PRIMARY KEY (row)",
		"ANALYZE position", "ANALYZE body",
		"DROP SCHEMA IF EXISTS live CASCADE", "ALTER SCHEMA next RENAME TO live", "COMMIT", "CHECKPOINT")
}

func run(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	for _, text := range statements {
		if _, err := conn.Exec(ctx, text); err != nil {
			return fmt.Errorf("cannot run %q: %w", text, err)
		}
	}
	return nil
}

func postgresTables() []string {
	var b strings.Builder
	b.WriteString("CREATE TABLE position (row int4, chain int4")
	for _, c := range conditions {
		b.WriteString(", " + c.name + " bool")
	}
	b.WriteString(", value float8, tvl float8")
	for _, c := range sortColumns {
		b.WriteString(", " + c + " float8")
	}
	return []string{
		b.String() + ")", "CREATE TABLE body (row int4, body bytea)",
		// In the row and not packed: to unpack a body takes longer than to read it.
		"ALTER TABLE body ALTER COLUMN body SET STORAGE PLAIN",
		"CREATE TABLE mark (list text, n int8, score float8, row int8)",
	}
}

// copyTable fills a table that this transaction made.
func copyTable(ctx context.Context, conn *pgx.Conn, table string, write func(*copyWriter) error) error {
	r, w := io.Pipe()
	go func() {
		out := &copyWriter{out: bufio.NewWriterSize(w, 1<<20)}
		out.out.WriteString("PGCOPY\n\xff\r\n\x00")
		out.out.Write(make([]byte, 8)) // flags and extension: none
		err := write(out)
		if err == nil {
			out.out.Write([]byte{0xff, 0xff})
			err = out.out.Flush()
		}
		w.CloseWithError(err)
	}()
	_, err := conn.PgConn().CopyFrom(ctx, r, "COPY "+table+" FROM STDIN (FORMAT binary, FREEZE)")
	r.Close()
	if err != nil {
		return fmt.Errorf("cannot copy into %s: %w", table, err)
	}
	return nil
}

// copyWriter writes PostgreSQL's binary form of rows. Errors of writing come
// back from the last Flush.
type copyWriter struct {
	out *bufio.Writer
	buf []byte
}

func (w *copyWriter) tuple(fields int) {
	w.buf = binary.BigEndian.AppendUint16(w.buf[:0], uint16(fields))
}

func (w *copyWriter) int4(n uint32) {
	w.buf = binary.BigEndian.AppendUint32(w.buf, 4)
	w.buf = binary.BigEndian.AppendUint32(w.buf, n)
}

func (w *copyWriter) int8(n int64) {
	w.buf = binary.BigEndian.AppendUint32(w.buf, 8)
	w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(n))
}

func (w *copyWriter) boolean(on bool) {
	w.buf = append(binary.BigEndian.AppendUint32(w.buf, 1), 0)
	if on {
		w.buf[len(w.buf)-1] = 1
	}
}

// float8 writes what is no number as NULL.
func (w *copyWriter) float8(x float64) {
	if math.IsNaN(x) {
		w.buf = binary.BigEndian.AppendUint32(w.buf, math.MaxUint32)
		return
	}
	w.int8(int64(math.Float64bits(x)))
}

func (w *copyWriter) text(b []byte) {
	w.buf = append(binary.BigEndian.AppendUint32(w.buf, uint32(len(b))), b...)
}

func (w *copyWriter) end() error {
	_, err := w.out.Write(w.buf)
	return err
}

func copyPositions(w *copyWriter, c *columns) error {
	for i := range c.rows {
		r := &c.rows[i]
		w.tuple(2 + len(conditions) + 2 + sortCount)
		w.int4(uint32(i))
		w.int4(r.chain)
		for _, c := range conditions {
			w.boolean(r.flags.has(c.flag))
		}
		w.float8(r.value)
		w.float8(r.tvl)
		for _, s := range r.scores {
			w.float8(s)
		}
		if err := w.end(); err != nil {
			return err
		}
	}
	return nil
}

func copyBodies(w *copyWriter, path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read rows: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in := newRowReader(file)
	for i := uint32(0); in.next(); i++ {
		w.tuple(2)
		w.int4(i)
		w.text(in.body)
		if err := w.end(); err != nil {
			return err
		}
	}
	return in.err
}

func copyMarks(w *copyWriter, all map[list]*marks) error {
	for _, m := range markRows(all) {
		w.tuple(4)
		w.text([]byte(m.list))
		w.int8(m.n)
		w.float8(m.score)
		w.int8(m.row)
		if err := w.end(); err != nil {
			return err
		}
	}
	return nil
}
