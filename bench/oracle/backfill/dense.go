package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"tidemark/actors/feed/rpc"
	"tidemark/bench/process"
)

const (
	// denseDays is how long the dense history is.
	denseDays = 20
	// ahead is how many blocks the mock chain has after its history: those are followed
	// one by one, which is not what is measured.
	ahead = 300
)

// dense is a dense history, and a process that serves it.
type dense struct {
	*recording
	provider *process.Child
}

// startDense simulates a history, and has a process of its own do the same and serve it:
// the provider's processor is not the node's.
func startDense(history func() (*recording, error), events int) (*dense, error) {
	dir, err := os.MkdirTemp("", "backfill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cores, err := process.Split(false)
	if err != nil {
		return nil, err
	}

	d := new(dense)
	recorded := make(chan error, 1)
	go func() {
		var err error
		d.recording, err = history()
		recorded <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	d.provider, err = process.Launch(ctx, cores, process.Self("--events", strconv.Itoa(events)),
		filepath.Join(dir, "provider.log"))
	return d, cmp.Or(err, <-recorded)
}

// serveDense serves a dense history until the process is stopped.
func serveDense(address string, events int) error {
	r, err := record(events, denseDays)
	if err != nil {
		return err
	}
	return serveAt(address, newProvider(recordedChain(r), generous))
}

// recordedChain is a mock chain with a recorded history.
func recordedChain(r *recording) *mockChain {
	c := newChain(1, r.head.Number+ahead, timeOf)
	c.final = ahead
	c.addSpans(r.spans)
	return c
}

// fromMemory has a node take the history from memory, fromProvider from the provider.
func (d *dense) fromMemory() (*taken, error) {
	return take(d.recording, &memoryFeed{d.recording}, nil)
}

func (d *dense) fromProvider() (*taken, rpc.Status, error) {
	source, err := newFeed("http://"+d.provider.Address, 1, generous, 0, "")
	if err != nil {
		return nil, rpc.Status{}, err
	}
	defer source.Close()
	t, err := take(d.recording, source, d.provider)
	return t, source.Status(), err
}

// measureDense compares a dense history from memory with the same from a provider.
func measureDense(history func() (*recording, error), events, turns int) ([]figure, error) {
	d, err := startDense(history, events)
	if err != nil {
		return nil, err
	}
	defer d.provider.Stop()
	calls := 0.0
	p, err := takeTurns(turns, d.fromMemory, func() (*taken, error) {
		t, status, err := d.fromProvider()
		if err == nil {
			calls = float64(status.Requests) / (t.first + t.took).Seconds()
		}
		return t, err
	})
	if err != nil {
		return nil, err
	}

	plan := fmt.Sprintf("plan: %d results, %d a batch; %.0f calls/s", generous.results,
		generous.batch, calls)
	return p.figures("events from memory", "events from a provider at 100 ms",
		"the provider's rate beside memory's", plan, d.events, leastRatio), nil
}
