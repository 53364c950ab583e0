package rankings_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// naiveChanges compares two states row by row, found by id.
func naiveChanges(was, is *market.State) (lines []string) {
	byID := func(st *market.State) map[uint64]*market.Position {
		rows := map[uint64]*market.Position{}
		for i := range st.Positions.Len() {
			rows[st.Positions.At(i).ID] = st.Positions.At(i)
		}
		return rows
	}
	inRange := func(st *market.State, p *market.Position) bool {
		tick := st.Pools.At(p.Pool).Tick
		return p.TickLower <= tick && tick < p.TickUpper
	}

	old, now := byID(was), byID(is)
	add := func(id uint64, kind rankings.ChangeKind, before, after *market.Position) {
		owner := *is.Owners.At(after.Owner)
		if before == after {
			owner = *was.Owners.At(after.Owner)
		}
		first := owner
		if before != nil {
			first = *was.Owners.At(before.Owner)
		}
		lines = append(lines, fmt.Sprintf("%d %s %s %s", id, kind, owner, first))
	}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		if now[id] == nil {
			add(id, rankings.Closed, old[id], old[id])
		}
	}

	for _, id := range slices.Sorted(maps.Keys(now)) {
		a, b := old[id], now[id]
		switch wasOpen := a != nil && a.IsOpen(); {
		case b.IsOpen() && !wasOpen:
			add(id, rankings.Opened, a, b)
		case !b.IsOpen() && (wasOpen || a == nil):
			add(id, rankings.Closed, a, b)
		default:
			if fmt.Sprint(*a) != fmt.Sprint(*b) || // unknown floats print alike
				*was.Owners.At(a.Owner) != *is.Owners.At(b.Owner) {
				add(id, rankings.Changed, a, b)
			}
			if b.IsOpen() && inRange(was, a) != inRange(is, b) {
				kind := rankings.LeftRange
				if inRange(is, b) {
					kind = rankings.EnteredRange
				}
				add(id, kind, a, b)
			}
		}
	}

	slices.Sort(lines)
	return lines
}

// TestChanges compares the changes of random generations with a comparison of all
// rows.
func TestChanges(t *testing.T) {
	w := newTestWorld(t, 500)
	seen, reverted := map[rankings.ChangeKind]int{}, 0
	for range 200 {
		was := w.view
		w.change()
		w.publish()

		got := w.view.ChangesSince(was, false, 7, func() {})
		if got.Since != was.Generation || got.At != 7 || got.Unknown {
			t.Fatalf("generation %d: changes since %d at %d, unknown: %v",
				w.view.Generation, got.Since, got.At, got.Unknown)
		}

		var lines []string
		for i := range got.Positions {
			c := &got.Positions[i]
			lines = append(lines, fmt.Sprintf("%d %s %s %s", c.ID, c.Kind, c.Owner, got.OwnerBefore(i)))
			seen[c.Kind]++
		}
		slices.Sort(lines)
		if want := naiveChanges(was.State, w.view.State); !slices.Equal(lines, want) {
			t.Fatalf("generation %d:\n%s\nwant\n%s", w.view.Generation, lines, want)
		}
		if _, there := w.view.Position(was.State.Positions.At(was.State.Positions.Len() - 1).ID); there == got.Reverted {
			t.Fatalf("generation %d: reverted is %v", w.view.Generation, got.Reverted)
		} else if !there {
			reverted++
		}
	}

	if len(seen) != 5 || reverted == 0 {
		t.Fatalf("the generations have %v, %d of them after a reorg; want all five kinds", seen, reverted)
	}
}

// TestPoolChanges checks which pools count as changed.
func TestPoolChanges(t *testing.T) {
	w := newTestWorld(t, 100)
	f := func(want string, change func()) {
		t.Helper()
		was := w.view
		change()
		w.publish()
		c := w.view.ChangesSince(was, false, 0, func() {})
		got := ""
		for _, p := range c.Pools {
			i, there := w.view.Pool(p.ID)
			if got += fmt.Sprint(" ", i, " ", p.Kind); !there {
				got += " and gone"
			}
		}
		if got != want || c.Reverted != strings.Contains(want, "gone") {
			t.Fatalf("got%s; want%s; reverted: %v", got, want, c.Reverted)
		}
	}

	n := w.pools.Len()
	f("", func() {})
	f("", func() { w.prices.Mut(1).Usd *= 2 })
	f("", func() {
		p := w.pools.Mut(1)
		p.Held[0], p.Others, p.LastHour = 7, 9, 3
	})
	f(" 2 changed", func() { w.pools.Mut(2).Swaps++ })
	f(" 1 changed 3 changed", func() { w.pools.Mut(3).Holders++; w.pools.Mut(1).LiquidityChanges++ })
	f(fmt.Sprintf(" 0 changed %d opened", n), func() { w.pools.Mut(0).FeeGrowthGlobal0X128[1]++; w.addPool() })

	// A reorganisation gives the row of a pool to another one, or takes it away.
	f(" 0 changed and gone 4 opened", func() { w.pools.Mut(4).ID[0] ^= 1 })
	f(" 0 changed and gone", func() { w.pools.Truncate(n); w.stats.Truncate(n) })
}

