// Package feed says how events of a chain reach its ledger: pulled, one span
// at a time, so that whoever applies them sets the pace.
package feed

import (
	"context"
	"errors"
	"time"

	"tidemark/rankings/market"
)

// ErrTooDeep is the error of a reorganisation below every anchor: the chain
// cannot go on from its ledger and needs a resync.
var ErrTooDeep = errors.New("reorganisation is deeper than the kept history")

// Feed delivers one chain. Calls do not overlap.
type Feed interface {
	// Next returns what follows the cursor. It waits until there is something
	// to say, or ctx ends. An error is one that waiting may cure, unless it is
	// ErrTooDeep; the caller calls again after a pause that the feed chooses
	// by waiting inside Next.
	Next(ctx context.Context, c Cursor) (Step, error)

	// Close frees connections. No call follows it.
	Close() error
}

// Cursor is where the ledger stands.
type Cursor struct {
	// Anchors are heads of known hash that the ledger can return to, newest
	// first. The ledger's own head is the first; a ledger that has applied
	// nothing has a single anchor with Number = start block - 1 and no hash.
	Anchors []market.Head
	// State is the market after the newest anchor, for a feed that computes
	// what happens next from it; nil unless the feed was made to want it.
	State *market.State
}

// Step is one answer of a feed: a span, or a revert, or neither when nothing
// new happened (Confirmed may still have moved).
type Step struct {
	// Span starts at the newest anchor's Number + 1 and names its hash as Parent.
	Span *market.Span
	// RevertTo, when not nil, is the newest anchor that is still on the chain.
	RevertTo *market.Head
	// Head is the chain's head as the feed last saw it.
	Head market.Head
	// Confirmed is when the feed last saw that the cursor's newest anchor is
	// the chain's head; zero when it is not the head. After Span is applied,
	// a span that ends at Head was confirmed at SpanConfirmed.
	Confirmed     time.Time
	SpanConfirmed time.Time
	// Finalized is the newest block known to be out of reach of every
	// reorganisation; 0 when none is.
	Finalized uint64
	// ETA is how long catching up will take; 0 when caught up or not known.
	ETA time.Duration
}
