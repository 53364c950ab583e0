package ledger

import (
	"testing"

	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// TestOpeningPauses: a ledger that continues from a large state pauses as it makes its
// indexes, as often for every table as the table has rows.
func TestOpeningPauses(t *testing.T) {
	f := func(name string, grow func(st *market.State, n uint32)) {
		t.Helper()
		pauses := func(n uint32) (count int) {
			st := *New(Config{}).Freeze()
			grow(&st, n)
			From(Config{}, &st, nil, func() { count++ })
			return count
		}

		const strides = 9
		if more := pauses(strides*strideIndexed) - pauses(0); more != strides {
			t.Errorf("%d pauses over %d rows of %s; want %d", more, strides*strideIndexed, name, strides)
		}
	}

	f("tokens", func(st *market.State, n uint32) { fillTable(&st.Tokens, n) })
	f("owners", func(st *market.State, n uint32) { fillTable(&st.Owners, n) })
	f("positions", func(st *market.State, n uint32) { fillTable(&st.Positions, n) })
	f("nonNFT", func(st *market.State, n uint32) { fillTable(&st.NonNFT, n) })
	f("ticks", func(st *market.State, n uint32) { fillTable(&st.Ticks, n) })
	f("hours", func(st *market.State, n uint32) { fillTable(&st.Hours, n) })
	f("pools", func(st *market.State, n uint32) { fillTable(&st.Pools, n) })
}

// fillTable gives a table n empty rows.
func fillTable[T any](table *market.Frozen[T], n uint32) {
	var rows market.Table[T]
	for range n {
		rows.Append(*new(T))
	}
	*table = rows.Freeze()
}

// TestApplyingPauses: a ledger pauses after every event, and while it is frozen after every
// table and every pool whose day it ends.
func TestApplyingPauses(t *testing.T) {
	l, pauses := poolOfTwo(t, 3000), 0
	l.Freeze()
	l.cfg.Pause = func() { pauses++ }
	f := func(events ...market.Event) {
		t.Helper()
		pauses = 0
		apply(t, l, strictSpan(l, events...))
		if pauses != len(events) {
			t.Errorf("%d pauses for %d events", pauses, len(events))
		}
	}

	change := moved(1e9)
	change.Sender = script.Person("bob") // of no position, so that it needs no mint
	f(change)
	f(change, change, change)

	pauses = 0
	l.Freeze()
	if want := len(l.journals) + 1 + 1; pauses != want {
		t.Errorf("%d pauses in a freeze after events of one pool; want %d", pauses, want)
	}
}
