package rankings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// chilled returns the state as after a restart, with no record in memory.
func chilled(st *market.State) *market.State {
	cold := *st
	cold.Tokens, cold.Owners, cold.Pools = chill(st.Tokens), chill(st.Owners), chill(st.Pools)
	cold.Ticks, cold.Positions = chill(st.Ticks), chill(st.Positions)
	cold.Prices, cold.Stats = chill(st.Prices), chill(st.Stats)
	return &cold
}

func chill[T any](f market.Frozen[T]) market.Frozen[T] {
	return market.Cold(f.Len(), func(first uint32, rows []T) {
		for i := first; i < min(first+uint32(len(rows)), f.Len()); i++ {
			rows[i-first] = *f.At(i)
		}
	})
}

// everything reads all rows of a view under a sort.
func everything(v *rankings.View, leaves rankings.LeafReader, by rankings.PositionSort) (
	[]uint32, error,
) {
	q := rankings.PositionQuestion{Sort: by, Status: rankings.AnyStatus, IncludeRisky: true}
	s, err := rankings.SearchPositions([]*rankings.View{v}, &q)
	if err != nil {
		return nil, err
	}
	page, err := s.Page(leaves, 0, 1<<40)
	rows := []uint32{}
	for _, row := range page.Rows {
		rows = append(rows, row.Index)
	}

	return rows, err
}

func newTestWorld(t *testing.T, positions int) *world {
	t.Helper()
	w := newWorld(1, 99, 20, positions, newShelf())
	w.publish()
	return w
}

// TestEveryRow asks for every position by its id under every sort, so that
// every fence of every directory is looked at from both sides.
func TestEveryRow(t *testing.T) {
	positions := 5000
	if testing.Short() {
		positions = 500
	}

	w := newTestWorld(t, positions)
	for by := range rankings.PositionSort(8) {
		rows, err := everything(w.view, w.shelf, by)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			id := w.view.State.Positions.At(row).ID
			q := rankings.PositionQuestion{Sort: by, ID: &id, Status: rankings.AnyStatus}
			q.IncludeRisky = true
			s, err := rankings.SearchPositions([]*rankings.View{w.view}, &q)
			if err != nil {
				t.Fatal(err)
			}
			page, err := s.Page(w.shelf, 0, 1)
			if err != nil || len(page.Rows) != 1 || page.Rows[0].Index != row || page.HasMore {
				t.Fatalf("%v: position %d is row %d: got %+v, %v", by, id, row, page, err)
			}
		}
	}
}

// TestLeavesLiveTwoGenerations checks which leaves the store holds: those of the
// last two generations and of a pinned one, and no others.
func TestLeavesLiveTwoGenerations(t *testing.T) {
	w := newTestWorld(t, 9000)
	w.change()
	w.publish() // the leaves of the generation before stay, as bases
	first := w.view
	want, err := everything(first, w.shelf, rankings.ByPnl)
	if err != nil {
		t.Fatal(err)
	}

	read := func(v *rankings.View) error {
		rows, err := everything(v, w.shelf, rankings.ByPnl)
		if err == nil && !slices.Equal(rows, want) {
			return errors.New("other rows than before")
		}
		return err
	}

	first.Pin()
	for range 4 {
		w.change()
		w.publish()
		if err := read(first); err != nil {
			t.Fatalf("pinned generation 2 at generation %d: %v", w.generation, err)
		}
	}

	first.Unpin()
	w.change()
	w.publish()
	if err := read(first); !errors.Is(err, block.ErrLeafGone) {
		t.Fatalf("generation 2, not pinned, at generation %d: got %v", w.generation, err)
	}

	before := w.view
	w.change()
	w.publish()
	used := usedLeaves(t, w.shelf, w.view, before)
	if len(used) != len(w.shelf.leaves) {
		t.Fatalf("the store holds %d leaves; two generations use %d", len(w.shelf.leaves), len(used))
	}
}

// TestPinKeepsItsLeaves checks that a pinned generation keeps the leaves that it
// reads, and none of those that came and went after it.
func TestPinKeepsItsLeaves(t *testing.T) {
	w := newTestWorld(t, 9000)
	var pinned []*rankings.View
	before := w.view
	for n := range 40 {
		if n == 3 || n == 11 {
			w.view.Pin()
			pinned = append(pinned, w.view)
		}
		before = w.view
		w.change()
		w.publish()
	}

	used := usedLeaves(t, w.shelf, append(pinned, before, w.view)...)
	if len(used) != len(w.shelf.leaves) {
		t.Fatalf("the store holds %d leaves; two generations and two pinned ones use %d",
			len(w.shelf.leaves), len(used))
	}
}

