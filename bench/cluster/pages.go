package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
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
	// are: n nodes are asked n times as much in all. A node that is asked less answers fewer
	// pages each time that it wakes, so that a page takes more. Both rates are printed.
	nodeRate        = 2500
	nodeConnections = 12 // of a balancer, for each node
	// hotRounds is how many rounds a hot page has for each one behind balancers: it is to be
	// known to 2 %, and rounds differ by 10 % where others use the machine.
	hotRounds = 4
)

// measurePages measures a hot page of a node alone beside one in a cluster, and then of
// one, two and three nodes behind a balancer, each of them in turn; those of the three that
// are not behind it are asked as much through another one. Their market stands still.
func (f *figures) measurePages(ctx context.Context) error {
	still := &corpus.Node{}
	for _, name := range []string{alone, nodeName(0), nodeName(1), nodeName(2)} {
		if _, err := f.start(ctx, name, still); err != nil {
			return err
		}
	}
	single, members := f.nodes[0], f.nodes[1:]
	for _, n := range f.nodes {
		if err := f.awaitKey(ctx, n, f.keys[n == single]); err != nil {
			return err
		}
	}

	if err := f.awaitIdle(ctx); err != nil {
		return err
	}

	sides := []load.Side{
		f.side(load.Config{Addr: single.API, Keys: []string{f.keys[true]}}, single),
		f.side(load.Config{Addr: members[0].API, Keys: []string{f.keys[false]}}, members[0]),
	}
	hot, err := load.InTurns(ctx, hotRounds*f.Rounds, sides...)
	if err != nil {
		return err
	}

	var fronts []*front
	sides, err = f.balancedSides(&fronts, members)
	var balanced [][]*load.Result
	if err == nil {
		balanced, err = load.InTurns(ctx, len(members)*f.Rounds, sides...)
	}
	if err = errors.Join(err, stopFronts(fronts)); err == nil {
		f.printPages(hot, balanced)
	}
	return err
}

// balancedSides ask one of the nodes through a balancer, then two, and so on. Each node is
// the first of them in turn, since a page does not cost the same on all.
func (f *figures) balancedSides(fronts *[]*front, members []*process.Node) (sides []load.Side, err error) {
	for n := 1; n <= len(members); n++ {
		var turns []load.Side
		for i := range members {
			order := slices.Concat(members[i:], members[:i])

			side, err := f.balancedSide(fronts, order[:n], f.Length)
			if err == nil && n < len(order) {
				var others load.Side
				others, err = f.balancedSide(fronts, order[n:], f.Length+f.Length/2)
				side = together(side, others)
			}
			if err != nil {
				return nil, err
			}
			turns = append(turns, side)
		}

		sides = append(sides, inTurn(turns))
	}
	return sides, nil
}

// inTurn is one of several sides each time, in turn.
func inTurn(sides []load.Side) load.Side {
	next := 0
	return func(ctx context.Context) (*load.Result, error) {
		side := sides[next%len(sides)]
		next++
		return side(ctx)
	}
}

// averageTurns returns the CPU time for a page over each n rounds, in which every node had
// its turn.
func averageTurns(rounds []*load.Result, n int) (micros []float64) {
	for turn := range slices.Chunk(rounds, n) {
		sum := 0.0
		for _, r := range turn {
			sum += r.ServerMicros
		}
		micros = append(micros, sum/float64(len(turn)))
	}
	return micros
}

// balancedSide asks nodes through a balancer of their own, which it adds to fronts, at the
// same rate and by as many connections for each of them.
func (f *figures) balancedSide(
	fronts *[]*front, nodes []*process.Node, length time.Duration,
) (load.Side, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	*fronts = append(*fronts, newFront(l, nodes))
	n := len(nodes)
	return f.side(load.Config{
		Addr: l.Addr().String(), Keys: []string{f.keys[false]}, Connections: nodeConnections * n,
		Rate: nodeRate * float64(n), Frugal: true, Length: length,
	}, nodes...), nil
}

// together runs a side while another one asks other nodes, and returns what the first one
// measured. Nodes that share a core empty its caches for each other, which machines of their
// own would not do: so all nodes answer as many pages at any time, whichever are measured,
// and what differs is how many are behind the balancer.
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

func stopFronts(fronts []*front) (errs error) {
	for _, b := range fronts {
		errs = errors.Join(errs, b.stop())
	}
	return errs
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
	used := func() (sum time.Duration) {
		for _, n := range f.nodes {
			sum += n.CPU()
		}
		return sum
	}

	for {
		before := used()
		if err := wait(ctx, idleFor); err != nil {
			return fmt.Errorf("the nodes do not get idle within %s: %w", idlePatience, err)
		}
		if (used() - before).Seconds() < idleShare*idleFor.Seconds()*float64(len(f.nodes)) {
			return nil
		}
	}
}

// side asks for the hot page, and reads what nodes use meanwhile.
func (f *figures) side(cfg load.Config, nodes ...*process.Node) load.Side {
	cfg.Mix = load.Mix{{Name: "hot page", Weight: 1, Path: load.Fixed(hotPage), Units: load.AnyUnits}}
	cfg.Connections, cfg.Workers = cmp.Or(cfg.Connections, pageConnections), f.on.Client()
	cfg.Seed, cfg.Warmup, cfg.Length = 1, f.Length/5, cmp.Or(cfg.Length, f.Length)
	cfg.ServerCPU = func() (sum time.Duration) {
		for _, n := range nodes {
			sum += n.CPU()
		}
		return sum
	}

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
	}{{"node alone", 1}, {"node of a cluster", 1}, {"1 node behind a balancer", 1}, {"2 nodes", 2}, {"3 nodes", 3}}
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
	one := averageTurns(balanced[0], len(balanced))
	for i, nodes := range balanced[1:] {
		ratios := averageTurns(nodes, len(balanced))
		for turn := range ratios {
			ratios[turn] /= one[turn]
		}
		f.checkMedian(ratios, balancedShare, "page of %d nodes beside one of 1", i+2)
	}
}
