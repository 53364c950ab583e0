package actors

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// However units are reserved and given back, the units admitted after a flush stay
// within the headroom, and exactly that much counts as used after a kill.
func TestKillCountsTheHeadroom(t *testing.T) {
	rng := testRNG(11)
	for round := range 40 {
		r := newRig(t, vfs.NewCrashableMem(), testStart)
		k := r.account("acme", "growth") // 100 a second, burst 200
		headroom := k.Cell.Terms().Headroom(int64(testFlush))
		var spent, flushed int64
		for range 3 + rng.IntN(30) {
			switch rng.IntN(3) {
			case 0:
				r.now += int64(testFlush)
				r.drain()
				flushed = spent
			case 1: // most of these units come back
				for range rng.IntN(100) {
					r.spend(k, 10, 0)
				}
			case 2:
				for range rng.IntN(100) {
					if r.spend(k, 10, 10) == accounts.Granted {
						spent += 10
					}
				}
			}
			if stored := r.stored(k); spent > 0 && spent > stored.Lease {
				t.Fatalf("round %d: %d units admitted of a lease of %d", round, spent, stored.Lease)
			}
		}

		r.now += int64(testFlush)
		r.drain()
		flushed = spent
		for r.spend(k, 10, 10) == accounts.Granted {
			spent += 10
		}
		if spent-flushed > headroom {
			t.Errorf("round %d: %d units since the flush; at most %d are allowed", round, spent-flushed, headroom)
		}
		after := r.crash(0)
		q := ref(after.stored(k))
		if got := q.Lease; got != flushed+headroom {
			t.Errorf("round %d: %d units count as used after the kill; want %d + %d", round, got, flushed, headroom)
		}
		if u := after.usage("acme"); u.UnitsUsed != flushed || u.UnitsReserved != headroom {
			t.Errorf("round %d: usage = %d used, %d reserved; want %d, %d",
				round, u.UnitsUsed, u.UnitsReserved, flushed, headroom)
		}
		after.check()
	}
}

// Every kill of a node reserves one headroom, and
// usage and quota agree.
func TestKillsAddUp(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "growth")
	headroom := k.Cell.Terms().Headroom(int64(testFlush))
	const kills = 12
	for range kills {
		r.spend(k, 10, 10)
		r.pass(testFlush)
		r = r.crash(50)
		k = r.key("acme")
	}

	u := r.usage("acme")
	if u.UnitsUsed != kills*10 || u.UnitsReserved != kills*headroom {
		t.Errorf("usage = %d used, %d reserved; want %d, %d", u.UnitsUsed, u.UnitsReserved,
			kills*10, kills*headroom)
	}
	ticket := r.reg.Book().Admit(k, r.now)
	if q := ticket.Quota(); q.Left != q.Limit-u.UnitsUsed-u.UnitsReserved || q.Reserved != u.UnitsReserved {
		t.Errorf("quota = %+v; usage says %d used and %d reserved", q, u.UnitsUsed, u.UnitsReserved)
	}
	r.check()
}

// smallDisk is a disk that says how much room it has.
type smallDisk struct {
	vfs.FS
	free atomic.Uint64
}

func (d *smallDisk) setFree(bytes uint64) { d.free.Store(bytes) }

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 40}, nil
}

