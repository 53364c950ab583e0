package ledger

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// shadow is a store that knows a ledger by its Changes and the States frozen
// with them, and by nothing else.
type shadow struct {
	st     *market.State // of the last cut, for the lengths and counts
	rows   map[string]any
	series map[string]any
	undos  map[uint64]*Undo
}

func newShadow() *shadow {
	return &shadow{rows: map[string]any{}, series: map[string]any{}, undos: map[uint64]*Undo{}}
}

// take stores one cut.
func (s *shadow) take(l *Ledger) {
	c, st := l.Changes(), l.Freeze()
	s.st = st
	takeRows(s, "token", c.Tokens, &st.Tokens)
	takeRows(s, "owner", c.Owners, &st.Owners)
	takeRows(s, "pool", c.Pools, &st.Pools)
	takeRows(s, "day", c.Days, &st.Days)
	takeRows(s, "minutes", c.Minutes, &st.Minutes)
	takeRows(s, "tick", c.Ticks, &st.Ticks)
	takeRows(s, "position", c.Positions, &st.Positions)
	takeRows(s, "wide", c.Wides, &st.Wides)
	takeRows(s, "direct", c.Directs, &st.Directs)
	takeRows(s, "hour", c.Hours, &st.Hours)
	for _, op := range c.Ops {
		s.op(op)
	}
	for _, to := range c.UndoDrop {
		delete(s.undos, to)
	}
	for _, u := range c.UndoPut {
		s.undos[u.To] = u
	}
}

func takeRows[T any](s *shadow, name string, changed []uint32, rows *market.Frozen[T]) {
	for _, i := range changed {
		s.rows[fmt.Sprint(name, " ", i)] = *rows.At(i)
	}
}

func (s *shadow) op(op Op) {
	switch o := op.(type) {
	case PutTransaction:
		s.series[fmt.Sprint("tx ", o.Position, o.Block, o.LogIndex)] = o.Transaction
	case DropTransaction:
		delete(s.series, fmt.Sprint("tx ", o.Position, o.Block, o.LogIndex))
	case PutPoolDay:
		s.series[fmt.Sprint("day ", o.Pool, o.Day)] = o.PoolDay
	case DropPoolDay:
		delete(s.series, fmt.Sprint("day ", o.Pool, o.Day))
	case PutTickDay:
		s.series[fmt.Sprint("tick ", o.Pool, o.Tick, o.Day)] = o.TickDay
	case DropTickDay:
		delete(s.series, fmt.Sprint("tick ", o.Pool, o.Tick, o.Day))
	case PutHourPrice:
		s.series[fmt.Sprint("hour ", o.Token, o.Hour)] = o.HourPrice
	case DropHourPrice:
		delete(s.series, fmt.Sprint("hour ", o.Token, o.Hour))
	}
}

// state returns what a restart would read: the rows stored, up to the lengths
// of the last cut, and the tick lists made from the ticks.
func (s *shadow) state() *market.State {
	st := &market.State{
		Chain: s.st.Chain, Head: s.st.Head, Native: s.st.Native,
		Transactions: s.st.Transactions, OpenCount: s.st.OpenCount,
	}
	st.Tokens = readRows(s, "token", &s.st.Tokens)
	st.Owners = readRows(s, "owner", &s.st.Owners)
	st.Pools = readRows(s, "pool", &s.st.Pools)
	st.Days = readRows(s, "day", &s.st.Days)
	st.Minutes = readRows(s, "minutes", &s.st.Minutes)
	st.Ticks = readRows(s, "tick", &s.st.Ticks)
	st.Positions = readRows(s, "position", &s.st.Positions)
	st.Wides = readRows(s, "wide", &s.st.Wides)
	st.Directs = readRows(s, "direct", &s.st.Directs)
	st.Hours = readRows(s, "hour", &s.st.Hours)
	lists := make([]market.TickList, st.Pools.Len())
	for i := range st.Ticks.Len() {
		if t := st.Ticks.At(i); t.Pool != market.NoIndex {
			refs := &lists[t.Pool].Refs
			*refs = slices.Insert(*refs, above(*refs, t.Tick), market.TickRef{Tick: t.Tick, Slot: i})
		}
	}
	var table market.Table[market.TickList]
	for _, list := range lists {
		table.Append(list)
	}
	st.TickLists = table.Freeze()
	return st
}

func readRows[T any](s *shadow, name string, like *market.Frozen[T]) market.Frozen[T] {
	var table market.Table[T]
	for i := range like.Len() {
		row, _ := s.rows[fmt.Sprint(name, " ", i)].(T)
		table.Append(row)
	}
	return table.Freeze()
}

// restart returns the ledger that continues from the store.
func (s *shadow) restart(c Config) *Ledger {
	var undos []*Undo
	for _, to := range slices.Sorted(maps.Keys(s.undos)) {
		undos = append(undos, s.undos[to])
	}
	return From(c, s.state(), undos)
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
