package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// TestPoolsInParts: a new pool is one record, a change of it another one that replaces what
// the first one has, and a pool that comes in the place of another one is written whole. A
// store reads the same after a start, and a replica has the same.
func TestPoolsInParts(t *testing.T) {
	x, g := newTeed(t, 1), newRig(61, 1)
	g.commit(t, x.s, 4, true)
	x.follow()
	const row = 2

	f := func(what string, first, second bool, change func(p *market.Pool)) {
		t.Helper()
		ch := &ledger.Changes{}
		change(g.pools.Mut(row))
		ledger.Pools.SetChanged(ch, []uint32{row})
		g.st.Head.Number++
		g.freeze()
		ch.Head = g.st.Head
		must(x.s.Commit(&Cut{State: g.now.st, Changes: ch, Confirmed: g.now.confirmed}))

		for part, want := range []bool{first, second} {
			if got := wrote(x.batches[len(x.batches)-1], rowKey(1, "pools", row, part)); got != want {
				t.Errorf("%s: part %d is written: %t; want %t", what, part, got, want)
			}
		}
		x.follow()
		holds(t, x.s, g.now.clone())
	}

	f("a swap", false, true, func(p *market.Pool) { p.Swaps++ })
	f("a quarantine", false, true, func(p *market.Pool) { p.Quarantined = true })
	f("its end", false, true, func(p *market.Pool) { p.Quarantined = false })
	f("another pool", true, true, func(p *market.Pool) { p.ID[0]++ })
	f("its fee", true, true, func(p *market.Pool) { p.Fee++ })
	f("its first swap", false, true, func(p *market.Pool) { p.Swaps++ })
	x.s.writerOf(1).state = nil // as of another process
	f("the first commit of a process", true, true, func(p *market.Pool) { p.Swaps++ })
}

// TestPoolsOfFormat10: pools that are one record are read as they are, also after they
// changed.
func TestPoolsOfFormat10(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(62, 1)
	g.commit(t, s, 4, true)
	g.commit(t, s, 4, true)
	for row := range g.pools.Len() { // as a program of that format writes a change
		pool := g.pools.At(row)
		must(s.db.Set(rowKey(1, "pools", row, 0), encode(nil, pool, codePool), pebble.Sync))
		must(s.db.Delete(rowKey(1, "pools", row, 1), pebble.Sync))
	}

	holds(t, s, g.now.clone())
	for range 3 {
		holds(t, s, g.commit(t, s, 4, true))
	}
}

// wrote reports whether a batch sets a key.
func wrote(batch, key []byte) (found bool) {
	must(eachRecord(batch, func(op pebble.InternalKeyKind, k, _ []byte) error {
		found = found || op == pebble.InternalKeyKindSet && string(k) == string(key)
		return nil
	}))
	return found
}
