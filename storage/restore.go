package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Restored is the last committed cut of a chain.
type Restored struct {
	// State is cold: its rows are read from the store on demand, a chunk at a
	// time. A row that is not as it was committed panics with a *Damage. The State
	// is valid until the chain's next Commit, and for ever once it is warm.
	State *market.State
	// Generation is the last published one, 0 for none. It was published at block
	// Published with this Directory. If Published is not State.Head, the chain was
	// catching up, and the generation does not belong to State.
	Generation uint64
	Published  market.Head
	Directory  []byte
	Confirmed  int64 // unix milliseconds

	whole  []byte // the directory of which there are deltas
	lists  *tickLists
	reader rowReader
}

// Current reports whether the last generation belongs to State.
func (r *Restored) Current() bool {
	return r.Generation != 0 && r.Published == r.State.Head
}

// Restore returns the last committed cut of a chain, nil if there is none.
func (s *Store) Restore(chain market.ChainID) (*Restored, error) {
	h, ok, err := s.readHead(chain)
	if !ok {
		return nil, err
	}

	r := &Restored{
		Generation: h.Generation, Published: h.PublishedAt, Confirmed: h.Confirmed,
		reader: rowReader{s, chain, &h},
	}
	r.State = r.reader.coldState()
	r.lists = &tickLists{st: r.State}
	r.State.TickLists = market.ColdTickLists(r.State.Pools.Len(), r.lists.all)

	if h.Generation == 0 {
		return r, nil
	}

	if r.Directory, r.whole, err = s.readDirectory(chain); err != nil {
		return nil, err
	}
	return r, nil
}

// coldState returns the State of a head with no rows in memory.
func (f rowReader) coldState() *market.State {
	st := f.head.emptyState(f.chain)
	for _, t := range tables {
		t.makeCold(f, st)
	}
	return st
}

// emptyState returns a State with the fields of the head and no rows.
func (h *head) emptyState(chain market.ChainID) *market.State {
	return &market.State{
		Chain: chain, Head: h.At, Native: h.Native, DaysFrom: h.DaysFrom,
		HoursFrom: h.HoursFrom,
		OpenCount: h.OpenCount, Transactions: h.Transactions,
	}
}

// Warm loads the whole State into memory, which takes about a second per million
// rows. It calls stop every 64 rows, and returns false once stop returns true.
func (r *Restored) Warm(stop func() bool) bool {
	stopped := false
	ask := func() bool { stopped = stopped || stop(); return stopped }
	for _, t := range tables {
		t.warm(r.reader, r.State, ask)
	}
	r.State.TickLists.Warm(ask) // built from the ticks, which are loaded by now; after a stop nothing is
	return !stopped
}

// Undos returns the undos of a chain, oldest first. st is the State of its last cut: an undo
// stores only what differs from that. Rows that are not in memory are read for it, in no
// order. pause is called for every row; nil is no pause.
func (s *Store) Undos(st *market.State, pause func()) (undos []*ledger.Undo, err error) {
	defer catchDamage(&err)
	if undos, err = s.readUndos(st, pause); err != nil {
		return nil, s.reportDamage(st.Chain, "undos", err)
	}
	return undos, nil
}

func (s *Store) readUndos(st *market.State, pause func()) (undos []*ledger.Undo, err error) {
	it := database.Iterate(s.db, appendKind(nil, st.Chain, kindUndo), appendKind(nil, st.Chain, kindUndo+1))
	defer func() { err = errors.Join(err, it.Close()) }()

	basis := undoBasis{pause: pause}
	basis.reset(st)
	for ok := it.Last(); ok; ok = it.Prev() {
		key := it.Key()
		u := &ledger.Undo{To: binary.BigEndian.Uint64(key[len(key)-8:])}
		if err := basis.read(it.Value(), u); err != nil {
			return nil, fmt.Errorf("undo of block %d: %w", u.To, err)
		}
		basis.advance(u)
		undos = append(undos, u)
	}

	slices.Reverse(undos)
	return undos, it.Error()
}
