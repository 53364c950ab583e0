package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"tidemark/bench/process"
)

// postgresProgram is the newest server where Debian's packages have them.
func postgresProgram() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/[1-9][0-9]/bin/postgres") // the pattern is well-formed
	if len(found) == 0 {
		return "", errMissing("PostgreSQL", "postgresql")
	}
	return found[len(found)-1], nil
}

// postgresSettings are how the cluster is tuned, for a machine with so many
// bytes of memory that has nothing else to do. It is rebuilt from the chain at
// any time, so nothing is logged that a load does not need; what is committed is
// on disk, as the node's is.
func postgresSettings(memory int64) []string {
	return []string{
		fmt.Sprintf("shared_buffers=%dMB", memory/4>>20),
		fmt.Sprintf("effective_cache_size=%dMB", memory*3/4>>20),
		fmt.Sprintf("maintenance_work_mem=%dMB", min(memory/16, 1<<30)>>20),
		"work_mem=64MB",
		"random_page_cost=1.1", // everything is in memory
		"wal_level=minimal", "max_wal_senders=0", "max_wal_size=16GB",
		"autovacuum=off",                    // rows are loaded frozen and never change
		"jit=off",                           // compiling takes longer than any question
		"max_parallel_workers_per_gather=0", // requests run in parallel
		"logging_collector=off",
		// Every text has one best plan, whatever its parameters are, and to find it
		// takes ten times as long as to run it.
		"plan_cache_mode=force_generic_plan",
	}
}

// postgresCommand is a program of PostgreSQL, which refuses to run as root: for
// root it runs as the user that its packages make.
func postgresCommand(program string, args ...string) *exec.Cmd {
	words := append([]string{program}, args...)
	if os.Geteuid() == 0 {
		words = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}, words...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = "/"
	return cmd
}

// openPostgres makes a cluster of our own, on a socket that nobody else knows.
func openPostgres(ctx context.Context, dir string) (_ peer, err error) {
	program, err := postgresProgram()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "cluster")
	sockets, err := os.MkdirTemp("", "peers-") // a socket's path is short, wherever the data is
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for PostgreSQL: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(sockets))
		}
	}()
	if err := errors.Join(os.Chmod(sockets, 0o777), os.Chmod(dir, 0o777)); err != nil { // for its user
		return nil, fmt.Errorf("cannot open directories to PostgreSQL: %w", err)
	}
	initdb := postgresCommand(filepath.Join(filepath.Dir(program), "initdb"), "--pgdata", data,
		"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot make a cluster in %s: %w: %s (the user of PostgreSQL must be able to "+
			"enter its parents)", data, err, process.LastLine(said))
	}

	args := []string{"-D", data, "-k", sockets, "-h", ""} // no address but the socket
	for _, s := range postgresSettings(process.ReadMachine().Available) {
		args = append(args, "-c", s)
	}
	server, err := startServer(postgresCommand(program, args...), dir)
	if err != nil {
		return nil, err
	}
	server.StopBy = syscall.SIGINT // ends connections, and does not wait for them

	// Every text that there is stays prepared.
	at := fmt.Sprintf("host=%s user=postgres dbname=postgres statement_cache_capacity=1024", sockets)
	p := &sqlPeer{dialect: dialect{
		server:   server,
		sessions: 4, // more only take turns on the same cores
		dial:     func(ctx context.Context, _ bool) (session, error) { return dialPostgres(ctx, at) },
		cleanup:  func() error { return errors.Join(server.Stop(), os.RemoveAll(sockets)) },
	}}
	err = server.Await(ctx, process.PollEvery, func() error {
		first, err := dialPostgres(ctx, at)
		if err != nil {
			return err
		}
		p.version, _, _ = strings.Cut(first.PgConn().ParameterStatus("server_version"), " ")
		return first.close()
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// postgresSession is a connection, which keeps the plan of every text.
type postgresSession struct{ *pgx.Conn }

func dialPostgres(ctx context.Context, at string) (*postgresSession, error) {
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("cannot reach PostgreSQL: %w", err)
	}
	return &postgresSession{conn}, nil
}

func (s *postgresSession) exec(text string) error {
	_, err := s.PgConn().Exec(context.Background(), text).ReadAll()
	return err
}

// insert copies rows in PostgreSQL's binary form into a table that this
// transaction made: the length of every value, and then the value.
func (s *postgresSession) insert(table string, rows [][]any) error {
	b := append([]byte("PGCOPY\n\xff\r\n\x00"), make([]byte, 8)...) // no flags, no extension
	for _, row := range rows {
		b = binary.BigEndian.AppendUint16(b, uint16(len(row)))
		for _, v := range row {
			length := len(b)
			b = binary.BigEndian.AppendUint32(b, math.MaxUint32) // NULL's
			if v == nil {
				continue
			}
			var err error
			kind, _ := s.TypeMap().TypeForValue(v)
			if b, err = s.TypeMap().Encode(kind.OID, pgx.BinaryFormatCode, v, b); err != nil {
				return fmt.Errorf("cannot encode %v: %w", v, err)
			}
			binary.BigEndian.PutUint32(b[length:], uint32(len(b)-length-4))
		}
	}

	_, err := s.PgConn().CopyFrom(context.Background(), bytes.NewReader(append(b, 0xff, 0xff)),
		"COPY "+table+" FROM STDIN (FORMAT binary, FREEZE)")
	return err
}

// ask sends all statements of a question in one go.
func (s *postgresSession) ask(out *page, text string, args []any, count string, countArgs []any) error {
	var batch pgx.Batch
	batch.Queue(text, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			out.add(rows.RawValues()[0])
		}
		return rows.Err()
	})
	if count != "" {
		batch.Queue(count, countArgs...).QueryRow(func(row pgx.Row) error { return row.Scan(&out.total) })
	}

	if err := s.SendBatch(context.Background(), &batch).Close(); err != nil {
		return fmt.Errorf("cannot read a page or count: %w", err)
	}
	return nil
}

func (s *postgresSession) close() error { return s.Conn.Close(context.Background()) }
