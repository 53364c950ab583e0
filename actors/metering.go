package actors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/storage"
	"tidemark/storage/accounts"
	"tidemark/storage/registry"
)

// Meter carries what the accounts' cells have counted into the store. It
// knows no mailbox and no clock: Drain is told the time, and is called every
// flush and whenever the book asks for a lease (see StartMetering).
//
// A drain is one synced batch of absolute totals. Its order is the promise:
//
//   - a lease is raised in the store, then in the cell: what may be admitted
//     was durably noted as perhaps used;
//   - a lease is given back in the cell, then in the store: what was given
//     back cannot be admitted any more;
//   - units are billed when their request has its answer, and reach the store
//     with the next batch: a crash loses at most one flush of them.
//
// While batches fail, or when none has succeeded for a while, the book admits
// nothing that costs units. A full disk is another matter: then leases that are
// durable are spent, and kept, and accounts without a quota are served.
type Meter struct {
	book    *accounts.Book
	turner  *accounts.Turner
	clock   accounts.Clock
	store   meterStore
	flushNs int64
	metrics meterMetrics

	entries map[*accounts.Cell]*entry
	leased  []*entry        // with a lease to give back some time
	queue   []*entry        // to write; kept until a batch with them succeeded
	keys    []*accounts.Key // the same
	cells   []*accounts.Cell
	out     storage.AccountsFlush

	// Of the drain under way: the day that use of this month and of the last
	// one belongs to.
	today, lastDay accounts.Day

	scanned int64 // when leased was last searched for idle ones
	full    bool  // the last batch failed for want of disk space
}

// meterStore is what a meter does to the store; tests make it fail.
type meterStore struct {
	flush func(*storage.AccountsFlush) error
	month func(account uint64, m accounts.Month) (storage.AccountMonth, error)
}

const (
	// idleNs is after how long without requests a lease is given back.
	idleNs = int64(time.Second)
	// graceFlushes and minGrace bound how long units are admitted on the word
	// of an old batch: a disk that hangs must not let charges pile up. On
	// processors that are full of long answers a flush may wait a second for
	// its turn, twice; that alone must refuse nobody.
	graceFlushes = 10
	minGraceNs   = int64(3 * time.Second)
)

func graceNs(flushNs int64) int64 { return max(graceFlushes*flushNs, minGraceNs) }

type meterMetrics struct {
	flushes, failures, rows *metrics.Counter
}

// NewMeter makes the meter of a node's accounts, kept in store. flush is how
// often Drain will be called; leases are sized by it.
func NewMeter(r *registry.Registry, store *storage.Accounts, flush time.Duration,
	set *metrics.Set,
) *Meter {
	m := &Meter{
		book: r.Book(), turner: r.Turner(), clock: r.Clock(), flushNs: int64(flush),
		store: meterStore{store.Flush, store.Month},
		metrics: meterMetrics{
			flushes:  set.NewCounter("tidemark_metering_flushes_total"),
			failures: set.NewCounter("tidemark_metering_flush_failures_total"),
			rows:     set.NewCounter("tidemark_metering_rows_total"),
		},
		entries: map[*accounts.Cell]*entry{},
	}

	return m
}

// Drain writes what has changed and renews leases. now is the quota clock,
// wall what the machine's clock says. An error means that nothing new may be
// admitted until a later Drain succeeds.
func (m *Meter) Drain(now, wall int64) error {
	m.book.SetCalendar(m.turner.Step(now, wall))
	m.collect(now)
	// What is given back on a full disk cannot be had again.
	if now-m.scanned >= min(m.flushNs, idleNs) && !m.full {
		m.scanned = now
		m.findIdle(now)
	}
	return m.write(now)
}

// Close gives every lease back after the last request has been settled, and
// stops all spending.
func (m *Meter) Close(now, wall int64) error {
	m.book.SetCalendar(m.turner.Step(now, wall))
	m.collect(now)
	for _, e := range m.leased {
		e.idle = true
		m.enqueue(e)
	}
	err := m.write(now)
	m.book.SetAlive(0)
	return err
}

