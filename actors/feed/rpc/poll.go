package rpc

import (
	"context"
	"fmt"
	"slices"
	"time"

	geth "github.com/ethereum/go-ethereum/rpc"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

const (
	// maxWalk bounds the blocks of one poll.
	maxWalk = 256
	// doubts is how often every URL is asked again for logs that a header
	// hints at, and doubtPause how long to wait between: a node that has a
	// block often has its logs a moment later.
	doubts     = 3
	doubtPause = 200 * time.Millisecond
)

// poll reads the blocks after at up to the head as one span: its headers and logs from one URL.
func (f *Feed) poll(
	ctx context.Context, step feed.Step, head *sight, at market.Head,
) (feed.Step, error) {
	from, to := at.Number+1, uint64(*head.Number)
	to = min(to, from+maxWalk-1)
	var headers []*wireHeader
	var blocks []rawBlock
	err := f.try(ctx, to, func(n *node) (err error) {
		if headers, err = f.walk(ctx, n, from, to, at); err != nil {
			return err
		}
		if last := headers[len(headers)-1]; to == uint64(*head.Number) && last.Hash != head.Hash {
			return fmt.Errorf("block %d is %s, the head was %s: %w", to,
				market.Hash(last.Hash), market.Hash(head.Hash), errMoved)
		}
		blocks, err = f.logs(ctx, n, headers)
		return err
	})
	if err != nil {
		return step, fmt.Errorf("blocks %d to %d: %w", from, to, err)
	}
	last := headers[len(headers)-1].head()
	span := &market.Span{From: from, To: to, Parent: at.Hash, Hash: last.Hash, Time: last.Time}
	if err := f.fill(ctx, span, blocks); err != nil {
		return step, fmt.Errorf("blocks %d to %d: %w", from, to, err)
	}
	err = f.try(ctx, to, func(n *node) error { return f.again(ctx, n, &step, head, span) })
	if err != nil {
		return step, fmt.Errorf("blocks %d to %d: %w", from, to, err)
	}
	step.Span = span
	step.ETA = f.progress(span, step.Head.Number)
	return step, nil
}

// walk reads the headers of the blocks from..to and checks that each is the
// parent of the next and at that of the first.
func (f *Feed) walk(
	ctx context.Context, n *node, from, to uint64, at market.Head,
) ([]*wireHeader, error) {
	numbers := make([]uint64, 0, to-from+1)
	for i := from; i <= to; i++ {
		numbers = append(numbers, i)
	}
	headers, err := n.headers(ctx, numbers)
	if err != nil {
		return nil, err
	}
	parent := word(at.Hash)
	for _, h := range headers {
		if parent != (word{}) && h.Parent != parent {
			return nil, fmt.Errorf("block %d follows %s, not %s: %w", *h.Number,
				market.Hash(h.Parent), market.Hash(parent), errMoved)
		}
		parent = h.Hash
	}
	return headers, nil
}

// logs reads the logs of each block by its hash.
func (f *Feed) logs(ctx context.Context, n *node, headers []*wireHeader) ([]rawBlock, error) {
	answers := make([]*[]wireLog, len(headers))
	calls := make([]geth.BatchElem, len(headers))
	for i, h := range headers {
		filter := f.filter("blockHash", market.Hash(h.Hash).String())
		calls[i] = geth.BatchElem{Method: "eth_getLogs", Args: []any{filter}, Result: &answers[i]}
	}
	if err := n.ask(ctx, calls); err != nil {
		return nil, err
	}
	if err := firstError(calls); err != nil {
		return nil, err
	}
	var blocks []rawBlock
	for i, h := range headers {
		if answers[i] == nil {
			return nil, fmt.Errorf("logs of block %d: %w", *h.Number, errNotThere)
		}
		logs := *answers[i]
		if len(logs) == 0 && f.blooms.mayHold(h.Bloom) {
			var err error
			if logs, err = f.doubt(ctx, h); err != nil {
				return nil, err
			}
		}
		b, err := f.ofBlock(h, logs)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b...)
	}
	return blocks, nil
}

// ofBlock assembles the logs of one block, none or one.
func (f *Feed) ofBlock(h *wireHeader, logs []wireLog) ([]rawBlock, error) {
	number := uint64(*h.Number)
	blocks, err := f.assemble(logs, number, number)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	b := &blocks[0]
	if b.hash != h.Hash {
		return nil, fmt.Errorf("logs of block %d are of %s; asked for %s",
			number, market.Hash(b.hash), market.Hash(h.Hash))
	}
	b.Time, b.dated = int64(*h.Time), true
	return blocks, nil
}

// doubt asks for the logs of a block again whose header hints at some of our
// events while no log came: every URL, without topics, so that any log of our
// contracts shows that the hint was true. Answers that agree on none show that
// it was not.
func (f *Feed) doubt(ctx context.Context, h *wireHeader) ([]wireLog, error) {
	filter := map[string]any{
		"address": f.addresses(), "blockHash": market.Hash(h.Hash).String(),
	}
	answered := false
	var failed joined
	for round := range doubts {
		if round > 0 {
			if err := f.cfg.Clock.Sleep(ctx, doubtPause<<round); err != nil {
				return nil, err
			}
		}
		for _, n := range f.awake() {
			var logs *[]wireLog
			err := f.on(ctx, n, func(n *node) error {
				return n.call(ctx, &logs, "eth_getLogs", filter)
			})
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				failed = append(failed, fmt.Errorf("%s: %w", n.name, err))
			case logs != nil && len(*logs) > 0:
				return f.asked(*logs), nil
			case logs != nil:
				answered = true
			}
		}
	}
	if !answered {
		return nil, fmt.Errorf("block %d may hold events: %w", *h.Number, failed)
	}
	f.m.falsePositives.Inc()
	return nil, nil
}

// asked returns the logs that the filter with topics would have let through.
func (f *Feed) asked(logs []wireLog) (out []wireLog) {
	known := slices.Concat(managerTopics, positionTopics)
	for _, l := range logs {
		if len(l.Topics) > 0 && slices.Contains(known, market.Hash(l.Topics[0])) {
			out = append(out, l)
		}
	}
	return out
}

// again reads the span's last block and the head once more after everything
// else was read: the block must still be there. It says what that shows of
// the head.
func (f *Feed) again(
	ctx context.Context, n *node, step *feed.Step, before *sight, span *market.Span,
) error {
	at := f.cfg.Clock.Now()
	var last, latest *wireHeader
	calls := []geth.BatchElem{
		{Method: "eth_getBlockByNumber", Args: []any{hex(span.To), false}, Result: &last},
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &latest},
	}
	if err := n.ask(ctx, calls); err != nil {
		return err
	}
	if err := firstError(calls); err != nil {
		return err
	}
	if err := last.check(span.To); err != nil {
		return err
	}
	if last.Hash != word(span.Hash) {
		return fmt.Errorf("block %d was %s and is %s: %w", span.To, span.Hash,
			market.Hash(last.Hash), errMoved)
	}
	if latest == nil || latest.Number == nil {
		return fmt.Errorf("the head: %w", errNotThere)
	}
	if err := latest.check(uint64(*latest.Number)); err != nil {
		return err
	}
	now := &sight{*latest, n, at}
	if span.To == uint64(*before.Number) {
		step.SpanConfirmed = f.confirm(before)
	}
	if latest.Hash == last.Hash {
		step.SpanConfirmed = f.confirm(now)
	}
	if uint64(*latest.Number) >= step.Head.Number {
		step.Head = now.head()
		n.head = step.Head.Number
	}
	return nil
}