// On a full disk reads go on: durable leases are spent, also those of accounts
// that have fallen idle, and accounts without a quota are served, also those
// that have asked for nothing before. With room again all is as it was, and
// nothing of the bill is missing.
func TestFullDisk(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.setFree(1 << 40)
	r := newRigOn(t, disk, testStart)
	busy, idle := r.account("busy", "free"), r.account("idle", "free")
	late, open, fresh := r.account("late", "free"), r.account("open", "unlimited"), r.account("fresh", "unlimited")
	for _, k := range []*accounts.Key{busy, idle, open} {
		r.spend(k, 10, 10)
	}
	r.pass(900 * time.Millisecond) // idle is about to lose its lease
	r.spend(busy, 10, 10)
	headroom := busy.Cell.Terms().Headroom(int64(testFlush))

	disk.setFree(0)
	r.now += int64(testFlush)
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, accountstore.ErrNoSpace) {
		t.Fatalf("Drain = %v; want no space", err)
	}
	for range 30 { // three seconds, each with failing drains
		r.now += int64(testFlush)
		r.meter.Drain(r.now, r.now)
	}

	f := func(what string, k *accounts.Key, units int64, want accounts.Verdict) {
		t.Helper()
		if got := r.spend(k, units, units); got != want {
			t.Errorf("%s: %d units: %d; want %d", what, units, got, want)
		}
	}

	f("busy, of its lease", busy, 10, accounts.Granted)
	f("idle, of its lease", idle, headroom, accounts.Granted)
	f("idle, beyond its lease", idle, 1, accounts.Stalled)
	f("late, without a lease", late, 1, accounts.Stalled)
	f("open", open, 1000, accounts.Granted)
	f("fresh", fresh, 1000, accounts.Granted)

	disk.setFree(1 << 40)
	r.pass(testFlush)
	f("late, with room again", late, 1, accounts.Granted)
	f("idle, with room again", idle, 1, accounts.Granted)
	r.pass(2 * time.Second)
	for name, want := range map[string]int64{
		"busy": 30, "idle": 10 + headroom + 1, "late": 1, "open": 1010, "fresh": 1000,
	} {
		if u := r.usage(name); u.UnitsUsed != want || u.UnitsReserved != 0 {
			t.Errorf("%s: %d units used, %d reserved; want %d, 0", name, u.UnitsUsed, u.UnitsReserved, want)
		}
	}
	r.check()
}

// Units are admitted only after the lease that covers them is durable: requests that
// come while a batch is being written find the lease of the batch before.
func TestLeaseIsDurableBeforeItOpens(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "growth")
	flush, held := r.meter.store.flush, int64(0)
	writing := 0
	var open []accounts.Ticket
	r.meter.store.flush = func(f *accountstore.Flush) error {
		writing++
		for {
			ticket := r.reg.Book().Admit(k, r.now)
			if r.reg.Book().Reserve(&ticket, accounts.MaxUnits) != accounts.Granted {
				break
			}
			held += accounts.MaxUnits
			open = append(open, ticket)
		}
		if stored := r.stored(k).Lease; held > stored {
			t.Errorf("batch %d: %d units are held while it is written; the durable lease is %d",
				writing, held, stored)
		}
		err := flush(f)
		if stored := r.stored(k).Lease; held > stored {
			t.Errorf("batch %d: %d units are held after it was written; the durable lease is %d",
				writing, held, stored)
		}
		return err
	}

	for round := range 9 {
		ticket := r.reg.Book().Admit(k, r.now)
		if r.reserve(&ticket, accounts.MaxUnits) == accounts.Granted {
			held += accounts.MaxUnits
			open = append(open, ticket)
		}
		r.now += int64(testFlush)
		r.drain()

		// Units that come back lower the next lease.
		if round%3 < 2 {
			continue
		}
		for i := range open {
			r.reg.Book().Settle(&open[i], accounts.RoutePools, 0)
		}
		open, held = open[:0], 0
	}
	if writing < 5 {
		t.Errorf("%d batches are no test", writing)
	}
}

// The grace is ten flushes and at least three seconds.
func TestGrace(t *testing.T) {
	f := func(flush, want time.Duration) {
		t.Helper()
		if got := graceNs(int64(flush)); got != int64(want) {
			t.Errorf("a flush every %s: grace %s; want %s", flush, time.Duration(got), want)
		}
	}

	f(time.Millisecond, 3*time.Second)
	f(300*time.Millisecond, 3*time.Second)
	f(time.Second, 10*time.Second)
}