// collect takes the cells and keys that were marked since the last drain.
func (m *Meter) collect(now int64) {
	m.cells = m.book.Dirty(m.cells[:0])
	for _, c := range m.cells {
		e := m.entries[c]
		if e == nil {
			e = &entry{cell: c}
			m.entries[c] = e
		}

		e.active, e.idle = now, false
		if !e.leased {
			e.leased = true
			m.leased = append(m.leased, e)
		}
		m.enqueue(e)
	}

	m.keys = m.book.DirtyKeys(m.keys)
}

func (m *Meter) findIdle(now int64) {
	for _, e := range m.leased {
		if now-e.active >= idleNs {
			e.idle = true
			m.enqueue(e)
		}
	}
}

func (m *Meter) enqueue(e *entry) {
	if !e.queued {
		e.queued = true
		m.queue = append(m.queue, e)
	}
}

// write puts the queue into one batch and does what its success allows.
func (m *Meter) write(now int64) error {
	err := m.makeBatch(now)
	if err == nil && (m.full || !m.out.Empty()) {
		err = m.store.flush(&m.out)
		m.metrics.flushes.Inc()
		m.metrics.rows.Add(len(m.out.Months) + len(m.out.Days) + len(m.out.Keys))
	}
	if err != nil {
		m.metrics.failures.Inc()
		m.suspend(errors.Is(err, storage.ErrNoSpace))
		return fmt.Errorf("cannot meter %d accounts: %w", len(m.queue), err)
	}

	m.full = false
	m.book.SetAlive(now + graceNs(m.flushNs))
	m.book.SetDiskFull(false)
	m.openLeases()
	return nil
}

// suspend stops what a batch that failed does not allow.
func (m *Meter) suspend(full bool) {
	m.full = full
	if full {
		m.keepLeases()
	}
	m.book.SetDiskFull(full)
	m.book.SetAlive(0)
	for _, e := range m.queue {
		e.cell.Wake()
	}
}

// keepLeases opens the months of the queue up to what the store has: a lease
// that was to be given back stays durable, and an account that has none yet
// can be told from one that has no quota.
func (m *Meter) keepLeases() {
	this := m.book.Calendar().This.Month
	for _, e := range m.queue {
		if em := e.of(this); em.written.Month == this {
			e.cell.Open(this, em.written.Lease)
		}
	}
}

// makeBatch puts everything in the queue into a batch, anew each time: totals
// are absolute, so a batch that failed is simply made again. Ordered by id it
// is cheapest to insert.
func (m *Meter) makeBatch(now int64) error {
	m.out.Reset()
	slices.SortFunc(m.queue, func(a, b *entry) int { return cmp.Compare(a.cell.ID, b.cell.ID) })

	this := m.book.Calendar().This.Month
	m.today, m.lastDay = accounts.DayAt(now, this), accounts.DayAt(now, this-1)
	for _, e := range m.queue {
		if err := m.prepare(e, this); err != nil {
			return err
		}
	}

	for _, k := range m.keys {
		m.out.Keys = append(m.out.Keys, storage.KeyUse{Key: k.ID, Minute: k.UsedMinute()})
	}
	return nil
}

// openLeases opens the leases that are durable now, and empties the queue.
func (m *Meter) openLeases() {
	this := m.book.Calendar().This.Month
	for _, e := range m.queue {
		e.commit()
		if e.idle {
			e.leased = false
		} else {
			e.cell.Open(this, e.of(this).written.Lease)
		}
		e.queued = false
		e.cell.Wake()
	}

	m.queue, m.keys = m.queue[:0], m.keys[:0]

	leased := m.leased[:0]
	for _, e := range m.leased {
		if e.leased {
			leased = append(leased, e)
		}
	}
	clear(m.leased[len(leased):])
	m.leased = leased
}
