package rpc

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

const (
	// notKnownYet is returned instead of an anchor's place while it is not known yet.
	notKnownYet = -1
	// believeShorter is how long the chain must end below the ledger's head, at
	// every look, before it counts as reorganised; until then the node may merely
	// lag. believeLaggard is the same where backends are known to lag.
	believeShorter = 600 * time.Millisecond
	believeLaggard = 10 * time.Second
	// believeDeep is how often in a row no anchor may be on the chain before
	// the ledger is told that it cannot go on.
	believeDeep = 3
)

// findAnchor returns the place of the newest anchor that is on the chain.
//
// An anchor of unknown hash cannot be looked up. If it is the only one it is
// trusted, because nothing was applied above it. If there are older anchors, the
// next of them is taken and its blocks are read again. If it is the oldest, it is
// the start, which is on every chain.
func (f *Feed) findAnchor(
	ctx context.Context, head *observedHead, anchors []market.Head,
) (int, error) {
	known := slices.ContainsFunc(anchors, func(a market.Head) bool { return !a.Hash.IsZero() })
	if !known {
		return len(anchors) - 1, nil
	}
	if anchors[0].Hash == market.Hash(head.Hash) {
		f.shorter, f.offChain = time.Time{}, 0
		return 0, nil
	}

	verdicts, err := f.askVerdicts(ctx, head, anchors[:1])
	if err == nil && verdicts[0] != onChain {
		verdicts, err = f.askVerdicts(ctx, head, anchors)
	}
	if err != nil {
		return 0, err
	}
	replaced := slices.Contains(verdicts, offChain)
	i := slices.Index(verdicts, onChain)
	if i < 0 {
		return len(anchors) - 1, f.noAnchor(ctx, head, anchors, replaced)
	}
	f.offChain = 0
	if i > 0 && !replaced && !anchors[0].Hash.IsZero() && !f.isShorter() {
		return notKnownYet, nil
	}
	f.shorter = time.Time{}
	return i, nil
}

// isShorter reports whether the chain has ended below the newest anchor for
// long enough.
func (f *Feed) isShorter() bool {
	now := f.cfg.Clock.Now()
	if f.shorter.IsZero() {
		f.shorter = now
	}
	enough := believeShorter
	for _, s := range f.sources {
		if s.live && s.fellBack(now) {
			enough = believeLaggard
		}
	}
	return now.Sub(f.shorter) >= enough
}

// noAnchor returns the error of a chain on which no anchor of known hash is.
// There is none in the end when the oldest is the start: it holds nothing to
// take back.
func (f *Feed) noAnchor(
	ctx context.Context, head *observedHead, anchors []market.Head, replaced bool,
) error {
	if !replaced {
		return fmt.Errorf("the head is %d, below every anchor of a ledger at %d",
			*head.Number, anchors[0].Number)
	}
	if s := f.findContradiction(ctx, head, anchors); s != nil {
		err := &endpoint.Error{Kind: endpoint.Inconsistent, Text: fmt.Sprintf(
			"its chain has none of the blocks %d to %d that %s still shows",
			anchors[len(anchors)-1].Number, anchors[0].Number, s.Name)}
		f.noteFailure(head.source, err)
		return fmt.Errorf("%s: %w", head.source.Name, err)
	}

	oldest := anchors[len(anchors)-1]
	if f.offChain++; f.offChain < believeDeep {
		return fmt.Errorf("no anchor from block %d to %d is on the chain",
			oldest.Number, anchors[0].Number)
	}
	if oldest.Hash.IsZero() {
		return nil
	}
	return fmt.Errorf("block %d is not %s: %w", oldest.Number, oldest.Hash, feed.ErrTooDeep)
}

// findContradiction returns a source that shows an anchor that the head's does not:
// one node on another fork must not make a ledger give up its chain.
func (f *Feed) findContradiction(
	ctx context.Context, head *observedHead, anchors []market.Head,
) *source {
	for _, s := range f.sources {
		if s == head.source || f.cfg.Clock.Now().Before(s.RestsUntil()) {
			continue
		}

		for _, a := range anchors {
			if a.Hash.IsZero() || a.Number > s.head.Load() {
				continue
			}
			headers, err := s.readHeaders(ctx, []uint64{a.Number})
			if err == nil && headers[0].Hash == word(a.Hash) {
				return s
			}
			break // the newest that it can have decides
		}
	}
	return nil
}

// verdict is what the chain says of an anchor.
type verdict uint8

const (
	offChain verdict = iota // another block is in its place
	onChain                 // it is in its place
	untold                  // the chain ends below it, or its hash is not known
)

// askVerdicts asks one source about all anchors.
func (f *Feed) askVerdicts(
	ctx context.Context, head *observedHead, anchors []market.Head,
) ([]verdict, error) {
	out := make([]verdict, len(anchors))
	var numbers []uint64
	for i, a := range anchors {
		if a.Number > uint64(*head.Number) || a.Hash.IsZero() {
			out[i] = untold
			continue
		}
		numbers = append(numbers, a.Number)
	}
	if len(numbers) == 0 {
		return out, nil
	}

	var headers []*wireHeader
	err := f.trySources(ctx, Live, uint64(*head.Number), func(s *source) (err error) {
		headers, err = s.readHeaders(ctx, numbers)
		return err
	})
	if err != nil {
		return nil, err
	}

	for i, a := range anchors {
		if out[i] == untold {
			continue
		}
		if headers[0].Hash == word(a.Hash) {
			out[i] = onChain
		}
		headers = headers[1:]
	}
	return out, nil
}

// absentTries is how often a source is asked for what it says it does not have:
// behind a balancer the next backend may.
const absentTries = 3

// readHeaders reads the headers of blocks by number; each is there and checked.
func (s *source) readHeaders(ctx context.Context, numbers []uint64) ([]*wireHeader, error) {
	headers := make([]*wireHeader, len(numbers))
	for range absentTries {
		var calls []endpoint.Call
		for i, number := range numbers {
			if headers[i] == nil {
				calls = append(calls, endpoint.Call{
					Method: "eth_getBlockByNumber", Args: []any{hex(number), false}, Result: &headers[i],
				})
			}
		}
		if len(calls) == 0 {
			break
		}
		if err := s.Ask(ctx, calls); err != nil {
			return nil, err
		}
		if err := endpoint.FirstError(calls); err != nil {
			return nil, err
		}
	}

	for i, number := range numbers {
		if err := headers[i].check(number); err != nil {
			return nil, err
		}
		s.noteHeader(headers[i])
	}
	return headers, nil
}

// noteHeader learns whether the source's headers have bloom filters at all.
func (s *source) noteHeader(h *wireHeader) {
	if h.Bloom == nil || s.blooms.Load() {
		return
	}
	for _, b := range *h.Bloom {
		if b != 0 {
			s.blooms.Store(true)
			return
		}
	}
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }
