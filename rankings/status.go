package rankings

import "tidemark/rankings/market"

// ChainStatus is the state of a chain's indexing.
type ChainStatus struct {
	Enabled       bool
	Offline       bool // by the operator
	Syncing       bool // too far behind to publish
	Stopped       bool
	StopReason    string
	LastIndexed   market.Head
	ChainHead     market.Head
	LastIndexedAt int64         // unix milliseconds
	ConfirmedAt   int64         // unix milliseconds; see View.Confirm for what a page needs
	ETASeconds    int64         // of a backfill; 0 when not known
	FailingSince  int64         // unix milliseconds of the feed's first failure in a row; 0: it works
	FeedError     string        // of the last failure; readers are told of it
	Progress      *Progress     // of catching up; nil: it does not
	Verified      *Verification // the last one; nil: none yet

	QuarantinedPools int // pools whose events contradict each other
	// Repair says why stored blocks are read again; empty: none are.
	Repair string
	Role   Role
}

// Lag is how far the ledger is behind the chain's head, in blocks and in the
// chain's own seconds; known is false before both have been seen.
func (s *ChainStatus) Lag() (blocks uint64, seconds int64, known bool) {
	if s.LastIndexed == (market.Head{}) || s.ChainHead == (market.Head{}) {
		return 0, 0, false
	}
	blocks = max(s.ChainHead.Number, s.LastIndexed.Number) - s.LastIndexed.Number
	return blocks, max(s.ChainHead.Time-s.LastIndexed.Time, 0), true
}

// Role is what a node does for a chain.
type Role uint8

// The roles. A node that is not in a cluster is Alone.
const (
	Alone Role = iota
	Writer
	Follower
)

func (r Role) String() string { return [...]string{"alone", "writer", "follower"}[r] }

// Progress is the progress of a chain that is catching up.
type Progress struct {
	FromBlock, ToBlock, AtBlock uint64 // first block, the chain's head, current block
	Events                      uint64 // read since FromBlock
	RequestsPerSecond           float64
}
