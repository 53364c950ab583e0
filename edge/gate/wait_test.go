package gate

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// leased is a gate, and a ticket of an account that may spend so many units.
func leased(t *testing.T, lease int64) (*Gate, *Ticket) {
	t.Helper()
	g, _, ticket := admitted(t)
	ticket.Key.Cell.Open(ticket.Span.Month, lease)
	return g, ticket
}

// A part of a long answer waits for the next lease when this one is used up, as often as
// needed; any other request is refused at once.
func TestPartsWaitForLeases(t *testing.T) {
	f := func(what string, reserve func(*Gate, *Ticket) *render.Error, leases []int64, want *render.Error, takes time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			g, ticket := leased(t, 5)
			done := make(chan struct{})
			go func() { // metering, 100 ms after each wake
				for _, lease := range leases {
					select {
					case <-g.book.Wakes():
					case <-done:
						return
					}
					time.Sleep(100 * time.Millisecond)
					ticket.Key.Cell.Open(ticket.Span.Month, lease)
					ticket.Key.Cell.Wake()
				}
			}()
			began := time.Now()
			if err := reserve(g, ticket); err != want {
				t.Errorf("%s: %v; want %v", what, err, want)
			}
			if took := time.Since(began); took != takes {
				t.Errorf("%s: it took %s; want %s", what, took, takes)
			}
			close(done)
		})
	}
	part := func(g *Gate, t *Ticket) *render.Error { return g.ReservePart(t, time.Now(), 10) }
	request := func(g *Gate, t *Ticket) *render.Error { return g.Reserve(t, 10) }

	f("a part within the lease", func(g *Gate, t *Ticket) *render.Error { return g.ReservePart(t, time.Now(), 5) },
		nil, nil, 0)
	f("a part, and the next lease covers it", part, []int64{10}, nil, 100*time.Millisecond)
	f("a part, and only the third does", part, []int64{7, 9, 10}, nil, 300*time.Millisecond)
	f("a part, and two flushes that were delayed", part, append(slices.Repeat([]int64{7}, 8), 10), nil,
		900*time.Millisecond)
	f("a part without another lease", part, nil, errLease, time.Second)
	f("a part after an idle second", func(g *Gate, t *Ticket) *render.Error {
		t.Key.Cell.Shut(t.Span.Month)
		return part(g, t)
	}, []int64{10}, nil, 100*time.Millisecond)
	f("a request beyond the lease", request, []int64{10}, errLease, 0)
}

// A part of a long answer is of the month in which it is sent, and is refused for lack of
// quota without a wait.
func TestPartIsOfItsMonth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, ticket := leased(t, 1<<40)
		ns := ticket.Now
		calendar := accounts.NewTurner(ns, 0).Step(ns, ns)
		g.book.SetAlive(1 << 62)
		g.book.SetCalendar(calendar)
		late := time.Unix(0, calendar.This.EndNs)
		next := calendar.Next.Month
		ticket.Key.Cell.Begin(next)
		ticket.Key.Cell.Open(next, 100)

		if err := g.ReservePart(ticket, late, 100); err != nil || ticket.Span.Month != next {
			t.Errorf("a part in the next month: %v, of %s; want it of %s", err, ticket.Span.Month, next)
		}
		g.Settle(ticket, accounts.RouteStream, 100)
		if got, _ := ticket.Key.Cell.Tally(next); got.Billed() != 100 {
			t.Errorf("%d units are billed to that month; want 100", got.Billed())
		}
		if err := g.ReservePart(ticket, late, 1<<40); err == nil || !err.Quota {
			t.Errorf("a part beyond the quota: %v", err)
		}
	})
}

