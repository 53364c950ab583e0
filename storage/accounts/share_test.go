package accounts

import (
	"fmt"
	"testing"
)

// In a cluster a request waits for units that may come. It is refused when the quota is
// used up by all nodes together, or when nobody can be asked and nothing is left.
func TestVerdictsInACluster(t *testing.T) {
	plan := Plan{ID: "p", MonthlyUnits: 100, RequestsPerSecond: 1000, Burst: 1000}
	f := func(lease int64, s *Share, cutOff bool, want Verdict) {
		t.Helper()
		b, k := one(t, plan, lease)
		alone := !b.Shared()
		if b.SetShared(); !alone || !b.Shared() {
			t.Errorf("the book is shared: %t, then %t", !alone, b.Shared())
		}
		b.SetCutOff(cutOff)
		if s != nil {
			s.Month = testMonth
			k.Cell.SetShare(s)
		}
		ticket := b.Admit(k, testMonth.Start().UnixNano())
		if got := b.Reserve(&ticket, 10); got != want {
			t.Errorf("a lease of %d, share %+v, cut off %v: %d; want %d", lease, s, cutOff, got, want)
		}
		if want != Granted && len(b.Dirty(nil)) == 0 {
			t.Error("metering is not told of a request without units")
		}
	}

	f(10, nil, false, Granted)
	f(10, &Share{Allowance: 10, Elsewhere: 100}, true, Granted)
	f(9, nil, false, Unleased)
	f(9, &Share{Allowance: 9, Elsewhere: 90}, false, Unleased)
	f(9, &Share{Allowance: 9, Elsewhere: 91}, false, OverQuota)
	f(9, &Share{Allowance: 9, Elsewhere: 90}, true, Exhausted)
	f(9, &Share{Allowance: 10, Elsewhere: 90}, true, Unleased)
	f(9, nil, true, Exhausted)
	plan.MonthlyUnits = 0
	f(0, nil, true, Granted)
	plan.MonthlyUnits = 1
	f(0, nil, false, OverQuota)

	plan.MonthlyUnits = 100
	b, k := one(t, plan, 50)
	k.Cell.SetShare(&Share{Month: testMonth, Elsewhere: 30, Reserved: 4})
	ticket := b.Admit(k, testMonth.Start().UnixNano())
	b.Reserve(&ticket, 10)
	if q := ticket.Quota(); q.Left != 60 || q.Reserved != 4 {
		t.Errorf("%+v; want 60 left and 4 reserved", q)
	}
	k.Cell.SetShare(&Share{Month: testMonth - 2, Elsewhere: 30})
	if q := ticket.Quota(); q.Left != 90 {
		t.Errorf("with a share of another month %+v; want 90 left", q)
	}
}

// Nobody has to be asked for the units of an account without a quota: it waits for its month
// alone, also when it cannot ask.
func TestMonthThatHasNotBegun(t *testing.T) {
	f := func(quota int64, cutOff bool, want Verdict) {
		t.Helper()
		now := testMonth.Start().UnixNano()
		b := NewBook(NewTurner(now, 0).Step(now, now))
		b.SetAlive(now)
		b.SetShared()
		b.SetCutOff(cutOff)
		k := &Key{Issued: Issued{Cell: NewCell(1, "acme", 0, NewTerms(&Plan{ID: "p", MonthlyUnits: quota}, false))}}
		ticket := b.Admit(k, now)
		if got := b.Reserve(&ticket, 1); got != want {
			t.Errorf("a quota of %d, cut off %t: %d; want %d", quota, cutOff, got, want)
		}
	}

	f(0, false, Unleased)
	f(0, true, Unleased)
	f(1, false, Unleased)
	f(1, true, Exhausted)
	f(100, true, Exhausted)
}

// A slot has the units of one month. Of the months before and after, which have the same slot,
// nothing is known, and what comes late for them changes nothing.
func TestUnitsAreOfTheirMonth(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 50)
	c := k.Cell
	c.Restore(&Tally{Month: testMonth, Lease: 7})
	c.Open(testMonth, 50)
	ticket := b.Admit(k, testMonth.Start().UnixNano())
	b.Reserve(&ticket, 10)
	s := c.slot(testMonth)

	if s.spent(testMonth) != 17 || c.Reserved(testMonth) != 7 {
		t.Errorf("%d units are spent, %d reserved; want 17 and 7", s.spent(testMonth), c.Reserved(testMonth))
	}
	for _, other := range []Month{testMonth - 2, testMonth + 2} {
		if tally, ok := c.Tally(other); ok || tally != (Tally{Month: other}) || s.spent(other) != 0 || c.Reserved(other) != 0 {
			t.Errorf("%s has %+v, %d spent and %d reserved; want nothing", other, tally, s.spent(other), c.Reserved(other))
		}
		if v := s.reserve(other, 100, 1); v != Unleased {
			t.Errorf("of %s a unit was asked for: %d; want %d", other, v, Unleased)
		}
		s.release(other, 5)
		c.count(other, RoutePools, Count{1, 5})
	}
	if tally, ok := c.Tally(testMonth); !ok || tally.Billed() != 0 || tally.Lease != 17 {
		t.Errorf("%+v is left, %t; want 17 units", tally, ok)
	}
}

