package accounts

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const testMonth = Month(2026*12 + 10)

// one makes a book with one account of a plan, open up to a lease.
func one(t *testing.T, plan Plan, lease int64) (*Book, *Key) {
	t.Helper()
	now := testMonth.Start().UnixNano()
	b := NewBook(NewTurner(now, 0).Step(now, now))
	b.SetAlive(now + int64(time.Hour))
	c := NewCell(1, "acme", 0, NewTerms(&plan, false))
	c.Begin(testMonth)
	c.Open(testMonth, lease)
	number := b.Add(&Issued{ID: 1, Hash: Hash{1}, Prefix: PrefixOf("tm_srv_000000000"), Cell: c}, 0, 0)
	return b, b.Key(number)
}

func TestBurst(t *testing.T) {
	b, k := one(t, Plan{ID: "p", RequestsPerSecond: 5, Burst: 10}, 0)
	now := testMonth.Start().UnixNano()

	f := func(after time.Duration, ok bool, left int64, full, retry time.Duration) {
		t.Helper()
		now += int64(after)

		ticket := b.Admit(k, now)
		got := ticket.TakeToken()
		want := Burst{left, int64(full), int64(retry)}
		if got != ok || ticket.Burst != want {
			t.Errorf("after %s: %v, %+v; want %v, %+v", after, got, ticket.Burst, ok, want)
		}
	}

	for left := int64(9); left >= 0; left-- {
		f(0, true, left, time.Duration(10-left)*200*time.Millisecond, 0)
	}
	f(0, false, 0, 2*time.Second, 200*time.Millisecond)
	f(50*time.Millisecond, false, 0, 1950*time.Millisecond, 150*time.Millisecond)
	f(150*time.Millisecond, true, 0, 2*time.Second, 0)
	f(0, false, 0, 2*time.Second, 200*time.Millisecond)
	f(1*time.Second, true, 4, 1200*time.Millisecond, 0)
	f(time.Hour, true, 9, 200*time.Millisecond, 0)
	ticket := b.Admit(k, now)
	if ticket.PeekBurst(); ticket.Burst != (Burst{9, int64(200 * time.Millisecond), 0}) {
		t.Errorf("a look: %+v; want 9 left and none taken", ticket.Burst)
	}

	if ticket.PutBackToken(); ticket.Burst != (Burst{10, 0, 0}) {
		t.Errorf("a token is put back: %+v; want a full bucket", ticket.Burst)
	}
}

// A bucket admits exactly its tokens, however many requests come at once.
func TestBurstConcurrent(t *testing.T) {
	const burst = 1_000_000
	b, k := one(t, Plan{ID: "p", RequestsPerSecond: 1, Burst: burst}, 0)
	now := testMonth.Start().UnixNano()
	var taken atomic.Int64
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for {
				ticket := b.Admit(k, now)
				if !ticket.TakeToken() {
					return
				}
				taken.Add(1)
			}
		})
	}

	clients.Wait()
	if taken.Load() != burst {
		t.Errorf("%d tokens of a bucket of %d", taken.Load(), burst)
	}
}

func TestVerdicts(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100, RequestsPerSecond: 9, Burst: 9}, 60)
	now := testMonth.Start().UnixNano()
	var held []Ticket

	f := func(units int64, want Verdict) {
		t.Helper()
		ticket := b.Admit(k, now)
		got := b.Reserve(&ticket, units)
		if got != want {
			t.Errorf("%d units: %d; want %d", units, got, want)
		}
		if got == Granted {
			held = append(held, ticket)
		}
	}

	left := func(want int64) {
		t.Helper()
		ticket := b.Admit(k, now)
		if got := ticket.Quota(); got.Limit != 100 || got.Left != want {
			t.Errorf("quota = %+v; want %d left", got, want)
		}
	}

	f(50, Granted)
	f(11, Exhausted)
	f(51, OverQuota)
	f(10, Granted)
	f(1, Exhausted)
	left(40)
	b.Settle(&held[0], RoutePools, 0) // 50 units back
	left(90)
	b.Settle(&held[1], RoutePools, 10)
	k.Cell.Open(testMonth, NoLease)
	f(1, Unleased)
	f(91, OverQuota)
	k.Cell.Shut(testMonth)
	f(1, Unleased)
	f(91, OverQuota)
	if got := k.Cell.Lease(testMonth); got != 10 {
		t.Errorf("lease after Shut = %d; want what is spent, 10", got)
	}

	k.Cell.Open(testMonth, 100)
	f(90, Granted)
	f(1, OverQuota)

	b.SetAlive(now - 1)
	f(1, Unleased) // the next flush tells
	b.SetAlive(0)
	f(1, Stalled)
	now = testMonth.End().UnixNano()
	b.SetAlive(now)
	f(1, Unleased) // the next month has not begun here

	tally, ok := k.Cell.Tally(testMonth)
	if want := (Count{2, 10}); !ok || tally.Routes[RoutePools] != want || tally.Lease != 100 {
		t.Errorf("tally = %+v; want 2 requests, 10 units, 100 spent or held", tally)
	}
}

