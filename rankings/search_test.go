package rankings_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// ask finds a page of a search in one way; total is -1 if it stays unknown.
type ask func(s *rankings.Search, leaves rankings.LeafReader, r *rand.Rand, offset, limit uint64) (
	page rankings.Page, total int, err error)

var ways = map[string]ask{"walk": walk, "count": count, "select": selected, "again": again}

func walk(s *rankings.Search, leaves rankings.LeafReader, r *rand.Rand, offset, limit uint64) (
	page rankings.Page, total int, err error) {
	w := s.Walk(offset, limit)
	for done := false; !done; {
		if done, err = w.Step(leaves, 1+r.IntN(300)); err != nil {
			return page, 0, err
		}
	}
	total = -1
	if n, known := s.Total(); known {
		total = int(n)
	}
	return w.Page(), total, nil
}

func count(s *rankings.Search, leaves rankings.LeafReader, r *rand.Rand, offset, limit uint64) (
	page rankings.Page, total int, err error) {
	limitRows := uint64(r.IntN(400))
	c := s.Count(limitRows)
	for !c.Step(1 + r.IntN(500)) {
	}

	page, total, err = walk(c.Search(), leaves, r, offset, limit)
	switch {
	case total < 0 && c.Rows() != limitRows+1:
		err = fmt.Errorf("count of %d rows gave no total; its limit is %d", c.Rows(), limitRows)
	case total >= 0 && c.Rows() != min(uint64(total), limitRows+1):
		err = fmt.Errorf("counted %d; total is %d, limit %d", c.Rows(), total, limitRows)
	}
	return page, total, err
}

func selected(s *rankings.Search, leaves rankings.LeafReader, r *rand.Rand, offset, limit uint64) (
	page rankings.Page, total int, err error) {
	sel := s.Select()
	for done := false; !done; {
		if done, err = sel.Step(leaves, 1+r.IntN(5000)); err != nil {
			return page, 0, err
		}
	}
	if _, known := sel.Search().Total(); !known {
		return page, 0, errors.New("a selection does not know its total")
	}
	return walk(sel.Search(), leaves, r, offset, limit)
}

// again first walks to other pages, each walk on the search that the one before
// returned.
func again(s *rankings.Search, leaves rankings.LeafReader, r *rand.Rand, offset, limit uint64) (
	page rankings.Page, total int, err error) {
	if r.IntN(2) == 0 {
		c := s.Count(400)
		for !c.Step(1 + r.IntN(500)) {
		}
		s = c.Search()
	}

	for range r.IntN(4) {
		w := s.Walk(r.Uint64N(min(2*offset, 3000)+1), 1+r.Uint64N(100))
		for done := false; !done; {
			if done, err = w.Step(leaves, 1+r.IntN(300)); err != nil {
				return page, 0, err
			}
		}
		s = w.Search()
	}

	return walk(s, leaves, r, offset, limit)
}

// check compares a page with the whole expected order.
func check(page rankings.Page, total int, want []answer, offset, limit uint64) error {
	if total >= 0 && total != len(want) {
		return fmt.Errorf("total is %d; want %d", total, len(want))
	}
	from := min(offset, uint64(len(want)))
	to := min(from+limit, uint64(len(want)))
	if uint64(len(page.Rows)) != to-from {
		return fmt.Errorf("%d rows; want %d", len(page.Rows), to-from)
	}

	for i, row := range page.Rows {
		if got := (answer{row.View.State.Chain, row.Index}); got != want[from+uint64(i)] {
			return fmt.Errorf("row %d is %v; want %v", i, got, want[from+uint64(i)])
		}
		if row.Rank != offset+uint64(i)+1 {
			return fmt.Errorf("row %d has rank %d", i, row.Rank)
		}
	}

	if page.HasMore != (to < uint64(len(want))) {
		return fmt.Errorf("hasMore is %v", page.HasMore)
	}
	return nil
}

// table is the views of three chains, some of them without columns, and the
// model of the same states.
type table struct {
	*rand.Rand
	shelf     *shelf
	views     []*rankings.View
	model     *model
	positions [8][]position
	pools     [5][]pool
}

func newTable(r *rand.Rand, worlds []*world, cold func(*world) bool) *table {
	t := &table{Rand: r, shelf: worlds[0].shelf}
	var states []*market.State
	for _, w := range worlds {
		v := w.view
		if cold(w) {
			var err error
			if v, err = rankings.Open(chilled(v.State), v.Generation, w.directory); err != nil {
				panic(err)
			}
		}
		t.views, states = append(t.views, v), append(states, v.State)
	}

	t.model = newModel(states)
	for i := range t.positions {
		t.positions[i] = t.model.sortPositions(rankings.PositionSort(i))
	}

	for i := range t.pools {
		t.pools[i] = t.model.sortPools(rankings.PoolSort(i))
	}
	return t
}

