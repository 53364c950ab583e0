package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/process"
)

const (
	hotPage = "/v1/positions?limit=20"
	// pageConnections keep a node busy.
	pageConnections = 32
	// nodeRate is what every node behind a balancer is asked in a second, however many there
	// are: n nodes are asked n times as much in all. Both rates are printed.
	nodeRate        = 2500
	nodeConnections = 12 // of balancers, for each node
	// hotRounds is how many rounds a hot page has for each one of Rounds: it is to be known to
	// 2 %, and rounds differ by 10 % where others use the machine. Of 60 of them the median is
	// known to 3 %.
	hotRounds = 12
	// balancedRounds is how many times each node is the first one in a round: rounds differ by
	// 6 to 10 %, each for itself. Of 45 ratios the median is known to 4 %.
	balancedRounds = 3
)

// measurePages measures a hot page of a node alone beside one in a cluster, and then of
// one, two and three nodes behind a balancer. Their market stands still.
func (f *figures) measurePages(ctx context.Context) error {
	still := &corpus.Node{}
	for _, name := range []string{alone, nodeName(0), nodeName(1), nodeName(2)} {
		if _, err := f.start(ctx, name, still); err != nil {
			return err
		}
	}
	single, members := f.nodes[0], f.nodes[1:]
	for _, n := range f.nodes {
		if err := f.awaitKey(ctx, n, f.keys[n == single][0]); err != nil {
			return err
		}
	}

	if err := f.awaitIdle(ctx); err != nil {
		return err
	}

	hot, err := load.InTurns(ctx, hotRounds*f.Rounds,
		f.side(load.Config{Addr: single.API, Keys: f.keys[true][:1]}, single),
		f.side(load.Config{Addr: members[0].API, Keys: f.keys[false][:1]}, members[0]))
	if err != nil {
		return err
	}

	b := &balancers{nodes: members, started: map[[2]int]*front{}}
	sides, err := f.balancedSides(b)
	var balanced [][]*load.Result
	if err == nil {
		balanced, err = load.InTurns(ctx, balancedRounds*len(members)*f.Rounds, sides...)
	}
	if err = errors.Join(err, b.stop()); err == nil {
		f.printPages(hot, balanced)
	}
	return err
}

// balancedSides ask one node that is asked apart, and then one node, two and three that are
// asked in turn. Each node is the first of them in turn, since a page does not cost the same
// on all.
func (f *figures) balancedSides(b *balancers) (sides []load.Side, err error) {
	ways := []func(first int) (load.Side, error){
		func(first int) (load.Side, error) { return f.askedApart(b, first) },
	}
	for n := 1; n <= len(b.nodes); n++ {
		ways = append(ways, func(first int) (load.Side, error) { return f.askedInTurn(b, first, n) })
	}

	for _, way := range ways {
		var turns []load.Side
		for first := range b.nodes {
			side, err := way(first)
			if err != nil {
				return nil, err
			}
			turns = append(turns, side)
		}
		sides = append(sides, inTurn(turns))
	}
	return sides, nil
}

// askedInTurn asks all nodes in turn, n of them through one balancer and each of the others
// through its own, and measures the n. Requests come to every node at the same moments,
// whatever n is. At this rate it costs more to wake a node than to answer, and a node that
// is asked again before it sleeps is not woken. What differs is what the n nodes share: the
// balancer, its connections and the account. The others are asked with other accounts.
func (f *figures) askedInTurn(b *balancers, first, n int) (load.Side, error) {
	keys, all := f.keys[false], len(b.nodes)
	address, err := b.address(first, n)
	if err != nil {
		return nil, err
	}
	cfg := load.Config{
		Addr: address, Keys: keys[:1], Connections: all * nodeConnections,
		Rate: float64(all) * nodeRate, Frugal: true, Warmup: f.settling(),
	}

	for range n - 1 {
		cfg.Others = append(cfg.Others, load.Target{Addr: address, Keys: keys[:1]})
	}
	for i := n; i < all; i++ {
		other, err := b.address(first+i, 1)
		if err != nil {
			return nil, err
		}
		cfg.Others = append(cfg.Others, load.Target{Addr: other, Keys: keys[i : i+1], Aside: true})
	}
	return f.side(cfg, b.of(first, n)...), nil
}

// askedApart asks one node through a balancer, and meanwhile the others through another one
// as much each. Requests that a client sends close together all go to the one node, which
// may wake once for several; a balancer of several nodes wakes another one for each.
func (f *figures) askedApart(b *balancers, first int) (load.Side, error) {
	ask := func(first, n int, key string, length time.Duration) (load.Side, error) {
		address, err := b.address(first, n)
		return f.side(load.Config{
			Addr: address, Keys: []string{key}, Connections: n * nodeConnections,
			Rate: float64(n) * nodeRate, Frugal: true, Warmup: f.settling(), Length: length,
		}, b.of(first, n)...), err
	}

	keys := f.keys[false]
	side, err := ask(first, 1, keys[0], f.Length)
	if err != nil {
		return nil, err
	}
	others, err := ask(first+1, len(b.nodes)-1, keys[1], f.Length+f.Length/2)
	return together(side, others), err
}

// settling is how long nodes behind a balancer are asked before they are measured. From one
// side to the next accounts go to other nodes, which take leases of them and divide their
// burst limits anew: that is no part of a page, and a round is short.
func (f *figures) settling() time.Duration { return f.Length }

