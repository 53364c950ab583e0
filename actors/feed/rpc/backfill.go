package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

// isAhead reports whether what is read ahead follows a block. Then the block need not
// be looked for on the chain: what follows names it as its parent.
func (f *Feed) isAhead(head *observedHead, at market.Head) bool {
	return f.ahead != nil && f.ahead.after == at && !at.Hash.IsZero() &&
		at.Number < uint64(*head.Number) && f.isFar(head, at.Number+1)
}

// backfillRange gives out the next range of settled blocks, which was read ahead.
func (f *Feed) backfillRange(
	ctx context.Context, step feed.Step, head *observedHead, at market.Head, c *feed.Cursor,
) (feed.Step, error) {
	from := at.Number + 1
	f.probeBackends(ctx)
	if !f.isFar(head, from) {
		f.dropAhead()
		return f.pollBlocks(ctx, step, head, at, c)
	}
	if f.ahead == nil || f.ahead.after != at {
		f.dropAhead()
		f.ahead = f.newAhead(at)
	}
	f.ahead.reach(min(f.rangesEnd(), lastWanted(c, from)), head)
	p, err := f.ahead.first(ctx)
	if err != nil {
		// A log that the contracts cannot have written is believed from receipts only.
		if impossible := (impossibleError{}); errors.As(err, &impossible) {
			f.singlyBelow = max(f.singlyBelow, p.to+1)
			f.dropAhead()
		}
		return step, fmt.Errorf("blocks from %d: %w", from, err)
	}

	read, span := p.read, p.span
	if !at.Hash.IsZero() && read.before.Hash != at.Hash {
		f.dropAhead()
		return step, movedError("block %d is %s, the ledger has %s", at.Number, read.before.Hash, at.Hash)
	}
	f.ahead.giveOut(p)
	recent := p.isRecent()
	span.Parent, span.Final = at.Hash, read.to+market.UndoBlocks <= uint64(*head.Number) && !recent
	if recent {
		f.keepReading(read.from, read.to, read.blocks, read.source)
		step.Finalized = f.outOfReach()
	}
	f.handOver(span)
	step.Span = span
	return step, nil
}

// rangeLimit is how many blocks the source that is asked first takes at once.
func (f *Feed) rangeLimit() uint64 { return f.sourcesFor(Backfill)[0].ranges.get() }

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
		for _, number := range probeHeads(ctx, s) {
			if number == nil {
				continue
			}
			if n := uint64(*number); n <= f.highestHead+maxJump {
				s.sawHead(max(n, s.head.Load()), now)
				s.lows.saw(n, now)
			}
		}
	}
}

// probeHeads asks for the head in several requests at once, each of which may reach
// another backend. Those that fail are nil.
func probeHeads(ctx context.Context, s *source) (numbers [probes]*quantity) {
	var work sync.WaitGroup
	for i := range numbers {
		work.Go(func() {
			if err := s.Call(ctx, &numbers[i], "eth_blockNumber"); err != nil {
				numbers[i] = nil
			}
		})
	}
	work.Wait()
	return numbers
}
