package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"tidemark/storage/database"
	"tidemark/storage/pace"
)

// ServeCmd runs a node until it is told to stop.
type ServeCmd struct {
	Config    string `help:"Configuration file." type:"path" placeholder:"FILE"`
	Data      string `help:"Directory of everything the node keeps (./data)." placeholder:"DIR"`
	Listen    string `help:"Address of the API (127.0.0.1:8080)." placeholder:"ADDR"`
	OpsListen string `help:"Address of /metrics and pprof (127.0.0.1:8081)." placeholder:"ADDR"`
	Feed      string `help:"Where events come from: sim or rpc." placeholder:"FEED"`

	Drain string `help:"How long a stopping node answers on (0s)." placeholder:"DURATION"`

	AcceptLostAccounts bool `help:"Start although accounts, keys or usage that were written are missing."`
	InsecureCluster    bool `help:"Join a cluster whose servers may lose data: fewer than three, or without sync."`
}

// An ordered stop gives every part a time of its own, so that one that hangs
// takes nothing from those after it. What has not ended by then is dropped, and
// the next start finds a store as after a crash.
const (
	partTimeout = 10 * time.Second
	// partGrace is how much later a part may say what has not ended in its time.
	partGrace = time.Second
	// clientTimeout is what clients get to read their answers. Whoever reads
	// none must not keep leases and stores from being closed in order.
	clientTimeout = 3 * time.Second
)

// Run serves until SIGINT or SIGTERM.
func (c *ServeCmd) Run(reload hangups) error {
	l, err := c.load()
	if err != nil {
		return err
	}
	l.acceptLost, l.insecureCluster = c.AcceptLostAccounts, c.InsecureCluster
	return l.serve(reload)
}

func (c *ServeCmd) load() (*loaded, error) {
	return loadConfig(c.Config, os.Environ(), map[string]string{
		"data": c.Data, "listen": c.Listen, "ops-listen": c.OpsListen, "feed": c.Feed,
		"drain": c.Drain,
	})
}

// serve runs a node with a configuration, which it loads again on every hangup.
func (l *loaded) serve(reload hangups) (err error) {
	if !database.SyncsAside() { // a sync would hold the only processor
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	}
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(stop)
	signal.Ignore(syscall.SIGPIPE) // a node outlives whoever reads its log
	narrowFiles()

	n := &node{loaded: l, screen: newScreen(os.Stderr), catchUp: catchUp{}, inForce: l.values()}
	if os.Getenv("GOGC") == "" {
		defer pace.LimitGarbage(n.hasStarted).Stop()
	}
	setLevel(&n.level, l.Log.Level)
	n.log = newLogger(n.screen, n.screen.isTerminal, &n.level)
	n.logSources()
	running, err := n.startUnless(stop)
	for running {
		select {
		case <-reload:
			n.reloadConfig()
		case <-stop:
			n.drain(stop)
			running = false
		case err = <-n.failed:
			running = false
		}
	}
	return errors.Join(err, n.stop())
}

// startUnless starts the node, unless it is told to stop meanwhile: what waits is given up
// then, and the step that is under way is the last one.
func (n *node) startUnless(stop <-chan os.Signal) (running bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- n.start(ctx) }()

	select {
	case err := <-started:
		return err == nil, err
	case <-stop:
		n.log.Info("told to stop while starting")
		n.tellManager(daemon.SdNotifyStopping)
		cancel()
	}
	if err := <-started; err != nil && !errors.Is(err, context.Canceled) {
		n.log.Warn("the start failed", "error", err)
	}
	return false, nil
}

// logSources tells where the configuration comes from.
func (n *node) logSources() {
	var environment, flags []string
	for _, origin := range n.origin {
		if name, ok := strings.CutPrefix(origin, "environment "); ok {
			environment = append(environment, name)
		} else if name, ok := strings.CutPrefix(origin, "flag "); ok {
			flags = append(flags, name)
		}
	}
	slices.Sort(environment)
	slices.Sort(flags)

	n.log.Info("configuration", "file", cmp.Or(n.file, "none"),
		"environment", cmp.Or(strings.Join(environment, " "), "none"),
		"flags", cmp.Or(strings.Join(flags, " "), "none"))
	for _, variable := range n.ignored {
		n.log.Warn(n.strayVariable(variable))
	}
}

// drain tells balancers and clients that the node is about to end, and answers
// on for a while, or until it is told to stop again.
func (n *node) drain(again <-chan os.Signal) {
	n.ready.stopping.Store(true)
	n.api.Drain()
	n.tellManager(daemon.SdNotifyStopping)
	n.extendTimeout(n.Drain + partTimeout)
	if n.Drain == 0 {
		return
	}

	n.log.Info("draining: not ready, and every answer closes its connection; stop again to end at once",
		"for", n.Drain)
	select {
	case <-time.After(n.Drain):
	case <-again:
	}
}

// started is a part of the node that has to be stopped.
type started struct {
	name string
	stop func(context.Context) error
}

// stop ends what was started, the last first. Each part has partTimeout.
func (n *node) stop() error {
	var errs error
	began := time.Now()
	for _, part := range slices.Backward(n.parts) {
		from := time.Now()
		n.extendTimeout(2 * partTimeout) // more than a part gets
		if err := part.end(); err != nil {
			errs = errors.Join(errs, fmt.Errorf("cannot stop %s: %w", part.name, err))
		}
		n.log.Debug("stopped a part", "part", part.name, "took", time.Since(from))
	}

	n.log.Info("stopped", "took", time.Since(began))
	return errs
}

// end stops a part. One that does not end with its time is left to itself.
func (p *started) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), partTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.stop(ctx) }()

	select {
	case err := <-ended:
		return err
	case <-time.After(partTimeout + partGrace):
		return fmt.Errorf("it hangs; it was given %s", partTimeout)
	}
}

func (n *node) addPart(name string, stop func(context.Context) error) {
	n.parts = append(n.parts, started{name, stop})
}

// dataPath is a place in the data directory.
func (l *loaded) dataPath(name string) string { return filepath.Join(l.Data, name) }