// inTurn is one of several sides each time, in turn.
func inTurn(sides []load.Side) load.Side {
	next := 0
	return func(ctx context.Context) (*load.Result, error) {
		side := sides[next%len(sides)]
		next++
		return side(ctx)
	}
}

// ratiosOfTurns returns the CPU time for a page of bs by that of as, each over as many
// rounds as there are nodes, in which every node was the first one.
func ratiosOfTurns(as, bs []*load.Result, nodes int) (ratios []float64) {
	for i := 0; i+nodes <= len(as); i += nodes {
		ratios = append(ratios, sumMicros(bs[i:i+nodes])/sumMicros(as[i:i+nodes]))
	}
	return ratios
}

func sumMicros(rounds []*load.Result) (sum float64) {
	for _, r := range rounds {
		sum += r.ServerMicros
	}
	return sum
}

// together runs a side while another one asks other nodes, and returns what the first one
// measured. Nodes that share a core empty its caches for each other, which machines of their
// own would not do: so all nodes answer as many pages at any time.
func together(side, others load.Side) load.Side {
	return func(ctx context.Context) (r *load.Result, err error) {
		var asking sync.WaitGroup
		var failed error
		asking.Go(func() { _, failed = others(ctx) })
		r, err = side(ctx)
		asking.Wait()
		return r, errors.Join(err, failed)
	}
}

// awaitKey waits until a node answers with a page.
func (f *figures) awaitKey(ctx context.Context, n *process.Node, key string) error {
	return n.Await(ctx, process.PollEvery, func() error {
		_, err := process.AskPage(n.API, hotPage, key)
		return err
	})
}

const (
	// idleShare is what an idle node uses of a core, and idleFor how long all must be idle:
	// nodes that have taken a snapshot compact it, and that would count for their pages.
	idleShare = 0.1
	idleFor   = 3 * time.Second
	// idlePatience bounds the wait.
	idlePatience = 2 * time.Minute
)

// awaitIdle waits until no node has anything to do.
func (f *figures) awaitIdle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, idlePatience)
	defer cancel()

	for {
		before := cpu(f.nodes)
		if err := wait(ctx, idleFor); err != nil {
			return fmt.Errorf("the nodes do not get idle within %s: %w", idlePatience, err)
		}
		if (cpu(f.nodes) - before).Seconds() < idleShare*idleFor.Seconds()*float64(len(f.nodes)) {
			return nil
		}
	}
}

// cpu returns the CPU time of nodes, read at one time.
func cpu(nodes []*process.Node) time.Duration {
	var pids []int
	for _, n := range nodes {
		pids = append(pids, n.Pid())
	}
	return process.CPU(pids...)
}

// side asks for the hot page, and reads what nodes use meanwhile.
func (f *figures) side(cfg load.Config, nodes ...*process.Node) load.Side {
	cfg.Mix = load.Mix{{Name: "hot page", Weight: 1, Path: load.Fixed(hotPage), Units: load.AnyUnits}}
	cfg.Connections, cfg.Workers = cmp.Or(cfg.Connections, pageConnections), f.on.Client()
	cfg.Seed, cfg.Warmup, cfg.Length = 1, cmp.Or(cfg.Warmup, f.Length/5), cmp.Or(cfg.Length, f.Length)
	cfg.ServerCPU = func() time.Duration { return cpu(nodes) }

	return func(ctx context.Context) (*load.Result, error) {
		r, err := load.Run(ctx, cfg)
		if err == nil && (r.Requests == 0 || r.Failures > 0) {
			err = fmt.Errorf("%d pages were answered and %d not: %v", r.Requests, r.Failures, r.Problems)
		}
		return r, err
	}
}

func (f *figures) printPages(hot, balanced [][]*load.Result) {
	fmt.Fprintf(f.Out, "%s, in turns\n", hotPage)
	sides := []struct {
		name  string
		nodes float64
	}{
		{"node alone", 1}, {"node of a cluster", 1}, {"1 node behind a balancer, asked apart", 1},
		{"1 node behind a balancer, asked in turn with the others", 1}, {"2 nodes", 2}, {"3 nodes", 3},
	}
	for i, rounds := range slices.Concat(hot, balanced) {
		var micros, rates []float64
		for _, r := range rounds {
			micros, rates = append(micros, r.ServerMicros), append(rates, r.PerSecond)
		}
		rate := load.Median(rates)
		fmt.Fprintf(f.Out, "  %s: %.2f µs of CPU a page in the median, %.0f pages a second, %.0f of each node\n",
			sides[i].name, load.Median(micros), rate, rate/sides[i].nodes)
	}

	_, pages := load.Ratios(hot[0], hot[1])
	f.checkMedian(pages, pageShare, "hot page in a cluster beside one without")

	apart, one, nodes := balanced[0], balanced[1], len(balanced)-1
	for i, several := range balanced[2:] {
		f.checkMedian(ratiosOfTurns(one, several, nodes), balancedShare, "page of %d nodes beside one of 1", i+2)
	}
	ratios := ratiosOfTurns(apart, balanced[nodes], nodes)
	low, high := load.MedianRange(ratios)
	fmt.Fprintf(f.Out, "page of %d nodes beside one of 1 asked apart (the median is from %.3f to %.3f): %.3f\n",
		nodes, low, high, load.Median(ratios))
}