// A request that waits for its lease while the month ends is of the next one: metering opens
// no lease of a month that is over.
func TestMonthEndsInAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, ticket := admitted(t)
		turner := accounts.NewTurner(ticket.Now, 0)
		calendar := turner.Step(ticket.Now, ticket.Now)
		time.Sleep(time.Duration(calendar.This.EndNs - ticket.Now - 1))
		g.book.SetAlive(1 << 62)
		g.book.SetCalendar(calendar)
		cell, lease := ticket.Key.Cell, ticket.Key.Cell.Lease(ticket.Span.Month)
		cell.Shut(ticket.Span.Month)
		drains, done := 0, make(chan struct{})
		go func() { // metering, as it drains
			for {
				select {
				case <-g.book.Wakes():
				case <-done:
					return
				}
				drains++
				time.Sleep(time.Millisecond)
				now := time.Now().UnixNano()
				this := turner.Step(now, now)
				g.book.SetCalendar(this)
				cell.Begin(this.This.Month)
				cell.Open(this.This.Month, lease)
				cell.Wake()
			}
		}()

		if err := g.Reserve(ticket, 1); err != nil || ticket.Span.Month != calendar.Next.Month {
			t.Errorf("%v after %d drains, in %s; want a unit of %s", err, drains, ticket.Span.Month, calendar.Next.Month)
		}
		close(done)
	})
}

// A request that waited for metering is refused when units are used up meanwhile, unless
// it is a part of a long answer.
func TestWaitEndsWithAVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, ticket := leased(t, 5)
		g.book.SetAlive(ticket.Now - 1) // the last flush is long ago
		go func() {
			<-g.book.Wakes()
			g.book.SetAlive(ticket.Now)
			ticket.Key.Cell.Wake()
		}()

		began := time.Now()
		if err := g.Reserve(ticket, 6); err != errLease || time.Since(began) != 0 {
			t.Errorf("beyond the lease: %v after %s; want %v at once", err, time.Since(began), errLease)
		}
		if got := g.metrics.waits.Get(); got != 1 {
			t.Errorf("%d waits are counted; want 1", got)
		}
		if got := g.metrics.lease.Get(); got != 1 {
			t.Errorf("%d refusals are counted; want 1", got)
		}
	})
}

// What other nodes have is as old as it is, also when the wall clock was set back since it was
// asked for.
func TestShareAfterTheClockIsSet(t *testing.T) {
	g, ticket := leased(t, 5) // in real time: that of a bubble has no monotonic reading
	g.book.SetShared()
	ticket.Key.Cell.SetShare(&accounts.Share{Month: ticket.Span.Month, At: time.Now().Add(-maxShareAge)})

	// The first word of a time has its seconds above 30 bits of nanoseconds.
	began := time.Now()
	now := began
	*(*uint64)(unsafe.Pointer(&now)) -= 3600 << 30
	if g.AwaitShare(ticket, now); time.Since(began) < shareWait {
		t.Errorf("what is known for long was not asked for again; it took %s", time.Since(began))
	}
}

// The usage of an account waits until it is known what other nodes have of it, if that is
// not known since less than two seconds; a node that is alone knows.
func TestAwaitShare(t *testing.T) {
	f := func(what string, shared bool, age, comes, takes time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			g, ticket := leased(t, 5)
			if shared {
				g.book.SetShared()
			}
			cell, month := ticket.Key.Cell, ticket.Span.Month
			if age >= 0 {
				cell.SetShare(&accounts.Share{Month: month, At: time.Now().Add(-age)})
			}
			began := time.Now()
			if comes >= 0 {
				time.AfterFunc(comes, func() {
					cell.SetShare(&accounts.Share{Month: month, At: time.Now()})
				})
			}
			g.book.Dirty(nil)
			g.AwaitShare(ticket, time.Now())
			if took := time.Since(began); took != takes {
				t.Errorf("%s: it took %s; want %s", what, took, takes)
			}
			if asked := len(g.book.Dirty(nil)) > 0; asked != (takes > 0) {
				t.Errorf("%s: metering is asked %t", what, asked)
			}
		})
	}

	const never = -1
	f("alone", false, never, never, 0)
	f("just known", true, 0, never, 0)
	f("known for less than two seconds", true, 2*time.Second-1, never, 0)
	f("known for two seconds", true, 2*time.Second, never, time.Second)
	f("known for two seconds, and again soon", true, 2*time.Second, 99*time.Millisecond, 100*time.Millisecond)
	f("not known", true, never, 251*time.Millisecond, 255*time.Millisecond)
}
