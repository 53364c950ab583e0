package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/bench/load"
	"tidemark/bench/report"
)

// measure compares the answers to a question and then times both sides in
// turns, so that what else the machine does falls on both.
func (r *suite) measure(
	ctx context.Context, q *question, numbers uint64, server, front *child, result report.Peer,
) error {
	equal, err := q.compare(&r.site, r.node.Address, r.keys[0], front.Address)
	if err != nil {
		result.Why = err.Error()
		r.run.Results = append(r.run.Results, result)
		if errors.Is(err, errCannot) {
			r.say("%s: %s: cannot", result.Peer, q.name)
			return nil
		}
		r.say("%s: %s: %v", result.Peer, q.name, err)
		return fmt.Errorf("%s: %w", q.name, err)
	}
	result.Equal = equal
	ours, theirs := q.mix(&r.site, listPath, numbers), q.mix(&r.site, q.peerPath(), numbers)
	node := r.loadConfig(q, r.node.Address, ours, r.node.CPU)
	node.Keys = r.keys
	other := r.loadConfig(q, front.Address, theirs, func() time.Duration { return front.CPU() + server.CPU() })
	var nodes, others []*load.Result
	for range r.rounds {
		for _, side := range []struct {
			cfg *load.Config
			all *[]*load.Result
		}{{&other, &others}, {&node, &nodes}} {
			took, err := whole(ctx, *side.cfg)
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			*side.all = append(*side.all, took)
		}
	}
	result.Node, result.Other = sideOf(nodes), sideOf(others)
	result.RatioCPU, result.Ratio = ratios(nodes, others)
	r.run.Results = append(r.run.Results, result)
	r.say("%s: %-16s %8.0f and %8.0f a second, %8.1f and %9.1f µs of CPU: %.2f x", result.Peer, q.name,
		result.Node.PerSecond, result.Other.PerSecond, result.Node.CPUMicros, result.Other.CPUMicros, result.RatioCPU)
	return nil
}

// attempts is how often a round is run until no answer fails: the node refuses
// to serve what it cannot meter, as when a disk that others write stalls.
const attempts = 3

// whole runs a round in which no answer failed.
func whole(ctx context.Context, cfg load.Config) (took *load.Result, err error) {
	for range attempts {
		if took, err = load.Run(ctx, cfg); err != nil {
			return nil, err
		}
		bad := took.Failures + took.Unanswered
		if bad == 0 {
			return took, nil
		}
		err = fmt.Errorf("%d answers of %s failed: %v", bad, cfg.Addr, took.Problems)
	}
	return nil, err
}

func cpuMicros(r *load.Result) float64 {
	return r.ServerCPU.Seconds() * 1e6 / float64(max(r.Requests, 1))
}

// sideOf is the round with the median throughput.
func sideOf(rounds []*load.Result) report.PeerSide {
	sorted := slices.Clone(rounds)
	slices.SortFunc(sorted, func(a, b *load.Result) int { return int(a.PerSecond() - b.PerSecond()) })
	m := sorted[len(sorted)/2]
	return report.PeerSide{
		PerSecond: m.PerSecond(), CPUMicros: cpuMicros(m), Median: m.Quantile(50).Microseconds(),
		BodyBytes: m.MeanBody(),
	}
}

// ratios are the medians of the rounds' own.
func ratios(nodes, others []*load.Result) (cpu, throughput float64) {
	var cpus, throughputs []float64
	for i := range nodes {
		cpus = append(cpus, cpuMicros(others[i])/max(cpuMicros(nodes[i]), 1e-3))
		throughputs = append(throughputs, nodes[i].PerSecond()/max(others[i].PerSecond(), 1e-3))
	}
	slices.Sort(cpus)
	slices.Sort(throughputs)
	return cpus[len(cpus)/2], throughputs[len(throughputs)/2]
}
