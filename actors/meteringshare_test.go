package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// share is what a node has of the quotas that it shares with others.
type share struct {
	r         *rig
	allowance int64
	waits     bool
	told      []string // since the last look
}

func (s *share) Allow(*accounts.Cell, *accounts.Tally) (int64, bool) { return s.allowance, s.waits }

// Report checks that what is told is what the store has.
func (s *share) Report(c *accounts.Cell, t *accounts.Tally, idle bool) {
	s.r.t.Helper()
	stored, err := s.r.store.Month(c.ID, t.Month)
	if err != nil || *t != stored.Tally {
		s.r.t.Errorf("the others are told %+v; the store has %+v, %v", t, stored.Tally, err)
	}
	s.told = append(s.told, fmt.Sprintf("%s %s: %d of %d, idle %t", c.Name, t.Month, t.Billed(), t.Lease, idle))
}

// newShare starts a meter that shares its quotas.
func newShare(t *testing.T, start time.Time) (*rig, *share) {
	r := newRig(t, vfs.NewCrashableMem(), start)
	s := &share{r: r, allowance: 1 << 40}
	r.meter.Leases = s
	return r, s
}

// The other nodes are told of an account what the store has, after each batch that it is
// in: of the month before only what has changed in it, and that a lease was given back.
func TestOthersAreToldWhatIsStored(t *testing.T) {
	r, s := newShare(t, time.Date(2026, 11, 30, 23, 59, 57, 0, time.UTC))
	k := r.account("acme", "free") // its headroom is 105
	f := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(s.told, want) {
			t.Errorf("%s: told %q; want %q", what, s.told, want)
		}
		s.told = nil
	}

	r.spend(k, 10, 10)
	f("the first lease", "acme 2026-11: 0 of 105, idle false")
	r.pass(testFlush)
	f("the first bill", "acme 2026-11: 10 of 115, idle false")
	r.pass(800 * time.Millisecond)
	f("no change")
	r.pass(2 * testFlush)
	f("a second without requests", "acme 2026-11: 10 of 10, idle true")

	r.spend(k, 2, 2)
	late := r.reg.Book().Admit(k, r.now)
	if v := r.reg.Book().Reserve(&late, 5); v != accounts.Granted {
		t.Fatalf("a request of November: %d", v)
	}
	s.told = nil
	r.jump(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	r.spend(k, 1, 1)
	f("the turn of the month", "acme 2026-11: 12 of 115, idle false", "acme 2026-12: 0 of 105, idle false")
	r.pass(testFlush)
	f("a request of December", "acme 2026-12: 1 of 106, idle false")
	r.reg.Book().Settle(&late, accounts.RoutePools, 5)
	r.pass(testFlush)
	f("a late bill of November", "acme 2026-11: 17 of 115, idle false", "acme 2026-12: 1 of 106, idle false")
	r.pass(2 * time.Second)
	f("both leases come back", "acme 2026-11: 17 of 17, idle true", "acme 2026-12: 1 of 1, idle true")
	r.check()
}

// The others are told that an account is idle also where nothing of it is left to be
// written: units that the node has and did not lease may be given back. After a restart
// they are told what was stored before.
func TestOthersAreToldOfIdleAccounts(t *testing.T) {
	r, s := newShare(t, time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC))
	small, open := r.account("small", "small"), r.account("open", "unlimited")
	r.spend(small, 1000, 1000)
	r.spend(open, 7, 7)
	r.pass(testFlush)
	r.jump(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	r.spend(small, 1000, 1000)
	r.pass(testFlush)
	s.told = nil
	r.pass(time.Second)
	want := []string{"small 2026-11: 1000 of 1000, idle true", "small 2026-12: 1000 of 1000, idle true"}
	if !slices.Equal(s.told, want) {
		t.Errorf("told %q; want %q", s.told, want)
	}

	r = r.crash(0)
	s = &share{r: r, allowance: 1 << 40}
	r.meter.Leases = s
	r.reg.Book().RequestLease(r.key("small").Cell)
	r.drain()
	if want := []string{"small 2026-12: 1000 of 1000, idle false"}; !slices.Equal(s.told, want) {
		t.Errorf("after a restart told %q; want %q", s.told, want)
	}
}

// A month is read from the store once, when the account is first active in it.
func TestMonthIsReadOnce(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "unlimited")
	read, month := 0, r.meter.store.month
	r.meter.store.month = func(account uint64, m accounts.Month) (accountstore.MonthRecord, error) {
		read++
		return month(account, m)
	}

	for range 3 { // nothing is used, so nothing is written
		r.reg.Book().RequestLease(k.Cell)
		r.pass(testFlush)
	}
	if read != 1 {
		t.Errorf("the month was read %d times; want once", read)
	}
	r.jump(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	r.drain()
	r.spend(k, 1, 1)
	r.pass(3 * time.Second)
	if read != 2 {
		t.Errorf("two months were read %d times; want once each", read)
	}
}