// usedLeaves reads everything of views and returns the leaves it took, and their bases.
func usedLeaves(t *testing.T, s *shelf, views ...*rankings.View) map[string]bool {
	used := &recorder{s, map[string]bool{}}
	for _, v := range views {
		for _, number := range rankings.Bases(v) {
			used.read[shelfKey(v.State.Chain, number)] = true
		}
		for by := range rankings.PositionSort(8) {
			if _, err := everything(v, used, by); err != nil {
				t.Fatal(err)
			}
		}

		for by := range rankings.PoolSort(5) {
			q := rankings.PoolQuestion{Sort: by, IncludeRisky: true}
			search, err := rankings.SearchPools([]*rankings.View{v}, &q)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := search.Page(used, 0, 1<<40); err != nil {
				t.Fatal(err)
			}
		}
	}
	return used.read
}

type recorder struct {
	*shelf
	read map[string]bool
}

func (r *recorder) Leaf(chain market.ChainID, number uint64) ([]uint32, error) {
	r.read[shelfKey(chain, number)] = true
	return r.shelf.Leaf(chain, number)
}

// TestSameStateWritesNoLeaf builds twice from one state, the second time on a
// view that was stored, opened cold and completed.
func TestSameStateWritesNoLeaf(t *testing.T) {
	w := newTestWorld(t, 9000)
	opened, err := rankings.Open(chilled(w.view.State), w.generation, w.directory)
	if err != nil {
		t.Fatal(err)
	}

	opened.Confirm(5)
	whole, err := rankings.Complete(opened, func() {})
	if err != nil || !whole.Warm() || opened.Warm() || whole.Confirmed() != 5 {
		t.Fatalf("%v; warm %v, %v; confirmed %d", err, whole.Warm(), opened.Warm(), whole.Confirmed())
	}
	if again, err := rankings.Complete(whole, func() {}); err != nil || again != whole {
		t.Fatalf("completed twice: %v", err)
	}

	for _, prev := range []*rankings.View{w.view, whole, opened} {
		_, p := rankings.Build(prev, w.state(), w.generation+1)
		if len(p.Leaves) != 0 || len(p.Dead) != 0 || p.First {
			t.Fatalf("%d new leaves, %d dead", len(p.Leaves), len(p.Dead))
		}
	}
}

// TestOpenRefusals opens directories that do not fit the state.
func TestOpenRefusals(t *testing.T) {
	w := newTestWorld(t, 2000)
	st := w.view.State
	f := func(want string, change func(d *block.Directory)) {
		t.Helper()
		d, err := block.DecodeDirectory(w.directory)
		if err != nil {
			t.Fatal(err)
		}
		change(d)
		v, err := rankings.Open(st, 1, d.Append(nil))
		if err == nil {
			_, err = rankings.Complete(v, func() {})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v; want %q", err, want)
		}
	}

	f("chain 7", func(d *block.Directory) { d.Chain = 7 })
	f("generation 9", func(d *block.Directory) { d.Generation = 9 })
	f("3 positions", func(d *block.Directory) { d.Positions = 3 })
	f("3 pools", func(d *block.Directory) { d.Pools = 3 })
	f("14 orders", func(d *block.Directory) { d.Orders = d.Orders[1:] })
	f("order 3 has", func(d *block.Directory) { d.Orders[3] = d.Orders[10] })
	f("order 2: it has 3 leaves; its records give 2", func(d *block.Directory) {
		o := &d.Orders[2] // has room for rows of unknown value
		o.Add(o.Keys[o.Leaves()-1], 0, 1, 1, 1, 0)
	})
	f("order 14 has row 4000", func(d *block.Directory) { d.Orders[14].First[0] = 4000 })
	f("order 3: leaf 0", func(d *block.Directory) { d.Orders[3].Hashes[0]++ })
	if _, err := rankings.Open(st, 1, w.directory[1:]); err == nil {
		t.Fatal("a cut directory opens")
	}
}

