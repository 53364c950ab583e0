package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/bench/corpus"
	"tidemark/bench/process"
	"tidemark/bench/report"
	tidemark "tidemark/edge/client/go"
)

// mode is how a node serves the corpus.
type mode struct {
	corpus.Node      // its market, and whether it is bare
	cores       int  // of the server; 0: its half of the machine
	none        bool // there is no node
}

var (
	calmMarket  = corpus.Node{Market: sim.Workload{Calm: true}}
	briskMarket = corpus.Node{Market: sim.Workload{Brisk: true}}
)

var (
	still   = mode{}
	two     = mode{cores: 2}
	bare    = mode{Node: corpus.Node{Bare: true}}
	calm    = mode{Node: calmMarket}
	live    = mode{Node: briskMarket}
	liveTwo = mode{Node: briskMarket, cores: 2}
	alone   = mode{none: true}
)

// ensureNode makes sure that a node of ours runs in a mode.
func (s *suite) ensureNode(ctx context.Context, m mode) error {
	if s.URL != "" || s.node != nil && s.mode == m {
		return nil
	}
	if err := s.stopNode(); err != nil || m.none {
		return err
	}

	kept := s.generations // of the node before
	if err := s.startNode(ctx, m); err != nil {
		return err
	}
	if err := waitUntil(ctx, s.node, ready); err != nil {
		return err
	}

	// A filter is a 503 until all records are loaded. Before that, pages of default lists
	// are found row by row, which is not what scenarios are about.
	if _, err := getUntil[struct{}](s, "/v1/positions?range=in&limit=1"); err != nil || !m.Moves() {
		return err
	}
	return waitUntil(ctx, s.node, past(kept))
}

// startNode starts a node on the copy of the corpus; its market continues where it was.
func (s *suite) startNode(ctx context.Context, m mode) error {
	n := m.Node
	n.Since, n.Refresh = s.marketSince(&n), s.Refresh
	args, err := s.record.Spec.Args(&n)
	if err != nil {
		return err
	}

	s.mode = m
	s.node, err = process.StartNode(ctx, s.cores.Only(m.cores), args, s.data, s.record.Spec.Config(&n),
		s.scratch)
	return err
}

// marketSince returns when a market continued after the end of the history.
func (s *suite) marketSince(n *corpus.Node) time.Time {
	if _, known := s.since[n.Market]; !known && n.Moves() {
		s.since[n.Market] = n.Market.Since(time.Now(), s.since[calmMarket.Market], s.Refresh)
	}
	return s.since[n.Market]
}

// stopNode stops a node of ours, and keeps how far its generations were.
func (s *suite) stopNode() error {
	if s.node == nil || s.node.Child == nil {
		return nil
	}
	if h, err := s.node.Health(); err == nil {
		s.generations = generations(&h)
	}

	err := s.node.Stop()
	s.node = nil
	return err
}

// runRefresh measures what refreshing costs when nobody asks. The first generation of a
// node, in which everything is new, is over by then, and the corpus was compacted.
//
// That generation waits in memory to be flushed, as every other one does. So long runs begin
// and end where a flush has ended: what a flush writes is of refreshes that are measured.
func runRefresh(ctx context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	if err := s.awaitFlush(ctx, s.node.Counters()); err != nil {
		return err
	}

	before, cpu := s.node.Counters(), s.node.CPU()
	written := process.Read(s.node.Pid()).Written
	var moves float64
	length := s.Refresh * time.Duration(s.Refreshes/len(s.record.Corpus.Chains))
	err := s.profile(out.Name, length, func() (err error) {
		moves, err = s.countNativeMoves(ctx, before)
		return err
	})
	if err != nil {
		return err
	}
	after := s.node.Counters()
	cpu, written = s.node.CPU()-cpu, process.Read(s.node.Pid()).Written-written

	count := sumCounter(before, after, refreshCount)
	out.Set("refreshes", count, "")
	out.Set("native prices moved a refresh", moves/count, "")
	out.Set("CPU a refresh", cpu.Seconds()/count, "s")
	out.Set("time a refresh", sumCounter(before, after, "tidemark_chain_refresh_seconds_sum")/count, "s")
	out.Set("events a refresh", sumCounter(before, after, eventsCount)/count, "")
	out.Set("written a refresh", float64(written)/count/1e6, "MB")
	for _, part := range []struct{ what, counter string }{
		{"of it by the log", "tidemark_store_log_bytes_total"},
		{"of it by flushes", flushBytes},
		{"of it by compactions", "tidemark_store_compact_bytes_total"},
	} {
		out.Set(part.what, sumCounter(before, after, part.counter)/count/1e6, "MB")
	}

	// The mean of the chains' sizes: 1,000,000 where the goals are about it.
	sorted, err := s.sortSeconds(int(s.record.Corpus.Positions) / len(s.record.Corpus.Chains))
	out.Set("slices.Sort of a float for every position", sorted, "s")
	return err
}

