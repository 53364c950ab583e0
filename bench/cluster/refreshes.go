package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/process"
)

// refreshCost is what a refresh of a node took, or a cut of a follower.
type refreshCost struct {
	cpu    float64 // seconds, from one refresh to the next
	idle   float64 // of them, by timers and polls: what the node uses when it does nothing
	took   float64 // seconds
	append float64 // of them
}

// own is the CPU that the refresh itself took, in seconds.
func (c refreshCost) own() float64 { return c.cpu - c.idle }

// brisk returns a market in which every pool's price moves with every refresh.
func (f *figures) brisk() *corpus.Node {
	n := &corpus.Node{Market: sim.Workload{Brisk: true}, Refresh: f.Refresh}
	n.Since = n.Market.Since(time.Now(), time.Time{}, f.Refresh)
	return n
}

// measureBeside measures refreshes of a node in a cluster beside those of a node alone. Both
// of a pair run at the same time, so that what else the machine does slows both.
func (f *figures) measureBeside(ctx context.Context) error {
	pairs, err := f.measurePair(ctx, "beside", alone)
	if err != nil {
		return err
	}

	f.printSide("node of a cluster", pairs, pair.writer)
	f.printSide("node alone, at the same time", pairs, pair.other)
	ratios := sorted(pairs, func(p pair) float64 { return (p[0].took - p[0].append) / p[1].took })
	f.checkMedian(ratios, refreshShare,
		"refresh in a cluster, less the append, beside one without at the same time")
	cpu := sorted(pairs, func(p pair) float64 { return p[0].own() / p[1].own() })
	fmt.Fprintf(f.Out, "  CPU of these, with the append: %.3f (%.3f to %.3f)\n",
		load.Median(cpu), cpu[0], cpu[len(cpu)-1])
	return nil
}

// measureFollower measures the cuts of a follower beside the refreshes that made them.
func (f *figures) measureFollower(ctx context.Context) error {
	pairs, err := f.measurePair(ctx, "follower", nodeName(1))
	if err != nil {
		return err
	}

	f.printSide("writer", pairs, pair.writer)
	f.printSide("its follower", pairs, pair.other)
	shares := sorted(pairs, func(p pair) float64 { return p[1].own() / p[0].own() })
	f.checkMedian(shares, followerShare, "follower's CPU for a cut beside its writer's for the refresh")
	all := sorted(pairs, func(p pair) float64 { return p[1].cpu / p[0].cpu })
	fmt.Fprintf(f.Out, "  with what both use when idle: %.3f (%.3f to %.3f)\n",
		load.Median(all), all[0], all[len(all)-1])
	return nil
}

// measurePair measures the writer beside another node, and stops both.
func (f *figures) measurePair(ctx context.Context, name, other string) (pairs []pair, err error) {
	market := f.brisk()
	writer, err := f.start(ctx, nodeName(0), market)
	if err != nil {
		return nil, err
	}

	beside, err := f.start(ctx, other, market)
	if err == nil {
		pairs, err = f.measureCost(ctx, name, writer, beside)
	}

	if err = errors.Join(err, f.stopNodes()); err != nil {
		return nil, err
	}
	fmt.Fprintf(f.Out, "%d positions, %d refreshes\n", f.record.Spec.Positions, len(pairs))
	return pairs, nil
}

// printSide prints what refreshes of one side took in the median.
func (f *figures) printSide(name string, pairs []pair, side func(pair) refreshCost) {
	median := func(of func(refreshCost) float64) float64 {
		return load.Median(sorted(pairs, func(p pair) float64 { return of(side(p)) }))
	}
	fmt.Fprintf(f.Out, "  %s, in the median: %.3f s of CPU a refresh, and %.3f s when idle; "+
		"%.3f s a refresh, %.3f s of it to append\n", name,
		median(refreshCost.own), median(func(c refreshCost) float64 { return c.idle }),
		median(func(c refreshCost) float64 { return c.took }),
		median(func(c refreshCost) float64 { return c.append }))
}

// pair is a refresh of the writer, and what the other node did in the same time.
type pair [2]refreshCost

func (p pair) writer() refreshCost { return p[0] }
func (p pair) other() refreshCost  { return p[1] }

func sorted(pairs []pair, of func(pair) float64) (all []float64) {
	for _, p := range pairs {
		all = append(all, of(p))
	}
	slices.Sort(all)
	return all
}

// refreshPatience is how many times as long as they should refreshes may take, and
// leastPatience the least time that they get.
const (
	refreshPatience = 5
	leastPatience   = 2 * time.Minute
)

