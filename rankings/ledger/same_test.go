package ledger

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// sameState compares every table of two states, row by row and bit by bit.
func sameState(t testing.TB, got, want *market.State) {
	t.Helper()
	if got.Chain != want.Chain || got.Head != want.Head || got.Native != want.Native ||
		got.DaysFrom != want.DaysFrom || got.HoursFrom != want.HoursFrom || got.Transactions != want.Transactions || got.OpenCount != want.OpenCount {
		t.Errorf("state at %+v, native %d, %d transactions, %d open; want %+v, %d, %d, %d",
			got.Head, got.Native, got.Transactions, got.OpenCount,
			want.Head, want.Native, want.Transactions, want.OpenCount)
	}
	for _, table := range tables {
		table.(testTable).same(t, got, want)
	}
	sameTickLists(t, got, want)
}

func sameTickLists(t testing.TB, got, want *market.State) {
	t.Helper()
	if got.TickLists.Len() != want.TickLists.Len() {
		t.Errorf("%d tick lists; want %d", got.TickLists.Len(), want.TickLists.Len())
		return
	}
	for pool := range got.TickLists.Len() {
		if a, b := got.TickLists.At(pool), want.TickLists.At(pool); !slices.Equal(a, b) {
			t.Errorf("tick list %d is %v; want %v", pool, a, b)
		}
	}
}

// testTable is the test methods of a table of any row type.
type testTable interface {
	same(t testing.TB, got, want *market.State)
	take(s *shadow, c *Changes, st *market.State)
	read(s *shadow, st, like *market.State)
}

func (t *Table[T]) same(tb testing.TB, got, want *market.State) {
	tb.Helper()
	sameRows(tb, t.name(), t.of(got), t.of(want))
}

func (t *Table[T]) name() string { return fmt.Sprintf("%T", *new(T)) }

func sameRows[T any](t testing.TB, name string, got, want *market.Frozen[T]) {
	t.Helper()
	if got.Len() != want.Len() {
		t.Errorf("%d rows of %s; want %d", got.Len(), name, want.Len())
		return
	}
	for i := range got.Len() {
		if !same(reflect.ValueOf(got.At(i)), reflect.ValueOf(want.At(i))) {
			t.Errorf("%s %d is\n%+v; want\n%+v", name, i, *got.At(i), *want.At(i))
		}
	}
}

// same is reflect.DeepEqual, except that Unknown equals Unknown, and a nil slice
// equals an empty one.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float64:
		x, y := a.Float(), b.Float()
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return a.Elem().Type() == b.Elem().Type() && same(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}

	return a.Equal(b)
}
