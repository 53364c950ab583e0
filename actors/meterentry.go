package actors

import (
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// entry is what the meter remembers of an account that was active since the
// start: what the store has of it, so that only changes are written.
type entry struct {
	cell   *accounts.Cell
	active int64         // when it was last marked
	months [2]entryMonth // by parity, as the cell's slots
	leased bool          // on Meter.leased
	queued bool          // on Meter.queue
	idle   bool          // its lease is being given back
}

// entryMonth is a month of it: what the store has, and what it will have when
// the batch being made is written.
type entryMonth struct {
	written, next storage.AccountMonth
	staged        bool // next is in the batch
}

func (e *entry) of(m accounts.Month) *entryMonth { return &e.months[m&1] }

// prepare puts into the batch what has changed of an account.
func (m *Meter) prepare(e *entry, this accounts.Month) error {
	if err := m.begin(e, this); err != nil {
		return err
	}

	// A request that was admitted in the last month may be settled in this one.
	if last := e.of(this - 1); last.written.Month == this-1 {
		if e.idle {
			e.cell.Shut(this - 1)
		}
		if t, ok := e.cell.Tally(this - 1); ok {
			t.Lease = max(t.Lease, last.written.Lease)
			m.stage(last, &t, m.lastDay)
		}
	}

	// What is given back is refused in the cell first: see Meter.
	limited := e.cell.Terms().Plan.MonthlyUnits > 0
	if e.idle && limited {
		e.cell.Shut(this)
	}

	t, _ := e.cell.Tally(this)
	if limited && !e.idle {
		t = m.lease(e.cell, &t)
	}
	m.stage(e.of(this), &t, m.today)
	return nil
}

// begin reads a month from the store when it is the first time in this
// process, and starts it in the cell.
func (m *Meter) begin(e *entry, month accounts.Month) error {
	em := e.of(month)
	if em.written.Month == month {
		return nil
	}
	stored, err := m.store.month(e.cell.ID, month)
	if err != nil {
		return err
	}
	*em = entryMonth{written: stored}
	e.cell.Begin(month)
	return nil
}

// lease returns the month with the lease that a leased account is to have: its
// headroom ahead of what is spent, up to its quota. When units came back it may
// be less than before; then admissions are held to it at once, before the store
// knows.
func (m *Meter) lease(c *accounts.Cell, t *accounts.Tally) accounts.Tally {
	terms := c.Terms()
	lease := min(t.Lease+terms.Headroom(m.flushNs), terms.Plan.MonthlyUnits)
	now := *t
	if lease < c.Lease(t.Month) {
		c.Lower(t.Month, lease)
		now, _ = c.Tally(t.Month) // with what was admitted until then
	}
	now.Lease = max(lease, now.Lease)
	return now
}

// stage puts a month into the batch when it differs from what the store has.
// What was used since belongs to the day it is now; the day before it, when it
// had any use, gets its row. Days never go back.
func (m *Meter) stage(em *entryMonth, t *accounts.Tally, day accounts.Day) {
	em.staged = *t != em.written.Tally
	if !em.staged {
		return
	}

	em.next = em.written
	em.next.Tally = *t
	if t.Routes != em.written.Routes && day > em.written.Day {
		if em.written.Day != 0 {
			m.out.Days = append(m.out.Days, em.written.Newest())
		}
		em.next.Day, em.next.Before = day, em.written.Routes
	}

	m.out.Months = append(m.out.Months, em.next)
}

// commit notes that the batch is in the store.
func (e *entry) commit() {
	for i := range e.months {
		if em := &e.months[i]; em.staged {
			em.written, em.staged = em.next, false
		}
	}
}
