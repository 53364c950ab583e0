package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/redis/rueidis"

	"tidemark/bench/process"
)

// In Redis every list is a sorted set of its own, l:NAME, with rows of four
// bytes as members, so that ties go by row; and every body is a string, b:ROW.
// A page is one command: SORT with BY nosort takes members of a sorted set by
// rank, and GET their bodies. A count is ZCARD. There is nothing that filters.

// bodyPrefix stands before the rows of bodies.
const bodyPrefix = "b:"

func listKey(l list) string { return "l:" + l.name() }

func member(row uint32) (b [4]byte) {
	binary.BigEndian.PutUint32(b[:], row)
	return b
}

// addBatch is how many members one ZADD adds.
const addBatch = 500

// redisProgram is the server in PATH.
func redisProgram() string {
	program, _ := exec.LookPath("redis-server") // none is ""
	return program
}

// redisMemory: strings go up to the next size class of the allocator; a member
// has its string, its node and its entry of the table.
func redisMemory(c *corpus) int64 {
	const body, member = 2300 * 5 / 4, 110
	entries := int64(0)
	for _, l := range lists(c.chains) {
		entries += int64(len(c.sorted(l)))
	}
	return int64(len(c.rows))*body + entries*member
}

// redis is a server of our own, on a spare loopback port and a socket, with
// nothing on disk.
type redis struct {
	server *process.Child
	socket string
	client rueidis.Client
}

func openRedis(ctx context.Context, dir string) (peer, error) {
	sockets, err := os.MkdirTemp("", "peers-") // a socket's path is short, wherever the data is
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for Redis: %w", err)
	}
	address, err := process.SparePort()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)

	r := &redis{socket: filepath.Join(sockets, "redis")}
	r.server, err = start(exec.Command(redisProgram(), "--bind", "127.0.0.1", "--port", port,
		"--unixsocket", r.socket, "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no"), dir)
	if err != nil {
		return nil, err
	}
	err = wait(ctx, r.server, func() error {
		conn, err := net.Dial("unix", r.socket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *redis) version() string { return saidVersion(redisProgram(), "v=") }

// load fills an empty server by a stream of commands, as redis-cli --pipe does.
// To replace what is asked meanwhile it would take another database of the
// server, SWAPDB at the end, and memory for both.
func (r *redis) load(_ context.Context, c *corpus, w *clock) (err error) {
	conn, err := net.Dial("unix", r.socket)
	if err != nil {
		return fmt.Errorf("cannot reach Redis: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	w.begin(r.server)
	defer w.end()
	replies := make(chan error, 1)
	go func() { replies <- readReplies(conn) }()

	out := &commands{out: bufio.NewWriterSize(conn, 1<<20)}
	n, key := uint32(0), []byte(bodyPrefix)
	err = c.bodies(func(body []byte) error {
		m := member(n)
		n++
		key = append(key[:len(bodyPrefix)], m[:]...)
		return out.command("SET", key, body)
	})
	for _, l := range lists(c.chains) {
		err = errors.Join(err, sendList(out, l, c.sorted(l)))
	}
	err = errors.Join(err, out.command("ECHO", []byte(loadEnd)), out.out.Flush())
	if err != nil {
		return fmt.Errorf("cannot load Redis: %w", err)
	}
	if err := <-replies; err != nil {
		return err
	}

	r.client, err = rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{r.socket}, DisableCache: true, ForceSingleClient: true,
		// All requests share a connection: what comes together goes together.
		PipelineMultiplex: -1,
		DialCtxFn: func(ctx context.Context, at string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", at)
		},
	})
	return err
}

const loadEnd = "loaded"

// readReplies reads until the end of a load; the first error is the load's.
func readReplies(conn io.Reader) error {
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		line, err := in.ReadString('\n')
		switch {
		case err != nil:
			return fmt.Errorf("cannot read what Redis says: %w", err)
		case line[0] == '-':
			return fmt.Errorf("cannot load Redis: %s", line[1:])
		case line == loadEnd+"\r\n":
			return nil
		}
	}
}

// commands writes the protocol's arrays of strings. Errors of writing come
// back from the last Flush.
type commands struct {
	out *bufio.Writer
	buf []byte
}

func (w *commands) begin(parts int) {
	w.buf = append(strconv.AppendInt(append(w.buf[:0], '*'), int64(parts), 10), "\r\n"...)
}

func (w *commands) part(b []byte) {
	w.buf = strconv.AppendInt(append(w.buf, '$'), int64(len(b)), 10)
	w.buf = append(append(append(w.buf, "\r\n"...), b...), "\r\n"...)
}

func (w *commands) end() error {
	_, err := w.out.Write(w.buf)
	return err
}

func (w *commands) command(name string, args ...[]byte) error {
	w.begin(1 + len(args))
	w.part([]byte(name))
	for _, a := range args {
		w.part(a)
	}
	return w.end()
}

// sendList adds members in their order, which is the fastest.
func sendList(w *commands, l list, sorted []place) error {
	var number []byte
	for len(sorted) > 0 {
		n := min(addBatch, len(sorted))
		w.begin(2 + 2*n)
		w.part([]byte("ZADD"))
		w.part([]byte(listKey(l)))

		for _, p := range sorted[:n] {
			if number = strconv.AppendFloat(number[:0], p.score, 'g', -1, 64); math.IsInf(p.score, 1) {
				number = append(number[:0], "+inf"...)
			}
			m := member(p.row)
			w.part(number)
			w.part(m[:])
		}
		if err := w.end(); err != nil {
			return err
		}
		sorted = sorted[n:]
	}
	return nil
}

func (r *redis) answer(out *page, q *asked) error {
	l, ok := listOf(&q.PositionQuestion)
	if !ok {
		return errCannot
	}
	key, c := listKey(l), r.client
	replies := c.DoMulti(context.Background(),
		c.B().Zcard().Key(key).Build(),
		c.B().SortRo().Key(key).By("nosort").
			Limit(int64(q.Offset()), int64(q.Limit)).
			Get().Get(bodyPrefix+"*").Build())

	total, err := replies[0].AsInt64()
	if err != nil {
		return fmt.Errorf("cannot count: %w", err)
	}
	out.total = uint64(total)

	bodies, err := replies[1].ToArray()
	if err != nil {
		return fmt.Errorf("cannot read a page: %w", err)
	}
	for i := range bodies {
		body, err := bodies[i].AsBytes()
		if err != nil {
			return fmt.Errorf("cannot read a row: %w", err)
		}
		out.add(body)
	}
	return nil
}

func (r *redis) close() error {
	if r.client != nil {
		r.client.Close()
	}
	return errors.Join(r.server.Stop(), os.RemoveAll(filepath.Dir(r.socket)))
}