const (
	refreshCount = "tidemark_chain_refresh_seconds_count"
	eventsCount  = "tidemark_chain_events_total"
	flushBytes   = "tidemark_store_flush_bytes_total"

	// flushRefreshes write enough for a flush, of 64 MiB, to come within minutes.
	flushRefreshes = 50
)

// sumCounter sums how far a counter has come, over its labels.
func sumCounter(before, after map[string]float64, counter string) float64 {
	return process.Sum(after, counter) - process.Sum(before, counter)
}

// hasFlushed reports whether the store has flushed since, if so many refreshes are to be
// measured that it will.
func (s *suite) hasFlushed(before, now map[string]float64) bool {
	return s.Refreshes < flushRefreshes || sumCounter(before, now, flushBytes) > 0
}

func (s *suite) awaitFlush(ctx context.Context, before map[string]float64) error {
	return await(ctx, s.node, time.Second, func() error {
		if !s.hasFlushed(before, s.node.Counters()) {
			return errors.New("the store has not flushed yet")
		}
		return nil
	})
}

// countNativeMoves waits until the chains have refreshed as often as the settings say and
// the store has flushed, and returns how often a native price was another than at the look
// before.
func (s *suite) countNativeMoves(ctx context.Context, before map[string]float64) (moves float64, err error) {
	// Several looks at a generation: what answering them takes counts as the refreshes'.
	const every = time.Second
	const patience = 4 // times what the refreshes should take
	limit := patience * time.Duration(s.Refreshes) * max(s.Refresh, time.Second)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	last, err := s.nativePrices()
	for flushed := before; err == nil; time.Sleep(every) {
		counters := s.node.Counters()
		n := sumCounter(before, counters, refreshCount)
		if n >= float64(s.Refreshes) && s.hasFlushed(flushed, counters) {
			return moves, nil
		}
		if n < float64(s.Refreshes) {
			flushed = counters
		}
		if ctx.Err() != nil {
			return moves, fmt.Errorf("%.0f refreshes within %s; want %d and a flush: %w",
				n, limit, s.Refreshes, ctx.Err())
		}

		var now []float64
		now, err = s.nativePrices()
		for i := range now {
			if now[i] != last[i] {
				moves++
			}
		}
		last = now
	}
	return moves, err
}

// nativePrices asks what the native currency of every chain is worth.
func (s *suite) nativePrices() (prices []float64, err error) {
	for _, chain := range s.target.chains {
		l, err := getUntil[tidemark.PoolList](s, "/v1/pools?limit=1&chainId=%d", chain)
		if err != nil {
			return nil, err
		}
		if len(l.Pools) == 0 || l.Pools[0].Pricing.NativePriceUsd == nil {
			return nil, fmt.Errorf("the native price of chain %d is not known", chain)
		}
		prices = append(prices, *l.Pools[0].Pricing.NativePriceUsd)
	}
	return prices, nil
}

// runRestart times a stop, and a start up to a page and up to new generations of all chains.
func runRestart(ctx context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	before := time.Now()
	if err := s.stopNode(); err != nil {
		return err
	}
	stopped := time.Since(before)
	read, err := s.readSeconds()
	if err != nil {
		return err
	}

	if err := s.startNode(ctx, live); err != nil {
		return err
	}
	page, err := s.firstPage(ctx, s.node, s.keys[0])
	if err != nil {
		return err
	}
	if err := waitUntil(ctx, s.node, past(s.generations)); err != nil {
		return err
	}

	out.Set("stop", stopped.Seconds(), "s")
	out.Set("first page", page.Seconds(), "s")
	out.Set("fresh generations", time.Since(s.node.Began).Seconds(), "s")
	out.Set("reading every record", read, "s")
	return nil
}

// firstPage returns how long after its start a node answers with a page.
func (s *suite) firstPage(ctx context.Context, n *process.Node, key string) (time.Duration, error) {
	err := await(ctx, n, process.PollEvery/10, func() error {
		_, err := process.AskPage(n.API, "/v1/positions", key)
		return err
	})
	if err == nil && n == s.node {
		s.countUnits(unitsList, unitsList)
	}
	return time.Since(n.Began), err
}

// runStart times a node with the default configuration on an empty directory.
func runStart(ctx context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	data := filepath.Join(s.scratch, "empty")
	keys, err := corpus.AddKeys(data, []corpus.Grant{{Plan: "unlimited", Accounts: 1, Keys: 1}})
	if err != nil {
		return err
	}

	n, err := process.StartNode(ctx, s.cores, []string{"serve"}, data, "", s.scratch)
	if err != nil {
		return err
	}
	defer n.Stop()

	page, err := s.firstPage(ctx, n, keys[0][0])
	out.Set("first page", page.Seconds(), "s")
	return err
}