// measureCost measures the refreshes of a writer one by one, and another node beside it,
// once they do nothing else. name is that of their profiles.
func (f *figures) measureCost(
	ctx context.Context, name string, writer, other *process.Node,
) (pairs []pair, err error) {
	patience := refreshPatience * time.Duration(2*f.Refreshes+quietRefreshes) * f.Refresh // twice, to be quiet
	ctx, cancel := context.WithTimeout(ctx, max(patience, leastPatience))
	defer cancel()
	if err := f.awaitQuiet(ctx, writer, other); err != nil {
		return nil, err
	}
	profiled := f.profile(name, writer, other)
	defer func() { err = errors.Join(err, profiled()) }()

	was := [2]reading{read(writer), read(other)}
	for len(pairs) < f.Refreshes {
		if err := awaitRefreshes(ctx, writer, 1); err != nil {
			return nil, err
		}
		time.Sleep(f.Refresh / 4) // the other one may be a moment behind
		is := [2]reading{read(writer), read(other)}
		idle := idleOf(f.Refresh/4, writer, other)
		if is[0].refreshes() > was[0].refreshes() && is[1].refreshes() > was[1].refreshes() {
			pairs = append(pairs, pair{is[0].since(was[0], idle[0]), is[1].since(was[1], idle[1])})
		}
		was = is
	}
	return pairs, nil
}

// idleOf returns the share of a processor that two nodes use for a while, which is to be
// between two refreshes.
func idleOf(length time.Duration, nodes ...*process.Node) (shares [2]float64) {
	var before [2]time.Duration
	for i, n := range nodes {
		before[i] = n.CPU()
	}
	began := time.Now()
	time.Sleep(length)

	for i, n := range nodes {
		shares[i] = (n.CPU() - before[i]).Seconds() / time.Since(began).Seconds()
	}
	return shares
}

// profile keeps CPU profiles of the refreshes of two nodes, if wanted. The function that it
// returns waits for them.
func (f *figures) profile(name string, writer, other *process.Node) (wait func() error) {
	if f.Profiles == "" {
		return func() error { return nil }
	}

	length, results := time.Duration(f.Refreshes)*f.Refresh, make(chan error, 2)
	keep := func(n *process.Node, side string) {
		results <- n.KeepProfile(length, filepath.Join(f.Profiles, name+"-"+side+".pprof"))
	}
	go keep(writer, "writer")
	go keep(other, "other")
	return func() error { return errors.Join(<-results, <-results) }
}

const (
	// quietRefreshes are so many in which nodes do nothing but refresh.
	quietRefreshes = 3
	// quietBytes is more than compactions write of these refreshes, and far less than of a
	// snapshot that was taken.
	quietBytes = 100 << 20
)

// awaitQuiet waits for some refreshes in which no snapshot is stored, as the founder's is one
// already, and in which no node compacts what it took.
func (f *figures) awaitQuiet(ctx context.Context, writer, other *process.Node) error {
	count := func() (snapshots, bytes float64) {
		for _, n := range []*process.Node{writer, other} {
			counters := n.Counters()
			snapshots += process.Sum(counters, snapshotSeconds+"_count")
			bytes += process.Sum(counters, compactBytes)
		}
		return snapshots, bytes
	}

	for {
		snapshots, bytes := count()
		if err := awaitRefreshes(ctx, writer, quietRefreshes); err != nil {
			return err
		}
		stored, compacted := count()
		if stored == snapshots && compacted-bytes < quietBytes {
			return nil
		}
	}
}

// readEvery is the pause between two readings of the metrics of a node. Each is work of
// the node that counts for its refresh: at 20 a second they were a tenth of it.
const readEvery = 500 * time.Millisecond

// awaitRefreshes waits for so many refreshes of a node.
func awaitRefreshes(ctx context.Context, n *process.Node, count int) error {
	before := process.Sum(n.Counters(), refreshSeconds+"_count")
	return n.Await(ctx, readEvery, func() error {
		if got := process.Sum(n.Counters(), refreshSeconds+"_count") - before; got < float64(count) {
			return fmt.Errorf("%.0f refreshes of %d", got, count)
		}
		return nil
	})
}

const (
	refreshSeconds  = "tidemark_chain_refresh_seconds"
	followSeconds   = "tidemark_chain_follow_seconds"
	appendSeconds   = "tidemark_cluster_append_seconds"
	snapshotSeconds = "tidemark_cluster_snapshot_seconds"
	compactBytes    = "tidemark_store_compact_bytes_total"
)

// reading is what a node has used so far.
type reading struct {
	at     time.Time
	cpu    time.Duration
	counts map[string]float64
}

func read(n *process.Node) reading { return reading{time.Now(), n.CPU(), n.Counters()} }

// refreshes counts the refreshes of a node, and the cuts of a follower.
func (r reading) refreshes() float64 {
	return process.Sum(r.counts, refreshSeconds+"_count") + process.Sum(r.counts, followSeconds+"_count")
}

// since returns the cost of a refresh, or of a cut of a follower, since then. idle is the
// share of a processor that the node uses when it does nothing.
func (r reading) since(before reading, idle float64) refreshCost {
	grown := func(name string) float64 { return process.Sum(r.counts, name) - process.Sum(before.counts, name) }
	count := max(1, r.refreshes()-before.refreshes())
	return refreshCost{
		cpu:    (r.cpu - before.cpu).Seconds() / count,
		idle:   idle * r.at.Sub(before.at).Seconds() / count,
		took:   (grown(refreshSeconds+"_sum") + grown(followSeconds+"_sum")) / count,
		append: grown(appendSeconds+"_sum") / count,
	}
}