func (t *table) askPosition(how ask) error {
	q := randomPositionQuestion(t)
	s, err := rankings.SearchPositions(t.of(q.Chain), &q)
	if errors.Is(err, rankings.ErrWarming) {
		return t.excuse(q.Range != 0 || q.Owner != nil || q.Pool != nil || q.ID != nil || q.NoSuchID ||
			q.MinValueUsd > 0 || q.Key.IsSet() || q.MinPoolTVLUsd != 1000 || q.IncludeRisky ||
			q.Sort == rankings.ByUnderlyingValue && q.Status != rankings.Active)
	}

	page, total, err := how(s, t.shelf, t.Rand, q.Offset(), q.Limit)
	if err == nil {
		err = check(page, total, filterPositions(t.positions[q.Sort], &q), q.Offset(), q.Limit)
	}

	if err != nil {
		return fmt.Errorf("%+v: %w", q, err)
	}
	return nil
}

func (t *table) askPool(how ask) error {
	q := randomPoolQuestion(t)
	s, err := rankings.SearchPools(t.of(q.Chain), &q)
	if errors.Is(err, rankings.ErrWarming) {
		return t.excuse(q.Search != "" || q.MinTVLUsd > 0 || q.Key.IsSet())
	}
	page, total, err := how(s, t.shelf, t.Rand, q.Offset(), q.Limit)
	if err == nil {
		err = check(page, total, filterPools(t.pools[q.Sort], &q), q.Offset(), q.Limit)
	}

	if err != nil {
		return fmt.Errorf("%+v: %w", q, err)
	}
	return nil
}

// excuse accepts ErrWarming where a filter needs columns and a view has none.
func (t *table) excuse(needs bool) error {
	for _, v := range t.views {
		if needs && !v.Warm() {
			return nil
		}
	}
	return rankings.ErrWarming
}

func (t *table) of(chain market.ChainID) (views []*rankings.View) {
	for _, v := range t.views {
		if chain == 0 || v.State.Chain == chain {
			views = append(views, v)
		}
	}
	return views
}

// TestModel asks random questions about random corpora, answers each in one of
// the four ways, and compares with the model.
func TestModel(t *testing.T) {
	asked, seeds := 0, uint64(12)
	if testing.Short() {
		seeds = 4
	}

	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		positions := []int{0, 1, 40, 400, 3000}[seed%5]
		s := newShelf()
		var worlds []*world
		for _, chain := range []market.ChainID{43114, 1, 42161} {
			worlds = append(worlds, newWorld(chain, seed, 1+r.IntN(30)*len(worlds), positions, s))
		}
		for round := range 5 {
			for _, w := range worlds {
				w.publish()
			}
			table := newTable(r, worlds, func(w *world) bool {
				return round == 4 || round == 3 && w.chain == 1
			})
			for name, how := range ways {
				for range 30 {
					asked += 2
					if err := errors.Join(table.askPosition(how), table.askPool(how)); err != nil {
						t.Fatalf("seed %d, round %d, %s: %v", seed, round, name, err)
					}
				}
			}
			for _, w := range worlds {
				w.change()
			}
		}
	}

	if asked < 10_000 && !testing.Short() {
		t.Fatalf("asked %d questions; want at least 10000", asked)
	}
}

// losing is a shelf whose leaves are gone after some reads.
type losing struct {
	*shelf
	left int
}

func (l *losing) Leaf(chain market.ChainID, number uint64) ([]uint32, error) {
	if l.left--; l.left < 0 {
		return nil, block.ErrLeafGone
	}
	return l.shelf.Leaf(chain, number)
}

// TestLostLeaves: whichever leaf of a page deep in three chains cannot be read, the page is an
// error, with a filter and without.
func TestLostLeaves(t *testing.T) {
	s := newShelf()
	var views []*rankings.View
	for _, chain := range []market.ChainID{43114, 1, 42161} {
		w := newWorld(chain, 3, 20, 3000, s)
		w.publish()
		views = append(views, w.view)
	}

	for _, q := range []rankings.PositionQuestion{
		{Sort: rankings.ByPnl, IncludeRisky: true}, {Sort: rankings.ByAPR}, {Sort: rankings.ByAge, Range: rankings.InRange},
	} {
		for left := 0; ; left++ {
			search, err := rankings.SearchPositions(views, &q)
			if err != nil {
				t.Fatal(err)
			}
			leaves := &losing{s, left}
			page, err := search.Page(leaves, 200, 20)
			if err == nil && leaves.left >= 0 {
				if left < 3 || len(page.Rows) != 20 {
					t.Errorf("%+v: %d rows after %d leaves; want to read more", q, len(page.Rows), left)
				}
				break
			}
			if !errors.Is(err, block.ErrLeafGone) {
				t.Fatalf("%+v: without leaf %d: %v", q, left+1, err)
			}
		}
	}
}

