package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// runRefresh looks at what refreshing costs when nobody asks. The first
// generation of a node, in which everything is new, is over by then.
func runRefresh(ctx context.Context, s *suite, out *report.Scenario) error {
	const generations = 6
	out.Connections = 0
	was, before := s.node.counters(), s.node.child.CPU()
	disk, from := written(s.node.Pid()), time.Now()
	moves, err := s.nativeMoves(ctx, generations*s.Refresh)
	if err != nil {
		return err
	}
	now := s.node.counters()
	var count, seconds, events float64
	for _, c := range s.site.chains {
		grown := func(metric string) float64 {
			name := metric + `{chain="` + strconv.FormatInt(c, 10) + `"}`
			return now[name] - was[name]
		}
		one := grown("tidemark_chain_refresh_seconds_count")
		took := grown("tidemark_chain_refresh_seconds_sum")
		count, seconds = count+one, seconds+took
		events += grown("tidemark_chain_events_total")
		if one > 0 {
			out.Values = append(out.Values, report.Value{
				Name: fmt.Sprintf("refresh of chain %d", c), Value: took / one, Unit: "s"})
		}
	}
	if count == 0 {
		return fmt.Errorf("no chain refreshed within %s", time.Since(from))
	}
	cpu, bytes := s.node.child.CPU()-before, float64(written(s.node.Pid())-disk)
	out.Values = append(out.Values,
		report.Value{Name: "refreshes", Value: count},
		report.Value{Name: "native prices moved", Value: moves},
		report.Value{Name: "CPU a refresh", Value: cpu.Seconds() / count, Unit: "s"},
		report.Value{Name: "time a refresh", Value: seconds / count, Unit: "s"},
		report.Value{Name: "events a refresh", Value: events / count},
		report.Value{Name: "written a refresh", Value: bytes / count / 1e6, Unit: "MB"})
	return nil
}

// nativeMoves looks for a while and returns how often the native price of a
// chain was another than before.
func (s *suite) nativeMoves(ctx context.Context, length time.Duration) (moves float64, err error) {
	const every = 250 * time.Millisecond // several looks at a generation
	before, err := s.nativePrices()
	for end := time.Now().Add(length); err == nil && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(every):
		}
		var now []float64
		now, err = s.nativePrices()
		for i := range now {
			if now[i] != before[i] {
				moves++
			}
		}
		before = now
	}
	return moves, err
}

// nativePrices asks what the native currency of every chain is worth.
func (s *suite) nativePrices() (prices []float64, err error) {
	for _, chain := range s.site.chains {
		var l struct {
			Pools []struct {
				Pricing struct{ NativePriceUsd float64 }
			}
		}
		path := fmt.Sprintf("/v1/pools?limit=1&chainId=%d", chain)
		if err := s.site.reachPage(s.node, s.keys[0], path, &l); err != nil {
			return nil, err
		}
		if len(l.Pools) == 0 {
			return nil, fmt.Errorf("%s has no pool; the native price is not known", path)
		}
		prices = append(prices, l.Pools[0].Pricing.NativePriceUsd)
	}
	return prices, nil
}

// generations are the newest ones of the chains that have any.
func (h *health) generations() map[int64]uint64 {
	newest := map[int64]uint64{}
	for _, c := range h.Chains {
		if c.Generation != nil {
			newest[c.ChainID] = *c.Generation
		}
	}
	return newest
}

// waitPast waits until every chain has published past what was kept of it.
func (n *node) waitPast(ctx context.Context, kept map[int64]uint64) error {
	for {
		h, err := n.health()
		if err != nil {
			return err
		}
		waiting, newest := false, h.generations()
		for chain, was := range kept {
			waiting = waiting || newest[chain] <= was
		}
		if !waiting {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// runRestart times a stop and a start up to the first page and up to fresh
// generations of all chains.
func runRestart(ctx context.Context, s *suite, out *report.Scenario) error {
	before := time.Now()
	if err := s.stopNode(); err != nil {
		return err
	}
	stopped := time.Since(before)
	if err := s.startNode(ctx, live); err != nil {
		return err
	}
	page, err := s.node.firstPage(ctx, s.keys[0])
	if err != nil {
		return err
	}
	if err := s.node.waitPast(ctx, s.generations); err != nil {
		return err
	}
	out.Connections = 0
	out.Values = append(out.Values,
		report.Value{Name: "stop", Value: stopped.Seconds(), Unit: "s"},
		report.Value{Name: "first page", Value: page.Seconds(), Unit: "s"},
		report.Value{Name: "fresh generations", Value: time.Since(s.node.Began).Seconds(), Unit: "s"})
	return nil
}

// firstPage asks until a page comes and returns how long after the process
// began that was.
func (n *node) firstPage(ctx context.Context, key string) (time.Duration, error) {
	for {
		status, _, _, err := n.ask("/v1/positions", key)
		if err == nil && status == 200 {
			return time.Since(n.Began), nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pollEvery / 10):
		}
	}
}

// runStart times a node with the default configuration on an empty directory.
func runStart(ctx context.Context, s *suite, out *report.Scenario) error {
	dir := filepath.Join(s.scratch, "empty")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a directory: %w", err)
	}
	keys, err := corpus.AddKeys(filepath.Join(dir, "data"),
		[]corpus.Grant{{Plan: "unlimited", Accounts: 1, Keys: 1}})
	if err != nil {
		return err
	}
	var units report.Units // of other accounts
	n, err := startNode(ctx, &s.cores, launch{
		exe: s.Exe, data: filepath.Join(dir, "data"), scratch: dir,
	}, &units)
	if err != nil {
		return err
	}
	page, err := n.firstPage(ctx, keys[0][0])
	if stopErr := n.Stop(); err == nil {
		err = stopErr
	}
	out.Connections = 0
	out.Values = append(out.Values, report.Value{Name: "first page", Value: page.Seconds(), Unit: "s"})
	return err
}
