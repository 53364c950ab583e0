package main

import (
	"context"
	"fmt"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/rpc"
	"tidemark/rankings/market"
)

const (
	// sparseEvery is one block in how many has events, as on a chain whose contracts
	// are rarely used.
	sparseEvery = 5000
	sparseHead  = 100_000_000
)

// sparseChain is a chain of a hundred million blocks, of which those of the first
// fifth can be reached in a run and have events.
func sparseChain() *mockChain {
	c := newChain(1, sparseHead, timeOf)
	c.final = ahead
	for n := uint64(sparseEvery); n < sparseHead/5; n += sparseEvery {
		c.add(swapBlock(n, timeOf(n)))
	}
	return c
}

// swapBlock is a block with one swap.
func swapBlock(number uint64, at int64) *market.Block {
	e := market.Swap{Pool: market.PoolID{1}, Sender: market.Address{9}, Fee: 3000}
	e.SqrtPriceX96.SetUint64(1)
	e.SqrtPriceX96.Lsh(&e.SqrtPriceX96, 96)
	return &market.Block{
		Number: number, Time: at, Txs: []market.Tx{{Hash: hashOf(number << 20)}},
		Logs: []market.Log{{Event: e}},
	}
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
			goal: fmt.Sprintf("at least %d", leastSparse), missed: isBelow(many/one, leastSparse)},
	}, nil
}

// blocksPerSecond reads a sparse chain for a while with so many ranges in flight.
func blocksPerSecond(c *mockChain, inFlight int, length time.Duration) (float64, error) {
	s, err := serveProvider(c, generous)
	if err != nil {
		return 0, err
	}
	defer s.close()
	f, err := s.feed(inFlight, "")
	if err != nil {
		return 0, err
	}
	defer f.Close()

	at := market.Head{}
	started := time.Now()
	for time.Since(started) < length {
		if err := follow(f, &at, started.Add(length)); err != nil {
			return 0, err
		}
	}
	return float64(at.Number) / time.Since(started).Seconds(), nil
}

// follow takes one step of a feed. That time is up is no error.
func follow(f *rpc.Feed, at *market.Head, end time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	step, err := f.Next(ctx, feed.Cursor{Anchors: []market.Head{*at}})
	if err != nil && ctx.Err() == nil {
		return err
	}

	if step.RevertTo != nil {
		*at = *step.RevertTo
	}
	if err == nil && step.Span != nil {
		*at = step.Span.Head()
	}
	return nil
}