// A lease is given back after a second without requests and not before, and can be
// had again at once.
func TestIdleLeaseComesBack(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	r.spend(k, 10, 10)
	r.pass(testFlush)
	leased := r.stored(k).Lease

	r.pass(time.Second - testFlush)
	if got := r.stored(k).Lease; got != leased {
		t.Errorf("lease after less than a second = %d; want %d", got, leased)
	}
	r.pass(2 * testFlush)
	if got := r.stored(k).Lease; got != 10 {
		t.Errorf("lease after more than a second = %d; want 10", got)
	}

	// Units that a kill would not count are not to be had without a new lease.
	early := r.reg.Book().Admit(k, r.now)
	if v := r.reg.Book().Reserve(&early, 10); v != accounts.Unleased {
		t.Errorf("a reservation on a lease that was given back: %d; want Unleased", v)
	}
	if v := r.spend(k, 10, 10); v != accounts.Granted {
		t.Errorf("the next request: %d; want Granted", v)
	}
	r.check()
}

// While what an account has used cannot be read it gets no lease, as its quota may be
// spent; once it can be read again, nothing is missing.
func TestUnreadableMonth(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	broken := errors.New("broken")
	month := r.meter.store.month
	r.meter.store.month = func(uint64, accounts.Month) (accountstore.MonthRecord, error) {
		return accountstore.MonthRecord{}, broken
	}

	if v := r.spend(k, 10, 10); v == accounts.Granted {
		t.Errorf("units were granted beyond an unknown use")
	}
	r.reg.Book().RequestLease(k.Cell)
	r.now += int64(testFlush)
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, broken) {
		t.Errorf("Drain = %v; want the error of the read", err)
	}

	r.meter.store.month = month
	r.pass(testFlush)
	if v := r.spend(k, 10, 10); v != accounts.Granted {
		t.Errorf("after the month could be read: %d; want Granted", v)
	}
	r.pass(testFlush)
	if u := r.usage("acme"); u.UnitsUsed != 10 {
		t.Errorf("%d units used; want 10", u.UnitsUsed)
	}
	r.check()
}

// TestLeaseAfterFailedGiveBack checks that a lease is written again before it is spent, if a
// batch that gave it back was reported failed and is in the store all the same.
func TestLeaseAfterFailedGiveBack(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	r.spend(k, 10, 10)
	r.pass(testFlush)
	leased := r.stored(k).Lease

	// The batch reaches the disk, and its proof cannot be written.
	good, broken := r.meter.store.flush, errors.New("cannot write the proof")
	r.meter.store.flush = func(f *accountstore.Flush) error {
		if err := good(f); err != nil {
			return err
		}
		return broken
	}
	r.now += idleNs
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, broken) {
		t.Fatalf("Drain = %v; want %v", err, broken)
	}
	if got := r.stored(k).Lease; got != 10 {
		t.Fatalf("the lease in the store is %d; want 10", got)
	}

	// A full disk leaves nothing to spend either: the lease that is known is too high.
	r.meter.store.flush = func(*accountstore.Flush) error { return accountstore.ErrNoSpace }
	r.now += int64(testFlush)
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, accountstore.ErrNoSpace) {
		t.Fatalf("Drain = %v; want %v", err, accountstore.ErrNoSpace)
	}
	if v := r.spend(k, 10, 10); v == accounts.Granted {
		t.Error("units are spent of a lease that may have been given back")
	}

	// A request has the account leased again.
	r.meter.store.flush = good
	r.reg.Book().RequestLease(k.Cell)
	r.now += int64(testFlush)
	r.drain()
	if v := r.spend(k, 10, 10); v != accounts.Granted {
		t.Fatalf("after recovery: %d; want Granted", v)
	}
	if got := r.stored(k).Lease; got != leased {
		t.Errorf("units are spent of a lease of %d, and the store has %d", leased, got)
	}
	if u := r.crash(0).usage("acme"); u.UnitsUsed+u.UnitsReserved < 20 {
		t.Errorf("after a kill %d units count as used; 20 were", u.UnitsUsed+u.UnitsReserved)
	}
}
