package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"tidemark/bench/process"
)

// In Redis every list is a sorted set of its own, l:NAME, with rows of four
// bytes as members, so that ties go by row; and every body is a string, b:ROW.
// A page is one command: SORT with BY nosort takes members of a sorted set by
// rank, and GET their bodies. A count is ZCARD. There is nothing that filters.

// bodyPrefix stands before the rows of bodies.
const bodyPrefix = "b:"

func listKey(l list) string { return fmt.Sprintf("l:%v:%d:%s", l.every, l.chain, l.sort) }

func memberOf(row uint32) string { return string(binary.BigEndian.AppendUint32(nil, row)) }

// addBatch is how many members one ZADD adds, and how many bodies go at once.
const addBatch = 500

// redis is a server of our own on a socket, with nothing on disk.
type redis struct {
	server *process.Child
	socket string
	client rueidis.Client
}

func openRedis(ctx context.Context, dir string) (peer, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errMissing("Redis", "redis-server")
	}
	sockets, err := os.MkdirTemp("", "peers-") // a socket's path is short, wherever the data is
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for Redis: %w", err)
	}

	r := &redis{socket: filepath.Join(sockets, "redis")}
	r.server, err = startServer(exec.Command(program, "--port", "0", "--unixsocket", r.socket,
		"--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
		// It refuses more than is free, and is left out then.
		"--maxmemory", strconv.FormatInt(process.ReadMachine().Available, 10)), dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(sockets))
	}
	err = r.server.Await(ctx, process.PollEvery, func() (err error) {
		r.client, err = rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{r.socket}, DisableCache: true, ForceSingleClient: true,
			// All requests share a connection: what comes together goes together.
			PipelineMultiplex: -1,
			DialCtxFn: func(ctx context.Context, at string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return d.DialContext(ctx, "unix", at)
			},
		})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *redis) about() (version string, server *process.Child) {
	info, _ := r.client.Do(context.Background(), r.client.B().Info().Section("server").Build()).ToString()
	_, after, _ := strings.Cut(info, "redis_version:")
	version, _, _ = strings.Cut(after, "\r")
	return version, r.server
}

// load fills an empty server, batch by batch. To replace what is asked
// meanwhile it would take another database, SWAPDB, and memory for both.
func (r *redis) load(ctx context.Context, c *corpus, _ *clock) error {
	var batch rueidis.Commands
	flush := func() error {
		for _, reply := range r.client.DoMulti(ctx, batch...) {
			if err := reply.Error(); err != nil {
				return fmt.Errorf("cannot load Redis: %w", err)
			}
		}
		batch = batch[:0]
		return nil
	}

	n := uint32(0)
	err := c.bodies(func(body []byte) error {
		batch = append(batch, r.client.B().Set().Key(bodyPrefix+memberOf(n)).Value(string(body)).Build())
		if n++; len(batch) < addBatch {
			return nil
		}
		return flush()
	})
	for _, l := range listsOf(c.chains) {
		// Members in their order, which is the fastest.
		for part := range slices.Chunk(c.sorted(l), addBatch) {
			add := r.client.B().Zadd().Key(listKey(l)).ScoreMember()
			for _, p := range part {
				add = add.ScoreMember(p.score, memberOf(p.row))
			}
			batch = append(batch, add.Build())
		}
		if err == nil {
			err = flush()
		}
	}
	return err
}

func (r *redis) answer(out *page, q *asked) error {
	l, filtered, err := listOf(&q.PositionQuestion)
	if err != nil || filtered {
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
