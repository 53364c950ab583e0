package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"tidemark/bench/load"
	"tidemark/bench/process"
	"tidemark/bench/report"
)

// ask runs a load against the node and counts its units.
func (s *suite) ask(ctx context.Context, cfg load.Config) (*load.Result, error) {
	cfg.Addr, cfg.Check, cfg.Free, cfg.ServerCPU = s.node.API, checkAnswer, isFree, s.node.CPU
	if cfg.Keys == nil {
		cfg.Keys = s.asking
	}

	r, err := s.runLoad(ctx, cfg)
	if r != nil {
		s.countUnits(r.Charged, r.Expected)
		if r.Charged != r.Expected {
			r.Note("%d units were answered; %d expected", r.Charged, r.Expected)
		}
	}
	return r, err
}

// runLoad runs a load with the suite's settings where cfg has none.
func (s *suite) runLoad(ctx context.Context, cfg load.Config) (*load.Result, error) {
	cfg.Connections = cmp.Or(cfg.Connections, s.Connections)
	cfg.Length = cmp.Or(cfg.Length, s.Length)
	cfg.Workers = s.cores.Client()
	cfg.Polls = s.URL == "" && s.cores.Apart(s.mode.cores) // a node of others may be on any core
	cfg.Warmup, cfg.Seed = cmp.Or(cfg.Warmup, cfg.Length/warmPart), s.Seed
	return load.Run(ctx, cfg)
}

// profile keeps a CPU profile of the node while it works, about as long as that takes, as
// NAME.pprof; if that is wanted.
func (s *suite) profile(name string, length time.Duration, work func() error) error {
	if s.Profiles == "" || s.node.Ops == "" {
		return work()
	}

	done := make(chan error, 1)
	go func() { done <- s.node.KeepProfile(length, filepath.Join(s.Profiles, name+".pprof")) }()
	return errors.Join(work(), <-done)
}

// leastProbe is how long the size of bodies is looked for at least: on a machine that
// others use, no answer may come for longer than a short measurement.
const leastProbe = 300 * time.Millisecond

// compareWithLimit measures a mix on the node, and the constant handler with
// bodies of the same size. The header is one of every request.
func (s *suite) compareWithLimit(
	ctx context.Context, mix load.Mix, header string, out *report.Scenario,
) error {
	first, err := s.ask(ctx, load.Config{Mix: mix, Header: header, Length: max(s.Length/warmPart, leastProbe)})
	if err != nil {
		return err
	}
	if first.Requests == 0 {
		return fmt.Errorf("no good answer: %v", first.Problems)
	}
	cmd := process.Self("bench", "constant", "--bytes", fmt.Sprint(first.BodyBytes))
	limit, err := process.Launch(ctx, s.cores, cmd, filepath.Join(s.scratch, "limit.log"))
	if err != nil {
		return err
	}
	defer limit.Stop()

	constant := single("constant", 0, load.Fixed("/v1/positions"))
	_, turn := s.turns()
	return s.compare(ctx, out,
		func(ctx context.Context) (*load.Result, error) {
			return s.ask(ctx, load.Config{Mix: mix, Header: header, Length: turn})
		},
		func(ctx context.Context) (*load.Result, error) {
			return s.runLoad(ctx, load.Config{
				Addr: limit.Address, Mix: constant, Keys: s.asking, Header: header, ServerCPU: limit.CPU,
				Length: turn,
			})
		})
}

// turnLength is about how long a side of a comparison is asked before it is the other's turn.
// On a machine that others use, a second is as fast as the one before it more often than five
// seconds are.
const turnLength = time.Second

// turns returns how many turns a round of a comparison has, and how long each is.
func (s *suite) turns() (n int, length time.Duration) {
	n = max(1, int(s.Length/turnLength))
	return n, s.Length / time.Duration(n)
}

// compare measures a node and what it is compared with in turns: those with the median
// throughput, and the medians of the turns' ratios.
func (s *suite) compare(ctx context.Context, out *report.Scenario, node, other load.Side) error {
	turns, _ := s.turns()
	sides, err := s.runRounds(ctx, out, s.Rounds*turns, load.Throughput, node, other)
	if len(sides) == 0 || len(sides[1]) == 0 {
		return err
	}

	both := min(len(sides[0]), len(sides[1])) // a round that was cut short may have one of them
	ratios, cpus := load.Ratios(sides[0][:both], sides[1][:both])
	out.Ratio, out.RatioCPU = load.Median(ratios), load.Median(cpus)
	low, high := load.MedianRange(ratios)
	out.Spread = (high - low) / 2 / max(out.Ratio, 1e-9)
	out.Limit = &load.Middle(sides[1], load.Throughput).Measure
	return err
}

// askAlone measures the node without a comparison.
func (s *suite) askAlone(ctx context.Context, out *report.Scenario, cfg load.Config) (*load.Result, error) {
	return s.askInRounds(ctx, out, 1, cfg)
}

// askInRounds measures the node several times, and returns the round with the middle p99: a
// machine that stands still for a moment spoils one.
func (s *suite) askInRounds(
	ctx context.Context, out *report.Scenario, rounds int, cfg load.Config,
) (*load.Result, error) {
	sides, err := s.runRounds(ctx, out, rounds, load.Tail, func(ctx context.Context) (*load.Result, error) {
		return s.ask(ctx, cfg)
	})
	if err != nil {
		return nil, err // what there is of it is in out
	}
	return load.Middle(sides[0], load.Tail), nil
}

// runRounds runs rounds and writes down the first side, the node's: the round of which a
// figure is the median, what the answers of all rounds were, and what the node did meanwhile.
// With an error it does so for the rounds that there are, and returns them.
func (s *suite) runRounds(
	ctx context.Context, out *report.Scenario, rounds int, figure func(*load.Result) float64,
	sides ...load.Side,
) (all [][]*load.Result, err error) {
	published := s.watchGenerations()
	before := s.node.Counters()
	err = s.profile(out.Name, time.Duration(rounds)*s.Length, func() (err error) {
		all, err = load.InTurns(ctx, rounds, sides...)
		return err
	})
	seen := published()
	if len(all[0]) == 0 {
		return nil, err
	}

	mid := load.Middle(all[0], figure)
	err = errors.Join(err, s.keepHistogram(out.Name, mid))
	out.Rounds, out.Node, out.Series = len(all[0]), mid.Measure, mid.Series
	out.CacheShare = cacheShare(before, s.node.Counters())
	for _, r := range all[0] {
		out.Add(&r.Answers)
	}
	for _, m := range seen {
		m.Seconds -= mid.Began.Sub(s.began).Seconds()
		if m.Seconds >= 0 && m.Seconds <= mid.Elapsed.Seconds() {
			out.Refreshes = append(out.Refreshes, m)
		}
	}
	return all, err
}

// cacheShare is which part of the pages came from the page cache meanwhile.
func cacheShare(before, after map[string]float64) float64 {
	const name = `tidemark_edge_page_cache_total{result="`
	hits := after[name+`hit"}`] - before[name+`hit"}`]
	misses := after[name+`miss"}`] - before[name+`miss"}`]
	return hits / max(hits+misses, 1)
}

// watchEvery is how often generations are looked at while a live node is under
// load: the resolution of the marks in a plot.
const watchEvery = 100 * time.Millisecond

// watchGenerations notes when chains are seen with another generation, from the start
// of the run on, until the returned function is called.
func (s *suite) watchGenerations() func() []report.Moment {
	if !s.mode.Moves() && s.URL == "" {
		return func() []report.Moment { return nil }
	}

	var published []report.Moment
	var wait sync.WaitGroup
	going, stop := context.WithCancel(context.Background())
	wait.Go(func() {
		last := map[int64]int64{}
		for ; going.Err() == nil; time.Sleep(watchEvery) {
			h, _ := s.node.Health() // of no answer, no chains
			for chain, now := range generations(&h) {
				if was, ok := last[chain]; ok && was != now {
					published = append(published, report.Moment{Seconds: time.Since(s.began).Seconds(), Chain: chain})
				}
				last[chain] = now
			}
		}
	})
	return func() []report.Moment {
		stop()
		wait.Wait()
		return published
	}
}
