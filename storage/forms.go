package storage

import (
	"bytes"
	"fmt"
	"math"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// Three tables are stored in fewer bytes than their records, because swaps write
// them at every refresh.

// dayRow is a row of the table of days. If the series of the pool's days holds
// the same record, inSeries is true and only the key of that record is stored.
type dayRow struct {
	market.PoolDay
	inSeries bool
}

func codeDayRow(c *field.Coder, d *dayRow) {
	c.Flags("flags", &d.inSeries)
	if !d.inSeries {
		codeDay(c, &d.PoolDay)
		return
	}
	c.U32("pool", &d.Pool)
	c.U32("day", &d.Day)
	codeRunningHour(c, &d.PoolDay)
}

// dayForm stores only the key of a running day if this cut writes the same record
// to the series.
type dayForm struct{}

func (dayForm) write(t *rows[market.PoolDay], w *writer, cut *Cut, i uint32) {
	row := dayRow{PoolDay: *t.of(cut.State).At(i)}
	d := w.newestDays(cut)[row.Pool]
	row.inSeries = d != nil && d.Day == row.Day && w.sameDay(d, &row.PoolDay)
	putRecord(w, t.key(w.key[:0], w.chain, i, 0), &row, codeDayRow)
}

func (dayForm) read(
	_ *rows[market.PoolDay], in daySource, c *field.Coder, _ int, day *market.PoolDay,
) (current bool, err error) {
	var row dayRow
	codeDayRow(c, &row)
	*day = row.PoolDay
	if err := c.Done(); err != nil || !row.inSeries {
		return true, err
	}
	if err := in.poolDay(day); err != nil {
		return true, fmt.Errorf("day %d of pool %d: %w", day.Day, day.Pool, err)
	}

	return true, nil
}

func (dayForm) current(*market.PoolDay) int { return 0 }

// newestDays returns, by pool, the newest day that the cut puts into the series
// and does not drop again.
func (w *writer) newestDays(cut *Cut) map[uint32]*market.PoolDay {
	if w.days != nil || cut.Changes == nil {
		return w.days
	}

	w.days = make(map[uint32]*market.PoolDay)
	for op := range cut.Changes.Ops.All() {
		d := ledger.PoolDays.Entry(&op)
		switch {
		case d == nil:
		case op.Drop:
			delete(w.days, d.Pool)
		default:
			w.days[d.Pool] = d
		}
	}
	return w.days
}

// sameDay compares encoded records, because NaN does not equal itself.
func (w *writer) sameDay(a, b *market.PoolDay) bool {
	w.c.Buf = w.c.Buf[:0]
	codePoolDay(&w.c, a)
	n := len(w.c.Buf)
	codePoolDay(&w.c, b)
	return bytes.Equal(w.c.Buf[:n], w.c.Buf[n:])
}

// The ring of a pool's minutes is stored in parts, of which a swap changes one.
const (
	ringParts = 4
	partSlots = market.MinuteSlots / ringParts
)

// ringPart is a part of a ring.
type ringPart struct {
	newest uint8 // slot of the ring's newest minute, plus one; 0: in another part
	minute [partSlots]uint32
	sqrt   [partSlots]float64
}

func ringPartOf(m *market.Minutes, part uint32) (r ringPart) {
	from := part * partSlots
	copy(r.minute[:], m.Minute[from:])
	copy(r.sqrt[:], m.Sqrt[from:])
	if m.Newest-from < partSlots {
		r.newest = uint8(m.Newest-from) + 1
	}
	return r
}

// copyTo copies the part into its ring.
func (r *ringPart) copyTo(m *market.Minutes, part uint32) {
	from := part * partSlots
	copy(m.Minute[from:], r.minute[:])
	copy(m.Sqrt[from:], r.sqrt[:])
	if r.newest != 0 {
		m.Newest = from + uint32(r.newest) - 1
	}
}

// codeRingPart stores a mask of the slots that have an entry, and those entries.
// A minute is stored as the difference to the one before.
func codeRingPart(c *field.Coder, r *ringPart) {
	var mask uint8
	for i, minute := range r.minute {
		if minute != 0 {
			mask |= 1 << i
		}
	}

	c.Small("newest", &r.newest, partSlots)
	c.Small("mask", &mask, 255)
	var minute int64
	for i := range r.minute {
		if mask>>i&1 == 0 {
			continue
		}
		later := int64(r.minute[i]) - minute
		c.I64("minute", &later)
		c.F64("sqrt", &r.sqrt[i])
		minute += later
		if c.Read && (minute <= 0 || minute > math.MaxUint32) {
			c.Fail("minute")
			return
		}
		r.minute[i] = uint32(minute)
	}
}

// ringForm stores every part of a ring under its own key. The part that holds
// the newest minute is the current one.
type ringForm struct{}

// write skips parts that equal those of the previous cut, if it is known.
func (ringForm) write(t *rows[market.Minutes], w *writer, cut *Cut, i uint32) {
	ring := cut.State.Minutes.At(i)
	for part := range uint32(ringParts) {
		r := ringPartOf(ring, part)
		if w.state != nil && i < w.state.Minutes.Len() && r == ringPartOf(w.state.Minutes.At(i), part) {
			continue
		}
		putRecord(w, t.key(w.key[:0], w.chain, i, int(part)), &r, codeRingPart)
	}
}

func (ringForm) read(
	_ *rows[market.Minutes], _ daySource, c *field.Coder, part int, ring *market.Minutes,
) (current bool, err error) {
	var r ringPart
	codeRingPart(c, &r)
	r.copyTo(ring, uint32(part))
	return r.newest != 0, c.Done()
}

func (ringForm) current(ring *market.Minutes) int { return int(ring.Newest / partSlots) }

// poolForm stores a pool as a whole when it is new. What changes of it afterwards is in the
// second part, and replaces what the first one has of it.
type poolForm struct{}

func (poolForm) write(t *rows[market.Pool], w *writer, cut *Cut, i uint32) {
	pool, stored := cut.State.Pools.At(i), i < w.last.Rows[t.index]
	same := stored && w.state != nil && i < w.state.Pools.Len() &&
		withoutChanges(w.state.Pools.At(i)) == withoutChanges(pool)
	if !same { // after a revert another pool can be in its place
		putRecord(w, t.key(w.key[:0], w.chain, i, 0), pool, codePool)
	}
	if stored {
		putRecord(w, t.key(w.key[:0], w.chain, i, 1), pool, codePoolState)
	}
}

// withoutChanges returns what never changes of a pool.
func withoutChanges(p *market.Pool) market.Pool {
	return market.Pool{
		ID: p.ID, Currency0: p.Currency0, Currency1: p.Currency1, Hooks: p.Hooks, Fee: p.Fee,
		TickSpacing: p.TickSpacing, CreatedAt: p.CreatedAt, CreatedBlock: p.CreatedBlock,
	}
}

func (poolForm) read(
	_ *rows[market.Pool], _ daySource, c *field.Coder, part int, pool *market.Pool,
) (current bool, err error) {
	if part > 0 {
		*pool = withoutChanges(pool)
		codePoolState(c, pool)
		return false, c.Done()
	}
	*pool = market.Pool{}
	codePool(c, pool)
	return true, c.Done()
}

func (poolForm) current(*market.Pool) int { return 0 }