// Settling a request of a month that no slot has any more changes nothing.
func TestLateSettlement(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 100)
	late := b.Admit(k, testMonth.Start().UnixNano())
	if v := b.Reserve(&late, 10); v != Granted {
		t.Fatal(v)
	}

	// The slot is used again two months later.
	k.Cell.Restore(&Tally{Month: testMonth + 2, Lease: 20})
	b.Settle(&late, RoutePools, 5)
	want := Tally{Month: testMonth + 2, Lease: 20}
	if got, ok := k.Cell.Tally(testMonth + 2); got != want || !ok {
		t.Errorf("two months later: %+v, %v; want %+v", got, ok, want)
	}
	if _, ok := k.Cell.Tally(testMonth); ok {
		t.Error("the month is still there")
	}
}

// Leases are given back and taken anew while reservations race with them: what
// is spent never passes what the meter calls leased.
func TestShutRaces(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 1_000_000}, 100)
	now := testMonth.Start().UnixNano()
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ticket := b.Admit(k, now)
				if b.Reserve(&ticket, 3) == Granted {
					b.Settle(&ticket, RoutePools, 3)
				}
			}
		})
	}

	rng := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		k.Cell.Shut(testMonth)
		shut, _ := k.Cell.Tally(testMonth)
		for range rng.IntN(200) {
			if now, _ := k.Cell.Tally(testMonth); now.Lease > shut.Lease {
				t.Fatalf("%d spent after the lease was given back at %d", now.Lease, shut.Lease)
			}
		}
		lease := shut.Lease + 100
		k.Cell.Open(testMonth, lease)
		for range rng.IntN(200) {
			if now, _ := k.Cell.Tally(testMonth); now.Lease > lease {
				t.Fatalf("%d spent of a lease up to %d", now.Lease, lease)
			}
		}
	}

	close(stop)
	clients.Wait()
	if tally, _ := k.Cell.Tally(testMonth); tally.Billed() != tally.Lease {
		t.Errorf("billed %d, spent %d; want the same at rest", tally.Billed(), tally.Lease)
	}
}

// Units are taken and given back by many at once, and none is lost.
func TestReleaseRaces(t *testing.T) {
	_, k := one(t, Plan{ID: "p", MonthlyUnits: 1_000_000}, 1000)
	s := k.Cell.slot(testMonth)
	var clients sync.WaitGroup
	for units := range int64(4) {
		clients.Go(func() {
			for range 100_000 {
				if s.reserve(testMonth, 1_000_000, 1+units) == Granted {
					s.release(testMonth, 1+units)
				}
			}
		})
	}

	clients.Wait()
	if left := s.spent(testMonth); left != 0 {
		t.Errorf("%d units are held by nobody", left)
	}
}

// A lease is lowered while reservations race with it, and units come back: from
// then on nothing is admitted above it.
func TestLowerRaces(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 1_000_000, RequestsPerSecond: 1, Burst: 1}, 100)
	now := testMonth.Start().UnixNano()
	var stop atomic.Bool
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for i := 0; !stop.Load(); i++ {
				ticket := b.Admit(k, now)
				if b.Reserve(&ticket, 10) == Granted {
					b.Settle(&ticket, RoutePools, int64(i%10)/9) // most units come back
				}
			}
		})
	}

	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		before, _ := k.Cell.Tally(testMonth)
		lease := before.Lease + rng.Int64N(50)
		k.Cell.Lower(testMonth, lease)
		after, _ := k.Cell.Tally(testMonth)
		bound := max(lease, after.Lease)
		for range rng.IntN(100) {
			if now, _ := k.Cell.Tally(testMonth); now.Lease > bound {
				t.Fatalf("%d spent after the lease was lowered to %d with %d spent", now.Lease, lease, after.Lease)
			}
		}
		k.Cell.Open(testMonth, bound+100)
	}

	stop.Store(true)
	clients.Wait()
}

