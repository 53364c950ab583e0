package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/report"
)

// settings are what a run is asked to do.
type settings struct {
	exe         string // of the node
	self        string // our own, for loaders and fronts
	corpus      string
	data        string // where servers keep theirs; removed at the end
	only        []string
	connections int
	rounds      int
	length      time.Duration
	progress    io.Writer
}

// suite is a run under way.
type suite struct {
	settings
	cores  cores
	record *corpus.Record
	dir    string // data, made for this run
	copied string // data directory of the node
	rows   string // what export wrote
	site   site
	bodies int64
	keys   []string
	node   *child
	run    report.Peers
}

// measureAll runs everything, and returns what was measured also when a part
// of it failed. Whatever it started has ended, and what it made is removed,
// when it returns.
func measureAll(ctx context.Context, s settings) (_ *report.Peers, err error) {
	r := &suite{settings: s}
	r.run.Began = time.Now().UTC().Format(time.RFC3339)
	defer func() { err = errors.Join(err, r.node.Stop(), r.clean()) }()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	var faults []error
	for number := range contestants {
		c := &contestants[number]
		if len(s.only) > 0 && !slices.ContainsFunc(s.only, func(name string) bool { return named(name) == c }) {
			continue
		}
		if err := r.contest(ctx, c, uint64(number)); err != nil {
			if ctx.Err() != nil {
				return &r.run, ctx.Err()
			}
			if !r.node.alive() {
				return &r.run, fmt.Errorf("the node ended: %s", r.node.lastWords())
			}
			r.say("%s: %v", c.name, err)
			faults = append(faults, fmt.Errorf("%s: %w", c.name, err))
			r.leaveOut(c, err.Error())
		}
	}
	return &r.run, errors.Join(append(faults, r.refreshNode(ctx))...)
}

func (r *suite) say(format string, args ...any) { fmt.Fprintf(r.progress, format+"\n", args...) }

// clean removes what the run made.
func (r *suite) clean() error {
	if r.dir == "" {
		return nil
	}
	return removeAll(r.dir)
}

// prepare makes the copy, the rows and the node.
func (r *suite) prepare(ctx context.Context) (err error) {
	if r.cores, err = splitCores(); err != nil {
		return err
	}
	if r.record, err = corpus.Read(r.corpus); err != nil {
		return err
	}
	r.run.Positions, r.run.Genesis = r.record.Shape.Positions, r.record.Spec.Genesis
	r.run.Pinned, r.run.CPU = r.cores.text, processorName()
	// Servers do not run in our directory.
	if r.data, err = filepath.Abs(r.data); err == nil {
		err = os.MkdirAll(r.data, 0o755)
	}
	if err != nil {
		return fmt.Errorf("cannot make a directory to work in: %w", err)
	}
	if r.dir, err = os.MkdirTemp(r.data, "run-"); err != nil {
		return fmt.Errorf("cannot make a directory to work in: %w", err)
	}
	if err := os.Chmod(r.dir, 0o755); err != nil { // PostgreSQL's user passes through it
		return fmt.Errorf("cannot make a directory to work in: %w", err)
	}
	r.copied, r.rows = filepath.Join(r.dir, "data"), filepath.Join(r.dir, "rows")
	if err := corpus.Copy(r.corpus, r.copied); err != nil {
		return err
	}
	issued, err := corpus.AddKeys(r.copied, []corpus.Grant{
		{Plan: "bench", Accounts: keyCount / 10, Keys: keyCount},
	})
	if err != nil {
		return err
	}
	r.keys = issued[0]
	r.say("writing the rows of %d positions", r.run.Positions)
	if err := export(r.copied, r.rows); err != nil {
		return err
	}
	if err := r.look(); err != nil {
		return err
	}
	if err := r.cores.settle(); err != nil {
		return err
	}
	r.say("starting a node on a copy of %s, without its page cache", r.corpus)
	r.node, err = startNode(ctx, &r.cores, r.exe, r.copied, r.dir, &r.record.Spec, corpus.Node{})
	return err
}

// look learns what there is to ask about.
func (r *suite) look() error {
	c, err := readColumns(r.rows)
	if err != nil {
		return err
	}
	r.site = site{chains: c.chains, rows: uint64(len(c.rows)), totals: map[list]uint64{}}
	for _, l := range lists(c.chains) {
		for i := range c.rows {
			if w := &c.rows[i]; w.flags.has(l.needs()) && (l.chain == 0 || l.chain == w.chain) {
				r.site.totals[l]++
			}
		}
	}
	info, err := os.Stat(r.rows)
	if err != nil {
		return fmt.Errorf("cannot look at the rows: %w", err)
	}
	r.bodies = info.Size()
	return nil
}

// fits refuses a contestant that this machine's memory does not hold.
func (r *suite) fits(c *contestant) error {
	if c.memory == nil {
		return nil
	}
	var entries int64
	for _, n := range r.site.totals {
		entries += int64(n)
	}
	if need, free := c.memory(r.bodies, entries), memoryAvailable(); need > free {
		return fmt.Errorf("it needs about %d MiB of memory for this corpus; %d are free", need>>20, free>>20)
	}
	return nil
}

