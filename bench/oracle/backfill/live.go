package main

import (
	"fmt"
	"time"

	"tidemark/rankings/market"
)

const (
	// liveBlocks is how many blocks a second a fast chain has, liveEvery one block in
	// how many has a swap, and liveMints one in how many a new position.
	liveBlocks = 4
	liveEvery  = 3
	liveMints  = 80
	liveFrom   = 10_000
	// liveWarm is how long the feed may take to its pace: chain, head, finalized block,
	// the headers by which it knows how fast the chain is, and what it took before that
	// once more.
	liveWarm = 22 * time.Second
)

// liveChain is a chain with four blocks a second, of which those of the next minutes
// are known.
func liveChain(now int64) *mockChain {
	times := func(n uint64) int64 { return now + (int64(n)-liveFrom)/liveBlocks }
	c := newChain(42161, liveFrom, times)
	c.final = 1000
	for n := uint64(liveFrom + 1); n < liveFrom+liveBlocks*600; n++ {
		switch {
		case n%liveMints == 0:
			c.add(mintBlock(n, times(n)))
		case n%liveEvery == 0:
			c.add(swapBlock(n, times(n)))
		}
	}
	return c
}

// mintBlock is a block in which a position is minted.
func mintBlock(number uint64, at int64) *market.Block {
	change := market.ModifyLiquidity{
		Pool: market.PoolID{1}, Sender: positions, TickLower: -60, TickUpper: 60, Salt: market.Hash{31: 7},
	}
	change.LiquidityDelta.Lo = 1000
	return &market.Block{
		Number: number, Time: at, Txs: []market.Tx{{Hash: hashOf(number << 20), GasUsed: 21000}},
		Logs: []market.Log{
			{Index: 0, Event: market.TransferNFT{To: market.Address{7}, ID: number}},
			{Index: 1, Event: change},
		},
	}
}

// measureLive counts the calls at the head of a fast chain that nothing disturbs.
func measureLive(length time.Duration) ([]figure, error) {
	c := liveChain(time.Now().Unix())
	s, err := serveProvider(c, small)
	if err != nil {
		return nil, err
	}
	defer s.close()
	heads, url, stop, err := serveHeads(c)
	if err != nil {
		return nil, err
	}
	defer stop()
	f, err := s.feed(0, url)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(time.Second / liveBlocks)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.head.Add(1)
				heads.show()
			case <-done:
				return
			}
		}
	}()

	at := market.Head{Number: liveFrom, Hash: hashOf(liveFrom), Time: c.times(liveFrom)}
	warm := time.Now().Add(liveWarm)
	for time.Now().Before(warm) {
		if err := follow(f, &at, warm); err != nil {
			return nil, err
		}
	}
	calls, from, started := s.calls.Load(), at.Number, time.Now()
	for end := started.Add(length); time.Now().Before(end); {
		if err := follow(f, &at, end); err != nil {
			return nil, err
		}
	}

	took := time.Since(started).Seconds()
	rate := float64(s.calls.Load()-calls) / took
	behind := c.head.Load() - at.Number
	return []figure{
		{name: "calls at the head of a fast chain, in calm", value: rate, unit: "calls/s",
			beside: fmt.Sprintf("plan: %.0f calls/s", s.perSecond),
			goal:   fmt.Sprintf("at most %d", mostLive), missed: rate > mostLive},
		{name: "its blocks meanwhile", value: float64(at.Number-from) / took, unit: "blocks/s",
			beside: fmt.Sprintf("%d blocks behind at the end", behind),
			goal:   fmt.Sprintf("at most %d behind", 4*liveBlocks), missed: behind > 4*liveBlocks},
	}, nil
}
