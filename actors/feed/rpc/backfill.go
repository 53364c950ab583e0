package rpc

import (
	"context"
	"fmt"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// rangeRead is the answer for a range: its logs, and the header of its last
// block.
type rangeRead struct {
	from, to uint64
	parent   market.Hash
	at       time.Time
	source   *source
	blocks   []rawBlock
	last     *wireHeader
}

// partialKept is how long a range that lacks its gas, times or tokens is kept
// while those fail to come.
const partialKept = time.Minute

// backfillRange reads the next range of settled blocks: as large as nodes answer.
// Where only its receipts, times or tokens could not be had, the next call goes
// on with those.
func (f *Feed) backfillRange(
	ctx context.Context, step feed.Step, head *observedHead, at market.Head,
) (feed.Step, error) {
	from := at.Number + 1
	read := f.partial
	if read == nil || read.from != from || read.parent != at.Hash ||
		f.cfg.Clock.Now().Sub(read.at) > partialKept {
		f.partial = nil
		f.probeBackends(ctx)
		if !f.isFar(head, from) {
			return f.pollBlocks(ctx, step, head, at, 0)
		}
		var err error
		if read, err = f.readRange(ctx, from, f.rangesEnd()); err != nil {
			return step, fmt.Errorf("blocks from %d: %w", from, err)
		}
		read.parent = at.Hash
		f.partial = read
	}

	to := read.to
	if err := f.dateBlocks(ctx, read, at); err != nil {
		return step, err
	}
	recent := f.isRecent(read.last, head)
	span := &market.Span{
		From: from, To: to, Parent: at.Hash, Hash: market.Hash(read.last.Hash),
		Time: int64(*read.last.Time), Final: to+undoDepth <= uint64(*head.Number) && !recent,
	}
	if err := f.completeSpan(ctx, span, read.blocks); err != nil {
		return step, err
	}

	f.partial = nil
	if recent {
		f.keepReading(from, to, read.blocks, read.source)
		step.Finalized = f.outOfReach()
	}
	step.Span = span
	return step, nil
}

// readRange reads the logs of a range from the first source that answers, as
// many blocks as it takes.
func (f *Feed) readRange(ctx context.Context, from, end uint64) (read *rangeRead, err error) {
	err = f.trySources(ctx, Backfill, from, func(s *source) error {
		for {
			to := from + min(s.ranges.size-1, end-from)
			var err error
			if read, err = f.askRange(ctx, s, from, to); err == nil {
				s.ranges.answered(to - from + 1)
				return nil
			}
			if ctx.Err() != nil || !s.ranges.refused(from, to, err) {
				return fmt.Errorf("blocks %d to %d: %w", from, to, err)
			}
		}
	})

	return read, err
}

// askRange asks a source for a range's logs and the header of its last block.
// That it has the block does not show that it has the logs: behind a balancer
// the two may come from different backends. See readAgain.
func (f *Feed) askRange(ctx context.Context, s *source, from, to uint64) (*rangeRead, error) {
	var logs *[]wireLog
	var last *wireHeader
	calls := []endpoint.Call{
		{
			Method: "eth_getLogs", Result: &logs,
			Args: []any{f.logFilter("fromBlock", hex(from), "toBlock", hex(to))},
		},
		{Method: "eth_getBlockByNumber", Args: []any{hex(to), false}, Result: &last},
	}
	if err := s.Ask(ctx, calls); err != nil {
		return nil, err
	}
	if err := endpoint.FirstError(calls); err != nil {
		return nil, err
	}
	if err := last.check(to); err != nil {
		return nil, err
	}
	if logs == nil {
		return nil, absentError("logs of blocks %d to %d", from, to)
	}
	if len(*logs) >= maxLogs && from < to {
		return nil, &endpoint.Error{
			Kind: endpoint.Oversized, Text: fmt.Sprintf("%d logs, where nodes begin to cut", len(*logs)),
		}
	}

	blocks, err := f.assembleBlocks(*logs, from, to)
	if err != nil {
		return nil, err
	}
	return &rangeRead{
		from: from, to: to, at: f.cfg.Clock.Now(), source: s, blocks: blocks, last: last,
	}, nil
}

const (
	// probes is how often each URL is asked for its head before ranges are read
	// from it: a backend that lags behind a balancer shows itself.
	probes = 4
	// probeEvery is how long that is good for.
	probeEvery = time.Minute
)

// probeBackends learns how far the backends behind each URL lag. A URL that does
// not answer is left to the requests that matter.
func (f *Feed) probeBackends(ctx context.Context) {
	now := f.cfg.Clock.Now()
	for _, s := range f.sourcesFor(Backfill) {
		if now.Sub(s.probed) < probeEvery {
			continue
		}

		s.probed = now
		for range probes {
			var number *quantity
			if err := s.Call(ctx, &number, "eth_blockNumber"); err != nil || number == nil {
				break
			}
			if n := uint64(*number); n <= f.highestHead+maxJump {
				s.sawHead(max(n, s.head), now)
				s.lows.saw(n, now)
			}
		}
	}
}
