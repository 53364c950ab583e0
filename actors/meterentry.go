package actors

import (
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// entry is an account that was active since the start, with the totals that the
// store has, so that only changes are written.
type entry struct {
	cell   *accounts.Cell
	active int64           // when it was last marked
	months [2]entryMonth   // by parity, as the cell's slots
	terms  *accounts.Terms // by which its lease was sized when the batch was made
	leased bool            // on Meter.leased
	queued bool            // on Meter.queue
	idle   bool            // its lease is being given back
	waits  bool            // it asked for units, and has none to spend until they come
	free   bool            // it had no quota when the batch was made, and so has no lease
}

// entryMonth is a month of an entry: as stored, and as it will be after the batch
// being made. A row has half a kilobyte, so that the two change places instead of
// being copied.
type entryMonth struct {
	rows   [2]accountstore.MonthRecord
	stored uint8 // which of rows is in the store
	staged bool  // the other one is in the batch
	unsure bool  // a batch with another one failed, which may be in the store all the same
}

func (em *entryMonth) written() *accountstore.MonthRecord { return &em.rows[em.stored] }

func (em *entryMonth) next() *accountstore.MonthRecord { return &em.rows[em.stored^1] }

// lease is what the cell may spend of a month as stored.
func (e *entry) lease(m accounts.Month) int64 {
	if e.free {
		return accounts.NoLease
	}
	return e.of(m).written().Lease
}

func (e *entry) of(m accounts.Month) *entryMonth { return &e.months[m&1] }

// prepareEntry puts the changes of an account into the batch.
func (m *Meter) prepareEntry(e *entry, this accounts.Month) error {
	if err := m.beginMonth(e, this); err != nil {
		return err
	}

	// A request admitted in the last month may be settled in this one, until the next may
	// begin.
	prior := this - 1
	if last := e.of(prior); last.written().Month == prior {
		lease := last.written().Lease
		if e.idle || m.book.Calendar().Turns {
			e.cell.Shut(prior)
			lease = 0
		}
		t, _ := e.cell.Tally(prior)
		t.Lease = max(t.Lease, lease)
		m.stageMonth(last, &t, m.lastDay)
	}

	// Limit the cell first and read it then, before the store gives a lease back: see
	// Meter.
	e.terms = e.cell.Terms()
	limited, lease := e.terms.Plan.MonthlyUnits > 0, int64(0)
	e.waits, e.free = false, !limited
	switch {
	case limited && e.idle:
		e.cell.Shut(this)
	case limited:
		lease = m.renewLease(e, this)
	}

	t, _ := e.cell.Tally(this)
	t.Lease = max(t.Lease, lease)
	m.stageMonth(e.of(this), &t, m.today)
	return nil
}

// beginMonth reads a month from the store the first time, and starts it in the cell.
func (m *Meter) beginMonth(e *entry, month accounts.Month) error {
	em := e.of(month)
	if em.written().Month == month {
		return nil
	}
	stored, err := m.store.month(e.cell.ID, month)
	if err != nil {
		return err
	}
	*em = entryMonth{rows: [2]accountstore.MonthRecord{stored, stored}}
	e.cell.Begin(month)
	return nil
}

// renewLease returns the new lease of an active account: its headroom ahead of the
// units spent, but not above the quota, and in a cluster not above what this node has of
// it. If units were given back, it may be lower than before. Then the cell is lowered at
// once, before the store.
func (m *Meter) renewLease(e *entry, month accounts.Month) int64 {
	c := e.cell
	t, _ := c.Tally(month)
	lease := min(t.Lease+e.terms.Headroom(m.flushNs), e.terms.Plan.MonthlyUnits)
	if m.Leases != nil {
		told := t // what is told may be kept; t itself is on the stack
		allowance, waits := m.Leases.Allow(c, &told)
		lease, e.waits = min(lease, allowance), waits
	}

	if lease < c.Lease(month) {
		c.Lower(month, lease)
	}
	return lease
}

// stageMonth puts a month into the batch if it may differ from the stored one. New usage
// is added to the given day. If that is a new day, the previous day gets its own
// record. Days never go back.
func (m *Meter) stageMonth(em *entryMonth, t *accounts.Tally, day accounts.Day) {
	written, next := em.written(), em.next()
	em.staged = em.unsure || *t != written.Tally
	if !em.staged {
		return
	}

	// The counts before a day do not change while it is the newest.
	if next.Day != written.Day {
		next.Day, next.Before = written.Day, written.Before
	}
	if t.Routes != written.Routes && day > written.Day {
		if written.Day != 0 {
			m.out.Days = append(m.out.Days, written.Newest())
		}
		next.Day, next.Before = day, written.Routes
	}

	next.Tally = *t
	m.out.Months = append(m.out.Months, next)
}

// markWritten notes that the batch is in the store.
func (e *entry) markWritten() {
	for i := range e.months {
		if em := &e.months[i]; em.staged {
			em.stored, em.staged, em.unsure = em.stored^1, false, false
		}
	}
}

// markFailed notes that the batch was reported failed. Its months are written again, also
// where they are as they were before: a lease that was given back must not be spent.
func (e *entry) markFailed() {
	for i := range e.months {
		em := &e.months[i]
		em.unsure = em.unsure || em.staged
	}
}
