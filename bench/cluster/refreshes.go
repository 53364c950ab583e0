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

// refreshCost is what refreshes of a node took, or cuts of a follower.
type refreshCost struct {
	count  float64 // of them
	cpu    float64 // seconds
	idle   float64 // of them, by timers and polls: what the node uses when it does nothing
	took   float64 // seconds
	append float64 // of them
}

// own is the CPU that the refreshes themselves took, in seconds each.
func (c refreshCost) own() float64 { return (c.cpu - c.idle) / c.count }

// all is the same with what the node uses when idle.
func (c refreshCost) all() float64 { return c.cpu / c.count }

// published is how long one took without the append, in seconds.
func (c refreshCost) published() float64 { return (c.took - c.append) / c.count }

func (c refreshCost) plus(o refreshCost) refreshCost {
	return refreshCost{c.count + o.count, c.cpu + o.cpu, c.idle + o.idle, c.took + o.took, c.append + o.append}
}

// brisk returns a market in which every pool's price moves with every refresh.
func (f *figures) brisk() *corpus.Node {
	n := &corpus.Node{Market: sim.Workload{Brisk: true}, Refresh: f.Refresh}
	n.Since = n.Market.Since(time.Now(), time.Time{}, f.Refresh)
	return n
}

// measureBeside measures refreshes of a node in a cluster beside those of a node alone. Both
// run at the same time, so that what else the machine does slows both.
func (f *figures) measureBeside(ctx context.Context) error {
	spans, err := f.measurePair(ctx, "beside", alone, "node of a cluster", "node alone, at the same time")
	if err != nil {
		return err
	}

	f.checkSpans(spans, refreshShare, func(s span) float64 { return s.writer.published() / s.other.published() },
		"refresh in a cluster, less the append, beside one without at the same time")
	f.printSpans(spans, func(s span) float64 { return s.writer.own() / s.other.own() },
		"CPU of these, with the append")
	return nil
}

// measureFollower measures the cuts of a follower beside the refreshes that made them.
func (f *figures) measureFollower(ctx context.Context) error {
	spans, err := f.measurePair(ctx, "follower", nodeName(1), "writer", "its follower")
	if err != nil {
		return err
	}

	f.checkSpans(spans, followerShare, func(s span) float64 { return s.other.own() / s.writer.own() },
		"follower's CPU for a cut beside its writer's for the refresh")
	f.printSpans(spans, func(s span) float64 { return s.other.all() / s.writer.all() },
		"with what both use when idle")
	return nil
}

// measurePair measures the writer beside another node, stops both, and prints what each took
// under what it is.
func (f *figures) measurePair(
	ctx context.Context, name, other, isWriter, isOther string,
) (spans []span, err error) {
	market := f.brisk()
	writer, err := f.start(ctx, nodeName(0), market)
	if err != nil {
		return nil, err
	}

	beside, err := f.start(ctx, other, market)
	if err == nil {
		spans, err = f.measureCost(ctx, name, [2]*process.Node{writer, beside})
	}

	if err = errors.Join(err, f.stopNodes()); err != nil {
		return nil, err
	}
	all := total(spans)
	fmt.Fprintf(f.Out, "%d positions, %.0f refreshes of the writer and %.0f of the other node\n",
		f.record.Spec.Positions, all.writer.count, all.other.count)
	f.printSide(isWriter, all.writer)
	f.printSide(isOther, all.other)
	return spans, nil
}

// printSide prints what refreshes of one side took in the mean.
func (f *figures) printSide(name string, c refreshCost) {
	fmt.Fprintf(f.Out, "  %s: %.4f s of CPU a refresh, and %.4f s when idle; "+
		"%.3f s a refresh, %.3f s of it to append\n",
		name, c.own(), c.idle/c.count, c.took/c.count, c.append/c.count)
}

// span is what the writer and another node did in the same time.
type span struct{ writer, other refreshCost }

// total is what both did in all spans.
func total(spans []span) (sum span) {
	for _, s := range spans {
		sum.writer, sum.other = sum.writer.plus(s.writer), sum.other.plus(s.other)
	}
	return sum
}

// checkSpans checks a ratio over all spans, and prints how far single ones are from it.
func (f *figures) checkSpans(
	spans []span, most float64, ratio func(span) float64, text string,
) {
	low, high := rangeOf(spans, ratio)
	f.checkFigure(ratio(total(spans)), most, "%s (single spans of %d: %.3f to %.3f)", text, len(spans), low, high)
}

// printSpans prints a ratio of which nothing is asked.
func (f *figures) printSpans(spans []span, ratio func(span) float64, text string) {
	low, high := rangeOf(spans, ratio)
	fmt.Fprintf(f.Out, "  %s: %.3f (%.3f to %.3f)\n", text, ratio(total(spans)), low, high)
}

func rangeOf(spans []span, ratio func(span) float64) (low, high float64) {
	var all []float64
	for _, s := range spans {
		all = append(all, ratio(s))
	}
	return slices.Min(all), slices.Max(all)
}

