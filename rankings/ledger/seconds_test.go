package ledger

import (
	"encoding/binary"
	"math/big"
	"testing"

	"tidemark/rankings/market"
)

// clockModel counts the seconds of positions with no notion of seconds inside or
// outside: from block to block it asks of every open position whether the tick in
// which its pool ended the block before is in its range. It knows events only.
type clockModel struct {
	time      int64
	ticks     map[market.PoolID]int32
	positions map[uint64]*clockRow
}

type clockRow struct {
	pool          market.PoolID
	lower, upper  int32
	liquidity     big.Int
	inRange, open int64
}

func newClockModel() *clockModel {
	return &clockModel{
		ticks: make(map[market.PoolID]int32), positions: make(map[uint64]*clockRow),
	}
}

func (m *clockModel) span(s *market.Span) {
	for i := range s.Blocks {
		m.pass(s.Blocks[i].Time)
		for _, log := range s.Blocks[i].Logs {
			m.event(log.Event)
		}
	}
	m.pass(s.Time)
}

// pass counts the time from the last block until another.
func (m *clockModel) pass(time int64) {
	for _, p := range m.positions {
		if p.liquidity.Sign() == 0 {
			continue
		}
		p.open += time - m.time
		if tick := m.ticks[p.pool]; p.lower <= tick && tick < p.upper {
			p.inRange += time - m.time
		}
	}
	m.time = time
}

func (m *clockModel) event(e market.Event) {
	switch e := e.(type) {
	case market.Initialize:
		m.ticks[e.Pool] = e.Tick
	case market.Swap:
		m.ticks[e.Pool] = e.Tick
	case market.ModifyLiquidity:
		if e.Sender != testManager {
			return
		}
		id := binary.BigEndian.Uint64(e.Salt[24:])
		p := m.positions[id]
		if p == nil {
			p = &clockRow{pool: e.Pool, lower: e.TickLower, upper: e.TickUpper}
			m.positions[id] = p
		}

		delta, _ := new(big.Int).SetString(signed(e.LiquidityDelta), 10)
		p.liquidity.Add(&p.liquidity, delta)
	}
}

// compare checks the seconds of every position, and returns how many were in
// range for some of their time, how many were closed, and how many opened again.
func (m *clockModel) compare(t *testing.T, st *market.State) (parts, closed, again int) {
	t.Helper()
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		want := m.positions[p.ID]
		inRange, open, ok := st.SecondsInRange(p)
		if !ok || int64(inRange) != want.inRange || int64(open) != want.open {
			t.Fatalf("position %d is in range for %d of %d seconds, %t; want %d of %d",
				p.ID, inRange, open, ok, want.inRange, want.open)
		}

		if inRange > 0 && inRange < open {
			parts++
		}
		if !p.IsOpen() {
			closed++
		}
		if p.SecondsClosed > 0 {
			again++
		}
	}
	return parts, closed, again
}

// TestSecondsWrap moves a whole market to where the clock passes 2^32.
func TestSecondsWrap(t *testing.T) {
	w := newWorld(21)
	w.st.Head.Time = 1<<32 - 5*market.Day
	m := newClockModel()
	m.time = w.st.Head.Time

	for range 120 {
		s := w.step()
		if err := s.apply(w.Ledger); err != nil {
			t.Fatal(err)
		}
		m.span(&s.span)
	}

	if w.st.Head.Time <= 1<<32 {
		t.Fatalf("the market ended at %d, before 2^32", w.st.Head.Time)
	}
	m.compare(t, w.Freeze())
}

// TestSecondsOfAnOldStore continues from a state without seconds, as earlier formats
// of the store have it: what was minted before stays unknown, also if it is closed
// and opened again, and what is minted later is exact.
func TestSecondsOfAnOldStore(t *testing.T) {
	w, m := newWorld(5), newClockModel()
	apply := func(steps int) {
		for range steps {
			s := w.step()
			if err := s.apply(w.Ledger); err != nil {
				t.Fatal(err)
			}
			m.span(&s.span)
		}
	}
	apply(80)
	w.Ledger = From(w.cfg, withoutSeconds(w.Freeze()), nil, func() {})
	if want := market.OldestHour(w.day)/24 + 1; w.st.DaysFrom != want {
		t.Errorf("days are kept from %d; want %d", w.st.DaysFrom, want)
	}
	clean(t, w.Freeze())

	old := w.st.Positions.Len()
	apply(150)
	st, later, closed := w.Freeze(), 0, 0
	clean(t, st)
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		inRange, open, ok := st.SecondsInRange(p)
		if i < old {
			if ok {
				t.Errorf("position %d has %d of %d seconds; they are not known", p.ID, inRange, open)
			}
			if !p.IsOpen() {
				closed++
			}
			continue
		}

		want := m.positions[p.ID]
		if !ok || int64(inRange) != want.inRange || int64(open) != want.open {
			t.Errorf("position %d is in range for %d of %d seconds, %t; want %d of %d",
				p.ID, inRange, open, ok, want.inRange, want.open)
		}
		later++
	}
	if later < 20 || closed == 0 {
		t.Errorf("%d minted later and %d of the old ones closed; want more", later, closed)
	}
}

// withoutSeconds returns a state as a store of format 4 has it.
func withoutSeconds(st *market.State) *market.State {
	old := *st
	positions, ticks := market.Thaw(st.Positions), market.Thaw(st.Ticks)
	for i := range positions.Len() {
		p := positions.Mut(i)
		p.Timed, p.SecondsInside, p.SecondsClosed = false, 0, 0
	}
	for i := range ticks.Len() {
		ticks.Mut(i).SecondsOutside = 0
	}
	old.Positions, old.Ticks, old.DaysFrom = positions.Freeze(), ticks.Freeze(), 0
	return &old
}
