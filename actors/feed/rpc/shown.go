package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// A chain with several blocks a second is not asked for each of them. Where a
// subscription shows its headers, their parent hashes link them to the ledger's
// head, and their bloom filters say which may hold our events: the others cost no
// request. Logs of several blocks are asked for at once and must explain what their
// filters hint at; receipts are asked for only where an NFT changed. Now and then the
// head is polled as without a subscription, and what was taken from logs alone is
// read again.

const (
	// maxShown bounds the headers that are kept: four minutes at four blocks a second.
	maxShown = 1024
	// shownSpan is over how many headers the pace of a chain is known, and fastBlocks
	// how many a second make it one that is not asked for each.
	shownSpan  = 16
	fastBlocks = 1.5
	// shownFresh is how long a fast chain may show nothing before it is polled.
	shownFresh = 3 * time.Second
	// shownPollEvery is how often the head is polled beside the subscription.
	shownPollEvery = 30 * time.Second
	// gatherLogs is how far apart logs are asked for.
	gatherLogs = 2500 * time.Millisecond
	// maxDoubts is how often in a row logs may not explain their blocks before
	// receipts are asked for.
	maxDoubts = 3
)

// shownHeads are headers as subscriptions showed them, each the parent of the next.
type shownHeads struct {
	mu     sync.Mutex
	list   []*wireHeader
	at     time.Time // when the last came
	blooms bool      // one of them had a bit in its bloom filter
}

// add appends a header. One that follows an earlier header replaces those after it.
func (s *shownHeads) add(h *wireHeader, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.list); n > 0 && s.list[n-1].Hash == h.Hash {
		return
	}
	i := slices.IndexFunc(s.list, func(p *wireHeader) bool {
		return p.Hash == h.Parent && *p.Number+1 == *h.Number
	})
	s.list = append(s.list[:i+1], h)
	s.list = s.list[max(len(s.list)-maxShown, 0):]

	s.at = at
	s.blooms = s.blooms || slices.ContainsFunc(*h.Bloom, func(b byte) bool { return b != 0 })
}

// after returns the headers that follow a block and when the last of all came. ok is
// false where they do not reach back to it, or their chain is not a fast one.
func (s *shownHeads) after(at market.Head, now time.Time) (walk []*wireHeader, seen time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.list)
	if n < shownSpan || !s.blooms || now.Sub(s.at) > shownFresh {
		return nil, s.at, false
	}
	first, last := s.list[n-shownSpan], s.list[n-1]
	if float64(shownSpan-1) < fastBlocks*float64(*last.Time-*first.Time) {
		return nil, s.at, false
	}

	i := slices.IndexFunc(s.list, func(h *wireHeader) bool { return h.Hash == word(at.Hash) })
	if i < 0 && s.list[0].Parent != word(at.Hash) {
		return nil, s.at, false
	}
	return slices.Clone(s.list[i+1:]), s.at, true
}

// contradicts reports whether another block was shown at a head's height.
func (s *shownHeads) contradicts(head *observedHead) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.list, func(h *wireHeader) bool {
		return *h.Number == *head.Number && h.Hash != head.Hash
	})
}

func (s *shownHeads) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
}

