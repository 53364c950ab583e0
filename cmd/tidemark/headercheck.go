package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed/rpc"
	"tidemark/rankings/market"
)

// headerChecks is how many blocks of an import are compared with a node, spread
// evenly, beside the last: what is between two of them is proven by `verify`.
const headerChecks = 64

// headerCheck compares blocks with the headers of a chain's nodes.
type headerCheck struct {
	header    func(ctx context.Context, number uint64) (market.Head, error) // nil: nothing is compared
	close     func() error
	why       string // nothing is compared
	next, gap uint64
	last      uint64
	compared  int
}

// headers makes the comparison, if the configuration has nodes.
func (c *ArchiveImportCmd) headers(l *loaded, chain *ChainConfig) (*headerCheck, error) {
	switch {
	case c.NoHeaders:
		return &headerCheck{why: "--no-headers was given", close: func() error { return nil }}, nil
	case l.Feed != "rpc":
		return &headerCheck{why: "the configuration has no nodes", close: func() error { return nil }}, nil
	}
	source, err := l.newFeed(chain, nil, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("cannot make the feed of chain %d: %w", chain.ID, err)
	}

	nodes, ok := source.(*rpc.Feed)
	if !ok {
		panic("BUG: the feed rpc is not of package rpc")
	}
	return &headerCheck{header: nodes.Header, close: nodes.Close}, nil
}

// spread decides which blocks are compared.
func (h *headerCheck) spread(after, last uint64) {
	h.last, h.gap = last, max((last-min(after, last))/headerChecks, 1)
	h.next = after + h.gap
}

func (h *headerCheck) check(ctx context.Context, at market.Head) error {
	if h.header == nil || at.Hash.IsZero() || at.Number < h.next && at.Number != h.last {
		return nil
	}
	h.next = at.Number + h.gap
	header, err := h.header(ctx, at.Number)
	if err != nil {
		return fmt.Errorf("%w; give --no-headers to compare nothing", err)
	}

	if header.Hash != at.Hash {
		return fmt.Errorf("block %d is %s; the chain's nodes say %s", at.Number, at.Hash, header.Hash)
	}
	h.compared++
	return nil
}

// tell says what was compared, and what proves the rest.
func (h *headerCheck) tell() error {
	what := fmt.Sprintf("%d block hashes are those of the chain's nodes", h.compared)
	if h.header == nil {
		what = "no block hash was compared with a node: " + h.why
	}
	_, err := fmt.Println(what + "; `tidemark verify` compares the ledger with the contracts once the node runs")
	return err
}