// On a full disk durable leases are spent and accounts without a quota are
// served; the setting decides about the rest.
func TestFullDisk(t *testing.T) {
	now := testMonth.Start().UnixNano()

	f := func(what string, b *Book, k *Key, units int64, want Verdict, billed int64) {
		t.Helper()
		ticket := b.Admit(k, now)
		got := b.Reserve(&ticket, units)
		if got != want {
			t.Errorf("%s: %d units: %d; want %d", what, units, got, want)
		}
		if got != Granted {
			return
		}
		if bill := b.Settle(&ticket, RoutePools, units); bill != billed {
			t.Errorf("%s: billed %d of %d units; want %d", what, bill, units, billed)
		}
	}

	full := func(plan Plan, w WhenFull) (*Book, *Key) {
		b, k := one(t, plan, 60)
		b.SetWhenFull(w)
		b.SetDiskFull(true)
		b.SetAlive(0)
		return b, k
	}

	quota := Plan{ID: "p", MonthlyUnits: 100, RequestsPerSecond: 9, Burst: 9}

	b, k := full(quota, Refuse)
	f("a durable lease", b, k, 50, Granted, 50)
	f("beyond it", b, k, 20, Stalled, 0)
	f("the rest of it", b, k, 10, Granted, 10)
	f("beyond the quota", b, k, 41, OverQuota, 0)

	b, k = full(quota, ServeUncharged)
	f("a durable lease", b, k, 60, Granted, 60)
	f("beyond it", b, k, 20, Granted, 0)
	f("beyond the quota", b, k, 41, OverQuota, 0)
	if tally, _ := k.Cell.Tally(testMonth); tally.Billed() != 60 || tally.Routes[RoutePools].Requests != 2 {
		t.Errorf("tally = %+v; want 60 units of 2 requests", tally)
	}

	b, k = full(Plan{ID: "p"}, Refuse)
	f("no quota", b, k, 1000, Granted, 1000)
	k.Cell.Shut(testMonth)
	f("no quota, before its month was read", b, k, 10, Unleased, 0)

	b.SetDiskFull(false)
	f("no space is not why", b, k, 10, Stalled, 0)
}

func TestWakes(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 0)
	k.Cell.Wake() // nobody waits
	first, second := b.RequestLease(k.Cell), b.RequestLease(k.Cell)
	if first != second {
		t.Error("two waiters have two channels; want one")
	}
	select {
	case <-b.Wakes():
	default:
		t.Error("nobody was told of the waiters")
	}

	if cells := b.Dirty(nil); len(cells) != 1 || cells[0] != k.Cell {
		t.Errorf("dirty = %v; want the one cell once", cells)
	}

	k.Cell.Wake()
	select {
	case <-first:
	default:
		t.Error("the waiters were not woken")
	}

	if again := b.RequestLease(k.Cell); again == first {
		t.Error("a new waiter got the channel of an old wake")
	}
}

// A reservation that has read the slot before its lease was lowered, or shut, and has
// not taken its units yet must fail.
func TestLowerFailsReservationsUnderWay(t *testing.T) {
	f := func(what string, change func(*slot)) {
		t.Helper()
		s := new(slot)
		s.word.Store(closedWord(testMonth, 10))
		s.open(100)

		read := s.word.Load()
		change(s)
		if s.word.CompareAndSwap(read, read+10) {
			t.Errorf("%s: a reservation that was under way took its units", what)
		}
		if got := s.spent(testMonth); got != 10 {
			t.Errorf("%s: %d units are spent; want 10", what, got)
		}
	}

	f("lower", func(s *slot) { s.lower(50) })
	f("shut", (*slot).shut)
}

// A settled ticket holds nothing: settling it again gives nothing back. Settling marks
// the cell, so that the next drain writes it.
func TestSettleOnce(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 100)
	ticket := b.Admit(k, testMonth.Start().UnixNano())
	if v := b.Reserve(&ticket, 10); v != Granted {
		t.Fatal(v)
	}
	b.Dirty(nil)

	b.Settle(&ticket, RoutePools, 4)
	if got := b.Dirty(nil); len(got) != 1 || got[0] != k.Cell {
		t.Errorf("after a settlement %d cells are dirty; want 1", len(got))
	}
	b.Settle(&ticket, RoutePools, 0)
	if got := k.Cell.slot(testMonth).spent(testMonth); got != 4 {
		t.Errorf("%d units are spent after two settlements; want 4", got)
	}
}

// New terms wake metering, which then adjusts the lease.
func TestTermsWakeMetering(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 100)
	b.Dirty(nil)
	b.SetTerms(k.Cell, NewTerms(&Plan{ID: "q"}, true))
	select {
	case <-b.Wakes():
	default:
		t.Error("metering is not woken")
	}
	if got := b.Dirty(nil); len(got) != 1 {
		t.Errorf("%d cells are dirty; want 1", len(got))
	}
}

// Headroom rounds up, and Reserved is never negative.
func TestHeadroom(t *testing.T) {
	f := func(p Plan, flush time.Duration, want int64) {
		t.Helper()
		if got := NewTerms(&p, false).Headroom(int64(flush)); got != want {
			t.Errorf("%+v, a flush every %s: headroom %d; want %d", p, flush, got, want)
		}
	}

	f(Plan{RequestsPerSecond: 5, Burst: 10}, 100*time.Millisecond, 105)
	f(Plan{RequestsPerSecond: 5, Burst: 10}, 101*time.Millisecond, 106)
	f(Plan{MonthlyUnits: 1000}, time.Second, 100)
	f(Plan{MonthlyUnits: 50_000}, time.Second, 500)
	f(Plan{MonthlyUnits: 1 << 40}, time.Second, 2000)

	tally := Tally{Month: testMonth, Lease: 3}
	tally.Routes[RoutePools].Units = 5
	if got := tally.Reserved(); got != 0 {
		t.Errorf("%d units are reserved of a lease below the bill; want 0", got)
	}
}