// TestColdValues: after a restart closed positions are ranked by value at once, unless a
// pool is quarantined: then that takes records.
func TestColdValues(t *testing.T) {
	w := newTestWorld(t, 300)
	f := func(want error, status rankings.Status) {
		t.Helper()
		v, err := rankings.Open(chilled(w.view.State), w.generation, w.directory)
		if err != nil {
			t.Fatal(err)
		}
		q := rankings.DefaultPositionQuestion()
		q.Sort, q.Status = rankings.ByUnderlyingValue, status
		if _, err := rankings.SearchPositions([]*rankings.View{v}, &q); !errors.Is(err, want) {
			t.Errorf("%s positions by value: got %v; want %v", status, err, want)
		}
	}

	f(nil, rankings.Active)
	f(nil, rankings.Inactive)
	f(nil, rankings.AnyStatus)
	w.pools.Mut(7).Quarantined = true
	w.publish()
	f(nil, rankings.Active)
	f(rankings.ErrWarming, rankings.Inactive)
	f(rankings.ErrWarming, rankings.AnyStatus)
}

// TestDamagedLeaf reads leaves that do not match the directory.
func TestDamagedLeaf(t *testing.T) {
	w := newTestWorld(t, 2000)
	other := newWorld(42161, 99, 20, 2000, w.shelf)
	other.publish()
	for key, b := range w.shelf.leaves {
		ids, err := block.DecodeLeaf(b, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ids {
			ids[i] = 1 << 30
		}
		w.shelf.leaves[key] = block.AppendLeaf(nil, ids)
	}

	read := func(want string) {
		t.Helper()
		_, err := everything(w.view, w.shelf, rankings.ByPnl)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v; want %q", err, want)
		}

		// A filter has its rows read one by one, or all of them at once.
		q := rankings.PositionQuestion{Sort: rankings.ByIDAscending, Range: rankings.InRange, IncludeRisky: true}
		s, err := rankings.SearchPositions([]*rankings.View{w.view, other.view}, &q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Page(w.shelf, 0, 20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a page of a filter: got %v; want %q", err, want)
		}
		if _, err := s.Select().Step(w.shelf, 1<<20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a selection: got %v; want %q", err, want)
		}

		// A page in the middle of two chains is sought.
		q.Range = rankings.AnyRange
		if s, err = rankings.SearchPositions([]*rankings.View{w.view, other.view}, &q); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Page(w.shelf, 300, 20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a page of two chains: got %v; want %q", err, want)
		}
	}

	read("it has row 1073741824; the table has 2000 rows")
	for key := range w.shelf.leaves {
		w.shelf.leaves[key] = block.AppendLeaf(nil, []uint32{1, 2})
	}
	read("the directory has")
}

// TestPause checks that a build pauses at least once a chunk.
func TestPause(t *testing.T) {
	w := newTestWorld(t, 9000)
	pauses := 0
	rankings.BuildPaced(w.view, w.state(), 2, nil, func() { pauses++ })
	if pauses < 9000/market.ChunkLen {
		t.Fatalf("%d pauses", pauses)
	}
}

// TestReusedIndexes swaps the rows of two owners and of two pools, as a reorg
// can.
func TestReusedIndexes(t *testing.T) {
	w := newTestWorld(t, 9000)
	a, b := w.owners.Mut(0), w.owners.Mut(1)
	*a, *b = *b, *a

	p, q := w.pools.Mut(0), w.pools.Mut(1)
	p.ID, q.ID = q.ID, p.ID
	w.publish()

	st := w.view.State
	f := func(q rankings.PositionQuestion, mine func(p *market.Position) bool) {
		t.Helper()
		q.Status, q.IncludeRisky = rankings.AnyStatus, true
		q.Sort = rankings.ByIDAscending
		s, err := rankings.SearchPositions([]*rankings.View{w.view}, &q)
		if err != nil {
			t.Fatal(err)
		}
		c := s.Count(1 << 40)
		for !c.Step(1000) {
		}
		want := uint64(0)
		for i := range st.Positions.Len() {
			if mine(st.Positions.At(i)) {
				want++
			}
		}
		if c.Rows() != want || want == 0 {
			t.Fatalf("%d rows; want %d", c.Rows(), want)
		}
	}

	for i := range uint32(2) {
		f(rankings.PositionQuestion{Owner: st.Owners.At(i)},
			func(p *market.Position) bool { return p.Owner == i })
		f(rankings.PositionQuestion{Pool: &st.Pools.At(i).ID},
			func(p *market.Position) bool { return p.Pool == i })
		if pool, found := w.view.Pool(st.Pools.At(i).ID); !found || pool != i {
			t.Fatalf("pool %d is found as %d, %v", i, pool, found)
		}
	}
}
