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
	// Refused is the last block of a span that the ledger could not apply after
	// the newest anchor; 0: none. A feed of real nodes reads up to it again, block
	// by block, from every node that it needs to be sure.
	Refused uint64
	// Until is a block that a span should not reach beyond, because what follows it is
	// known if the span ends with it; 0: none. A feed that cannot stop there may go on.
	Until uint64
	// MissingTokens are currencies of the ledger whose decimals are unknown, to be read
	// again.
	MissingTokens []market.Address
	// State is the market after the newest anchor, for a feed that computes
	// what happens next from it; nil unless the feed was made to want it.
	State *market.State
}

// Step is one answer of a feed: a span, or a revert, or neither when nothing
// new happened (Confirmed may still have moved).
type Step struct {
	// Span starts at the newest anchor's Number + 1 and names its hash as Parent.
	Span *market.Span
	// Proven: the span holds exactly the events of its blocks, as the receipts
	// that their headers name prove, or as every node says again and again.
	Proven bool
	// Archived: the span comes from the archive of spans, which has it already.
	Archived bool
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
	// Progress is how catching up goes; nil when there is nothing to catch up with.
	Progress *Progress
}

// Progress is how far a feed has come from where it began to catch up.
type Progress struct {
	From, To          uint64  // blocks: where it began, and the chain's head
	At                uint64  // the last block of the newest span
	Events            uint64  // delivered since it began
	RequestsPerSecond float64 // lately
	EventsPerSecond   float64 // lately
	ETA               time.Duration
}