// contest runs one contestant from its server's start to its end.
func (r *suite) contest(ctx context.Context, c *contestant, number uint64) (err error) {
	if err := errors.Join(c.install(ctx, r.say), r.fits(c)); err != nil {
		return err
	}
	version, err := c.version(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(r.dir, "server")
	// A socket's path is short, wherever the data is.
	sockets, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for sockets: %w", err)
	}
	var server, front *child
	defer func() {
		err = errors.Join(err, front.Stop(), server.Stop(), removeAll(sockets), removeAll(dir))
	}()
	at := filepath.Join(dir, "peer.sqlite")
	if c.start == nil {
		err = os.MkdirAll(dir, 0o700)
	} else if server, err = c.start(ctx, &r.cores, dir, sockets); err == nil {
		at = server.Address
		err = r.reach(ctx, c, server)
	}
	if err != nil {
		return err
	}
	result := report.Peer{Peer: c.name, Version: version}
	if err := r.loadPeer(ctx, c, at, server, result); err != nil {
		return err
	}
	if front, err = spawn(ctx, &r.cores, exec.Command(r.self, "front", "--peer", c.name, "--at", at,
		"--chains", chainsText(r.site.chains)), filepath.Join(r.dir, "front.log")); err != nil {
		return err
	}
	var faults []error
	for i := range questions {
		result.Question, result.Row = questions[i].name, questions[i].row
		faults = append(faults, r.measure(ctx, &questions[i], number*peerNumbers, server, front, result))
		if ctx.Err() != nil || !r.node.alive() {
			break
		}
	}
	return errors.Join(append(faults, ctx.Err())...)
}

// reach waits until a server takes connections.
func (r *suite) reach(ctx context.Context, c *contestant, server *child) error {
	for end := time.Now().Add(childTimeout); ; {
		err := exec.CommandContext(ctx, r.self, "ping", "--peer", c.name, "--at", server.Address).Run()
		if err == nil {
			return nil
		}
		if !server.alive() || time.Now().After(end) {
			return fmt.Errorf("the server did not start: %s", server.lastWords())
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// loadPeer loads everything, which is what a refresh of everything takes: into
// an empty database, in its favour.
func (r *suite) loadPeer(ctx context.Context, c *contestant, at string, server *child, result report.Peer) error {
	r.say("%s %s: loading", c.name, result.Version)
	var said, failed bytes.Buffer
	cmd := exec.CommandContext(ctx, r.self, "load", "--peer", c.name, "--at", at, "--rows", r.rows)
	cmd.Stdout, cmd.Stderr = &said, &failed
	before, began := server.CPU(), time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot load: %w: %s", err, lastText(failed.Bytes()))
	}
	took := server.CPU() - before
	var w work
	if err := json.Unmarshal(said.Bytes(), &w); err != nil {
		return fmt.Errorf("cannot read what loading took: %w", err)
	}
	if server == nil {
		took = w.CPU
	}
	result.Question, result.Row = refreshName, 7
	result.Other.CPUMicros = float64(took.Microseconds())
	r.run.Results = append(r.run.Results, result)
	r.say("%s: %d rows in %.1f s, %.1f s of CPU", c.name, r.site.rows, time.Since(began).Seconds(), took.Seconds())
	return nil
}

// leaveOut says of every question that was not measured why.
func (r *suite) leaveOut(c *contestant, why string) {
	names := []string{refreshName}
	rows := []int{7}
	for i := range questions {
		names, rows = append(names, questions[i].name), append(rows, questions[i].row)
	}
	for i, name := range names {
		if !slices.ContainsFunc(r.run.Results, func(p report.Peer) bool {
			return p.Peer == c.name && p.Question == name
		}) {
			r.run.Results = append(r.run.Results, report.Peer{Peer: c.name, Question: name, Row: rows[i], Why: why})
		}
	}
}

// refreshNode measures the node's refresh, for all contestants.
func (r *suite) refreshNode(ctx context.Context) (err error) {
	if err := r.node.Stop(); err != nil {
		return err
	}
	r.say("measuring the node's refresh")
	r.node, err = startNode(ctx, &r.cores, r.exe, r.copied, r.dir, &r.record.Spec,
		corpus.Node{Live: true, Refresh: refreshEvery})
	if err != nil {
		return err
	}
	took, err := measureRefresh(ctx, r.node)
	if err != nil && !r.node.alive() {
		err = fmt.Errorf("the node ended: %s", r.node.lastWords())
	}
	if err != nil {
		return err
	}
	for i := range r.run.Results {
		if p := &r.run.Results[i]; p.Question == refreshName && p.Why == "" {
			p.Node.CPUMicros = float64(took.Microseconds())
			p.RatioCPU = p.Other.CPUMicros / p.Node.CPUMicros
		}
	}
	return nil
}

// loadConfig is one measurement.
func (r *suite) loadConfig(q *question, address string, mix load.Mix, cpu func() time.Duration) load.Config {
	cfg := load.Config{
		Addr: address, Connections: r.connections, Workers: min(r.cores.client.Count(), r.connections),
		Mix: mix, Seed: 1, Warmup: r.length / 4, Length: r.length, ServerCPU: cpu,
	}
	if q.alone { // and slow, so that it takes longer to see many of them
		cfg.Connections, cfg.Workers, cfg.Length = 1, 1, 3*r.length
	}
	return cfg
}
