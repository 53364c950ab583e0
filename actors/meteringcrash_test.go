package actors

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

func testRNG(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 7)) }

// Whenever the process is killed and however much of the unsynced data is
// lost: what was admitted is within what the store calls perhaps used, what it
// bills was answered, and at most one flush of charges is missing.
func TestCrashPromises(t *testing.T) {
	crashes := 60
	switch os.Getenv("TIDEMARK_TORTURE") {
	case "full":
		crashes = 2000
	case "quick":
		crashes = 200
	}
	rng := testRNG(1)
	for round := range crashes {
		r := newRig(t, vfs.NewCrashableMem(), testStart)
		k := r.account("acme", "small")
		var charged, sinceFlush, held int64
		var open []accounts.Ticket
		for range 5 + rng.IntN(80) {
			switch rng.IntN(4) {
			case 0:
				r.now += int64(testFlush)
				r.drain()
				sinceFlush = 0
			case 1:
				ticket := r.reg.Book().Admit(k, r.now)
				if r.reserve(&ticket, 10) == accounts.Granted {
					open = append(open, ticket)
					held += 10
				}
			case 2:
				if n := len(open); n > 0 {
					r.reg.Book().Settle(&open[n-1], accounts.RoutePoolCharts, 10)
					open = open[:n-1]
					held, charged, sinceFlush = held-10, charged+10, sinceFlush+10
				}
			case 3:
				r.pass(time.Duration(1+rng.IntN(1500)) * time.Millisecond)
				sinceFlush = 0
			}
		}

		// What the store says after the kill, against what was answered before it.
		after := r.crash(rng.IntN(101))
		stored := after.stored(k)
		billed := stored.Billed()
		if stored.Lease < charged+held {
			t.Errorf("round %d: the quota counts from %d; %d were admitted", round, stored.Lease, charged+held)
		}
		if billed > charged {
			t.Errorf("round %d: billed %d; only %d were answered", round, billed, charged)
		}
		if billed < charged-sinceFlush {
			t.Errorf("round %d: billed %d of %d; only %d were charged since the last flush",
				round, billed, charged, sinceFlush)
		}

		admitted := charged + held
		for after.spend(after.key("acme"), 10, 10) == accounts.Granted {
			admitted += 10
		}
		if admitted > 1000 {
			t.Errorf("round %d: %d units admitted over the crash; the quota is 1000", round, admitted)
		}
		after.check()
	}
	t.Logf("figure: %d crashes of metering: 0 units over the quota, 0 billed without an answer, "+
		"at most one flush of charges lost", crashes)
}

// An orderly stop gives leases back, so that no units of the quota are lost.
func TestGracefulStop(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	r.spend(k, 10, 10)
	r.spend(k, 10, 0)

	if err := r.meter.Close(r.now, r.now); err != nil {
		t.Fatal(err)
	}
	if v := r.spend(k, 1, 1); v != accounts.Stalled {
		t.Errorf("after the stop: %d; want Stalled", v)
	}

	after := r.crash(0)
	if got := after.stored(k); got.Lease != 10 || got.Billed() != 10 {
		t.Errorf("stored %+v; want 10 units billed and leased", got)
	}
}

// A request is charged to the month of its admission, and each quota is granted once.
func TestMonthTurn(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC))
	k := r.account("acme", "small")
	r.spend(k, 600, 600)
	r.jump(time.Date(2026, 11, 30, 23, 59, 59, 999_999_999, time.UTC))
	r.drain()

	late := r.reg.Book().Admit(k, r.now)
	if v := r.reserve(&late, 300); v != accounts.Granted {
		t.Fatalf("the last nanosecond of November: %d", v)
	}

	r.now++
	if v := r.spend(k, 700, 700); v != accounts.Granted {
		t.Fatalf("the first nanosecond of December: %d", v)
	}
	r.reg.Book().Settle(&late, accounts.RoutePools, 300)
	r.pass(2 * time.Second)

	f := func(month string, units int64, lastDay string) {
		t.Helper()
		u, err := r.reg.Usage("acme", month)
		if err != nil {
			t.Fatal(err)
		}
		if u.UnitsUsed != units || u.Days[len(u.Days)-1].Day != lastDay {
			t.Errorf("%s: %d units, days %+v; want %d, the last on %s",
				month, u.UnitsUsed, u.Days, units, lastDay)
		}
	}

	f("2026-11", 900, "2026-11-30")
	f("2026-12", 700, "2026-12-01")
	if v := r.spend(k, 301, 301); v != accounts.OverQuota {
		t.Errorf("301 more units in December: %d; want OverQuota", v)
	}
	r.check()
}

// quotas spends whatever it is given and returns how many units that was.
func (r *rig) quotas(k *accounts.Key) (units int64) {
	for r.spend(k, 100, 100) == accounts.Granted {
		units += 100
	}
	return units
}

