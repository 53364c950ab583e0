package rankings

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"tidemark/rankings/index"
)

// ColumnsDiff describes the first difference between the columns of two warm
// views of the same State; it is empty if there is none. Lookups are left out:
// they may differ in what they keep outside of an index.
func ColumnsDiff(a, b *View) string {
	x, y := reflect.ValueOf(a.columns).Elem(), reflect.ValueOf(b.columns).Elem()

	for i := range x.NumField() {
		switch name := x.Type().Field(i).Name; name {
		case "kept":
			if diff := keptDiff(a.columns, b.columns); diff != "" {
				return name + diff
			}
		case "pools", "tokens", "owners", "byPool", "byOwner", "byToken", "symbols", "poolGrams", "tokenGrams", "closedIDs", "openIDs",
			"poolOrders", "continued", "crossedRows":
		default:
			if diff := valueDiff(x.Field(i), y.Field(i)); diff != "" {
				return name + diff
			}
		}
	}
	return ""
}

// keptDiff is ColumnsDiff of what is kept of open rows, wherever it stands in memory.
func keptDiff(a, b *columns) string {
	for w, word := range a.open.Words() {
		n := bits.OnesCount64(word)
		x, y := reflect.ValueOf(a.kept.of(uint32(w), n)), reflect.ValueOf(b.kept.of(uint32(w), n))
		if diff := valueDiff(x, y); diff != "" {
			return fmt.Sprintf(" of chunk %d%s", w, diff)
		}
	}
	return ""
}

// TurnedRange counts the words of rows of which some entered or left their range.
func TurnedRange(was, is *View) int { return len(findTurnedRange(was.columns, is.columns)) }

// CrossedRows counts the words of rows out of range of which a price crossed ends.
func CrossedRows(v *View) int { return len(v.columns.crossedRows) }

// IsCrossed reports whether a row is one of them.
func IsCrossed(v *View, row uint32) bool {
	words := v.columns.crossedRows
	return words.next(row/64)>>(row%64)&1 == 1
}

// ForgetBuffers lets the next generation be built with new buffers, as the first one of a
// node is.
func ForgetBuffers() { spareBuilder.Store(nil) }

// IsPlaced reports whether a search that knows its total knows the places of its rows.
func IsPlaced(s *Search) bool { return s.found == nil }

// Lookups names the lookups that two warm views share, which cost nothing then.
func Lookups(a, b *View) (shared []string) {
	x, y := reflect.ValueOf(a.columns).Elem(), reflect.ValueOf(b.columns).Elem()
	for name, at := range map[string][]int{
		"pools": nil, "tokens": nil, "owners": nil, "byPool": {1}, "byOwner": {1}, "byToken": {1},
		"symbols": {1}, "poolGrams": {1}, "tokenGrams": {1},
	} {
		p, q := x.FieldByName(name), y.FieldByName(name)
		for _, i := range at {
			p, q = p.Field(i), q.Field(i)
		}
		if p.Len() > 0 && p.Pointer() == q.Pointer() {
			shared = append(shared, name)
		}
	}

	slices.Sort(shared)
	return shared
}

// Bases returns the numbers of the leaves from which those of a view may be coded.
func Bases(v *View) (numbers []uint64) {
	for id := range v.orders {
		for _, b := range v.orders[id].Bases {
			numbers = append(numbers, b.Number)
		}
	}
	return numbers
}

// SharedOrders returns the orders that two views share.
func SharedOrders(a, b *View) (shared []int) {
	for id := range a.orders {
		if x, y := a.orders[id].Numbers, b.orders[id].Numbers; len(x) > 0 && len(y) > 0 && &x[0] == &y[0] {
			shared = append(shared, id)
		}
	}
	return shared
}

// OrdersDiff describes the first leaf that has other rows or another key in two views; it
// is empty if there is none.
func OrdersDiff(a, b *View) string {
	for id := range a.orders {
		x, y := a.orders[id], b.orders[id]
		x.Numbers, x.Bases, y.Numbers, y.Bases = nil, nil, nil, nil
		if diff := valueDiff(reflect.ValueOf(x), reflect.ValueOf(y)); diff != "" {
			return fmt.Sprintf("order %d%s", id, diff)
		}
	}
	return ""
}

// SwapOpen swaps the first and the last row in what a view keeps of the orders of open
// positions, from which the next generation makes its own; SwapPools does in those of pools.
func SwapOpen(v *View) { swapEnds(v.columns.openIDs.by[:]) }

func SwapPools(v *View) { swapEnds(v.columns.poolOrders.by[:]) }

func swapEnds(orders [][]uint32) {
	for _, ids := range orders {
		last := len(ids) - 1
		ids[0], ids[last] = ids[last], ids[0]
	}
}

// LeafDiff describes the first row that a run places in another leaf than the one that has it;
// it is empty if there is none.
func LeafDiff(v *View, leaves LeafReader) (string, error) {
	for id := range v.orders {
		r := run{view: v, id: orderID(id), order: &v.orders[id]}
		for i, number := range r.order.Numbers {
			rows, err := leaves.Leaf(v.State.Chain, number)
			if err != nil {
				return "", err
			}

			for _, row := range rows {
				if got := r.leafOf(row); got != i {
					return fmt.Sprintf("order %d: row %d is in leaf %d; want %d", id, row, got, i), nil
				}
			}
		}
	}
	return "", nil
}

// columnDiff compares the rows of two columns, not how they are shared.
func columnDiff(a, b reflect.Value) string {
	n := a.FieldByName("n").Uint()
	if other := b.FieldByName("n").Uint(); n != other {
		return fmt.Sprintf(" has %d rows; want %d", n, other)
	}

	at := func(v reflect.Value, row int) uint64 {
		return v.FieldByName("blocks").Index(row / index.BlockRows).Elem().Index(row % index.BlockRows).Uint()
	}
	for row := range int(n) {
		if is, want := at(a, row), at(b, row); is != want {
			return fmt.Sprintf("[%d] is %d; want %d", row, is, want)
		}
	}
	return ""
}

// valueDiff compares two values, floats by their bits.
func valueDiff(a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Float64:
		if math.Float64bits(a.Float()) != math.Float64bits(b.Float()) && a.Float() == a.Float() {
			return fmt.Sprintf(" is %v; want %v", a.Float(), b.Float())
		}
	case reflect.Pointer:
		return valueDiff(a.Elem(), b.Elem())
	case reflect.Struct:
		if strings.HasPrefix(a.Type().Name(), "Column[") {
			return columnDiff(a, b)
		}
		for i := range a.NumField() {
			if diff := valueDiff(a.Field(i), b.Field(i)); diff != "" {
				return "." + a.Type().Field(i).Name + diff
			}
		}
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return fmt.Sprintf(" has %d entries; want %d", a.Len(), b.Len())
		}

		for i := range a.Len() {
			if diff := valueDiff(a.Index(i), b.Index(i)); diff != "" {
				return fmt.Sprintf("[%d]%s", i, diff)
			}
		}
	default:
		if !a.Equal(b) {
			return fmt.Sprintf(" is %v; want %v", a, b)
		}
	}
	return ""
}