// headShown takes a header of a subscription and wakes Next.
func (f *Feed) headShown(chain string, header []byte) {
	var h *wireHeader
	err := json.Unmarshal(header, &h)
	if err == nil && chain == hex(uint64(f.cfg.Chain)) && h != nil && h.Number != nil &&
		h.check(uint64(*h.Number)) == nil && h.Bloom != nil && len(*h.Bloom) == bloomLen {
		f.shown.add(h, f.cfg.Clock.Now())
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// followsShown reports whether the ledger's head is followed by shown headers alone.
func (f *Feed) followsShown(c *feed.Cursor) bool {
	if len(f.streams) == 0 || c.Refused > 0 || c.Until > 0 || c.Anchors[0].Hash.IsZero() || f.doubts >= maxDoubts {
		return false
	}
	now := f.cfg.Clock.Now()
	_, _, ok := f.shown.after(c.Anchors[0], now)
	return ok
}

// followShown takes the blocks that were shown after the newest anchor. Those that
// may hold events wait until logs are due.
func (f *Feed) followShown(
	ctx context.Context, step feed.Step, at market.Head,
) (feed.Step, error) {
	now := f.cfg.Clock.Now()
	walk, seen, ok := f.shown.after(at, now)
	if !ok {
		return step, nil // replaced meanwhile: the next call polls the head
	}
	if len(walk) == 0 {
		step.Head, step.Confirmed = at, f.shownAt(seen, at.Time)
		return step, nil
	}
	newest := walk[len(walk)-1]
	step.Head = newest.head()

	first := slices.IndexFunc(walk, func(h *wireHeader) bool { return f.blooms.mayHold(h.Bloom) })
	var blocks []rawBlock
	switch {
	case first >= 0 && now.Before(f.logsDue):
		walk = walk[:first]
	case first >= 0:
		f.logsDue = now.Add(gatherLogs)
		var known int
		var err error
		if blocks, known, err = f.readShown(ctx, walk[first:]); err != nil {
			f.doubts++
			return step, fmt.Errorf("blocks %d to %d: %w", *walk[first].Number, *newest.Number, err)
		}
		f.doubts, walk = 0, walk[:first+known]
	}
	f.highestHead = max(f.highestHead, uint64(*newest.Number))
	if len(walk) == 0 {
		return step, nil
	}
	return f.giveShown(ctx, step, at, walk, blocks, seen)
}

// giveShown makes the span of shown headers and their events.
func (f *Feed) giveShown(
	ctx context.Context, step feed.Step, at market.Head, walk []*wireHeader, blocks []rawBlock,
	seen time.Time,
) (feed.Step, error) {
	end := walk[len(walk)-1].head()
	span := &market.Span{
		From: at.Number + 1, To: end.Number, Parent: at.Hash, Hash: end.Hash, Time: end.Time,
	}
	if err := f.completeSpan(ctx, span, blocks, &f.pendingReceipts); err != nil {
		return step, fmt.Errorf("blocks %d to %d: %w", span.From, span.To, err)
	}
	if len(blocks) > 0 {
		f.gatherReading(blocks[0].Number, span.To, blocks)
		step.Finalized = f.outOfReach()
	}

	if end == step.Head {
		step.SpanConfirmed = f.shownAt(seen, end.Time)
	}
	f.handOver(span)
	step.Span = span
	return step, nil
}

// shownAt returns when a head was shown, or zero when it is too old to confirm
// anything.
func (f *Feed) shownAt(seen time.Time, headTime int64) time.Time {
	if f.cfg.MaxHeadAge > 0 && seen.Sub(time.Unix(headTime, 0)) > f.cfg.MaxHeadAge {
		return time.Time{}
	}
	return seen
}

// readShown reads the logs of blocks in one request, and returns of how many blocks
// they are known: a node may show a block before its logs. Every hint of a block's
// bloom filter must be explained, and no log may be of a block without a hint.
func (f *Feed) readShown(
	ctx context.Context, walk []*wireHeader,
) (blocks []rawBlock, known int, err error) {
	from, to := uint64(*walk[0].Number), uint64(*walk[len(walk)-1].Number)
	filter := map[string]any{
		"address": f.contractAddresses(), "fromBlock": hex(from), "toBlock": hex(to),
	}

	var logs *[]wireLog
	err = f.trySources(ctx, Live, to, func(s *source) error {
		logs = nil
		if err := s.Call(ctx, &logs, "eth_getLogs", filter); err != nil {
			return err
		}
		if logs == nil {
			return absentError("logs of blocks %d to %d", from, to)
		}
		blocks, known, err = f.matchShown(walk, *logs)
		return err
	})
	return blocks, known, err
}

// matchShown gives the blocks their logs, up to the first whose logs are not there.
func (f *Feed) matchShown(
	walk []*wireHeader, logs []wireLog,
) (blocks []rawBlock, known int, err error) {
	byBlock := make(map[word][]wireLog)
	for _, h := range walk {
		byBlock[h.Hash] = nil
	}
	for _, l := range logs {
		if l.Hash == nil {
			return nil, 0, &endpoint.Error{Kind: endpoint.Malformed, Text: "a log names no block"}
		}
		list, shown := byBlock[*l.Hash]
		if !shown {
			return nil, 0, movedError("block %s, which has logs, was not shown", market.Hash(*l.Hash))
		}
		byBlock[*l.Hash] = append(list, l)
	}

	for i, h := range walk {
		found := byBlock[h.Hash]
		if !f.blooms.explained(h.Bloom, found) {
			if i == 0 {
				return nil, 0, fmt.Errorf("block %d: %w", *h.Number, errInDoubt)
			}
			return blocks, i, nil
		}
		events, err := f.assembleBlock(h, f.ourLogs(found), false)
		if err != nil {
			return nil, 0, err
		}
		if len(events) > 0 && !f.blooms.mayHold(h.Bloom) {
			return nil, 0, movedError("block %d has events that its bloom filter excludes", *h.Number)
		}
		blocks = append(blocks, events...)
	}
	return blocks, len(walk), nil
}
