package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// Restored is the last committed cut of a chain.
type Restored struct {
	// State is cold: its rows are read from the store when they are asked for,
	// a chunk at a time, and panic with a *Damage when the store does not have
	// them as they were committed. It is good until the chain's next Commit,
	// and for ever once it is warm.
	State *market.State
	// Generation is the last published one, 0 for none, made at Published with
	// this Directory. Its orders are those of State when Published is
	// State.Head; the chain was catching up when it is not.
	Generation uint64
	Published  market.Head
	Directory  []byte
	Confirmed  int64 // unix milliseconds

	lists *tickLists
}

// Current reports whether the publication is of the State.
func (r *Restored) Current() bool {
	return r.Generation != 0 && r.Published == r.State.Head
}

// Restore returns the last committed cut of a chain, nil when there is none.
func (s *Store) Restore(chain market.ChainID) (*Restored, error) {
	h, ok, err := s.head(chain)
	if err != nil || !ok {
		return nil, err
	}

	r := &Restored{
		State: s.coldState(chain, &h), Generation: h.Generation,
		Published: h.PublishedAt, Confirmed: h.Confirmed,
	}

	r.lists = &tickLists{st: r.State}
	r.State.TickLists = market.Cold(r.State.Pools.Len(), r.lists.fault)
	if h.Generation == 0 {
		return r, nil
	}

	r.Directory, ok, err = s.get(appendKind(nil, chain, kindDirectory), nil)
	if err == nil && !ok {
		err = errors.New("it is missing")
	}
	if err != nil {
		return nil, s.damaged(chain, "directory", err)
	}

	return r, nil
}

// coldState is the State of a head with none of its rows in memory.
func (s *Store) coldState(chain market.ChainID, h *head) *market.State {
	st := h.state(chain)
	for _, t := range tables {
		t.chill(faults{s, chain, h}, st)
	}
	return st
}

// state is a State that has what the head says, and no rows.
func (h *head) state(chain market.ChainID) *market.State {
	return &market.State{
		Chain: chain, Head: h.At, Native: h.Native,
		OpenCount: h.OpenCount, Transactions: h.Transactions,
	}
}

// Warm brings the whole State into memory, which takes about a second a
// million rows. It stops early, and reports false, when stop reports true; it
// is asked every 64 rows.
func (r *Restored) Warm(stop func() bool) bool {
	stopped := false
	ask := func() bool { stopped = stopped || stop(); return stopped }
	for _, t := range tables {
		t.warm(r.State, ask)
	}
	if !stopped {
		r.State.TickLists.Warm(ask) // made of ticks, which are there by now
	}
	return !stopped
}

// Undos returns the inverses that are in force, oldest first. It reads rows of
// the cut too, for what the inverses have in common with them.
func (s *Store) Undos(chain market.ChainID) (undos []*ledger.Undo, err error) {
	defer catchDamage(&err)
	r, err := s.Restore(chain)
	if err != nil || r == nil {
		return nil, err
	}
	undos, err = s.undos(r.State)
	if err != nil {
		return nil, s.damaged(chain, "undos", err)
	}
	return undos, nil
}

func (s *Store) undos(st *market.State) (undos []*ledger.Undo, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendKind(nil, st.Chain, kindUndo),
		UpperBound: appendKind(nil, st.Chain, kindUndo+1),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()

	var basis undoBasis
	basis.reset(st)
	for ok := it.Last(); ok; ok = it.Prev() {
		key := it.Key()
		u := &ledger.Undo{To: binary.BigEndian.Uint64(key[len(key)-8:])}
		c := coder{buf: it.Value(), read: true}
		basis.code(&c, u)
		if err := c.done(); err != nil {
			return nil, fmt.Errorf("undo of block %d: %w", u.To, err)
		}
		basis.older(u)
		undos = append(undos, u)
	}

	slices.Reverse(undos)
	return undos, it.Error()
}
