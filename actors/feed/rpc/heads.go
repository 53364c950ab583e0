package rpc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// observedHead is a chain's head as one source showed it.
type observedHead struct {
	wireHeader
	source *source
	at     time.Time // when it was asked for: it was the head then or later
}

// observeHead asks every source for its head, all at once so that a slow one
// costs its own time only, and returns the highest that is believed.
func (f *Feed) observeHead(ctx context.Context, at market.Head) (*observedHead, error) {
	list := f.sourcesFor(Live)
	if i := slices.IndexFunc(list, func(s *source) bool { return s.fallback }); i > 0 {
		list = list[:i]
	}
	heads, errs := make([]*observedHead, len(list)), make([]error, len(list))
	asking, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	var wait sync.WaitGroup
	for i, s := range list {
		wait.Go(func() {
			if heads[i], errs[i] = f.askHead(asking, s); errs[i] == nil {
				time.AfterFunc(headGrace, cancel)
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	var failed joined
	var seen []*observedHead
	for i, s := range list {
		if errs[i] != nil {
			f.noteFailure(s, errs[i])
			failed = append(failed, fmt.Errorf("%s: %w", s.Name, errs[i]))
			continue
		}
		s.Calmed()
		seen = append(seen, heads[i])
	}
	seen = f.plausibleHeads(ctx, seen)
	if len(seen) == 0 {
		return nil, fmt.Errorf("cannot read the head: %w", failed)
	}
	best := f.chooseHead(ctx, seen, at)
	f.highestHead = uint64(*best.Number)
	return best, nil
}

const (
	// headTimeout bounds a poll of the head, and headGrace how long the first
	// answer waits for the others: a URL that hangs must not hold them up.
	headTimeout = 5 * time.Second
	headGrace   = 700 * time.Millisecond
)

func (f *Feed) askHead(ctx context.Context, s *source) (*observedHead, error) {
	at := f.cfg.Clock.Now()
	h, err := f.readLatest(ctx, s)
	if err != nil {
		if ctx.Err() != nil {
			err = &endpoint.Error{Kind: endpoint.TimedOut, Text: "no answer in time"}
		}
		return nil, err
	}
	return &observedHead{*h, s, at}, nil
}

func (f *Feed) readLatest(ctx context.Context, s *source) (*wireHeader, error) {
	if err := f.checkChain(ctx, s); err != nil {
		return nil, err
	}

	var h *wireHeader
	if err := s.Call(ctx, &h, "eth_getBlockByNumber", "latest", false); err != nil {
		return nil, err
	}
	if h == nil || h.Number == nil {
		return nil, absentError("the head")
	}
	if err := h.check(uint64(*h.Number)); err != nil {
		return nil, err
	}

	s.noteHeader(h)
	return h, nil
}

// maxJump is how far a head may be above what was known before its parent must
// be shown. Sources that catch up move by less between two polls.
const maxJump = 256

// plausibleHeads drops heads far above all others and above what was known before
// of which the source cannot show the parent.
func (f *Feed) plausibleHeads(ctx context.Context, seen []*observedHead) []*observedHead {
	slices.SortStableFunc(seen, func(a, b *observedHead) int {
		return cmp.Compare(*b.Number, *a.Number)
	})

	now := f.cfg.Clock.Now()
	for len(seen) > 0 && (f.highestHead > 0 || len(seen) > 1) {
		h, known := seen[0], f.highestHead
		if len(seen) > 1 {
			known = max(known, uint64(*seen[1].Number))
		}
		if uint64(*h.Number) <= known+maxJump {
			break
		}
		err := f.checkParent(ctx, h)
		if err == nil {
			break
		}
		f.noteFailure(h.source, err)
		seen = seen[1:]
	}

	for _, h := range seen {
		h.source.sawHead(uint64(*h.Number), now)
	}

	return seen
}

// checkParent asks for the block before a head.
func (f *Feed) checkParent(ctx context.Context, h *observedHead) error {
	parents, err := h.source.readHeaders(ctx, []uint64{uint64(*h.Number) - 1})
	if err == nil && parents[0].Hash != h.Parent {
		err = movedError("block %d is %s, the head follows %s", *parents[0].Number,
			market.Hash(parents[0].Hash), market.Hash(h.Parent))
	}
	if err != nil {
		return &endpoint.Error{
			Kind: endpoint.Inconsistent,
			Text: fmt.Sprintf("head %d cannot be true: %v", *h.Number, err),
		}
	}
	return nil
}

// chooseHead returns the highest head. Where sources show different blocks at its
// height, it is the one that most of them have there, or that follows the
// ledger's, or that of the first source; the others are asked last until they
// agree.
func (f *Feed) chooseHead(ctx context.Context, seen []*observedHead, at market.Head) *observedHead {
	top := seen[:1]
	for len(top) < len(seen) && *seen[len(top)].Number == *seen[0].Number {
		top = seen[:len(top)+1]
	}
	best := top[0]
	if slices.ContainsFunc(top, func(h *observedHead) bool { return h.Hash != best.Hash }) {
		best = f.mostShown(ctx, top, at)
	}

	for _, h := range seen {
		forked := *h.Number == *best.Number && h.Hash != best.Hash
		if forked && !h.source.forked.Load() {
			f.m.forks.Inc()
			f.cfg.Log.Warn("two nodes show different blocks at one height", "chain", f.cfg.Chain,
				"block", *best.Number, "adopted", best.source.Name, "other", h.source.Name)
		}
		h.source.forked.Store(forked)
	}
	return best
}

// mostShown asks the sources of heads of one height which block they have there.
func (f *Feed) mostShown(
	ctx context.Context, top []*observedHead, at market.Head,
) (best *observedHead) {
	votes := make(map[word]int)
	for _, h := range top {
		votes[h.Hash]++
		headers, err := h.source.readHeaders(ctx, []uint64{uint64(*h.Number)})
		if err == nil {
			votes[headers[0].Hash] += 2
		}
	}

	most := -1
	for _, h := range top {
		n := 2 * votes[h.Hash]
		if h.Hash == word(at.Hash) || h.Parent == word(at.Hash) {
			n++
		}
		if n > most {
			best, most = h, n
		}
	}

	return best
}
