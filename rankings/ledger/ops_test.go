package ledger

import (
	"reflect"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// mixedOps are operations of several series, n of each.
func mixedOps(n int) (all []Op) {
	for i := range uint32(n) {
		all = append(all,
			TickDays.Drop(market.TickDay{Pool: i, Tick: -60, Day: 100}),
			Transactions.Put(market.Transaction{Position: i, Block: 7}),
			TickDays.Put(market.TickDay{Pool: i, Tick: 60, Day: 101}),
			HourPrices.Drop(HourEntry{HourPrice{Token: i}, 9}))
	}
	return all
}

// TestOpsKeepOrder: operations come back as they were added, also from a copy after the
// original was used again, and those that stay when the last are removed.
func TestOpsKeepOrder(t *testing.T) {
	var ops Ops
	f := func(o *Ops, want []Op) {
		t.Helper()
		var got []Op
		got = slices.AppendSeq(got, o.All())
		if o.Len() != len(want) || !reflect.DeepEqual(got, want) {
			t.Errorf("%d operations %+v; want %+v", o.Len(), got, want)
		}
	}

	f(&ops, nil)
	f(new(ops.clone()), nil)
	first := mixedOps(5 * entriesPerBlock / 2)
	ops.Add(first...)
	f(&ops, first)

	kept := ops.clone()
	ops.reset()
	f(&ops, nil)
	second := []Op{HourPrices.Put(HourEntry{HourPrice{Token: 5}, 10}), PoolDays.Drop(market.PoolDay{Pool: 4})}
	ops.Add(second...)
	f(&ops, second)
	f(&kept, first)

	for n := len(first); n >= 0; n -= 7 {
		kept.truncate(n)
		f(&kept, first[:n])
	}
	kept.truncate(0)
	kept.Add(second...)
	f(&kept, second)
}

// TestOpsHaveFewObjects: an undo that is kept has as many objects for a thousand
// operations as for one of each series.
func TestOpsHaveFewObjects(t *testing.T) {
	f := func(n int) float64 {
		var ops Ops
		ops.Add(mixedOps(n)...)
		return testing.AllocsPerRun(10, func() { ops.clone() })
	}

	if few, many := f(1), f(1000); many != few {
		t.Errorf("a copy of 4,000 operations is %v objects; of 4 it is %v", many, few)
	}
}
