package ledger

import (
	"math"
	"reflect"
	"testing"

	"tidemark/rankings/market"
)

// sameState compares every table of two states, row by row and bit by bit.
func sameState(t testing.TB, got, want *market.State) {
	t.Helper()
	if got.Chain != want.Chain || got.Head != want.Head || got.Native != want.Native ||
		got.Transactions != want.Transactions || got.OpenCount != want.OpenCount {
		t.Errorf("state at %+v, native %d, %d transactions, %d open; want %+v, %d, %d, %d",
			got.Head, got.Native, got.Transactions, got.OpenCount,
			want.Head, want.Native, want.Transactions, want.OpenCount)
	}
	sameRows(t, "token", &got.Tokens, &want.Tokens)
	sameRows(t, "owner", &got.Owners, &want.Owners)
	sameRows(t, "pool", &got.Pools, &want.Pools)
	sameRows(t, "tick list", &got.TickLists, &want.TickLists)
	sameRows(t, "day", &got.Days, &want.Days)
	sameRows(t, "minutes", &got.Minutes, &want.Minutes)
	sameRows(t, "tick", &got.Ticks, &want.Ticks)
	sameRows(t, "position", &got.Positions, &want.Positions)
	sameRows(t, "wide", &got.Wides, &want.Wides)
	sameRows(t, "direct", &got.Directs, &want.Directs)
	sameRows(t, "hour", &got.Hours, &want.Hours)
}

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

// same is reflect.DeepEqual, except that a float equals itself even when it is
// Unknown, and that no slice equals an empty one.
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
