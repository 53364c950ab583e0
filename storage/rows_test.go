package storage

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// cutShort takes the last byte of every value under a kind of keys of chain 1.
func cutShort(t *testing.T, s *Store, k kind) (count int) {
	t.Helper()
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendKind(nil, 1, k), UpperBound: appendKind(nil, 1, k+1),
	})
	must(err)

	for ok := it.First(); ok; ok = it.Next() {
		if value := it.Value(); len(value) > 0 {
			must(s.db.Set(slices.Clone(it.Key()), value[:len(value)-1], pebble.Sync))
			count++
		}
	}
	must(it.Close())
	return count
}

// TestUndosPause: while undos are read, requests come in before every row, as a row may
// have to be read for it.
func TestUndosPause(t *testing.T) {
	_, s := lifeStore(t)
	defer closeTest(t, s)

	pauses := 0
	undos, err := coldUndos(s, 1, func() { pauses++ })
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, u := range undos {
		rows += len(ledger.Pools.Saved(u)) + len(ledger.Positions.Saved(u)) + len(ledger.Ticks.Saved(u))
	}
	if rows == 0 || pauses < rows {
		t.Errorf("%d pauses in %d undos with at least %d rows; want one for each row", pauses, len(undos), rows)
	}
}

// TestRecordsThatAreCutShort: an undo or an entry of a series that does not end where it
// should is damage of its chain, and is not read as anything.
func TestRecordsThatAreCutShort(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(71, 1)
	for range 4 {
		g.commit(t, s, 3, true)
	}

	if undos, err := coldUndos(s, 1, nil); err != nil || len(undos) == 0 {
		t.Fatalf("%d undos, %v", len(undos), err)
	}
	if cutShort(t, s, kindUndo) == 0 {
		t.Fatal("there is no undo to cut")
	}
	var damage *Damage
	if undos, err := coldUndos(s, 1, nil); !errors.As(err, &damage) || undos != nil || !strings.Contains(err.Error(), "undo of block ") {
		t.Errorf("of undos that were cut: %d, %v; want the damage", len(undos), err)
	}

	r, err := s.Restore(1)
	if err != nil {
		t.Fatal(err)
	}
	r.Warm(func() bool { return false })
	if undos, err := s.Undos(r.State, nil); !errors.As(err, &damage) || undos != nil {
		t.Errorf("of undos of a State in memory that were cut: %d, %v; want the damage", len(undos), err)
	}

	line := seriesFor(ledger.PoolDays)
	if cutShort(t, s, line.kind) == 0 {
		t.Fatal("there is no day to cut")
	}
	for pool := range uint32(50) {
		r := s.PoolDays(1, pool, 0, market.NoIndex, OldestFirst)
		next := r.Next()
		r.Close()
		if next {
			t.Fatalf("pool %d: a day that was cut was read: %+v", pool, *r.Entry())
		}
		if errors.As(r.Err(), &damage) {
			return
		}
	}
	t.Error("no pool has a day that was cut")
}

// TestPlaceEndsWithItsTee: a commit that nobody was told of leaves no place of an earlier
// one, also if that was before a restart.
func TestPlaceEndsWithItsTee(t *testing.T) {
	disk := vfs.NewMem()
	o := testOptions(disk)
	o.Tee = func(market.ChainID, []byte, []byte) ([]byte, error) { return []byte("here"), nil }
	s, err := Open("data", o)
	must(err)
	g := newRig(72, 1)
	g.commit(t, s, 3, true)
	if place, err := s.Place(1); err != nil || string(place) != "here" {
		t.Errorf("the place is %q, %v", place, err)
	}
	closeTest(t, s)

	s = openTest(t, disk)
	defer closeTest(t, s)
	g.commit(t, s, 3, true)
	if place, err := s.Place(1); err != nil || place != nil {
		t.Errorf("after a commit without one the place is %q, %v", place, err)
	}
}

// TestPrunes: a deletion of days from the first on is a prune, of no other kind, chain or
// form.
func TestPrunes(t *testing.T) {
	f := func(what string, chain market.ChainID, from, to []byte, want bool) {
		t.Helper()
		if got := isPrune(chain, from, to); got != want {
			t.Errorf("%s: %t; want %t", what, got, want)
		}
	}

	daily := 0
	for _, series := range allSeries {
		l := series.about()
		row := func(chain market.ChainID, k kind, n uint32) []byte { return appendRow(nil, chain, k, n) }
		f("a prune of "+l.name, 7, row(7, l.kind, 0), row(7, l.kind, 5), l.daily)
		f("of another chain", 7, row(8, l.kind, 0), row(8, l.kind, 5), false)
		f("from a later day", 7, row(7, l.kind, 1), row(7, l.kind, 5), false)
		f("to another chain", 7, row(7, l.kind, 0), row(8, l.kind, 5), false)
		f("to another kind", 7, row(7, l.kind, 0), row(7, l.kind+1, 5), false)
		f("to a longer key", 7, row(7, l.kind, 0), append(row(7, l.kind, 5), 1), false)
		if l.daily {
			daily++
		}
	}
	if daily == 0 || daily == len(allSeries) {
		t.Errorf("%d of %d series are daily", daily, len(allSeries))
	}
}

// TestSmallRecords: the end of a block, the last hour of a tick's day and what a token
// never changes have every field.
func TestSmallRecords(t *testing.T) {
	if got := End(7); got != (Place{Block: 7, Log: market.NoIndex}) {
		t.Errorf("the end is %+v", got)
	}

	day := market.TickDay{
		Pool: 1, Day: 2, Tick: -3, Hour: 24, FeeGrowthOutside0X128: clmath.U256{4}, FeeGrowthOutside1X128: clmath.U256{5},
	}
	want := market.TickHour{
		Pool: 1, Day: 2, Tick: -3, Hour: 23, FeeGrowthOutside0X128: clmath.U256{4}, FeeGrowthOutside1X128: clmath.U256{5},
	}
	if got, ok := lastTickHour(&day); !ok || got != want {
		t.Errorf("the last hour is %+v, %t; want %+v", got, ok, want)
	}
	day.Hour = 0
	if _, ok := lastTickHour(&day); ok {
		t.Error("a day without an hour has one")
	}

	token := market.Token{
		Address: market.Address{1}, Symbol: texts.New("TIDE"), Name: texts.New("Tide coin"),
		Decimals: 6, BadDecimals: true,
	}
	changed := token
	changed.HourUsd, changed.PriceLostAt = 3, 4
	if got := tokenIdentity(nil, nil, 0, &changed); got != token {
		t.Errorf("the token is %+v; want %+v", got, token)
	}
}
