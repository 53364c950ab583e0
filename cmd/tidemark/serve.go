package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// ServeCmd runs a node until it is told to stop.
type ServeCmd struct {
	Config    string `help:"Configuration file." type:"path" placeholder:"FILE"`
	Data      string `help:"Directory of everything the node keeps (./data)." placeholder:"DIR"`
	Listen    string `help:"Address of the API (127.0.0.1:8080)." placeholder:"ADDR"`
	OpsListen string `help:"Address of /metrics and pprof (127.0.0.1:8081)." placeholder:"ADDR"`
	Feed      string `help:"Where events come from: sim or rpc." placeholder:"FEED"`

	AcceptLostAccounts bool `help:"Start with fewer account records than were written."`
}

// An ordered stop gives every part a time of its own, so that one that hangs
// takes nothing from those after it. What has not ended by then is dropped, and
// the next start finds a store as after a crash.
const (
	partTimeout = 10 * time.Second
	// clientTimeout is what clients get to read their answers. Whoever reads
	// none must not keep leases and stores from being closed in order.
	clientTimeout = 3 * time.Second
)

// Run serves until SIGINT or SIGTERM.
func (c *ServeCmd) Run() error {
	l, err := c.load()
	if err != nil {
		return err
	}
	l.acceptLost = c.AcceptLostAccounts
	return l.serve()
}

func (c *ServeCmd) load() (*loaded, error) {
	return loadConfig(c.Config, os.Environ(), map[string]string{
		"data": c.Data, "listen": c.Listen, "ops-listen": c.OpsListen, "feed": c.Feed,
	})
}

// gcPercent is how much garbage may stand beside a hundred parts in use, unless
// GOGC says so. Most of what is in use are records without pointers, which the
// collector passes over: to run it often costs little, and memory is what a
// large market needs most.
const gcPercent = 40

// serve runs a node with a configuration.
func (l *loaded) serve() (err error) {
	// A synced write holds its thread: on one processor nothing else would run.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// A terminal that is closed, or a manager that asks for a reload, must not
	// end a node.
	signal.Ignore(syscall.SIGHUP)
	interrupted, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	narrowFiles()

	n := &node{loaded: l}
	setLevel(&n.level, l.Log.Level)
	n.log = newLogger(os.Stderr, &n.level)
	for _, variable := range l.ignored {
		n.log.Warn(l.strayVariable(variable))
	}
	if err := n.start(); err != nil {
		return errors.Join(err, n.stop())
	}
	n.welcome(os.Stdout)
	select {
	case <-interrupted.Done():
		n.log.Info("stopping")
		n.tellManager(daemon.SdNotifyStopping)
		n.ready.stopping.Store(true)
	case err = <-n.failed:
	}
	return errors.Join(err, n.stop())
}

// newLogger writes coloured text to a terminal and JSON to anything else. The
// level may change while the logger is used.
func newLogger(f *os.File, level *slog.LevelVar) *slog.Logger {
	if term.IsTerminal(int(f.Fd())) {
		return slog.New(tint.NewTextHandler(f, &tint.Options{Level: level, TimeFormat: time.TimeOnly}))
	}
	return slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: level}))
}

// setLevel makes a level that the configuration allows the one in use.
func setLevel(level *slog.LevelVar, name string) {
	if err := level.UnmarshalText([]byte(name)); err != nil {
		panic("BUG: " + err.Error())
	}
}

// started is a part of the node that has to be stopped.
type started struct {
	name  string
	limit time.Duration
	stop  func(context.Context) error
}

// stop ends what was started, the last first, and logs how long each took.
func (n *node) stop() error {
	var errs error
	for _, part := range slices.Backward(n.parts) {
		from := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), part.limit)
		if err := part.stop(ctx); err != nil {
			errs = errors.Join(errs, fmt.Errorf("cannot stop %s: %w", part.name, err))
		}
		cancel()
		n.log.Info("stopped", "part", part.name, "took", time.Since(from).Round(time.Millisecond).String())
	}
	return errs
}

func (n *node) began(name string, stop func(context.Context) error) {
	n.parts = append(n.parts, started{name, partTimeout, stop})
}

// path is a place in the data directory.
func (l *loaded) path(name string) string { return filepath.Join(l.Data, name) }