// TestBudgets: a step reads about as many rows as it may, and gets on however few these are.
// The question is one that bitmaps answer: 64 rows cost one more than match.
func TestBudgets(t *testing.T) {
	w := newWorld(1, 5, 20, 900, newShelf())
	w.publish()
	q := rankings.DefaultPositionQuestion()
	q.Sort, q.Range, q.IncludeRisky, q.MinPoolTVLUsd = rankings.ByAge, rankings.InRange, true, 0
	s, err := rankings.SearchPositions([]*rankings.View{w.view}, &q)
	if err != nil {
		t.Fatal(err)
	}
	all := s.Count(1000)
	if s.Unread() != 900 || all.Step(0) || all.Rows() != 0 || !all.Step(10_000) {
		t.Fatalf("%d rows are to be read; a step without a budget counts %d", s.Unread(), all.Rows())
	}
	total, words := int(all.Rows()), (900+63)/64
	if total < 100 {
		t.Fatalf("%d rows match; want more", total)
	}

	f := func(name string, budget, least, most int, step func(budget int) (bool, error)) {
		t.Helper()
		for steps := 1; ; steps++ {
			done, err := step(budget)
			switch {
			case err != nil:
				t.Fatal(err)
			case done && steps < least, !done && steps >= most:
				t.Errorf("%s: %d steps of %d, done %t; want %d to %d", name, steps, budget, done, least, most)
				return
			case done:
				return
			}
		}
	}
	for _, budget := range []int{1, 2, 7, 64, 200, 10_000} {
		reads := words + total // rows that match are not placed
		c := s.Count(1000)
		f("count", budget, reads/(budget+64), reads/budget+2, func(b int) (bool, error) { return c.Step(b), nil })
		if n, known := c.Search().Total(); !known || n != uint64(total) || c.Rows() != n {
			t.Errorf("steps of %d count %d rows; want %d", budget, n, total)
		}

		open := int(w.open)
		walk := s.Walk(uint64(total), 1)
		f("walk", budget, open/budget, open/budget+2, func(b int) (bool, error) { return walk.Step(w.shelf, b) })

		sel, before := s.Select(), w.shelf.reads
		f("selection", budget, (words+total)/(budget+64), words+total+2, func(b int) (bool, error) { return sel.Step(w.shelf, b) })
		if leaves := w.shelf.reads - before; leaves == 0 || budget == 1 && leaves > open/256+1 {
			t.Errorf("a selection reads %d leaves of %d rows", leaves, open)
		}
	}

	limit := func(limit, rows uint64, known bool) {
		t.Helper()
		c := s.Count(limit)
		for !c.Step(50) {
		}
		if _, ok := c.Search().Total(); ok != known || c.Rows() != rows {
			t.Errorf("up to %d: %d rows, the total is known: %t; want %d, %t", limit, c.Rows(), ok, rows, known)
		}
	}
	limit(uint64(total), uint64(total), true)
	limit(uint64(total)-1, uint64(total), false)
	limit(uint64(total)-70, uint64(total)-69, false)
	limit(0, 1, false)
}

// TestTiesOverLeaves: rows of the same sort value fill several leaves. A search that was counted
// finds every page of them, as one that reads from the front does.
func TestTiesOverLeaves(t *testing.T) {
	w := newTestWorld(t, 9000)
	if diff, err := rankings.LeafDiff(w.view, w.shelf); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	for by := range rankings.PositionSort(8) {
		c, all := countInRange(t, w, by)
		if n, known := c.Search().Total(); !known || int(n) != len(all) || n < 500 {
			t.Fatalf("sort %d: %d rows are counted, %t; want %d", by, n, known, len(all))
		}

		for offset := 0; offset < len(all); offset += 97 {
			page, err := c.Search().Page(w.shelf, uint64(offset), 3)
			want := all[offset:min(offset+3, len(all))]
			if err != nil || !slices.Equal(page.Rows, want) {
				t.Fatalf("sort %d, from row %d on: %+v, %v; want %+v", by, offset, page.Rows, err, want)
			}
		}
	}
}

// countInRange counts all positions in range in a sort order. It returns the count, which is
// done, and the rows, read from the front.
func countInRange(
	t *testing.T, w *world, by rankings.PositionSort,
) (c *rankings.Count, all []rankings.Row) {
	t.Helper()
	q := rankings.DefaultPositionQuestion()
	q.Sort, q.Status, q.Range, q.MinPoolTVLUsd = by, rankings.AnyStatus, rankings.InRange, 0
	s, err := rankings.SearchPositions([]*rankings.View{w.view}, &q)
	if err != nil {
		t.Fatal(err)
	}
	page, err := s.Page(w.shelf, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}

	c = s.Count(10_000)
	for !c.Step(5000) {
	}
	return c, page.Rows
}