// A node spends what it has of a shared quota and no unit more. A request that needs more
// waits until units have come, whatever is drained meanwhile.
func TestSharedQuota(t *testing.T) {
	r, s := newShare(t, testStart)
	k := r.account("acme", "growth")
	s.allowance = 40
	for range 4 {
		if v := r.spend(k, 10, 10); v != accounts.Granted {
			t.Fatalf("a request within the share: %d", v)
		}
	}
	early := r.reg.Book().Admit(k, r.now)
	if v := r.reg.Book().Reserve(&early, 1); v != accounts.Exhausted {
		t.Errorf("a unit beyond the share: %d; want Exhausted", v)
	}

	s.waits = true
	woken := r.reg.Book().RequestLease(k.Cell)
	f := func(what string, want bool) {
		t.Helper()
		r.pass(testFlush)
		got := false
		select {
		case <-woken:
			got = true
		default:
		}
		if got != want {
			t.Errorf("%s: the request goes on %t; want %t", what, got, want)
		}
	}

	f("no units have come", false)
	r.reg.Book().Touch(k, r.now)
	f("still none", false)
	s.allowance, s.waits = 50, false
	r.reg.Book().RenewLease(k.Cell)
	f("ten have come", true)
	if v := r.spend(k, 10, 10); v != accounts.Granted {
		t.Errorf("the ten units: %d; want Granted", v)
	}
	if v := r.reg.Book().Reserve(&early, 1); v != accounts.Exhausted {
		t.Errorf("unit 51: %d; want Exhausted", v)
	}
	if got := r.stored(k).Lease; got != 50 {
		t.Errorf("the lease is %d; want the share, 50", got)
	}
	r.check()
}

// A request that waits for units is woken when they cannot come any more: once the account
// has no quota, or its lease was given back.
func TestNobodyWaitsInVain(t *testing.T) {
	f := func(what string, change func(r *rig)) {
		t.Helper()
		r, s := newShare(t, testStart)
		k := r.account("acme", "growth")
		r.spend(k, 10, 10)
		s.allowance, s.waits = 10, true
		woken := r.reg.Book().RequestLease(k.Cell)
		r.drain()
		select {
		case <-woken:
			t.Errorf("%s: the request is woken before", what)
		default:
		}

		change(r)
		select {
		case <-woken:
		default:
			t.Errorf("%s: the request waits on", what)
		}
	}

	f("no quota any more", func(r *rig) {
		if _, err := r.reg.SetPlan("acme", "unlimited"); err != nil {
			t.Fatal(err)
		}
		r.reg.Book().RenewLease(r.key("acme").Cell)
		r.pass(testFlush)
	})
	f("idle", func(r *rig) { r.pass(time.Second + testFlush) })
}

// However many requests wait while a batch hangs, they make one more attempt together.
func TestWakesAreOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, vfs.NewMem(), time.Now())
		var keys []*accounts.Key
		for i := range 50 {
			keys = append(keys, r.account(fmt.Sprint("account", i), "free"))
		}
		m, err := StartMetering(r.meter, metrics.NewSet(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		flush, attempts := r.meter.store.flush, 0
		r.meter.store.flush = func(*accountstore.Flush) error {
			attempts++
			time.Sleep(testFlush / 2) // no tick comes meanwhile
			return errors.New("broken")
		}
		time.Sleep(testFlush / 4)
		for _, k := range keys {
			r.reg.Book().RequestLease(k.Cell)
			synctest.Wait()
		}
		time.Sleep(testFlush / 2)
		synctest.Wait()
		if attempts != 2 {
			t.Errorf("%d batches were tried for 50 requests; want one, and one for all that came during it", attempts)
		}

		r.meter.store.flush = flush
		if err := m.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// The days before the newest are written once, when the next begins; the first day of an
// account has none before it.
func TestDaysAreWrittenOnce(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	var days []string
	r.onBatch(func(f *accountstore.Flush) {
		for _, d := range f.Days {
			days = append(days, fmt.Sprintf("%s: %d", d.Day, d.Routes[accounts.RoutePools].Units))
		}
	})
	f := func(want ...string) {
		t.Helper()
		for range 2 {
			r.spend(k, 3, 3)
			r.pass(testFlush)
		}
		if !slices.Equal(days, want) {
			t.Errorf("the days written are %q; want %q", days, want)
		}
		r.now += int64(24 * time.Hour)
		r.drain()
	}

	f()
	f("2026-11-21: 6")
	f("2026-11-21: 6", "2026-11-22: 6")
	r.check()
}
