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
	// waitForIt is the place of no anchor: it cannot be told yet.
	waitForIt = -1
	// believeShorter is how long the chain must end below the ledger's head
	// before that is a reorganisation and not a node that lags. A chain that
	// grows past the head tells at once.
	believeShorter = 10 * time.Second
	// believeDeep is how often in a row no anchor may be on the chain before
	// the ledger is told that it cannot go on.
	believeDeep = 3
)

// find returns the place of the newest anchor that is on the chain.
//
// An anchor of unknown hash cannot be looked up. Alone it is trusted: nothing
// was applied above it that could be taken back. Above others it is given up
// for the next, which reads its blocks again. Below all others it is the start,
// which is on every chain.
func (f *Feed) find(ctx context.Context, head *sight, anchors []market.Head) (int, error) {
	if anchors[0].Hash.IsZero() && len(anchors) == 1 {
		return 0, nil
	}
	if anchors[0].Hash == market.Hash(head.Hash) && anchors[0].Number == uint64(*head.Number) {
		f.shorter, f.deep = time.Time{}, 0
		return 0, nil
	}
	verdicts, err := f.verdicts(ctx, head, anchors[:1])
	if err == nil && verdicts[0] != onChain {
		verdicts, err = f.verdicts(ctx, head, anchors)
	}
	if err != nil {
		return 0, err
	}
	replaced := slices.Contains(verdicts, offChain)
	i := slices.Index(verdicts, onChain)
	if i < 0 {
		return len(anchors) - 1, f.none(head, anchors, replaced)
	}
	f.deep = 0
	if i > 0 && !replaced && !anchors[0].Hash.IsZero() && !f.isShorter() {
		return waitForIt, nil
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
	return now.Sub(f.shorter) >= believeShorter
}

// none returns the error of a chain on which no anchor of known hash is. There
// is none in the end when the oldest is the start: it holds nothing to take back.
func (f *Feed) none(head *sight, anchors []market.Head, replaced bool) error {
	if !replaced {
		return fmt.Errorf("the head is %d, below every anchor of a ledger at %d",
			*head.Number, anchors[0].Number)
	}
	oldest := anchors[len(anchors)-1]
	if f.deep++; f.deep < believeDeep {
		return fmt.Errorf("no anchor from block %d to %d is on the chain",
			oldest.Number, anchors[0].Number)
	}
	if oldest.Hash.IsZero() {
		return nil
	}
	return fmt.Errorf("block %d is not %s: %w", oldest.Number, oldest.Hash, feed.ErrTooDeep)
}

// verdict is what the chain says of an anchor.
type verdict uint8

const (
	offChain verdict = iota // another block is in its place
	onChain                 //
	untold                  // the chain ends below it, or its hash is not known
)

// verdicts asks one URL about all anchors.
func (f *Feed) verdicts(
	ctx context.Context, head *sight, anchors []market.Head,
) ([]verdict, error) {
	out := make([]verdict, len(anchors))
	var ask []uint64
	for i, a := range anchors {
		if a.Number > uint64(*head.Number) || a.Hash.IsZero() {
			out[i] = untold
			continue
		}
		ask = append(ask, a.Number)
	}
	if len(ask) == 0 {
		return out, nil
	}
	var headers []*wireHeader
	err := f.try(ctx, uint64(*head.Number), func(n *node) (err error) {
		headers, err = n.headers(ctx, ask)
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

// headers reads the headers of blocks by number; each is there and checked.
func (n *node) headers(ctx context.Context, numbers []uint64) ([]*wireHeader, error) {
	headers := make([]*wireHeader, len(numbers))
	calls := make([]geth.BatchElem, len(numbers))
	for i, number := range numbers {
		calls[i] = geth.BatchElem{
			Method: "eth_getBlockByNumber", Args: []any{hex(number), false}, Result: &headers[i],
		}
	}
	if err := n.ask(ctx, calls); err != nil {
		return nil, err
	}
	if err := firstError(calls); err != nil {
		return nil, err
	}
	for i, number := range numbers {
		if err := headers[i].check(number); err != nil {
			return nil, err
		}
	}
	return headers, nil
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }
