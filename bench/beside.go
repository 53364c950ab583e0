package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"tidemark/bench/load"
	"tidemark/bench/report"
)

// side is one of two things that are measured in turns.
type side func(context.Context) (*load.Result, error)

// inTurns measures two sides round by round, so that what else the machine
// does falls on both.
func (s *suite) inTurns(ctx context.Context, a, b side) (as, bs []*load.Result, err error) {
	for range s.Rounds {
		x, err := b(ctx)
		if err != nil {
			return nil, nil, err
		}
		y, err := a(ctx)
		if err != nil {
			return nil, nil, err
		}
		as, bs = append(as, y), append(bs, x)
	}
	return as, bs, nil
}

// besideLimit measures a mix on the node and the yardstick with bodies of the
// same size.
func (s *suite) besideLimit(ctx context.Context, mix load.Mix, out *report.Scenario) error {
	first, err := s.ask(ctx, load.Config{Mix: mix, Length: s.Length / warmPart})
	if err != nil {
		return err
	}
	limit, err := s.yardstick(ctx, first.MeanBody())
	if err != nil {
		return err
	}
	defer limit.Stop()
	constant := load.Mix{{Name: "constant", Weight: 1, Path: load.Fixed("/v1/positions")}}
	watch := s.watch()
	before := s.node.counters()
	nodes, limits, err := s.inTurns(ctx,
		func(ctx context.Context) (*load.Result, error) {
			return s.askProfiled(ctx, out.Name, load.Config{Mix: mix})
		},
		func(ctx context.Context) (*load.Result, error) {
			return s.load(ctx, load.Config{
				Addr: limit.Address, Mix: constant, Keys: s.asking, ServerCPU: limit.CPU,
			})
		})
	out.Refreshes = nil
	seen := watch()
	if err != nil {
		return err
	}
	out.CacheShare = cacheShare(before, s.node.counters())
	out.Values = append(out.Values, s.memory()...)
	compare(out, nodes, limits, seen)
	return nil
}

// compare enters two sides into a scenario: the rounds with the median
// throughput, and the median of the rounds' ratios.
func compare(out *report.Scenario, nodes, limits []*load.Result, seen []turn) {
	var ratios, cpus []float64
	for i := range nodes {
		ratios = append(ratios, nodes[i].PerSecond()/max(limits[i].PerSecond(), 1))
		if a, b := serverMicros(nodes[i]), serverMicros(limits[i]); a > 0 && b > 0 {
			cpus = append(cpus, b/a)
		}
	}
	out.Ratio, out.RatioCPU = median(ratios), median(cpus)
	out.Spread = (slices.Max(ratios) - slices.Min(ratios)) / max(out.Ratio, 1e-9)
	limit := measure(middle(limits))
	out.Limit = &limit
	enter(out, nodes, seen)
}

// enter enters the node's side.
func enter(out *report.Scenario, nodes []*load.Result, seen []turn) {
	mid := middle(nodes)
	out.Node = measure(mid)
	statuses := map[int]uint64{}
	for _, r := range nodes {
		for _, c := range r.Statuses {
			statuses[c.Status] += c.Count
		}
		out.Failures += r.Failures
		out.Unanswered += r.Unanswered
		out.Free += r.Free
		out.Unsent += r.Unsent
		out.Checked += r.Checked
		out.Wrong += r.Wrong
		for _, p := range r.Problems {
			if len(out.Problems) < 8 && !slices.Contains(out.Problems, p) {
				out.Problems = append(out.Problems, p)
			}
		}
	}
	for status := 100; status < 600; status++ {
		if n := statuses[status]; n > 0 {
			out.Statuses = append(out.Statuses, report.Status{Status: status, Count: n})
		}
	}
	for i, t := range mid.Series {
		out.Series = append(out.Series, report.Point{
			Seconds:   float64(i) * load.TickLength.Seconds(),
			PerSecond: float64(t.Requests) / load.TickLength.Seconds(),
			Slowest:   t.Slowest.Microseconds(),
		})
	}
	for _, t := range seen {
		if at := t.at.Sub(mid.Began); at >= 0 && at <= mid.Elapsed {
			out.Refreshes = append(out.Refreshes, report.Moment{Seconds: at.Seconds(), Chain: t.chain})
		}
	}
}

// percents are the points of a latency distribution that are kept.
var percents = []float64{
	0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 99, 99.5, 99.75, 99.9, 99.95,
	99.99, 100,
}

func measure(r *load.Result) report.Measure {
	m := report.Measure{
		PerSecond: r.PerSecond(), ServerMicros: serverMicros(r), BodyBytes: r.MeanBody(),
		Requests: r.Requests, ClientBusy: r.ClientCPU.Seconds() / r.Elapsed.Seconds(),
	}
	if r.Requests > 0 {
		m.ClientMicros = float64(r.ClientCPU.Microseconds()) / float64(r.Requests)
	}
	for _, p := range percents {
		m.Latency = append(m.Latency, report.Percentile{Percent: p, Micros: r.Quantile(p).Microseconds()})
	}
	return m
}

func serverMicros(r *load.Result) float64 {
	if r.Requests == 0 {
		return 0
	}
	return r.ServerCPU.Seconds() * 1e6 / float64(r.Requests)
}

// middle returns the round whose throughput is the median.
func middle(rounds []*load.Result) *load.Result {
	sorted := slices.Clone(rounds)
	slices.SortFunc(sorted, func(a, b *load.Result) int { return int(a.PerSecond() - b.PerSecond()) })
	return sorted[len(sorted)/2]
}

// median of nothing is 0.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// cacheShare is which part of the pages came from the page cache meanwhile.
func cacheShare(before, after map[string]float64) float64 {
	const name = `tidemark_edge_page_cache_total{result="`
	hits := after[name+`hit"}`] - before[name+`hit"}`]
	misses := after[name+`miss"}`] - before[name+`miss"}`]
	return hits / max(hits+misses, 1)
}

// turn is when a chain was seen with another generation.
type turn struct {
	at    time.Time
	chain int64
}

// watchEvery is how often generations are looked at while a live node is under
// load: the resolution of the marks in a plot.
const watchEvery = 100 * time.Millisecond

// watch notes when chains publish, until the returned function is called.
func (s *suite) watch() func() []turn {
	if !s.mode.moves() && s.URL == "" {
		return func() []turn { return nil }
	}
	var turns []turn
	var wait sync.WaitGroup
	stop, node := make(chan struct{}), s.node
	wait.Go(func() {
		last := map[int64]uint64{}
		for {
			select {
			case <-stop:
				return
			case <-time.After(watchEvery):
			}
			h, err := node.health()
			if err != nil {
				continue
			}
			for _, c := range h.Chains {
				if c.Generation == nil {
					continue
				}
				if was, ok := last[c.ChainID]; ok && was != *c.Generation {
					turns = append(turns, turn{time.Now(), c.ChainID})
				}
				last[c.ChainID] = *c.Generation
			}
		}
	})
	return func() []turn {
		close(stop)
		wait.Wait()
		return turns
	}
}

// memory returns what the node holds, for scenarios that say so.
func (s *suite) memory() []report.Value {
	if s.node.child == nil {
		return nil
	}
	now, peak := resident(s.node.Pid())
	return []report.Value{
		{Name: "resident", Value: float64(now) / (1 << 20), Unit: "MiB"},
		{Name: "resident at most", Value: float64(peak) / (1 << 20), Unit: "MiB"},
	}
}
