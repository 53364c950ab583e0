package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5"
)

// cli is the command line. What is hidden is for processes of our own.
type cli struct {
	Run   runCmd   `cmd:"" default:"withargs" help:"Compare a node with PostgreSQL, Redis and SQLite."`
	Load  loadCmd  `cmd:"" hidden:""`
	Front frontCmd `cmd:"" hidden:""`
	Ping  pingCmd  `cmd:"" hidden:""`
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("peers"), kong.UsageOnError())
	k.FatalIfErrorf(k.Run())
}

type runCmd struct {
	Corpus      string        `help:"Corpus to ask about." required:"" placeholder:"DIR"`
	Tidemark    string        `help:"Executable of the node." required:"" placeholder:"FILE"`
	Data        string        `help:"Where servers keep their data meanwhile." required:"" placeholder:"DIR"`
	Version     string        `help:"Of the node, to be kept with what was measured."`
	Out         string        `help:"Write what was measured as NDJSON." placeholder:"FILE"`
	Only        []string      `help:"Peers to compare with: PostgreSQL, Redis, SQLite." placeholder:"NAME"`
	Connections int           `help:"Connections." default:"64"`
	Rounds      int           `help:"Rounds in which a node and a peer take turns." default:"3"`
	Length      time.Duration `help:"Length of one measurement." default:"600ms"`
}

// maxRun bounds a run: three times what the largest corpus takes.
const maxRun = time.Hour

// Run compares, prints and keeps.
func (c *runCmd) Run() error {
	ctx, stop := interruptible()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, maxRun)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find our own executable: %w", err)
	}
	for _, name := range c.Only {
		if named(name) == nil {
			return fmt.Errorf("no peer %q; there are PostgreSQL, Redis and SQLite", name)
		}
	}
	run, err := measureAll(ctx, settings{
		exe: c.Tidemark, self: self, corpus: c.Corpus, data: c.Data, only: c.Only,
		connections: c.Connections, rounds: max(1, c.Rounds), length: c.Length, progress: os.Stderr,
	})
	if run == nil || ctx.Err() != nil {
		return err
	}
	run.Version = c.Version
	err = errors.Join(err, table(os.Stdout, run))
	if c.Out != "" {
		err = errors.Join(err, write(c.Out, run))
	}
	return err
}

func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
}

// loadCmd loads a peer.
type loadCmd struct {
	Peer, At, Rows string
}

// Run loads it and says what that took.
func (c *loadCmd) Run() error {
	ctx, stop := interruptible()
	defer stop()
	var w work
	if err := named(c.Peer).load(ctx, c.At, c.Rows, &w); err != nil {
		return err
	}
	return w.tell(os.Stdout)
}

// frontCmd serves a peer over HTTP.
type frontCmd struct {
	Peer, At, Chains string
}

// Run serves until it is told to stop.
func (c *frontCmd) Run() error {
	ctx, stop := interruptible()
	defer stop()
	chains, err := parseChains(c.Chains)
	if err != nil {
		return err
	}
	p, err := named(c.Peer).open(ctx, c.At, chains)
	if err != nil {
		return err
	}
	defer p.close()
	return serveFront(ctx, p, chains, os.Stdout)
}

// pingCmd tells whether a server takes connections.
type pingCmd struct {
	Peer, At string
}

// Run connects once.
func (c *pingCmd) Run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if c.Peer == "PostgreSQL" {
		conn, err := pgx.Connect(ctx, c.At)
		if err != nil {
			return fmt.Errorf("cannot reach PostgreSQL: %w", err)
		}
		return conn.Close(ctx)
	}
	conn, err := net.Dial("unix", c.At)
	if err != nil {
		return fmt.Errorf("cannot reach %s: %w", c.Peer, err)
	}
	return conn.Close()
}
