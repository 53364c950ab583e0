package ledger

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// shadow is a store in memory. It gets everything from a ledger's Changes and the
// State that is frozen with them.
type shadow struct {
	st     *market.State // of the last cut, for the lengths and counts
	rows   map[string]any
	series map[string]any
	undos  map[uint64]*Undo
}

func newShadow() *shadow {
	return &shadow{rows: map[string]any{}, series: map[string]any{}, undos: map[uint64]*Undo{}}
}

// take stores the changes of a ledger.
func (s *shadow) take(l *Ledger) {
	c, st := l.Changes(), l.Freeze()
	s.st = st
	for _, t := range tables {
		t.(testTable).take(s, c, st)
	}

	for op := range c.Ops.All() {
		s.op(op)
	}

	for _, to := range c.UndoDrop {
		delete(s.undos, to)
	}

	for _, u := range c.UndoPut {
		s.undos[u.To] = u
	}
}

// take stores the changed rows of a table.
func (t *Table[T]) take(s *shadow, c *Changes, st *market.State) {
	for _, i := range t.Changed(c) {
		s.rows[fmt.Sprint(t.name(), " ", i)] = *t.of(st).At(i)
	}
}

// read makes a table of the stored rows, with the length that it has in like.
func (t *Table[T]) read(s *shadow, st, like *market.State) {
	var table market.Table[T]
	for i := range t.of(like).Len() {
		row, _ := s.rows[fmt.Sprint(t.name(), " ", i)].(T)
		table.Append(row)
	}
	*t.of(st) = table.Freeze()
}

func (s *shadow) op(op Op) {
	key := ""
	switch e := op.Entry.(type) {
	case *market.Transaction:
		key = fmt.Sprint("tx ", e.Position, e.Block, e.LogIndex)
	case *market.PoolDay:
		key = fmt.Sprint("day ", e.Pool, e.Day)
	case *market.TickDay:
		key = fmt.Sprint("tick ", e.Pool, e.Tick, e.Day)
	case *market.PoolHour:
		key = fmt.Sprint("hour of pool ", e.Pool, e.Day, e.Hour)
	case *market.TickHour:
		key = fmt.Sprint("hour of tick ", e.Pool, e.Tick, e.Day, e.Hour)
	case *HourEntry:
		key = fmt.Sprint("hour ", e.Token, e.Hour)
	}

	if op.Drop {
		delete(s.series, key)
	} else {
		s.series[key] = op.Entry
	}
}

// state returns what a restart would read: the rows stored, up to the lengths
// of the last cut, and the tick lists made from the ticks.
func (s *shadow) state() *market.State {
	st := &market.State{
		Chain: s.st.Chain, Head: s.st.Head, Native: s.st.Native,
		Transactions: s.st.Transactions, OpenCount: s.st.OpenCount, DaysFrom: s.st.DaysFrom,
		HoursFrom: s.st.HoursFrom,
	}

	for _, t := range tables {
		t.(testTable).read(s, st, s.st)
	}

	lists := make([][]market.TickRef, st.Pools.Len())
	for i := range st.Ticks.Len() {
		if t := st.Ticks.At(i); t.Pool != market.NoIndex {
			refs := &lists[t.Pool]
			*refs = slices.Insert(*refs, market.FirstAbove(*refs, t.Tick), market.TickRef{Tick: t.Tick, Slot: i})
		}
	}

	var table market.TickListTable
	for _, list := range lists {
		table.Append(list...)
	}

	st.TickLists = table.Freeze()
	return st
}

// restart returns the ledger that continues from the store.
func (s *shadow) restart(c Config) *Ledger {
	var undos []*Undo
	for _, to := range slices.Sorted(maps.Keys(s.undos)) {
		undos = append(undos, s.undos[to])
	}
	return From(c, s.state(), undos, func() {})
}

// compare checks that the store has what the ledger has.
func (s *shadow) compare(t testing.TB, l *Ledger) {
	t.Helper()
	st := l.Freeze()
	sameState(t, s.state(), st)
	if len(s.undos) != len(l.undos) {
		t.Fatalf("%d undos stored; the ledger has %d", len(s.undos), len(l.undos))
	}
	for _, u := range l.undos {
		if s.undos[u.To] != u {
			t.Fatalf("the undo of %d is not the one stored", u.To)
		}
	}
}

func sameSeries(t testing.TB, got, want map[string]any) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(want))
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			t.Errorf("series has %s: %+v", k, got[k])
		}
	}

	for _, k := range keys {
		g, ok := got[k]
		if !ok || !same(reflect.ValueOf(&g), reflect.ValueOf(valueOf(want[k]))) {
			t.Errorf("series %s is\n%+v; want\n%+v", k, g, want[k])
		}
	}
}

func valueOf(v any) *any { return &v }
