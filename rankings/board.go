package rankings

import (
	"slices"
	"sync/atomic"

	"tidemark/rankings/market"
)

// Board is where writers put what readers read: one atomic pointer to the
// snapshot of all chains, so that a merged page never mixes two moments. The
// zero value is an empty board.
type Board struct{ snapshot atomic.Pointer[Snapshot] }

// Snapshot is all chains at one moment; it never changes.
type Snapshot struct {
	Chains []Chain // ascending by ID
}

// Chain is one chain of a snapshot.
type Chain struct {
	ID     market.ChainID
	View   *View // nil: nothing is published
	Status ChainStatus
}

// ChainStatus is what is known of a chain beside its data.
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
	Progress      *Progress     // of catching up; nil: it does not
	Verified      *Verification // the last one; nil: none yet

	QuarantinedPools int // whose events contradict each other
	// Repair says why blocks that were stored before are read again; empty: none are.
	Repair string
	Role   Role
}

// Role is what a node does for a chain.
type Role uint8

// The roles. A node that is not part of a cluster is alone.
const (
	Alone Role = iota
	Writer
	Follower
)

func (r Role) String() string { return [...]string{"alone", "writer", "follower"}[r] }

// Load returns the snapshot of now.
func (b *Board) Load() *Snapshot {
	if p := b.snapshot.Load(); p != nil {
		return p
	}
	return &Snapshot{}
}

// Publish makes v the view of its chain.
func (b *Board) Publish(v *View) {
	b.change(v.State.Chain, func(c *Chain) { c.View = v })
}

// SetStatus replaces what is known of a chain beside its data.
func (b *Board) SetStatus(id market.ChainID, s ChainStatus) {
	b.change(id, func(c *Chain) { c.Status = s })
}

// Withdraw takes a chain's view away, as before it is synchronised anew.
func (b *Board) Withdraw(id market.ChainID) {
	b.change(id, func(c *Chain) { c.View = nil })
}

func (b *Board) change(id market.ChainID, f func(*Chain)) {
	for {
		old := b.snapshot.Load()
		next := &Snapshot{}
		if old != nil {
			next.Chains = slices.Clone(old.Chains)
		}
		f(next.chain(id))
		if b.snapshot.CompareAndSwap(old, next) {
			return
		}
	}
}

// chain returns the entry of id, which it makes if there is none.
func (p *Snapshot) chain(id market.ChainID) *Chain {
	i, found := p.find(id)
	if !found {
		p.Chains = slices.Insert(p.Chains, i, Chain{ID: id})
	}
	return &p.Chains[i]
}

// find returns the place of id, or where it would stand. Chains are few and
// their entries long, so that it looks at one after the other in place.
func (p *Snapshot) find(id market.ChainID) (i int, found bool) {
	for i := range p.Chains {
		if at := p.Chains[i].ID; at >= id {
			return i, at == id
		}
	}
	return len(p.Chains), false
}

// Chain returns the entry of id.
func (p *Snapshot) Chain(id market.ChainID) (*Chain, bool) {
	i, found := p.find(id)
	if !found {
		return nil, false
	}
	return &p.Chains[i], true
}
