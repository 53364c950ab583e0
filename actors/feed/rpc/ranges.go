package rpc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// rangeRead is the answer for a range: its logs, and the headers of the block
// before it and of its last one, all of one request.
type rangeRead struct {
	from, to uint64
	at       time.Time
	source   *source
	blocks   []rawBlock
	logs     int
	before   market.Head // zero before block 0
	last     *wireHeader
}

// partialKept is how long a range that lacks its gas, times or tokens is kept
// while those fail to come.
const partialKept = time.Minute

// readPiece reads the logs of a piece, or as many of its blocks as a source
// answers. What was read a moment ago is kept.
func (f *Feed) readPiece(ctx context.Context, p *piece) (err error) {
	if p.read != nil && f.cfg.Clock.Now().Sub(p.read.at) <= partialKept {
		return nil
	}
	p.read, err = f.readRange(ctx, p.from, p.to, &p.strikes)
	if err == nil && p.read.to+market.UndoBlocks > p.top {
		err = f.confirmRange(ctx, p.read)
	}
	if err != nil {
		p.read = nil
	}
	return err
}

// confirmRange reads a range once more that a reorganisation may reach. A node answers
// the calls of a request one after the other, so that logs and headers of one answer may
// be of two branches, and so may the logs of one call. Two readings in a row are the
// same only if no block was replaced during the first.
func (f *Feed) confirmRange(ctx context.Context, r *rangeRead) error {
	again, err := f.askRange(ctx, r.source, r.from, r.to)
	if err != nil {
		return fmt.Errorf("blocks %d to %d, once more: %w", r.from, r.to, err)
	}
	_, first := digest(r.blocks)
	_, second := digest(again.blocks)
	if first != second || again.before != r.before || again.last.Hash != r.last.Hash {
		return movedError("blocks %d to %d were replaced while they were read", r.from, r.to)
	}
	return nil
}

// completePiece makes the span of a piece whose logs were read: its times, its
// receipts and its tokens are asked for at once.
func (f *Feed) completePiece(ctx context.Context, p *piece) error {
	read := p.read
	span := &market.Span{
		From: read.from, To: read.to, Parent: read.before.Hash,
		Hash: market.Hash(read.last.Hash), Time: int64(*read.last.Time),
		Blocks: blocksOf(read.blocks),
	}
	var work sync.WaitGroup
	var timesErr, receiptsErr, tokensErr error
	work.Go(func() { timesErr = f.dateBlocks(ctx, read) })
	work.Go(func() { receiptsErr = f.fetchReceipts(ctx, read.blocks, read.to, &p.absent, true) })
	span.Tokens, tokensErr = f.fetchTokens(ctx, span)
	work.Wait()

	if timesErr == nil && !timesFit(read.blocks, read.before.Time, span.Time) {
		timesErr = movedError("the times of blocks %d to %d fall", read.from, read.to)
	}
	switch {
	case timesErr != nil:
		if endpoint.KindOf(timesErr) == endpoint.Inconsistent {
			p.read = nil
		}
		return timesErr
	case receiptsErr != nil:
		return fmt.Errorf("cannot read receipts: %w", receiptsErr)
	case tokensErr != nil:
		return fmt.Errorf("cannot read tokens: %w", tokensErr)
	}
	span.Blocks = blocksOf(read.blocks) // with their times and gas
	p.span = span
	return nil
}

// readRange reads the logs of a range from the first source that answers, as
// many blocks as it takes.
func (f *Feed) readRange(
	ctx context.Context, from, end uint64, strikes *int,
) (read *rangeRead, err error) {
	err = f.trySources(ctx, Backfill, from, func(s *source) error {
		for {
			to := from + min(s.ranges.get()-1, end-from)
			var err error
			if read, err = f.askRange(ctx, s, from, to); err == nil {
				s.ranges.answered(to - from + 1)
				return nil
			}
			if ctx.Err() != nil || !s.ranges.refused(from, to, err, strikes) {
				return fmt.Errorf("blocks %d to %d: %w", from, to, err)
			}
		}
	})

	return read, err
}

// askRange asks a source for a range's logs and the headers of the block before it
// and of its last one. That it has the block does not show that it has the logs:
// behind a balancer the two may come from different backends. See readAgain.
func (f *Feed) askRange(ctx context.Context, s *source, from, to uint64) (*rangeRead, error) {
	logs := &logReader{feed: f, assembly: assembly{from: from, to: to}}
	var last, before *wireHeader
	calls := []endpoint.Call{
		{
			Method: "eth_getLogs", Result: logs,
			Args: []any{f.logFilter("fromBlock", hex(from), "toBlock", hex(to))},
		},
		{Method: "eth_getBlockByNumber", Args: []any{hex(to), false}, Result: &last},
	}
	if from > 0 {
		calls = append(calls, endpoint.Call{
			Method: "eth_getBlockByNumber", Args: []any{hex(from - 1), false}, Result: &before,
		})
	}
	if err := s.Ask(ctx, calls); err != nil {
		return nil, err
	}
	if err := endpoint.FirstError(calls); err != nil {
		return nil, err
	}

	read := &rangeRead{
		from: from, to: to, at: f.cfg.Clock.Now(), source: s, blocks: logs.blocks, logs: logs.logs,
		last: last,
	}
	return read, read.check(logs, before)
}

// check reports what is wrong with the answers for a range.
func (r *rangeRead) check(logs *logReader, before *wireHeader) error {
	if err := r.last.check(r.to); err != nil {
		return err
	}
	if r.from > 0 {
		if err := before.check(r.from - 1); err != nil {
			return err
		}
		r.before = before.head()
	}

	switch n := len(r.blocks); {
	case logs.none:
		return absentError("logs of blocks %d to %d", r.from, r.to)
	case logs.wrong != nil:
		return logs.wrong
	case logs.isCut():
		return &endpoint.Error{
			Kind: endpoint.Oversized, Text: fmt.Sprintf("%d logs, where nodes begin to cut", r.logs),
		}
	case r.from == r.to && r.from > 0 && r.last.Parent != word(r.before.Hash):
		return movedError("block %d follows another block than %d", r.to, r.from-1)
	case n > 0 && r.blocks[n-1].Number == r.to && r.blocks[n-1].hash != r.last.Hash:
		return movedError("block %d is %s, its logs are of %s", r.to,
			market.Hash(r.last.Hash), market.Hash(r.blocks[n-1].hash))
	}
	return nil
}

// size returns about how many bytes a range holds in memory.
func (r *rangeRead) size() int64 {
	if r == nil {
		return 0
	}
	return pieceBytes + blockBytes*int64(len(r.blocks)) + logBytes*int64(r.logs)
}

// What a range, a block with events and a log hold at most: a log with its event
// and a transaction of its own.
const (
	pieceBytes = 4 << 10
	blockBytes = 256
	logBytes   = 512
)