// refreshPatience is how many times as long as they should refreshes may take, and
// leastPatience the least time that they get.
const (
	refreshPatience = 5
	leastPatience   = 2 * time.Minute
)

// spanRefreshes is how many refreshes a span has at least. The collector runs once in one to
// three of them, and what it takes belongs to all.
const spanRefreshes = 6

// measureCost measures the refreshes of a writer, and another node beside it, once they do
// nothing else.
func (f *figures) measureCost(ctx context.Context, name string, nodes [2]*process.Node) (spans []span, err error) {
	patience := refreshPatience * time.Duration(f.Refreshes+quietRefreshes) * f.Refresh
	ctx, cancel := context.WithTimeout(ctx, max(patience, leastPatience))
	defer cancel()
	if err := f.awaitQuiet(ctx, nodes); err != nil {
		return nil, err
	}
	profiled := f.profile(name, nodes)
	defer func() { err = errors.Join(err, profiled()) }()

	first, err := f.lookIdle(ctx, nodes)
	if err != nil {
		return nil, err
	}
	looks := []look{first}
	for done := 0.0; done < float64(f.Refreshes); {
		if err := wait(ctx, (spanRefreshes-1)*f.Refresh); err != nil { // looks take the rest
			return nil, err
		}
		l, err := f.lookIdle(ctx, nodes)
		if err != nil {
			return nil, err
		}
		looks = append(looks, l)
		done = l.to[0].refreshes() - first.to[0].refreshes()
	}
	return spansOf(looks), nil
}

// look is two readings of nodes between which neither worked.
type look struct{ from, to [2]reading }

// lookIdle reads both nodes while neither works, so that whatever they used before was for
// the refreshes that they have counted by then.
func (f *figures) lookIdle(ctx context.Context, nodes [2]*process.Node) (l look, err error) {
	readBoth := func() [2]reading { return [2]reading{read(nodes[0]), read(nodes[1])} }
	for l.to = readBoth(); ; {
		l.from = l.to
		if err := wait(ctx, f.Refresh/4); err != nil {
			return l, fmt.Errorf("the nodes are never idle together: %w", err)
		}
		if l.to = readBoth(); l.isIdle() {
			return l, nil
		}
	}
}

// isIdle reports whether neither node worked.
func (l *look) isIdle() bool {
	for i := range l.to {
		if l.to[i].refreshes() != l.from[i].refreshes() || l.share(i) > idleShare {
			return false
		}
	}
	return true
}

// share is the part of a processor that a node used.
func (l *look) share(node int) float64 {
	return (l.to[node].cpu - l.from[node].cpu).Seconds() / l.to[node].at.Sub(l.from[node].at).Seconds()
}

// spansOf returns what happened from the end of each look to that of the next one. What nodes
// use when idle is the median of the looks: in one of them a node may compact what it has
// written, or collect garbage, which refreshes have made.
func spansOf(looks []look) (spans []span) {
	var idle [2]float64
	for node := range idle {
		var shares []float64
		for i := range looks {
			shares = append(shares, looks[i].share(node))
		}
		idle[node] = load.Median(shares)
	}

	for i := range looks[1:] {
		was, is := &looks[i].to, &looks[i+1].to
		spans = append(spans, span{is[0].since(was[0], idle[0]), is[1].since(was[1], idle[1])})
	}
	return spans
}

func wait(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}

// profile keeps CPU profiles of the refreshes of two nodes, if wanted. The function that it
// returns waits for them.
func (f *figures) profile(name string, nodes [2]*process.Node) (finish func() error) {
	if f.Profiles == "" {
		return func() error { return nil }
	}

	length, results := time.Duration(f.Refreshes)*f.Refresh, make(chan error, 2)
	keep := func(n *process.Node, side string) {
		results <- n.KeepProfile(length, filepath.Join(f.Profiles, name+"-"+side+".pprof"))
	}
	go keep(nodes[0], "writer")
	go keep(nodes[1], "other")
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
func (f *figures) awaitQuiet(ctx context.Context, nodes [2]*process.Node) error {
	count := func() (snapshots, bytes float64) {
		for _, n := range nodes {
			counters := n.Counters()
			snapshots += process.Sum(counters, snapshotSeconds+"_count")
			bytes += process.Sum(counters, compactBytes)
		}
		return snapshots, bytes
	}

	for {
		snapshots, bytes := count()
		if err := awaitRefreshes(ctx, nodes[0], quietRefreshes); err != nil {
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

// since returns the cost of the refreshes since then, or of the cuts of a follower. idle is
// the share of a processor that the node uses when it does nothing.
func (r reading) since(before reading, idle float64) refreshCost {
	grown := func(name string) float64 { return process.Sum(r.counts, name) - process.Sum(before.counts, name) }
	return refreshCost{
		count:  r.refreshes() - before.refreshes(),
		cpu:    (r.cpu - before.cpu).Seconds(),
		idle:   idle * r.at.Sub(before.at).Seconds(),
		took:   grown(refreshSeconds+"_sum") + grown(followSeconds+"_sum"),
		append: grown(appendSeconds + "_sum"),
	}
}
