package rankings

import (
	"slices"
	"sync/atomic"

	"tidemark/rankings/market"
)

// Board passes published views from writers to readers. It is one atomic pointer
// to a snapshot of all chains, so all parts of a merged page are of the same
// moment. The zero value is an empty board.
type Board struct {
	snapshot atomic.Pointer[Snapshot]
	_        [56]byte // requests is written by readers: keep it out of snapshot's cache line
	requests atomic.Uint64
	windowMs atomic.Int64 // of the log of changes; 0: the default
	watcher  atomic.Pointer[chan struct{}]
}

// Snapshot is all chains at one moment. It is immutable.
type Snapshot struct {
	Chains []Chain    // ascending by ID
	Log    *ChangeLog // what the newest publications changed; nil: nothing yet
}

// Chain is one chain of a snapshot.
type Chain struct {
	ID     market.ChainID
	View   *View // nil: nothing is published
	Status ChainStatus
	// Unbroken is the generation since which no block of the chain was replaced. While blocks
	// are being replaced it is that of the next view; see Announce. Once an interval is over in
	// a view since then, what the store has of it is final for all of them.
	Unbroken uint64
}

// Load returns the present snapshot.
func (b *Board) Load() *Snapshot {
	if p := b.snapshot.Load(); p != nil {
		return p
	}
	return &Snapshot{}
}

// NoteRequest counts a request. Writers give way while requests come.
func (b *Board) NoteRequest() { b.requests.Add(1) }

// Requests returns how many requests came so far.
func (b *Board) Requests() uint64 { return b.requests.Load() }

// Publish makes v the view of its chain, and adds its changes to the log.
func (b *Board) Publish(v *View) {
	b.change(v.State.Chain, func(c *Chain, s *Snapshot) {
		if v.Changes != nil {
			s.Log = s.Log.with(v, b.window())
		}
		if !v.goesOnFrom(c.View) {
			c.Unbroken = v.Generation
		}
		c.View = v
	})
}

// Announce tells that the store is about to replace blocks of a chain, for the view of a
// generation: what is read of the store from then on may not fit an earlier view. recall
// takes that back, if the store has kept its blocks.
func (b *Board) Announce(id market.ChainID, generation uint64) (recall func()) {
	set := func(to uint64) (before uint64) {
		b.change(id, func(c *Chain, _ *Snapshot) { before, c.Unbroken = c.Unbroken, to })
		return before
	}
	before := set(generation)
	return func() { set(before) }
}

// goesOnFrom reports whether v has every block of a view, perhaps others after them.
func (v *View) goesOnFrom(before *View) bool {
	switch {
	case before == nil:
		return false
	case before.Generation == v.Generation:
		return true // with its columns
	}
	return v.Changes != nil && v.Changes.Since == before.Generation && !v.Changes.Reverted
}

// SetStatus replaces the status of a chain.
func (b *Board) SetStatus(id market.ChainID, s ChainStatus) {
	b.change(id, func(c *Chain, _ *Snapshot) { c.Status = s })
}

// Withdraw removes the view of a chain, for example before it is synced again.
func (b *Board) Withdraw(id market.ChainID) {
	b.change(id, func(c *Chain, _ *Snapshot) { c.View = nil })
}

func (b *Board) change(id market.ChainID, f func(*Chain, *Snapshot)) {
	for {
		old := b.snapshot.Load()
		next := &Snapshot{}
		if old != nil {
			next.Chains, next.Log = slices.Clone(old.Chains), old.Log
		}
		f(next.chain(id), next)
		if b.snapshot.CompareAndSwap(old, next) {
			b.wakeWatcher()
			return
		}
	}
}

// Watch has something sent to a channel when the board changes, unless it is full. It takes
// one channel.
func (b *Board) Watch(changed chan struct{}) { b.watcher.Store(&changed) }

func (b *Board) wakeWatcher() {
	if watcher := b.watcher.Load(); watcher != nil {
		select {
		case *watcher <- struct{}{}:
		default:
		}
	}
}

// chain returns the entry of id and adds one if there is none.
func (p *Snapshot) chain(id market.ChainID) *Chain {
	i, found := p.find(id)
	if !found {
		p.Chains = slices.Insert(p.Chains, i, Chain{ID: id})
	}
	return &p.Chains[i]
}

// find returns the index of id, or where it would be inserted. A linear search
// is fastest: chains are few.
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