// Steps of the wall clock within a process do not change a quota.
func TestWallClockSteps(t *testing.T) {
	for _, step := range []time.Duration{
		time.Second, -time.Second, time.Minute, 6 * time.Minute, -6 * time.Minute,
		25 * time.Hour, -25 * time.Hour, 40 * 24 * time.Hour, -40 * 24 * time.Hour,
	} {
		r := newRig(t, vfs.NewCrashableMem(), testStart)
		k := r.account("acme", "small")
		total := r.quotas(k)

		r.skew = int64(step)
		for range 20 {
			r.now += int64(time.Minute)
			r.drain()
			total += r.quotas(k)
		}

		r.skew = 0
		r.pass(time.Second)
		if total += r.quotas(k); total != 1000 {
			t.Errorf("a step of %s: %d units in one month; want 1000", step, total)
		}
		r.check()
	}
}

// A wall clock that is off keeps the month from turning until both have
// agreed for ten minutes; a small difference does not.
func TestMistrustedClock(t *testing.T) {
	f := func(skew time.Duration, turns bool) {
		t.Helper()
		r := newRig(t, vfs.NewCrashableMem(), time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC))
		k := r.account("acme", "small")
		r.quotas(k)
		r.skew = int64(skew)
		r.drain()
		r.jump(time.Date(2026, 12, 1, 0, 30, 0, 0, time.UTC))
		r.drain()
		if got := r.quotas(k) == 1000; got != turns {
			t.Errorf("skew %s: December's quota granted: %v; want %v", skew, got, turns)
		}
		r.skew = 0
		r.drain()
		r.now += int64(9 * time.Minute)
		r.drain()
		if got := r.reg.Book().Calendar().This.Month.String(); !turns && got != "2026-11" {
			t.Errorf("skew %s: %s after nine minutes of agreement; want 2026-11", skew, got)
		}
		r.now += int64(time.Minute)
		r.drain()
		r.quotas(k)
		if u := r.usage("acme"); u.Month != "2026-12" || u.UnitsUsed != 1000 {
			t.Errorf("skew %s: %d units of %s; want 1000 of 2026-12", skew, u.UnitsUsed, u.Month)
		}
	}

	f(time.Second, true)
	f(-4*time.Minute, true)
	f(6*time.Minute, false)
	f(-6*time.Minute, false)
	f(40*24*time.Hour, false)
	f(-40*24*time.Hour, false)
}

// Restarts with a clock that steps grant every month once.
func TestClockStepsAcrossRestarts(t *testing.T) {
	for _, step := range []time.Duration{
		time.Second, -time.Second, 24 * time.Hour, -24 * time.Hour,
		40 * 24 * time.Hour, -40 * 24 * time.Hour,
	} {
		granted := map[string]int64{}
		r := newRig(t, vfs.NewCrashableMem(), testStart)
		k := r.account("acme", "small")
		for restart := range 6 {
			granted[r.usage("acme").Month] += r.quotas(k)
			r.pass(2 * testFlush)
			if restart%2 == 0 {
				r.now += int64(step)
			} else {
				r.now -= int64(step)
			}
			r = r.crash(50)
			k = r.key("acme")
		}

		for month, units := range granted {
			if units > 1000 {
				t.Errorf("a step of %s: %d units of %s; the quota is 1000", step, units, month)
			}
		}
	}
}

// The actor drains by the tick and at once when an account wakes; panics and
// a stop leave nothing behind.
func TestMeteringActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, vfs.NewCrashableMem(), time.Now())
		k := r.account("acme", "free")

		var breaks atomic.Bool // the next account's drain panics
		month := r.meter.store.month
		r.meter.store.month = func(account uint64, m accounts.Month) (accountstore.MonthRecord, error) {
			if breaks.Load() {
				panic("injected")
			}
			return month(account, m)
		}

		a, err := StartMetering(r.meter, metrics.NewSet(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}

		request := func() time.Duration {
			began := time.Now()
			ticket := r.reg.Book().Admit(k, r.meter.clock.At(began))
			for r.reg.Book().Reserve(&ticket, 1) == accounts.Unleased {
				<-r.reg.Book().RequestLease(k.Cell)
			}
			r.reg.Book().Settle(&ticket, accounts.RoutePositions, 1)
			return time.Since(began)
		}

		time.Sleep(testFlush / 2)
		if took := request(); took != 0 {
			t.Errorf("the first request waited %s; want no tick of the clock", took)
		}

		breaks.Store(true)
		other := r.account("other", "free")
		r.reg.Book().RequestLease(other.Cell)
		time.Sleep(3 * testFlush)
		if a.panics.Get() == 0 {
			t.Error("no panic was counted")
		}

		breaks.Store(false)
		time.Sleep(2 * testFlush)
		if got := r.stored(k); got.Billed() != 1 {
			t.Errorf("stored %+v after a panic; want 1 unit", got)
		}

		time.Sleep(3 * time.Second)
		request()
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.stored(k); got.Billed() != 2 || got.Lease != 2 {
			t.Errorf("stored %+v after the stop; want 2 units billed and leased", got)
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
