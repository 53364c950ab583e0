package actors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
	"tidemark/storage/pace"
	"tidemark/storage/registry"
)

// Meter writes the counts of the accounts' cells to the store. It has no mailbox and
// no clock: the caller passes the time to Drain, every flush and whenever the book
// asks for a lease (see StartMetering).
//
// A drain is a few synced batches of absolute totals, each of other accounts. The order of
// its steps matters:
//
//   - a lease is raised in the store first, then in the cell: units are admitted
//     only after they were durably noted as possibly used;
//   - a lease is given back in the cell first, then in the store: units that were
//     given back cannot be admitted any more;
//   - units are billed when the request is answered, and written with the next
//     batch: a crash loses at most one flush of them.
//
// While batches fail, or if none has succeeded for a while, the book admits no
// request that costs units. On a full disk, however, durable leases are kept and
// spent, and accounts without a quota are served.
type Meter struct {
	book    *accounts.Book
	turner  *accounts.Turner
	clock   accounts.Clock
	store   meterStore
	flushNs int64
	metrics meterMetrics

	// Leases is where units come from that other nodes spend too; nil: this node is alone.
	// Set it before the first drain.
	Leases Leases
	// NewPause is called when work begins, for what is called every few microseconds of it
	// to let requests in; nil: nothing is. Set it before the first drain.
	NewPause func() (pause func())

	entries map[*accounts.Cell]*entry
	leased  []*entry        // entries with a lease
	queue   []*entry        // entries to write; those of a batch that succeeded leave it
	keys    []*accounts.Key // keys to write; likewise
	cells   []*accounts.Cell
	out     accountstore.Flush
	pause   func() // of the running work; see startPauses

	// The days to which the running drain adds usage of this month and of the last
	// month.
	today, lastDay accounts.Day

	scanned int64 // when leased was last searched for idle entries
	full    bool  // the last batch failed because the disk is full
}

// meterStore is the part of the store that a meter uses. Tests make it fail.
type meterStore struct {
	flush func(*accountstore.Flush) error
	month func(account uint64, m accounts.Month) (accountstore.MonthRecord, error)
}

// Leases grants units of quotas that are shared with other nodes. Its methods do not wait:
// the book is told when units have come (accounts.Book.RenewLease).
type Leases interface {
	// Allow returns how many units a cell may spend in a month, all in all. If few are
	// left, more are asked for; waits says that until they come hardly a request can be
	// admitted. t are the totals that the cell has now.
	Allow(c *accounts.Cell, t *accounts.Tally) (allowance int64, waits bool)
	// Report tells the totals that are in the store. idle: the cell is shut, and the units
	// that are left may be given back.
	Report(c *accounts.Cell, t *accounts.Tally, idle bool)
}

const (
	// idleNs is the time without requests after which a lease is given back.
	idleNs = int64(time.Second)
	// graceFlushes and minGraceNs bound how long units are admitted after the last
	// successful batch, so that charges do not pile up while a disk hangs. On
	// saturated processors a flush may be delayed by a second, twice; that alone must
	// not refuse any request.
	graceFlushes = 10
	minGraceNs   = int64(3 * time.Second)
)

func graceNs(flushNs int64) int64 { return max(graceFlushes*flushNs, minGraceNs) }

type meterMetrics struct {
	flushes, failures, rows *metrics.Counter
}

// NewMeter makes the meter of a node's accounts. flush is the interval at which the
// caller will call Drain; leases are sized by it.
func NewMeter(r *registry.Registry, store *accountstore.Store, flush time.Duration,
	set *metrics.Set,
) *Meter {
	return &Meter{
		book: r.Book(), turner: r.Turner(), clock: r.Clock(), flushNs: int64(flush),
		store: meterStore{store.Flush, store.Month},
		metrics: meterMetrics{
			flushes:  set.NewCounter("tidemark_metering_flushes_total"),
			failures: set.NewCounter("tidemark_metering_flush_failures_total"),
			rows:     set.NewCounter("tidemark_metering_rows_total"),
		},
		entries: map[*accounts.Cell]*entry{},
	}
}

// Drain writes what has changed and renews leases. now is the time of the quota
// clock, wall that of the wall clock. After an error nothing is admitted until a
// later Drain succeeds.
func (m *Meter) Drain(now, wall int64) error {
	m.begin(now, wall)
	// On a full disk leases are kept: no new ones could be written.
	if now-m.scanned >= min(m.flushNs, idleNs) && !m.full {
		m.scanned = now
		m.queueIdle(now)
	}
	return m.flushQueue(now)
}

// Close gives every lease back and stops all spending. Every request must have been
// settled.
func (m *Meter) Close(now, wall int64) error {
	m.begin(now, wall)
	for _, e := range m.leased {
		e.idle = true
		m.enqueue(e)
	}
	err := m.flushQueue(now)
	m.book.SetAlive(0)
	return err
}

// startPauses starts pauses anew, since they last by the time from one to the next. Neither
// the time between two drains nor a wait for the disk is work.
func (m *Meter) startPauses() {
	if m.NewPause != nil {
		m.pause = m.NewPause()
	}
}

// begin is what every drain does first.
func (m *Meter) begin(now, wall int64) {
	m.startPauses()
	m.book.SetCalendar(m.turner.Step(now, wall))
	m.collectDirty(now)
}