// The accounts that have keys are listed, each once, as far as somebody reads.
func TestCells(t *testing.T) {
	now := testMonth.Start().UnixNano()
	b := NewBook(NewTurner(now, 0).Step(now, now))
	for range b.Cells() {
		t.Error("an empty book has accounts")
	}

	terms, times := NewTerms(&Plan{ID: "p"}, false), map[*Cell]int{}
	one, two := NewCell(1, "one", 0, terms), NewCell(2, "two", 0, terms)
	NewCell(3, "three", 0, terms) // without a key
	for i, c := range []*Cell{one, two, one} {
		b.Add(&Issued{ID: uint64(i), Hash: Hash{byte(i)}, Prefix: PrefixOf(fmt.Sprintf("tm_srv_%09d", i)), Cell: c}, 0, 0)
	}
	for c := range b.Cells() {
		times[c]++
	}
	if len(times) != 2 || times[one] != 1 || times[two] != 1 {
		t.Errorf("%d accounts come, %d and %d times; want two, each once", len(times), times[one], times[two])
	}
	read := 0
	for range b.Cells() {
		read++
		break
	}
	if read != 1 {
		t.Errorf("%d accounts were read; want 1", read)
	}
}

// A reservation that has read a lease takes nothing of a smaller one that was opened
// after the first was given back.
func TestALeaseThatWasGivenBackGrantsNothing(t *testing.T) {
	_, k := one(t, Plan{ID: "p", MonthlyUnits: 1000}, 100)
	s := k.Cell.slot(testMonth)
	read := s.word.Load()
	k.Cell.Shut(testMonth)
	k.Cell.Open(testMonth, 3)
	if s.word.CompareAndSwap(read, read+10) {
		t.Error("10 units of a lease of 3 were taken")
	}
}

// What other nodes have is added route by route.
func TestShareIsAdded(t *testing.T) {
	var s Share
	var got, want Tally
	for i := range s.Routes {
		n := int64(i + 1)
		s.Routes[i] = Count{Requests: n, Units: 100 * n}
		got.Routes[i] = Count{Requests: 7, Units: 9}
		want.Routes[i] = Count{Requests: 7 + n, Units: 9 + 100*n}
	}
	got.Month, got.Lease = 5, 6
	want.Month, want.Lease = 5, 6

	s.Add(&got)
	if got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
}

// A cell whose share has changed is looked at again, at once.
func TestRenewedLeaseWakesMetering(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 10}, 10)
	b.Dirty(nil)
	select {
	case <-b.Wakes():
	default:
	}

	b.RenewLease(k.Cell)
	select {
	case <-b.Wakes():
	default:
		t.Error("metering is not woken")
	}
	if dirty := b.Dirty(nil); len(dirty) != 1 || dirty[0] != k.Cell {
		t.Errorf("%d cells are drained; want the one", len(dirty))
	}
}

// A month that is shut again stays as it was shut.
func TestShutTwice(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 50)
	ticket := b.Admit(k, testMonth.Start().UnixNano())
	b.Reserve(&ticket, 10)
	s := k.Cell.slot(testMonth)
	open := s.word.Load()

	k.Cell.Shut(testMonth)
	shut := s.word.Load()
	if k.Cell.Shut(testMonth); s.word.Load() != shut || shut == open || k.Cell.Lease(testMonth) != 10 {
		t.Errorf("shut it is %x, and twice %x, with a lease of %d", shut, s.word.Load(), k.Cell.Lease(testMonth))
	}
	b.Settle(&ticket, RoutePools, 0)
	if k.Cell.Shut(testMonth); k.Cell.Lease(testMonth) != 10 {
		t.Errorf("units that are given back later lower its lease to %d", k.Cell.Lease(testMonth))
	}
}

// More than was held cannot be charged.
func TestChargeOfMoreThanIsHeld(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 50)
	ticket := b.Admit(k, testMonth.Start().UnixNano())
	b.Reserve(&ticket, 10)
	defer func() {
		if p := recover(); p == nil {
			t.Error("11 units of 10 were charged")
		}
		if tally, _ := k.Cell.Tally(testMonth); tally.Billed() != 0 {
			t.Errorf("%d units were billed", tally.Billed())
		}
	}()
	b.Settle(&ticket, RoutePools, 11)
}
