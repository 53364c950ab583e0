package storage

import (
	"bytes"
	"fmt"
	"math"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// Two tables are kept in fewer bytes than their records, because swaps write
// them at every refresh.

// dayRow is a row of the table of days. It is inSeries when the series of the
// pool's days holds the same record: then the row only names it.
type dayRow struct {
	market.PoolDay
	inSeries bool
}

func codeDayRow(c *coder, d *dayRow) {
	c.flags("flags", &d.inSeries)
	if !d.inSeries {
		codeDay(c, &d.PoolDay)
		return
	}
	c.u32("pool", &d.Pool)
	c.u32("day", &d.Day)
}

// dayForm keeps a running day by name where this cut puts the same record into
// the series.
type dayForm struct{}

func (dayForm) write(t *rows[market.PoolDay], w *writer, cut *Cut, i uint32) {
	row := dayRow{PoolDay: *t.of(cut.State).At(i)}
	d := w.newestDays(cut)[row.Pool]
	row.inSeries = d != nil && d.Day == row.Day && w.sameDay(d, &row.PoolDay)
	put(w, t.key(w.key[:0], w.chain, i, 0), &row, codeDayRow)
}

func (dayForm) read(
	_ *rows[market.PoolDay], in daySource, _ int, value []byte, day *market.PoolDay,
) (current bool, err error) {
	var row dayRow
	c := coder{buf: value, read: true}
	codeDayRow(&c, &row)
	*day = row.PoolDay
	if err := c.done(); err != nil || !row.inSeries {
		return true, err
	}
	if err := in.poolDay(day); err != nil {
		return true, fmt.Errorf("day %d of pool %d: %w", day.Day, day.Pool, err)
	}

	return true, nil
}

func (dayForm) current(*market.PoolDay) int { return 0 }

// newestDays are the days that the cut puts into the series and does not drop
// again, by pool.
func (w *writer) newestDays(cut *Cut) map[uint32]*market.PoolDay {
	if w.days != nil || cut.Changes == nil {
		return w.days
	}

	w.days = make(map[uint32]*market.PoolDay)
	for i := range cut.Changes.Ops {
		op := &cut.Changes.Ops[i]
		d := ledger.PoolDays.Entry(op)
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

// sameDay compares records by their only encoding, since NaN is no equal of
// itself.
func (w *writer) sameDay(a, b *market.PoolDay) bool {
	w.c.buf = w.c.buf[:0]
	codePoolDay(&w.c, a)
	n := len(w.c.buf)
	codePoolDay(&w.c, b)
	return bytes.Equal(w.c.buf[:n], w.c.buf[n:])
}

// The ring of a pool's minutes is kept in parts, a row each: a swap changes one.
const (
	ringParts = 4
	partSlots = market.MinuteSlots / ringParts
)

// ringPart is a part of a ring.
type ringPart struct {
	newest uint8 // the slot that is the ring's newest, plus one; 0: not in this part
	minute [partSlots]uint32
	sqrt   [partSlots]float64
}

func partOf(m *market.Minutes, part uint32) (r ringPart) {
	from := part * partSlots
	copy(r.minute[:], m.Minute[from:])
	copy(r.sqrt[:], m.Sqrt[from:])
	if m.Newest-from < partSlots {
		r.newest = uint8(m.Newest-from) + 1
	}
	return r
}

// put puts the part into its ring.
func (r *ringPart) put(m *market.Minutes, part uint32) {
	from := part * partSlots
	copy(m.Minute[from:], r.minute[:])
	copy(m.Sqrt[from:], r.sqrt[:])
	if r.newest != 0 {
		m.Newest = from + uint32(r.newest) - 1
	}
}

// codeRingPart keeps the slots that have an entry, named by a mask; each minute
// is how much later it is than the one before.
func codeRingPart(c *coder, r *ringPart) {
	var mask uint8
	for i, minute := range r.minute {
		if minute != 0 {
			mask |= 1 << i
		}
	}

	c.small("newest", &r.newest, partSlots)
	c.small("mask", &mask, 255)
	var minute int64
	for i := range r.minute {
		if mask>>i&1 == 0 {
			continue
		}
		later := int64(r.minute[i]) - minute
		c.i64("minute", &later)
		c.f64("sqrt", &r.sqrt[i])
		minute += later
		if c.read && (minute <= 0 || minute > math.MaxUint32) {
			c.fail("minute")
			return
		}
		r.minute[i] = uint32(minute)
	}
}

// ringForm keeps every part of a ring under a key. The part that holds the
// newest minute is the current one.
type ringForm struct{}

// write leaves out parts that are as in the cut before, when that is known.
func (ringForm) write(t *rows[market.Minutes], w *writer, cut *Cut, i uint32) {
	ring := cut.State.Minutes.At(i)
	for part := range uint32(ringParts) {
		r := partOf(ring, part)
		if w.state != nil && i < w.state.Minutes.Len() && r == partOf(w.state.Minutes.At(i), part) {
			continue
		}
		put(w, t.key(w.key[:0], w.chain, i, int(part)), &r, codeRingPart)
	}
}

func (ringForm) read(
	_ *rows[market.Minutes], _ daySource, part int, value []byte, ring *market.Minutes,
) (current bool, err error) {
	var r ringPart
	c := coder{buf: value, read: true}
	codeRingPart(&c, &r)
	r.put(ring, uint32(part))
	return r.newest != 0, c.done()
}

func (ringForm) current(ring *market.Minutes) int { return int(ring.Newest / partSlots) }