// collectDirty queues the cells and keys that changed since the last drain.
func (m *Meter) collectDirty(now int64) {
	m.cells = m.book.Dirty(m.cells[:0])
	for i, c := range m.cells {
		pace.Every(entriesAPause, i, m.pause)
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

	// While batches fail, the keys that are in use come again every minute.
	left := len(m.keys)
	m.keys = m.book.DirtyKeys(m.keys)
	if left > 0 && len(m.keys) > left {
		slices.SortFunc(m.keys, func(a, b *accounts.Key) int { return cmp.Compare(a.ID, b.ID) })
		m.keys = slices.Compact(m.keys)
	}
}

// queueIdle queues the entries whose lease is to be given back.
func (m *Meter) queueIdle(now int64) {
	for _, e := range m.leased {
		if now-e.active >= idleNs {
			e.idle = true
			m.enqueue(e)
		}
	}
}

// entriesAPause is some 20 µs of work. With 10,000 busy accounts a drain is milliseconds
// of work, ten times a second.
const entriesAPause = 32

func (m *Meter) enqueue(e *entry) {
	if !e.queued {
		e.queued = true
		m.queue = append(m.queue, e)
	}
}

// entriesABatch bounds a batch. It is hashed and copied into Pebble's memory in one piece,
// some 0.3 ms for so many accounts, which on a node with one processor every request waits
// for.
const entriesABatch = 1024

// flushQueue writes the queue, a batch after the other, and opens the leases of each that
// was written. Every account is in one batch.
func (m *Meter) flushQueue(now int64) error {
	written, err := 0, error(nil)
	for more := true; more && err == nil; more = written < len(m.queue) {
		part := m.queue[written:min(written+entriesABatch, len(m.queue))]
		if err = m.flushPart(part, now); err == nil {
			written += len(part)
		}
	}
	m.queue = slices.Delete(m.queue, 0, written)
	m.forgetIdle()

	if err != nil {
		m.metrics.failures.Inc()
		m.stopSpending(errors.Is(err, accountstore.ErrNoSpace))
		return fmt.Errorf("cannot write usage of %d accounts: %w", len(m.queue), err)
	}
	m.full = false
	m.book.SetAlive(now + graceNs(m.flushNs))
	m.book.SetDiskFull(false)
	return nil
}

// flushPart writes a part of the queue in one batch and then opens the leases.
func (m *Meter) flushPart(part []*entry, now int64) error {
	if err := m.makeBatch(part, now); err != nil {
		return err
	}
	if m.full || !m.out.Empty() {
		err := m.store.flush(&m.out)
		m.startPauses()
		m.metrics.flushes.Inc()
		m.metrics.rows.Add(len(m.out.Months) + len(m.out.Days) + len(m.out.Keys))
		if err != nil {
			m.noteFailed(part, err)
			return err
		}
	}

	m.keys = m.keys[:0]
	m.openLeases(part)
	return nil
}

// noteFailed notes which entries a failed batch may have written all the same. One that found
// no space was not begun.
func (m *Meter) noteFailed(part []*entry, err error) {
	if errors.Is(err, accountstore.ErrNoSpace) {
		return
	}
	for _, e := range part {
		e.markFailed()
	}
}

// stopSpending stops spending after a failed batch, or on a full disk all spending
// beyond durable leases.
func (m *Meter) stopSpending(full bool) {
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

// keepLeases opens the months of the queue up to the stored leases. A lease that was
// to be given back stays durable, and an account without a quota can be served. Where a
// failed batch may be in the store all the same, its lease may be a lower one.
func (m *Meter) keepLeases() {
	this := m.book.Calendar().This.Month
	for _, e := range m.queue {
		if !e.free && e.of(this).unsure {
			continue
		}
		e.cell.Open(this, e.lease(this))
	}
}

// makeBatch makes a batch of a part of the queue, and of all keys that are still to be
// written. Totals are absolute, so a batch that failed is simply made again. Sorting by id
// makes it cheap to insert.
func (m *Meter) makeBatch(part []*entry, now int64) error {
	m.out.Reset()
	m.out.Pause = m.pause
	slices.SortFunc(part, func(a, b *entry) int { return cmp.Compare(a.cell.ID, b.cell.ID) })

	this := m.book.Calendar().This.Month
	m.today, m.lastDay = accounts.DayAt(now, this), accounts.DayAt(now, this-1)
	for i, e := range part {
		pace.Every(entriesAPause, i, m.pause)
		if err := m.prepareEntry(e, this); err != nil {
			return err
		}
	}

	for _, k := range m.keys {
		m.out.Keys = append(m.out.Keys, accountstore.KeyUse{Key: k.ID, Minute: k.UsedMinute()})
	}
	return nil
}

// openLeases opens the leases of a part of the queue, which are now durable.
func (m *Meter) openLeases(part []*entry) {
	this := m.book.Calendar().This.Month
	for i, e := range part {
		pace.Every(entriesAPause, i, m.pause)
		m.report(e, this)
		e.markWritten()
		if e.idle {
			e.leased = false
		} else {
			e.cell.Open(this, e.lease(this))
			e.cell.SizedBy(e.terms)
		}

		e.queued = false
		if !e.waits {
			e.cell.Wake()
		}
	}
}

// forgetIdle drops the entries that gave their lease back.
func (m *Meter) forgetIdle() {
	leased := m.leased[:0]
	for _, e := range m.leased {
		if e.leased {
			leased = append(leased, e)
		}
	}
	clear(m.leased[len(leased):])
	m.leased = leased
}

// report tells the other nodes of a cluster what the store has of an account.
func (m *Meter) report(e *entry, this accounts.Month) {
	if m.Leases == nil {
		return
	}

	for _, month := range []accounts.Month{this - 1, this} {
		em := e.of(month)
		stored := em.written()
		if em.staged {
			stored = em.next()
		}
		if stored.Month == month && (month == this || em.staged || e.idle) {
			m.Leases.Report(e.cell, &stored.Tally, e.idle)
		}
	}
}
