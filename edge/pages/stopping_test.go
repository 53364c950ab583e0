package pages

import (
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// crowd is a market of one pool and n open positions, whose ids begin with first.
func crowd(n int, first uint64) *market.State {
	var tokens market.Table[market.Token]
	var owners market.Table[market.Address]
	var pools market.Table[market.Pool]
	var ticks market.Table[market.Tick]
	var lists market.TickListTable
	var positions market.Table[market.Position]
	var prices market.Table[market.Price]
	var stats market.Table[market.PoolStats]
	for range 2 {
		tokens.Append(market.Token{Decimals: 18})
		prices.Append(market.Price{Usd: 1, OnlyPool: market.NoIndex, Source: market.SourcePool})
	}
	owners.Append(market.Address{1})
	pools.Append(market.Pool{
		Currency1: 1, TickSpacing: 60, LastHour: market.NoIndex, SqrtPriceX96: clmath.SqrtPriceAtTick(0),
	})
	stats.Append(market.PoolStats{})
	var refs []market.TickRef
	for slot, tick := range []int32{-60, 60} {
		ticks.Append(market.Tick{SqrtPriceX96: clmath.SqrtPriceAtTick(tick), Tick: tick})
		refs = append(refs, market.TickRef{Tick: tick, Slot: uint32(slot)})
	}
	lists.Append(refs...)

	for i := range uint64(n) {
		positions.Append(market.Position{
			ID: first + i, Overflow: market.NoIndex, TickLower: -60, TickUpper: 60, UpperSlot: 1,
			LiquidityOrUsd: clmath.U128{Lo: 1e18}, MintedAt: 1,
		})
	}
	return &market.State{
		Chain: 1, Head: market.Head{Number: first, Time: int64(first)}, Native: market.NoIndex,
		Tokens: tokens.Freeze(), Owners: owners.Freeze(), Pools: pools.Freeze(), Ticks: ticks.Freeze(),
		TickLists: lists.Freeze(),
		Positions: positions.Freeze(), Prices: prices.Freeze(), Stats: stats.Freeze(), OpenCount: uint32(n),
	}
}

// inRange searches a view by a filter that every position passes, and none by
// itself: the rows must be counted.
func inRange(t *testing.T, v *rankings.View) *rankings.Search {
	t.Helper()
	q := rankings.PositionQuestion{Sort: rankings.ByIDDescending, Limit: 20, Page: 1, Range: rankings.InRange, IncludeRisky: true}
	s, err := rankings.SearchPositions([]*rankings.View{v}, &q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// published are the leaves of one publication.
type published []block.NewLeaf

func (p published) Leaf(_ market.ChainID, number uint64) ([]uint32, error) {
	for _, l := range p {
		if l.Number == number {
			return block.DecodeLeaf(l.Bytes, nil, nil)
		}
	}
	return nil, block.ErrLeafGone
}

// TestStoppedJobs checks that a count and a selection end after a step when the
// server stops, and that they are complete, and later pages know it, when it does not.
func TestStoppedJobs(t *testing.T) {
	const rows = 3 * stepRows
	view, publication := rankings.Build(nil, crowd(rows, 1), 1)

	for _, stopping := range []bool{false, true} {
		j := newTestJobs()
		j.leaves = published(publication.Leaves)
		if stopping {
			close(j.stopping)
		}

		c := &count{done: make(chan struct{})}
		j.runCount(c, inRange(t, view), rows)
		if got := c.soFar.Load(); !isClosed(c.done) || (got < rows) != stopping || got > rows {
			t.Errorf("stopping is %t: a count found %d rows of %d", stopping, got, rows)
		}
		if total, known := c.search.Load().Total(); known == stopping || known && total != rows {
			t.Errorf("stopping is %t: later pages know of %d rows, %t; want %d of a count that ended", stopping, total, known, rows)
		}

		sel := &selection{views: []*rankings.View{view}, done: make(chan struct{})}
		view.Pin()
		j.selections.put("", sel, nil)
		j.runSelection("", sel, inRange(t, view))
		if _, kept := j.findSelection(""); !isClosed(sel.done) || kept == stopping || (sel.search == nil) != stopping {
			t.Errorf("stopping is %t: the selection is kept: %t, with a search: %t", stopping, kept, sel.search != nil)
		}
	}
}

// TestRefusedSelectionIsNotPinned checks that the generations of a selection that
// cannot start do not stay in the store.
func TestRefusedSelectionIsNotPinned(t *testing.T) {
	f := func(queued int64, started bool) {
		t.Helper()
		j := newTestJobs()
		j.queued.Store(queued)
		first, publication := rankings.Build(nil, crowd(10, 1), 1)
		j.leaves = published(publication.Leaves)
		if sel := j.startSelection("", []*rankings.View{first}, inRange(t, first)); (sel != nil) != started {
			t.Errorf("%d jobs wait: the selection was started: %t", queued, sel != nil)
		}
		j.running.Wait()

		second, _ := rankings.Build(first, crowd(11, 100), 2)
		_, last := rankings.Build(second, crowd(12, 200), 3)
		if kept := len(last.Dead) == 0; kept != started {
			t.Errorf("%d jobs wait: the leaves of the generation are kept: %t", queued, kept)
		}
	}

	f(0, true)
	f(maxQueued, false)
}
