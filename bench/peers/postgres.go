package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/bench/process"
)

// postgres is a cluster of our own in a new directory, which listens on a spare
// loopback port and on a socket, and which nobody else knows.
type postgres struct {
	server  *process.Child
	sockets string
	conn    *pgx.Conn     // while it is loaded
	pool    *pgxpool.Pool // afterwards
}

// postgresProgram is the newest server where Debian's packages have them.
func postgresProgram() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is well-formed
	version := func(program string) int {
		n, _ := strconv.Atoi(strings.Split(program, "/")[4])
		return n
	}
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
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
		"max_parallel_workers_per_gather=0", // requests run beside each other
		"logging_collector=off",
	}
}

func openPostgres(ctx context.Context, dir string) (_ peer, err error) {
	owner, err := unprivileged()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "cluster")
	sockets, err := os.MkdirTemp("", "peers-") // a socket's path is short, wherever the data is
	if err == nil {
		err = os.MkdirAll(data, 0o700)
	}
	if err == nil && owner != nil {
		err = errors.Join(os.Chown(data, int(owner.Uid), int(owner.Gid)),
			os.Chown(sockets, int(owner.Uid), int(owner.Gid)), os.Chmod(dir, 0o755))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for PostgreSQL: %w", err)
	}

	program := postgresProgram()
	initdb := exec.CommandContext(ctx, filepath.Join(filepath.Dir(program), "initdb"), "--pgdata", data,
		"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = &syscall.SysProcAttr{Credential: owner}, "/"
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot make a cluster in %s: %w: %s (the user of PostgreSQL must be able to "+
			"enter its parents)", data, err, process.LastLine(said))
	}

	address, err := process.SparePort()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	args := []string{"-D", data, "-k", sockets, "-h", "127.0.0.1", "-p", port}
	for _, s := range postgresSettings(process.ReadMachine().Available) {
		args = append(args, "-c", s)
	}
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: owner}, "/"
	p := &postgres{sockets: sockets}
	if p.server, err = start(cmd, dir); err != nil {
		return nil, err
	}
	p.server.StopBy = syscall.SIGINT // ends connections, and does not wait for them

	at := fmt.Sprintf("host=%s port=%s user=postgres dbname=postgres", sockets, port)
	err = wait(ctx, p.server, func() (err error) {
		p.conn, err = pgx.Connect(ctx, at)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return &postgresPeer{&sqlPeer{engine: p}, p}, nil
}

// postgresPeer counts the CPU of the server while it loads.
type postgresPeer struct {
	*sqlPeer
	db *postgres
}

func (p *postgresPeer) load(ctx context.Context, c *corpus, w *clock) error {
	w.begin(p.db.server)
	defer w.end()
	return p.sqlPeer.load(ctx, c, w)
}

// wait tries until a server takes connections.
func wait(ctx context.Context, server *process.Child, try func() error) error {
	for end := time.Now().Add(process.Patience); ; {
		err := try()
		if err == nil {
			return nil
		}
		if !server.Alive() || time.Now().After(end) {
			return fmt.Errorf("the server did not start: %w: %s", err, server.LastWords())
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(process.PollEvery):
		}
	}
}

// unprivileged is who runs PostgreSQL, which refuses to run as root: the user
// that its packages make. nil is ourselves.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and its own user is not there: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, bad := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err, bad)
}

func (p *postgres) version() string {
	number, _, _ := strings.Cut(p.conn.PgConn().ParameterStatus("server_version"), " ")
	return number
}

// words: everything is replaced in one transaction. Bodies are kept in the row
// and not packed, since to unpack one takes longer than to read it.
func (p *postgres) words() *words {
	return &words{
		types: strings.NewReplacer(" KEY", " int8", " INT", " int8", " FLAG", " bool", " FLOAT", " float8",
			" BYTES", " bytea"),
		begin: []string{"BEGIN"},
		finish: []string{"ALTER TABLE body ADD PRIMARY KEY (row)", "ANALYZE position", "ANALYZE body",
			"COMMIT", "CHECKPOINT"},
		carry: func(x *index) string {
			columns := "(" + strings.Join(x.order, ", ") + ")"
			if x.carried != nil {
				columns += " INCLUDE (" + strings.Join(x.carried, ", ") + ")"
			}
			return columns
		},
	}
}

