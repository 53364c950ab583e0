package rpc

import (
	"context"
	"fmt"
	"math"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

const (
	// maxWalk bounds the blocks of one poll. A poll that fails is tried with half
	// as many, leastWalk at last: less is lost when the next one fails.
	maxWalk   = 256
	leastWalk = 8
)

// pollBlocks reads the blocks after at, up to the head or where the cursor says that a
// span ends, as one span: their headers from one source, and what they hold with proof.
func (f *Feed) pollBlocks(
	ctx context.Context, step feed.Step, head *observedHead, at market.Head, c *feed.Cursor,
) (feed.Step, error) {
	from := at.Number + 1
	refused := isRefused(c, from)
	to := min(lastWanted(c, from), uint64(*head.Number), from+f.pollSize-1)
	f.pollSize = max(f.pollSize/2, leastWalk) // until this poll succeeded

	walk, err := f.followHead(ctx, head, at, to)
	if err != nil {
		return step, fmt.Errorf("blocks %d to %d: %w", from, to, err)
	}
	blocks, proven, err := f.readBlocks(ctx, walk)
	if err != nil && len(walk.headers) == 0 || ctx.Err() != nil {
		return step, fmt.Errorf("blocks %d to %d: %w", from, to, err)
	}
	if err != nil {
		f.noteError(err)
	}
	to = from + uint64(len(walk.headers)) - 1

	end := walk.headers[len(walk.headers)-1].head()
	span := &market.Span{From: from, To: to, Parent: at.Hash, Hash: end.Hash, Time: end.Time}
	if err := f.completeSpan(ctx, span, blocks, &f.pendingReceipts); err != nil {
		return step, fmt.Errorf("blocks %d to %d: %w", from, to, err)
	}
	err = f.trySources(ctx, Live, to, func(s *source) error {
		return f.confirmSpan(ctx, s, &step, head, span)
	})
	if err != nil {
		return step, fmt.Errorf("blocks %d to %d: %w", from, to, err)
	}

	if !proven && !refused {
		f.keepReading(from, to, blocks, walk.source)
		step.Finalized = f.outOfReach()
	}
	f.handOver(span)
	f.doubts = 0
	f.proofs.forget(to, refused)
	f.pollSize = min(4*f.pollSize, maxWalk)
	step.Span, step.Proven = span, proven
	return step, nil
}

// followHead reads the headers of the blocks after at, up to a block, from the first source
// that can follow a head.
func (f *Feed) followHead(
	ctx context.Context, head *observedHead, at market.Head, to uint64,
) (walk *headerWalk, err error) {
	err = f.trySources(ctx, Live, to, func(s *source) (err error) {
		walk, err = f.walkHeaders(ctx, s, at.Number+1, to, at, head)
		return err
	})
	if len(f.sources) > 1 && allErrors(err, isPassing) {
		f.noteFailure(head.source, err) // nobody can follow its head: it may be on another fork
	}
	return walk, err
}

// isRefused reports whether the ledger refused a span that reaches a block.
func isRefused(c *feed.Cursor, block uint64) bool { return c.Refused > 0 && block <= c.Refused }

// lastWanted returns where a span ends at the latest that begins with a block.
func lastWanted(c *feed.Cursor, from uint64) uint64 {
	last := uint64(math.MaxUint64)
	for _, end := range []uint64{c.Refused, c.Until} {
		if end > 0 && end >= from {
			last = min(last, end)
		}
	}
	return last
}

// headerWalk is the headers of blocks in a row as one source showed them.
type headerWalk struct {
	headers []*wireHeader
	source  *source
}

// walkHeaders reads the headers of the blocks from..to and checks that each is
// the parent of the next, at that of the first, and the head's the last.
func (f *Feed) walkHeaders(
	ctx context.Context, s *source, from, to uint64, at market.Head, head *observedHead,
) (*headerWalk, error) {
	var headers []*wireHeader
	if from < to || s != head.source || to != uint64(*head.Number) {
		numbers := make([]uint64, 0, to-from+1)
		for i := from; i <= to; i++ {
			numbers = append(numbers, i)
		}
		var err error
		if headers, err = s.readHeaders(ctx, numbers); err != nil {
			return nil, err
		}
	} else {
		headers = []*wireHeader{&head.wireHeader}
	}

	parent := word(at.Hash)
	for _, h := range headers {
		if parent != (word{}) && h.Parent != parent {
			return nil, movedError("block %d follows %s, not %s", *h.Number,
				market.Hash(h.Parent), market.Hash(parent))
		}
		parent = h.Hash
	}
	if to == uint64(*head.Number) && parent != head.Hash {
		return nil, movedError("block %d is %s, the head was %s", to,
			market.Hash(parent), market.Hash(head.Hash))
	}
	return &headerWalk{headers, s}, nil
}

// confirmSpan reads the span's last block and the head once more after everything else
// was read: the block must still be there. It sets what the second reading shows of the
// head.
func (f *Feed) confirmSpan(
	ctx context.Context, s *source, step *feed.Step, before *observedHead, span *market.Span,
) error {
	at := f.cfg.Clock.Now()
	var last, latest *wireHeader
	calls := []endpoint.Call{
		{Method: "eth_getBlockByNumber", Args: []any{hex(span.To), false}, Result: &last},
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &latest},
	}
	if err := s.Ask(ctx, calls); err != nil {
		return err
	}
	if err := endpoint.FirstError(calls); err != nil {
		return err
	}
	if err := last.check(span.To); err != nil {
		return err
	}
	if last.Hash != word(span.Hash) {
		return movedError("block %d was %s and is %s", span.To, span.Hash, market.Hash(last.Hash))
	}
	if latest == nil || latest.Number == nil {
		return absentError("the head")
	}
	if err := latest.check(uint64(*latest.Number)); err != nil {
		return err
	}

	now := &observedHead{*latest, s, at}
	if span.To == uint64(*before.Number) {
		step.SpanConfirmed = f.confirmedAt(before)
	}
	if latest.Hash == last.Hash {
		step.SpanConfirmed = f.confirmedAt(now)
	}
	if n := uint64(*latest.Number); n >= step.Head.Number && n <= f.highestHead+maxJump {
		step.Head = now.head()
		s.sawHead(n, at)
	}
	return nil
}