// TestSmallChanges: each thing that an event writes to a position is a change, also
// when nothing else is another, and nothing else is.
func TestSmallChanges(t *testing.T) {
	w := newTestWorld(t, 100)
	f := func(want int, change func(p *market.Position)) {
		t.Helper()
		was := w.view
		change(w.positions.Mut(7))
		w.publish()
		c := w.view.ChangesSince(was, false, 0, func() {})
		if len(c.Positions) != want || want > 0 && c.Positions[0].Kind != rankings.Changed {
			t.Errorf("got %v; want %d", c.Positions, want)
		}
	}
	add := func(x *clmath.U128) { x.Lo++ }

	w.reopen(7)
	p := w.positions.Mut(7)
	p.TickLower, p.TickUpper = -500, 500 // no pool's price is out of it
	w.publish()
	f(0, func(*market.Position) {})
	f(1, func(p *market.Position) { p.Entries++ })
	f(1, func(p *market.Position) { p.Owner++ })
	f(1, func(p *market.Position) { add(&p.LiquidityOrUsd) })
	f(1, func(p *market.Position) { p.Burned = true })
	f(1, func(p *market.Position) { p.MintedAt++ })
	f(1, func(p *market.Position) { p.ClosedAt++ })
	f(1, func(p *market.Position) { p.Pool++ })
	f(1, func(p *market.Position) { p.TickLower-- })
	f(1, func(p *market.Position) { p.TickUpper++ })
	f(1, func(p *market.Position) { p.FeeGrowthInside0LastX128[1]++ })
	f(1, func(p *market.Position) { p.FeeGrowthInside1LastX128[1]++ })
	f(1, func(p *market.Position) { add(&p.Deposited0) })
	f(1, func(p *market.Position) { add(&p.Deposited1) })
	f(1, func(p *market.Position) { add(&p.Withdrawn0) })
	f(1, func(p *market.Position) { add(&p.Withdrawn1) })
	f(1, func(p *market.Position) { add(&p.Collected0) })
	f(1, func(p *market.Position) { add(&p.Collected1) })
	f(1, func(p *market.Position) { p.GasWei.Lo++ })
	f(0, func(p *market.Position) { p.CloseNativeUsd++ })

	// A reorganisation gives the number of an owner or a pool to another one.
	w.owners.Append(market.Address{7})
	w.addPool()
	f(1, func(p *market.Position) { p.Owner, p.Pool = w.owners.Len()-1, w.pools.Len()-1 })
	f(1, func(p *market.Position) { w.owners.Mut(p.Owner)[1]++ })
	f(1, func(p *market.Position) { w.pools.Mut(p.Pool).ID[0] ^= 1 })
}

// TestChangedResults: a reorg may leave the events of a position as they were and change what
// they came to. Its row is one to ask for again.
func TestChangedResults(t *testing.T) {
	w := newTestWorld(t, 100)
	f := func(row uint32, change func(p *market.Position)) {
		t.Helper()
		was := w.view
		change(w.positions.Mut(row))
		w.publish()
		for _, reverted := range []bool{false, true} {
			c := w.view.ChangesSince(was, reverted, 0, func() {})
			if told := len(c.Positions) == 1 && c.Positions[0].ID == w.positions.At(row).ID; told != reverted {
				t.Errorf("reverted: %t; got %v", reverted, c.Positions)
			}
		}
	}

	w.reopen(7)
	w.publish()
	f(7, func(p *market.Position) { p.CostUsd++ })

	closed := uint32(0)
	for !w.positions.At(closed).Closed {
		closed++
	}
	f(closed, func(p *market.Position) { p.CostUsd = 1 })
	f(closed, func(p *market.Position) { p.CloseNativeUsd = 1 })
	f(closed, func(p *market.Position) { p.LiquidityOrUsd.Lo++ })
	f(closed, func(p *market.Position) { p.LiquidityOrUsd.Hi++ })
	f(closed, func(p *market.Position) { p.SecondsInside++ })
	f(closed, func(p *market.Position) { p.CloseAsOf[1]++ })
	f(closed, func(p *market.Position) { p.CloseMarkets[0]++ })
	f(closed, func(p *market.Position) { p.CloseSource[1] ^= 1 })
	f(closed, func(p *market.Position) { p.CloseReason[0] ^= 1 })
	f(closed, func(p *market.Position) { p.CloseCorroborated[1] = !p.CloseCorroborated[1] })
}

