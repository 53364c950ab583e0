package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/process"
)

// FigureSettings say what to measure clusters on. Every field but
// Profiles is required.
type FigureSettings struct {
	NATSServer string // path of the program
	Corpus     string // of one chain
	Refreshes  int    // that are measured of every node
	Refresh    time.Duration
	Rounds     int           // in which sides of a comparison take turns
	Length     time.Duration // of one round
	Profiles   string        // directory for CPU profiles of refreshes; empty: none
	Only       string        // beside, follower or pages; all
	Out        io.Writer     // for the figures
	Progress   io.Writer
}

// check refuses what measures nothing before anything is started.
func (s *FigureSettings) check() error {
	switch {
	case s.Length <= 0 || s.Rounds < 1:
		return fmt.Errorf("cannot measure %d rounds of %s; at least 1, of more than 0s", s.Rounds, s.Length)
	case s.Refreshes < 1 || s.Refresh < process.LeastRefresh:
		return fmt.Errorf("cannot measure %d refreshes, one every %s; at least 1, every %s", s.Refreshes,
			s.Refresh, process.LeastRefresh)
	}
	return nil
}

// What is asked of a cluster.
const (
	followerShare = 0.35 // of the writer's CPU for a refresh, at a million positions
	refreshShare  = 1.10 // of a refresh without a cluster, besides the append
	pageShare     = 1.02 // of a hot page's CPU without a cluster
	balancedShare = 1.05 // of a page's CPU with one node
)

// accountsAsking are as many as there may be balancers, with a key each.
var accountsAsking = []corpus.Grant{{Plan: corpus.MeteredPlan, Accounts: 3, Keys: 3}}

// figures is a measurement under way.
type figures struct {
	*FigureSettings
	record  *corpus.Record
	dir     string // in the corpus, so that copies are hard links
	on      *process.Cores
	servers []*Server
	keys    map[bool][]string // of accounts of the node alone, and of the cluster
	nodes   []*process.Node
	missed  []string
}

// MeasureFigures measures what a cluster costs: a follower beside its writer, a writer
// beside a node alone, and pages of one to three nodes behind a balancer. The error
// names the figures that are not reached.
func MeasureFigures(ctx context.Context, s *FigureSettings) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	f := &figures{FigureSettings: s}
	defer func() { err = errors.Join(err, f.finish()) }()
	if err := f.prepare(ctx); err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		run  func(context.Context) error
	}{{"beside", f.measureBeside}, {"follower", f.measureFollower}, {"pages", f.measurePages}} {
		if s.Only != "all" && s.Only != m.name {
			continue
		}
		if err := m.run(ctx); err != nil {
			return err
		}
	}

	if len(f.missed) > 0 {
		return fmt.Errorf("not reached: %s", strings.Join(f.missed, "; "))
	}
	return nil
}

// prepare copies the corpus twice, for a node alone and for the founder of the cluster, and
// begins the cluster.
func (f *figures) prepare(ctx context.Context) (err error) {
	if f.record, err = corpus.Read(f.Corpus); err != nil {
		return err
	}
	if f.on, err = process.Split(true); err != nil {
		return err
	}
	if err := f.on.TakeClient(); err != nil {
		return err
	}
	if f.dir, err = os.MkdirTemp(f.Corpus, "cluster-"); err != nil {
		return fmt.Errorf("cannot make a directory to work in: %w", err)
	}

	if f.dir, err = filepath.Abs(f.dir); err != nil {
		return err
	}
	f.keys = map[bool][]string{}
	for _, name := range []string{alone, nodeName(0)} {
		if err := corpus.Copy(f.Corpus, f.dataOf(name)); err != nil {
			return err
		}
		keys, err := corpus.AddKeys(f.dataOf(name), accountsAsking)
		if err != nil {
			return err
		}
		f.keys[name == alone] = keys[0]
	}

	if err := f.startServers(ctx); err != nil {
		return err
	}
	return f.found(ctx)
}

// found has the founder write cuts and store a snapshot. Another node begins with it, and
// where the market stands still none would ever be stored.
func (f *figures) found(ctx context.Context) error {
	founder, err := f.start(ctx, nodeName(0), f.brisk())
	if err != nil {
		return err
	}

	err = founder.Await(ctx, readEvery, func() error {
		if process.Sum(founder.Counters(), snapshotSeconds+"_count") == 0 {
			return errors.New("the founder of the cluster has stored no snapshot")
		}
		return nil
	})
	return errors.Join(err, f.stopNodes())
}

// alone is the name of the node that is in no cluster.
const alone = "alone"

func (f *figures) dataOf(name string) string { return filepath.Join(f.dir, name, "data") }

func (f *figures) finish() error {
	errs := errors.Join(f.stopNodes(), StopAll(f.servers))
	if f.dir != "" {
		errs = errors.Join(errs, os.RemoveAll(f.dir))
	}
	return errs
}

func (f *figures) stopNodes() (errs error) {
	for _, n := range slices.Backward(f.nodes) {
		errs = errors.Join(errs, n.Stop())
	}
	f.nodes = nil
	return errs
}

func (f *figures) startServers(ctx context.Context) (err error) {
	if f.servers, err = NewServers(f.NATSServer, f.dir, serverCount, f.on); err != nil {
		return err
	}
	return StartAll(ctx, f.servers)
}

// start starts a node on a market and waits until it serves. All nodes but alone are of
// the cluster, and all but the first one only follow.
func (f *figures) start(ctx context.Context, name string, market *corpus.Node) (*process.Node, error) {
	fmt.Fprintln(f.Progress, "starting node", name)
	config := f.record.Spec.Config(market)
	ready := process.Serves
	if name != alone {
		config += Membership(name, URLs(f.servers), MonitoringURLs(f.servers))
	}
	switch name {
	case alone:
	case nodeName(0):
		ready = writes
	default:
		config += "writes = \"none\"\n"
	}
	args, err := f.record.Spec.Args(market)
	if err != nil {
		return nil, err
	}

	dir := filepath.Dir(f.dataOf(name))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the directory of node %s: %w", name, err)
	}
	n, err := process.StartNode(ctx, f.on, args, f.dataOf(name), config, dir)
	if err != nil {
		return nil, err
	}
	f.nodes = append(f.nodes, n)
	return n, awaitHealth(ctx, n, ready)
}

// checkFigure prints a figure and notes if it is not reached.
func (f *figures) checkFigure(got, most float64, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(f.Out, "%s: %.3f, at most %.2f\n", text, got, most)
	if got > most {
		f.missed = append(f.missed, fmt.Sprintf("%s is %.3f", text, got))
	}
}

// checkMedian checks the median of ratios, and prints how well it is known.
func (f *figures) checkMedian(ratios []float64, most float64, format string, args ...any) {
	low, high := load.MedianRange(ratios)
	args = append(args, len(ratios), low, high)
	f.checkFigure(load.Median(ratios), most, format+" (of %d: the median is from %.3f to %.3f)", args...)
}
