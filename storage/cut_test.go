package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/block"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// testOptions are the options of a small store.
func testOptions(fs vfs.FS) Options {
	return Options{
		CacheBytes: 4 << 20, MemTableBytes: 256 << 10, BallastBytes: -1,
		Logger: slog.New(slog.DiscardHandler), fs: fs,
		Exit: func() { panic("store ended the process") },
	}
}

func openTest(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("data", testOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openToRead(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	o := testOptions(fs)
	o.ReadOnly = true
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeTest(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// holds compares all data of a chain with a snapshot.
func holds(t *testing.T, s *Store, want *snapshot) {
	t.Helper()
	chain := want.st.Chain
	got, err := s.Restore(chain)
	if err != nil || got == nil {
		t.Fatalf("chain %d: restored %v, %v", chain, got, err)
	}

	f := func(what string, want, got any) {
		t.Helper()
		if d := equal(want, got); d != "" {
			t.Errorf("chain %d: %s (-want +got):\n%s", chain, what, d)
		}
	}

	f("generation", want.generation, got.Generation)
	f("published", want.published, got.Published)
	f("directory", want.directory, string(got.Directory))
	f("confirmed", want.confirmed, got.Confirmed)
	sameState(t, want.st, got.State)
	undos, err := coldUndos(s, chain, nil)
	if err != nil {
		t.Fatal(err)
	}

	f("number of undos", len(want.undos), len(undos))
	for i, u := range undos {
		f(fmt.Sprintf("undo of %d", u.To), want.undos[u.To], *u)
		if i > 0 && u.To <= undos[i-1].To {
			t.Errorf("undo %d stands after %d", u.To, undos[i-1].To)
		}
	}

	for number, bytes := range want.leaves {
		leaf, err := s.leafBytes(chain, number, []byte("x"))
		if err != nil || string(leaf) != "x"+bytes {
			t.Errorf("leaf %d is %x, %v; want %x", number, leaf, err, bytes)
		}
	}

	sameSeries(t, s, want)
}

// coldUndos returns the undos of a chain, of whose State no row is in memory.
func coldUndos(s *Store, chain market.ChainID, pause func()) ([]*ledger.Undo, error) {
	r, err := s.Restore(chain)
	if r == nil {
		return nil, err
	}
	return s.Undos(r.State, pause)
}

// sameState compares every field of two States, row by row.
func sameState(t *testing.T, want, got *market.State) {
	t.Helper()
	a, b := reflect.ValueOf(want).Elem(), reflect.ValueOf(got).Elem()
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		if name == "TickLists" {
			continue
		}

		x, y := a.Field(i).Addr(), b.Field(i).Addr()
		if x.MethodByName("At").IsValid() {
			x, y = reflect.ValueOf(allRows(x)), reflect.ValueOf(allRows(y))
		}
		if d := equal(x.Interface(), y.Interface()); d != "" {
			t.Fatalf("chain %d at block %d: %s (-want +got):\n%s",
				want.Chain, want.Head.Number, name, d)
		}
	}
}

// allRows reads all rows of a *market.Frozen.
func allRows(table reflect.Value) []any {
	n := table.MethodByName("Len").Call(nil)[0].Uint()
	rows := make([]any, 0, n)
	for i := range n {
		row := table.MethodByName("At").Call([]reflect.Value{reflect.ValueOf(uint32(i))})[0]
		rows = append(rows, row.Elem().Interface())
	}
	return rows
}

// sameSeries reads every series as a whole, in both directions.
func sameSeries(t *testing.T, s *Store, want *snapshot) {
	t.Helper()
	chain, last := want.st.Chain, uint32(market.NoIndex)
	var txs, days, ticks, prices int
	for i := range max(want.st.Pools.Len(), 5) {
		for _, d := range []Direction{OldestFirst, NewestFirst} {
			txs += sameRun(t, s.Transactions(chain, i, Place{}, End(1<<63), d), want.transactions,
				func(e *market.Transaction) [3]uint64 {
					return [3]uint64{uint64(e.Position), e.Block, uint64(e.LogIndex)}
				})
			days += sameRun(t, s.PoolDays(chain, i, 0, last, d), want.poolDays,
				func(e *market.PoolDay) [2]uint32 { return [2]uint32{e.Pool, e.Day} })
			prices += sameRun(t, s.HourPrices(chain, i, 0, last, d), want.hourPrices,
				func(e *ledger.HourEntry) [2]uint32 { return [2]uint32{e.Token, e.Hour} })
			for tick := int32(-2); tick <= 2; tick++ {
				ticks += sameRun(t, s.TickDays(chain, i, tick, 0, last, d), want.tickDays,
					func(e *market.TickDay) [3]int64 {
						return [3]int64{int64(e.Pool), int64(e.Tick), int64(e.Day)}
					})
			}
		}
	}

	got := []int{txs, days, ticks, prices}
	counts := []int{
		2 * len(want.transactions), 2 * len(want.poolDays),
		2 * len(want.tickDays), 2 * len(want.hourPrices),
	}

	if !slices.Equal(got, counts) {
		t.Errorf("series have %d entries, want %d", got, counts)
	}
}

// sameRun compares a run of entries with the model's and returns its length.
func sameRun[T any, K comparable](
	t *testing.T, it *Series[T], want map[K]T, key func(*T) K,
) (n int) {
	t.Helper()
	defer it.Close()

	for ; it.Next(); n++ {
		k := key(it.Entry())
		w, ok := want[k]
		if d := equal(w, *it.Entry()); d != "" || !ok {
			t.Fatalf("entry %v, wanted %v (-want +got):\n%s", k, ok, d)
		}
	}

	if it.Err() != nil {
		t.Fatal(it.Err())
	}
	return n
}

// A series of days from one on is led by the newest day before it.
func TestSeriesLedByTheDayBefore(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	want := newRig(5, 1).commit(t, s, 200, true)
	f := func(what string, got []uint32, err error, all []uint32, from, to uint32) {
		t.Helper()
		slices.Sort(all)
		first, _ := slices.BinarySearch(all, from)
		end, exact := slices.BinarySearch(all, to)
		if exact {
			end++
		}
		if days := all[max(first-1, 0):max(end, first)]; err != nil || !slices.Equal(got, days) && len(got)+len(days) > 0 {
			t.Errorf("%s from day %d to %d: %d, %v; want %d of %d", what, from, to, got, err, days, all)
		}
	}

	pools, ticks := map[uint32][]uint32{}, map[[2]int64][]uint32{}
	for k := range want.poolDays {
		pools[k[0]] = append(pools[k[0]], k[1])
	}
	for k := range want.tickDays {
		at := [2]int64{k[0], k[1]}
		ticks[at] = append(ticks[at], uint32(k[2]))
	}
	for pool, all := range pools {
		for from := slices.Min(all) - 1; from <= slices.Max(all)+1; from++ {
			for _, to := range []uint32{from, from + 2, slices.Max(all)} {
				got, err := daysOf(s.PoolDaysFrom(1, pool, from, max(from, to)), func(d *market.PoolDay) uint32 { return d.Day })
				f(fmt.Sprint("pool ", pool), got, err, all, from, max(from, to))
			}
		}
	}
	for at, all := range ticks {
		for from := slices.Min(all) - 1; from <= slices.Max(all)+1; from++ {
			days := s.TickDaysFrom(1, uint32(at[0]), int32(at[1]), from, market.NoIndex)
			got, err := daysOf(days, func(d *market.TickDay) uint32 { return d.Day })
			f(fmt.Sprint("tick ", at), got, err, all, from, market.NoIndex)
		}
	}
	if len(pools) == 0 || len(ticks) == 0 {
		t.Errorf("%d pools and %d ticks have days", len(pools), len(ticks))
	}
}

func daysOf[E any](r *Series[E], day func(*E) uint32) (days []uint32, err error) {
	defer r.Close()
	for r.Next() {
		days = append(days, day(r.Entry()))
	}
	return days, r.Err()
}

func TestRestoreGivesTheCommittedCut(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	if r, err := s.Restore(1); r != nil || err != nil {
		t.Fatalf("a new store restored %v, %v", r, err)
	}

	one, two := newRig(1, 1), newRig(1, 42161)
	for i := range rounds(25) {
		a := one.commit(t, s, 1+i, true)
		b := two.commit(t, s, 3, i%3 == 0)
		if i%5 == 4 {
			closeTest(t, s)
			s = openTest(t, fs)
		}
		holds(t, s, a)
		holds(t, s, b)
	}

	closeTest(t, s)
}

func TestWarmStateNeedsNoStore(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	want := newRig(3, 1).commit(t, s, 200, true)
	r, err := s.Restore(1)
	if err != nil {
		t.Fatal(err)
	}

	asked := 0
	if r.Warm(func() bool { asked++; return asked == 4 }) || r.lists.ends != nil || asked != 4 {
		t.Errorf("warm although stopped, or asked %d times", asked)
	}

	if !r.Current() || !r.Warm(func() bool { return false }) || r.lists.ends == nil {
		t.Error("not current, or not warm")
	}

	closeTest(t, s)
	sameState(t, want.st, r.State)
	listed := uint32(0)
	for pool := range r.State.TickLists.Len() {
		before := int64(-1 << 40)
		for _, ref := range r.State.TickLists.At(pool) {
			tick := r.State.Ticks.At(ref.Slot)
			if tick.Pool != pool || tick.Tick != ref.Tick || int64(ref.Tick) < before {
				t.Errorf("pool %d lists tick %+v after %d: %+v", pool, ref, before, tick)
			}
			before, listed = int64(ref.Tick), listed+1
		}
	}

	for i := range want.st.Ticks.Len() {
		if want.st.Ticks.At(i).Pool != market.NoIndex {
			listed--
		}
	}

	if listed != 0 {
		t.Errorf("lists and ticks differ by %d", int32(listed))
	}
}

func TestAFirstGenerationDropsLeavesOfOthers(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)

	one, two := newRig(6, 1), newRig(6, 2)
	old := one.commit(t, s, 5, true)
	other := two.commit(t, s, 5, true)
	cut := one.cut(5, true)
	cut.Publication.First = true
	if err := s.Commit(cut); err != nil {
		t.Fatal(err)
	}

	for number := range old.leaves {
		if _, err := s.leafBytes(1, number, nil); !errors.Is(err, block.ErrLeafGone) {
			t.Errorf("leaf %d of a generation before gave %v", number, err)
		}
	}

	for _, leaf := range cut.Publication.Leaves {
		if _, err := s.leafBytes(1, leaf.Number, nil); err != nil {
			t.Error(err)
		}
	}

	holds(t, s, other)
}

// Rows that a revert removes are deleted with all of their parts, and dead leaves are
// deleted too.
func TestCommitDeletesWhatIsGone(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(12, 1)
	first := g.commit(t, s, 40, true)
	var dead []uint64
	for number := range first.leaves {
		dead = append(dead, number)
	}

	cut := g.cut(1, true)
	cut.Publication.First, cut.Publication.Dead = false, dead
	g.minutes.Truncate(3)
	st := *cut.State
	st.Minutes = g.minutes.Freeze()
	cut.State = &st
	cut.Changes.UndoPut = nil // they hold rows that are gone now
	ledger.Minutes.SetChanged(cut.Changes, nil)
	if err := s.Commit(cut); err != nil {
		t.Fatal(err)
	}

	for _, number := range dead {
		if _, err := s.leafBytes(1, number, nil); !errors.Is(err, block.ErrLeafGone) {
			t.Errorf("dead leaf %d gave %v", number, err)
		}
	}
	for row := range first.st.Minutes.Len() {
		for part := range ringParts {
			_, there, err := s.get(rowKey(1, "minutes", row, part), nil)
			if there != (row < 3) || err != nil {
				t.Errorf("part %d of row %d is there: %v, %v", part, row, there, err)
			}
		}
	}
}

// While a chain catches up, its last generation is not the one of its State.
func TestGenerationOfAnotherBlockIsNotCurrent(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(13, 1)
	f := func(publish, want bool) {
		t.Helper()
		g.commit(t, s, 5, publish)
		r, err := s.Restore(1)
		if err != nil || r.Current() != want {
			t.Errorf("published %v: current %v, %v; want %v", publish, r.Current(), err, want)
		}
	}

	f(false, false)
	f(true, true)
	f(false, false)
	f(false, false)
	f(true, true)
}

func TestDropChainLeavesTheOthers(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	defer func() { closeTest(t, s) }()

	var kept []*snapshot
	for _, chain := range []market.ChainID{1, 255, 256, 42161, 1 << 60} {
		kept = append(kept, newRig(4, chain).commit(t, s, 20, true))
	}

	chains, err := s.Chains()
	if err != nil || !slices.Equal(chains, []market.ChainID{1, 255, 256, 42161, 1 << 60}) {
		t.Errorf("chains are %d, %v", chains, err)
	}

	for _, gone := range []int{2, 0} {
		if err := s.DropChain(kept[gone].st.Chain); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Restore(kept[gone].st.Chain); r != nil || err != nil {
			t.Errorf("dropped chain restored %v, %v", r, err)
		}
		kept = slices.Delete(kept, gone, gone+1)
		for _, p := range kept {
			holds(t, s, p)
		}
	}

	// A chain that was dropped on purpose has lost nothing, also after a restart.
	closeTest(t, s)
	s = openTest(t, fs)
	for _, chain := range chains {
		if r := s.Rollback(chain); r != nil {
			t.Errorf("after a drop: %s", r)
		}
	}

	again := newRig(5, 1)
	for range 3 {
		holds(t, s, again.commit(t, s, 10, true))
	}
}
