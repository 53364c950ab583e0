package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/process"
	"tidemark/bench/report"
)

// runRefresh measures what refreshing costs when nobody asks. The first
// generation of a node, in which everything is new, is over by then, and the
// corpus was compacted: what is written is for these refreshes alone.
func runRefresh(ctx context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	before, cpu := s.node.Counters(), s.node.CPU()
	written := process.Read(s.node.Pid()).Written
	moves, err := s.countNativeMoves(ctx, before)
	if err != nil {
		return err
	}
	after := s.node.Counters()
	cpu, written = s.node.CPU()-cpu, process.Read(s.node.Pid()).Written-written

	count := s.counted(before, after, refreshCount)
	out.Set(refreshes, count, "")
	out.Set(nativeMoved, moves/count, "")
	out.Set(refreshCPU, cpu.Seconds()/count, "s")
	out.Set("time a refresh", s.counted(before, after, "tidemark_chain_refresh_seconds_sum")/count, "s")
	out.Set("events a refresh", s.counted(before, after, "tidemark_chain_events_total")/count, "")
	out.Set(refreshBytes, float64(written)/count/1e6, "MB")

	// The mean of the chains' sizes: 1,000,000 where the goals are about it.
	sorted, err := s.sortSeconds(int(s.record.Corpus.Positions) / len(s.record.Corpus.Chains))
	out.Set(sortCPU, sorted, "s")
	return err
}

const refreshCount = "tidemark_chain_refresh_seconds_count"

// counted sums how far a counter of the chains has come.
func (s *suite) counted(before, after map[string]float64, counter string) (sum float64) {
	for _, chain := range s.target.chains {
		name := fmt.Sprintf(`%s{chain="%d"}`, counter, chain)
		sum += after[name] - before[name]
	}
	return sum
}

// countNativeMoves waits until the chains have refreshed as often as the
// settings say, and returns how often the native price of one was another than
// at the look before.
func (s *suite) countNativeMoves(ctx context.Context, before map[string]float64) (moves float64, err error) {
	const every = 250 * time.Millisecond // several looks at a generation
	const patience = 4                   // times what the refreshes should take
	limit := patience * time.Duration(s.Refreshes) * max(s.Refresh, time.Second)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	last, err := s.nativePrices()
	for err == nil {
		n := s.counted(before, s.node.Counters(), refreshCount)
		if n >= float64(s.Refreshes) {
			return moves, nil
		}
		select {
		case <-ctx.Done():
			return moves, fmt.Errorf("%.0f refreshes within %s; want %d: %w", n, limit, s.Refreshes, ctx.Err())
		case <-time.After(every):
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
		path := fmt.Sprintf("/v1/pools?limit=1&chainId=%d", chain)
		l, err := s.list("%s", path)
		if err != nil {
			return nil, err
		}
		if len(l.Pools) == 0 {
			return nil, fmt.Errorf("%s has no pool; the native price is not known", path)
		}
		prices = append(prices, l.Pools[0].Pricing.NativePriceUsd)
	}
	return prices, nil
}

// runRestart times a stop and a start up to the first page and up to fresh
// generations of all chains.
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
	if err := s.node.WaitPast(ctx, s.generations); err != nil {
		return err
	}

	out.Set("stop", stopped.Seconds(), "s")
	out.Set(firstPage, page.Seconds(), "s")
	out.Set(freshGenerations, time.Since(s.node.Began).Seconds(), "s")
	out.Set(readAll, read, "s")
	return nil
}

// firstPage asks a node until a page comes and returns how long after the
// process began that was.
func (s *suite) firstPage(ctx context.Context, n *process.Node, key string) (time.Duration, error) {
	for {
		a, err := process.Ask(n.API, "/v1/positions", key)
		if err == nil && a.Status == 200 {
			if n == s.node {
				s.run.Units.Answered += unitsList
				s.run.Units.Expected += unitsList
			}
			return time.Since(n.Began), nil
		}

		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(process.PollEvery / 10):
		}
	}
}

// runStart times a node with the default configuration on an empty directory.
func runStart(ctx context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	dir := filepath.Join(s.scratch, "empty")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a directory: %w", err)
	}
	data := filepath.Join(dir, "data")
	keys, err := corpus.AddKeys(data, []corpus.Grant{{Plan: "unlimited", Accounts: 1, Keys: 1}})
	if err != nil {
		return err
	}

	n, err := process.StartNode(ctx, s.cores, []string{"serve"}, data, "", dir)
	if err != nil {
		return err
	}
	defer n.Stop()
	page, err := s.firstPage(ctx, n, keys[0][0])
	out.Set(firstPage, page.Seconds(), "s")
	return err
}
