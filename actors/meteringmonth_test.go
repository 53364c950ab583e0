package actors

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// november is a month as the store has it after a kill.
func (r *rig) november(k *accounts.Key) accountstore.MonthRecord {
	r.t.Helper()
	m, err := r.crash(0).store.Month(k.Cell.ID, accounts.MonthAt(testStart.UnixNano()))
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// What a request of the last month still bills, and what it may still hold, is durable
// too: the lease of that month is not taken back while the account is active.
func TestLastMonthIsWritten(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	k := r.account("acme", "free")
	r.spend(k, 10, 10)
	r.pass(testFlush)
	r.jump(time.Date(2026, 11, 30, 23, 59, 59, 950_000_000, time.UTC))
	r.drain()
	if v := r.spend(k, 7, 7); v != accounts.Granted {
		t.Fatalf("a request of November: %d", v)
	}
	late := r.reg.Book().Admit(k, r.now)
	leased := r.november(k).Lease

	r.jump(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	for range 3 { // the account is active in December
		r.spend(k, 1, 1)
		r.pass(testFlush)
	}
	if got := r.november(k).Lease; got != leased {
		t.Errorf("November's lease is %d after the turn; want %d, of which a request may still hold units", got, leased)
	}
	if v := r.reg.Book().Reserve(&late, 10); v != accounts.Granted {
		t.Fatalf("a request that was admitted in November: %d", v)
	}
	if got := r.november(k); got.Lease < 17+10 {
		t.Errorf("November's lease is %d; 27 units are used or held", got.Lease)
	}

	r.reg.Book().Settle(&late, accounts.RoutePools, 10)
	r.pass(testFlush)
	got := r.november(k)
	if got.Billed() != 27 || got.Day.String() != "2026-11-30" || got.Newest().Routes[accounts.RoutePools].Units != 17 {
		t.Errorf("November has %d units, the newest day %s has %+v; want 27, of them 17 on the 30th",
			got.Billed(), got.Day, got.Newest())
	}

	// Once the account is idle the lease comes back, and nothing can be held any more.
	r.pass(2 * time.Second)
	if got := r.november(k); got.Billed() != 27 || got.Lease != 27 {
		t.Errorf("November has %d units, leased %d, after the account was idle; want 27", got.Billed(), got.Lease)
	}
	if v := r.reg.Book().Reserve(&late, 1); v == accounts.Granted {
		t.Error("a request of November still got units after the lease was given back")
	}
	r.check()
}

// A new day begins in the report with its first use, not with a lease that is given back.
func TestDayBeginsWithUse(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), time.Date(2026, 11, 21, 23, 59, 59, 500_000_000, time.UTC))
	k := r.account("acme", "free")
	r.spend(k, 10, 10)
	r.pass(3 * time.Second)
	if days := r.usage("acme").Days; len(days) != 1 || days[0].Day != "2026-11-21" {
		t.Errorf("the days with use are %+v; want the 21st", days)
	}
	if got := r.stored(k); got.Lease != 10 {
		t.Errorf("the lease is %d; want 10 of them given back", got.Lease)
	}
}

// An orderly stop gives back the lease of an account that has asked for nothing since
// the last flush.
func TestStopGivesQuietLeasesBack(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	r.spend(k, 10, 10)
	r.pass(2 * testFlush)
	if err := r.meter.Close(r.now, r.now); err != nil {
		t.Fatal(err)
	}
	if got := r.crash(0).stored(k); got.Lease != 10 {
		t.Errorf("the lease after the stop is %d; want the 10 units used", got.Lease)
	}
}

// A stop begins the month that the clock has reached, unless the wall clock is of another
// opinion.
func TestStopInANewMonth(t *testing.T) {
	f := func(wall time.Duration, want string) {
		t.Helper()
		r := newRig(t, vfs.NewCrashableMem(), time.Date(2026, 11, 30, 23, 50, 0, 0, time.UTC))
		now := r.now + int64(11*time.Minute)
		if err := r.meter.Close(now, now+int64(wall)); err != nil {
			t.Fatal(err)
		}
		if got := r.reg.Book().Calendar().This.Month.String(); got != want {
			t.Errorf("with the wall clock %s off the month is %s; want %s", wall, got, want)
		}
	}

	f(0, "2026-12")
	f(4*time.Minute, "2026-12")
	f(-4*time.Minute, "2026-12")
	f(6*time.Minute, "2026-11")
	f(-6*time.Minute, "2026-11")
}

// An account without a quota needs no lease: its next request after a pause is served
// without a wait, and what it used is written by an orderly stop.
func TestUnlimitedAccountNeverWaits(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "unlimited")
	r.spend(k, 1, 1)
	r.pass(3 * time.Second)

	ticket := r.reg.Book().Admit(k, r.now)
	if v := r.reg.Book().Reserve(&ticket, 5); v != accounts.Granted {
		t.Fatalf("a request after a pause: %d; want Granted", v)
	}
	r.reg.Book().Settle(&ticket, accounts.RoutePools, 5)
	if err := r.meter.Close(r.now, r.now); err != nil {
		t.Fatal(err)
	}
	if got := r.crash(0).stored(k); got.Billed() != 6 {
		t.Errorf("%d units are billed after the stop; want 6", got.Billed())
	}
}