// TestChangesKeepNoView checks that changes, which the log has for minutes, do not keep
// the generations that they are between: the columns of each have all positions.
func TestChangesKeepNoView(t *testing.T) {
	w := newTestWorld(t, 100)
	var kept []*rankings.Changes
	var views []weak.Pointer[rankings.View]
	for range 5 {
		was := w.view
		views = append(views, weak.Make(was))
		w.change()
		w.publish()
		kept = append(kept, w.view.ChangesSince(was, false, 0, func() {}))
	}

	runtime.GC()
	for i, v := range views {
		if v.Value() != nil {
			t.Errorf("generation %d is kept, %d after it", v.Value().Generation, len(views)-i)
		}
	}
	runtime.KeepAlive(kept)
}

// TestUnknownChanges checks when the changes are not listed.
func TestUnknownChanges(t *testing.T) {
	w := newTestWorld(t, 100)
	if w.view.ChangesSince(nil, false, 0, func() {}) != nil {
		t.Error("the first generation has changes")
	}

	cold, err := rankings.Open(w.view.State, w.view.Generation, w.directory)
	if err != nil {
		t.Fatal(err)
	}
	if c := w.view.ChangesSince(cold, false, 0, func() {}); !c.Unknown {
		t.Error("changes since a view without columns are known")
	}

	was := w.view
	for range 70_000 {
		w.mint()
	}
	w.publish()
	if c := w.view.ChangesSince(was, false, 0, func() {}); !c.Unknown || c.Len() != 0 {
		t.Errorf("70000 changes: unknown is %v, %d are listed", c.Unknown, c.Len())
	}
}

// TestChangeLog checks what the board's log keeps.
func TestChangeLog(t *testing.T) {
	var board rankings.Board
	board.SetWindow(10 * time.Second)
	publish := func(chain market.ChainID, generation uint64, at int64, changes int) {
		v, _ := rankings.Build(nil, &market.State{Chain: chain}, generation)
		v.Changes = &rankings.Changes{
			Since: generation - 1, At: at, Positions: make([]rankings.PositionChange, changes),
		}
		board.Publish(v)
	}
	f := func(want string) {
		t.Helper()
		got := ""
		for _, s := range board.Load().Log.After(0) {
			got += fmt.Sprintf("%d=%d:%d ", s.Seq, s.Chain, s.Generation)
		}
		if got != want {
			t.Fatalf("the log has %s; want %s", got, want)
		}
	}

	f("")
	restored, _ := rankings.Build(nil, &market.State{Chain: 1}, 4)
	board.Publish(restored)
	f("")
	publish(1, 5, 1_000, 1)
	publish(2, 9, 2_000, 1)
	publish(1, 6, 11_000, 1)
	f("0=1:5 1=2:9 2=1:6 ")
	publish(2, 10, 11_001, 1)
	f("1=2:9 2=1:6 3=2:10 ")

	log := board.Load().Log
	if got := log.After(3); len(got) != 1 || got[0].Generation != 10 || log.Next() != 4 || len(log.After(4)) != 0 {
		t.Errorf("after 3 come %d steps, next is %d", len(got), log.Next())
	}
	if s := log.Find(1, 6); s == nil || s.Seq != 2 || log.Find(1, 5) != nil || log.Find(2, 6) != nil {
		t.Errorf("found %v for generation 6 of chain 1", s)
	}

	// Many changes push the older ones out, and the newest is kept.
	publish(1, 7, 11_002, 300_000)
	f("4=1:7 ")

	// Just as many as are kept.
	publish(2, 11, 11_003, 1<<17)
	publish(1, 8, 11_004, 1<<17)
	f("5=2:11 6=1:8 ")
	publish(2, 12, 11_005, 1)
	f("6=1:8 7=2:12 ")
}

// BenchmarkChanges is what a generation of a million positions takes to compare
// with the one before, beside building it; see BenchmarkBuild.
func BenchmarkChanges(b *testing.B) {
	w := bench()
	was := w.views[0]
	for range w.pools.Len() / 100 {
		w.moveTo(w.Uint32N(w.pools.Len()), int32(w.IntN(400))-200)
	}
	for range 1000 {
		w.positions.Mut(w.Uint32N(w.positions.Len())).Collected0 = clmath.U128{Lo: w.Uint64()}
	}
	w.now += 12
	st := w.state()
	is, _ := rankings.Build(was, st, 2)

	b.Run("build", func(b *testing.B) {
		loop(b, func() { rankings.Build(was, st, 2) })
	})
	b.Run("changes", func(b *testing.B) {
		loop(b, func() {
			b.ReportMetric(float64(is.ChangesSince(was, false, 0, func() {}).Len()), "changes")
		})
	})
}