func (p *postgres) exec(texts ...string) error {
	for _, text := range texts {
		if _, err := p.conn.Exec(context.Background(), text); err != nil {
			return fmt.Errorf("cannot run %q: %w", text, err)
		}
		if strings.HasPrefix(text, "CREATE TABLE body") {
			if err := p.exec("ALTER TABLE body ALTER COLUMN body SET STORAGE PLAIN"); err != nil {
				return err
			}
		}
	}
	return nil
}

// insert copies rows in PostgreSQL's binary form into a table that this
// transaction made.
func (p *postgres) insert(table string, rows [][]any) error {
	b := append([]byte("PGCOPY\n\xff\r\n\x00"), make([]byte, 8)...) // no flags, no extension
	for _, row := range rows {
		b = binary.BigEndian.AppendUint16(b, uint16(len(row)))
		for _, v := range row {
			b = appendBinary(b, v)
		}
	}
	b = append(b, 0xff, 0xff)

	_, err := p.conn.PgConn().CopyFrom(context.Background(), bytes.NewReader(b),
		"COPY "+table+" FROM STDIN (FORMAT binary, FREEZE)")
	return err
}

// appendBinary appends a value with its length; NULL has none.
func appendBinary(b []byte, v any) []byte {
	fixed := func(n uint64) []byte {
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), n)
	}

	switch v := v.(type) {
	case nil:
		return binary.BigEndian.AppendUint32(b, math.MaxUint32)
	case int64:
		return fixed(uint64(v))
	case float64:
		return fixed(math.Float64bits(v))
	case bool:
		one := byte(0)
		if v {
			one = 1
		}
		return append(binary.BigEndian.AppendUint32(b, 1), one)
	case []byte:
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	panic(fmt.Sprintf("BUG: no column has a %T", v))
}

// connections are few: more only take turns on the same cores.
const connections = 4

func (p *postgres) serve(ctx context.Context, pages map[list]string) error {
	cfg, err := pgxpool.ParseConfig(p.conn.Config().ConnString())
	if err != nil {
		return fmt.Errorf("cannot read where PostgreSQL is: %w", err)
	}
	cfg.MaxConns, cfg.MinConns = connections, connections
	cfg.ConnConfig.StatementCacheCapacity = 1024 // every text that there is
	// Every text has one best plan, whatever its parameters are, and to find it
	// takes ten times as long as to run it.
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"

	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		for l, text := range pages {
			args := []any{math.Inf(1), int64(0)}
			if l.chain != 0 {
				args = append(args, int64(l.chain))
			}
			if _, err := conn.Exec(ctx, text, append(args, int64(0))...); err != nil {
				return fmt.Errorf("cannot plan %q: %w", text, err)
			}
		}
		return nil
	}

	if p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return fmt.Errorf("cannot reach PostgreSQL: %w", err)
	}
	return p.pool.Ping(ctx)
}

// ask sends all statements of a question in one go.
func (p *postgres) ask(out *page, text string, args []any, count string, countArgs []any) error {
	ctx := context.Background()
	if count == "" {
		rows, err := p.pool.Query(ctx, text, args...)
		return addRows(out, rows, err)
	}

	var batch pgx.Batch
	batch.Queue(text, args...)
	batch.Queue(count, countArgs...)
	results := p.pool.SendBatch(ctx, &batch)
	defer results.Close()
	rows, err := results.Query()
	if err := addRows(out, rows, err); err != nil {
		return err
	}
	var total int64
	if err := results.QueryRow().Scan(&total); err != nil {
		return fmt.Errorf("cannot count: %w", err)
	}
	out.total = uint64(total)
	return nil
}

func addRows(out *page, rows pgx.Rows, err error) error {
	if err == nil {
		for rows.Next() {
			out.add(rows.RawValues()[0])
		}
		err = rows.Err()
	}
	if err != nil {
		return fmt.Errorf("cannot read a page: %w", err)
	}
	return nil
}

func (p *postgres) close() error {
	if p.pool != nil {
		p.pool.Close()
	}
	var err error
	if p.conn != nil {
		err = p.conn.Close(context.Background())
	}
	return errors.Join(err, p.server.Stop(), os.RemoveAll(p.sockets))
}