// A full disk counts as full until something was really written to it.
func TestDiskStaysFull(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.setFree(1 << 40)
	r := newRigOn(t, disk, testStart)
	k := r.account("acme", "small")
	disk.setFree(0)
	r.reg.Book().RequestLease(k.Cell)
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, accountstore.ErrNoSpace) {
		t.Errorf("a lease on a full disk = %v; want no space", err)
	}

	plans := testPlans()
	for i := range plans {
		plans[i].MonthlyUnits = 0 // a lease is not needed any more, so nothing is to be written
	}
	if err := r.reg.ReplacePlans(plans); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.now += int64(testFlush)
		if err := r.meter.Drain(r.now, r.now); !errors.Is(err, accountstore.ErrNoSpace) {
			t.Errorf("Drain on a full disk = %v; want no space", err)
		}
	}
	disk.setFree(1 << 40)
	r.pass(testFlush)
	if v := r.spend(k, 1, 1); v != accounts.Granted {
		t.Errorf("with room again: %d; want Granted", v)
	}
}

// While the usage of one account cannot be read, no batch is written at all: a part of
// one would look like all of it.
func TestNoPartOfABatch(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	good, bad := r.account("good", "free"), r.account("unreadable", "free")
	broken, written := errors.New("broken"), 0
	month := r.meter.store.month
	r.meter.store.month = func(account uint64, m accounts.Month) (accountstore.MonthRecord, error) {
		if account == bad.Cell.ID {
			return accountstore.MonthRecord{}, broken
		}
		return month(account, m)
	}
	r.onBatch(func(*accountstore.Flush) { written++ })

	r.reg.Book().RequestLease(good.Cell)
	r.reg.Book().RequestLease(bad.Cell)
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, broken) || written != 0 {
		t.Errorf("Drain = %v, %d batches; want the error of the read and none", err, written)
	}
	for _, k := range []*accounts.Key{good, bad} {
		ticket := r.reg.Book().Admit(k, r.now)
		if v := r.reg.Book().Reserve(&ticket, 1); v == accounts.Granted {
			t.Errorf("account %s got units without a durable lease", k.Cell.Name)
		}
	}
}

// TestBusyAccountGivesMonthBack checks that the lease of a month that is over is given back
// also by an account that is never idle.
func TestBusyAccountGivesMonthBack(t *testing.T) {
	start := time.Date(2026, 11, 30, 23, 59, 30, 0, time.UTC)
	r := newRig(t, vfs.NewCrashableMem(), start)
	k := r.account("acme", "free")
	for range 4 * 60 {
		if v := r.spend(k, 1, 1); v != accounts.Granted {
			t.Fatalf("a unit: %d; want Granted", v)
		}
		r.pass(500 * time.Millisecond)
	}

	over := accounts.MonthAt(start.UnixNano())
	stored, err := r.store.Month(k.Cell.ID, over)
	if err != nil {
		t.Fatal(err)
	}
	if billed := stored.Billed(); billed != 60 || stored.Lease != billed {
		t.Errorf("of %s %d units are leased and %d billed; want 60 each", over, stored.Lease, billed)
	}
	r.check()
}

// TestStreamOverMidnight checks that units of a stream are reported on each of its days, and in
// each of its months, also where no request was made: they add up to the units used.
func TestStreamOverMidnight(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), time.Date(2026, 11, 29, 23, 59, 30, 0, time.UTC))
	k := r.account("acme", "free")
	stream := r.reg.Book().Admit(k, r.now)
	pay := func() {
		t.Helper()
		r.reg.Book().Renew(&stream, r.now)
		if v := r.reserve(&stream, 1); v != accounts.Granted {
			t.Fatalf("a minute: %d; want Granted", v)
		}
		r.reg.Book().Settle(&stream, accounts.RouteStream, 1)
		r.pass(testFlush)
	}
	f := func(month string, days int) {
		t.Helper()
		u, err := r.reg.Usage("acme", month)
		if err != nil {
			t.Fatal(err)
		}
		byRoute, byDay := int64(0), int64(0)
		for _, route := range u.Routes {
			byRoute += route.Units
		}
		for _, day := range u.Days {
			byDay += day.Units
		}
		if byRoute != u.UnitsUsed || byDay != u.UnitsUsed || len(u.Days) != days {
			t.Errorf("%s: %d units by route and %d on %d days; want %d on %d", month, byRoute, byDay,
				len(u.Days), u.UnitsUsed, days)
		}
	}

	pay()
	r.jump(time.Date(2026, 11, 30, 0, 0, 30, 0, time.UTC))
	pay()
	f("2026-11", 2)
	r.jump(time.Date(2026, 12, 1, 0, 0, 30, 0, time.UTC))
	pay()
	f("2026-11", 2)
	f("2026-12", 1)
}
