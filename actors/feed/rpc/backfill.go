package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	geth "github.com/ethereum/go-ethereum/rpc"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

const (
	// nearGap is how far behind the head blocks are still read one by one,
	// finalized or not.
	nearGap = 64
	// undoDepth is how many blocks under the head a reorganisation may reach
	// whatever the node calls finalized.
	undoDepth = 256
	// headKept is how long a head is good for while far behind it, and
	// finalizedKept how long a finalized block is.
	headKept      = 10 * time.Second
	finalizedKept = 30 * time.Second
	// maxLogs is where nodes begin to cut an answer, some without saying so.
	maxLogs = 10_000
	// linesEvery is how often progress is logged.
	linesEvery = 10 * time.Second
)

// farSight is what a feed remembers while it is far behind the head.
type farSight struct {
	size  uint64 // blocks of the next range
	head  *sight
	until uint64    // newest block that no reorganisation reaches
	known bool      // there is such a block
	at    time.Time // when that was asked

	last         time.Time // end of the last span
	blocks, logs float64   // a second, smoothed
	line         time.Time // of the log
}

// headFor returns the head: the one seen lately while the ledger at is far
// from it, else a new one.
func (f *Feed) headFor(ctx context.Context, at market.Head) (*sight, error) {
	far := &f.far
	if h := far.head; h != nil && f.cfg.Clock.Now().Sub(h.at) < headKept &&
		at.Number+1 <= far.until && far.known && uint64(*h.Number)-at.Number > nearGap {
		return h, nil
	}
	h, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	far.head = h
	if !far.at.IsZero() && h.at.Sub(far.at) < finalizedKept {
		return h, nil
	}
	return h, f.settle(ctx, h)
}

// settle finds the newest block that is read by ranges: the finalized one, or
// undoDepth under the head where the node has no such tag.
func (f *Feed) settle(ctx context.Context, head *sight) error {
	var final *wireHeader
	err := f.try(ctx, uint64(*head.Number), func(n *node) error {
		err := n.call(ctx, &final, "eth_getBlockByNumber", "finalized", false)
		if answered := geth.Error(nil); errors.As(err, &answered) && !isLimit(err) {
			final, err = nil, nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot read the finalized block: %w", err)
	}
	far, top := &f.far, uint64(*head.Number)
	far.at = f.cfg.Clock.Now()
	switch {
	case final != nil && final.Number != nil:
		far.until, far.known = min(uint64(*final.Number), top), true
	default:
		far.until, far.known = top-min(top, undoDepth), top >= undoDepth
	}
	return nil
}

func (f *Feed) isFar(head *sight, from uint64) bool {
	return f.far.known && from <= f.far.until && uint64(*head.Number)-(from-1) > nearGap
}

// backfill reads the next range of settled blocks: as large as nodes answer.
// A refusal halves it, every answer lets it grow by an eighth.
func (f *Feed) backfill(
	ctx context.Context, step feed.Step, head *sight, at market.Head,
) (feed.Step, error) {
	from := at.Number + 1
	var to uint64
	var read *ranged
	for {
		to = f.far.until
		if left := to - from; left >= f.far.size {
			to = from + f.far.size - 1
		}
		var err error
		if read, err = f.readRange(ctx, from, to); err == nil {
			break
		}
		if !errors.Is(err, errTooMuch) {
			return step, fmt.Errorf("blocks %d to %d: %w", from, to, err)
		}
		f.far.size = (to - from + 1) / 2
	}
	if to-from+1 == f.far.size {
		f.far.size = min(f.far.size+f.far.size/8+1, f.cfg.MaxLogRange)
	}
	span := &market.Span{From: from, To: to, Parent: at.Hash, Hash: market.Hash(read.last.Hash),
		Time: int64(*read.last.Time), Final: to+undoDepth <= uint64(*head.Number)}
	if err := f.date(ctx, read.blocks, to); err != nil {
		return step, err
	}
	if err := f.fill(ctx, span, read.blocks); err != nil {
		return step, err
	}
	step.Span = span
	step.ETA = f.progress(span, uint64(*head.Number))
	return step, nil
}

// ranged is the answer for a range: its logs, and the header of its last block.
type ranged struct {
	blocks []rawBlock
	last   *wireHeader
}

// readRange asks for a range's logs and, in the same request, for its last
// block: a backend that has the block has the logs up to it.
func (f *Feed) readRange(ctx context.Context, from, to uint64) (read *ranged, err error) {
	err = f.try(ctx, to, func(n *node) error {
		var logs *[]wireLog
		var last *wireHeader
		calls := []geth.BatchElem{
			{Method: "eth_getLogs", Args: []any{f.filter("fromBlock", hex(from), "toBlock", hex(to))},
				Result: &logs},
			{Method: "eth_getBlockByNumber", Args: []any{hex(to), false}, Result: &last},
		}
		err := n.ask(ctx, calls)
		if err == nil {
			err = callError(&calls[0])
		}
		if from < to && err != nil && isTooMuch(err) && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w: %w", errTooMuch, err)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			f.far.size = max(1, f.far.size/2)
		}
		if err == nil {
			err = callError(&calls[1])
		}
		if err == nil {
			err = last.check(to)
		}
		if err != nil {
			return err
		}
		if logs == nil {
			return fmt.Errorf("logs of blocks %d to %d: %w", from, to, errNotThere)
		}
		if len(*logs) >= maxLogs && from < to {
			return fmt.Errorf("%w: %d logs", errTooMuch, len(*logs))
		}
		read = &ranged{last: last}
		read.blocks, err = f.assemble(*logs, from, to)
		return err
	})
	return read, err
}

// progress smooths the pace over the spans and returns what is left at it.
func (f *Feed) progress(s *market.Span, head uint64) time.Duration {
	const weight = 0.2
	far, now := &f.far, f.cfg.Clock.Now()
	events := countEvents(s)
	f.m.events.Add(events)
	took := now.Sub(far.last).Seconds()
	first := far.last.IsZero() || took <= 0
	far.last = now
	if first {
		return 0
	}
	mix := func(old *float64, n float64) {
		if *old == 0 {
			*old = n / took
		}
		*old += weight * (n/took - *old)
	}
	mix(&far.blocks, float64(s.To-s.From+1))
	mix(&far.logs, float64(events))
	f.m.rate.Set(far.logs)
	if s.To >= head {
		return 0
	}
	eta := time.Duration(float64(head-s.To) / far.blocks * float64(time.Second))
	if now.Sub(far.line) >= linesEvery && head-s.To > nearGap {
		far.line = now
		f.cfg.Log.Info("catching up", "chain", f.cfg.Chain, "block", s.To, "head", head,
			"events_per_second", int(far.logs), "eta", eta.Round(time.Second))
	}
	return eta
}

func countEvents(s *market.Span) (n int) {
	for i := range s.Blocks {
		n += len(s.Blocks[i].Logs)
	}
	return n
}
