package main

import (
	"fmt"
	"time"
)

// measureLimit bounds one history.
const measureLimit = 90 * time.Second

// measureDense compares a dense history from memory with the same from a provider.
func measureDense(events int) ([]figure, error) {
	r, err := record(events, 20)
	if err != nil {
		return nil, err
	}
	c := recordedChain(r) // in memory during both runs
	memory, err := take(r, &memoryFeed{r}, measureLimit, func() int64 { return 0 })
	if err != nil {
		return nil, fmt.Errorf("from memory: %w", err)
	}
	network, s, err := backfill(r, c, generous, measureLimit)
	if err != nil {
		return nil, fmt.Errorf("from the network: %w", err)
	}
	if network.state != memory.state {
		return nil, fmt.Errorf("the network gave a state of %s, memory %s", network.state, memory.state)
	}

	ratio := memory.took.Seconds() / network.took.Seconds()
	limit := fmt.Sprintf("plan: %d results, %d a batch; %.0f calls/s", s.results, s.batch,
		float64(network.calls)/network.took.Seconds())
	return []figure{
		{name: "events from memory", value: memory.rate(r.events), unit: "events/s",
			beside: cpuOf(memory, r.events)},
		{name: "events from a provider at 100 ms", value: network.rate(r.events), unit: "events/s",
			beside: limit + ", " + cpuOf(network, r.events)},
		{name: "the provider's rate beside memory's", value: ratio, unit: "of it",
			goal: fmt.Sprintf("at least %.2f", leastRatio), missed: ratio < leastRatio},
	}, nil
}

// cpuOf is what the node and the mock used meanwhile. On a busy machine the two runs
// differ by it; on two idle cores most of the difference is beside the ledger.
func cpuOf(t *taken, events int) string {
	return fmt.Sprintf("%.1f of a core, %.1f µs an event; the first after %.2f s",
		t.cpu.Seconds()/t.took.Seconds(), float64(t.cpu.Microseconds())/float64(events),
		t.first.Seconds())
}

// measureSmall tells how much of a small plan is used.
func measureSmall() ([]figure, error) {
	r, err := record(1500, 10)
	if err != nil {
		return nil, err
	}
	t, s, err := backfill(r, recordedChain(r), small, measureLimit)
	if err != nil {
		return nil, err
	}

	used := float64(t.calls) / t.took.Seconds()
	return []figure{
		{name: "events on a small plan", value: t.rate(r.events), unit: "events/s",
			beside: fmt.Sprintf("%d requests refused", s.refused.Load())},
		{name: "calls on a small plan", value: used, unit: "calls/s",
			beside: fmt.Sprintf("plan: %.0f calls/s", s.perSecond),
			goal:   fmt.Sprintf("at least %.0f %%", 100*leastUsed),
			missed: used < leastUsed*s.perSecond},
	}, nil
}

// measureSparse compares sparse blocks with one range in flight and with many.
func measureSparse(length time.Duration) ([]figure, error) {
	c := sparseChain()
	one, err := blocksPerSecond(c, 1, length)
	if err != nil {
		return nil, err
	}

	many, err := blocksPerSecond(c, 0, length)
	if err != nil {
		return nil, err
	}
	return []figure{
		{name: "sparse blocks, one range in flight", value: one, unit: "blocks/s"},
		{name: "sparse blocks, 12 ranges in flight", value: many, unit: "blocks/s"},
		{name: "many in flight beside one", value: many / one, unit: "times",
			goal: fmt.Sprintf("at least %d", leastSparse), missed: many < leastSparse*one},
	}, nil
}
