package actors

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// onBatch calls do while each batch is written, before the store has it.
func (r *rig) onBatch(do func(*accountstore.Flush)) {
	flush := r.meter.store.flush
	r.meter.store.flush = func(f *accountstore.Flush) error {
		do(f)
		return flush(f)
	}
}

// A request that comes while a batch is written is served at once from the lease of
// the batch before, and does not wait for the disk.
func TestLeaseServesDuringABatch(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	batches := 0
	r.onBatch(func(*accountstore.Flush) {
		if batches++; batches == 1 {
			return // the account had no lease yet
		}
		ticket := r.reg.Book().Admit(k, r.now)
		if v := r.reg.Book().Reserve(&ticket, 1); v != accounts.Granted {
			t.Errorf("batch %d: a request meanwhile: %d; want Granted", batches, v)
		}
		r.reg.Book().Settle(&ticket, accounts.RoutePools, 1)
	})

	for range 8 {
		r.spend(k, 1, 1)
		r.pass(testFlush)
	}
	if batches < 8 {
		t.Errorf("%d batches are no test", batches)
	}
	r.check()
}

// On a full disk an account that falls idle keeps its durable lease: its next request
// is served from it, also while another write is tried.
func TestIdleLeaseOnAFullDisk(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.setFree(1 << 40)
	r := newRigOn(t, disk, testStart)
	k, other := r.account("acme", "free"), r.account("other", "free")
	r.spend(k, 1, 1)
	r.spend(other, 1, 1)
	r.pass(testFlush)

	disk.setFree(0)
	asked := false
	r.onBatch(func(*accountstore.Flush) {
		if asked || r.now < testStart.UnixNano()+3*idleNs {
			return
		}
		asked = true
		ticket := r.reg.Book().Admit(k, r.now)
		if v := r.reg.Book().Reserve(&ticket, 1); v != accounts.Granted {
			t.Errorf("a request on a full disk, within the durable lease: %d; want Granted", v)
		}
		r.reg.Book().Settle(&ticket, accounts.RoutePools, 1)
	})
	for range 40 {
		r.spend(other, 1, 1) // so that there is something to write
		r.now += int64(testFlush)
		if err := r.meter.Drain(r.now, r.now); !errors.Is(err, accountstore.ErrNoSpace) {
			t.Fatalf("Drain = %v; want no space", err)
		}
	}
	if !asked {
		t.Error("no batch was tried")
	}
}

// When a full disk has room again, everything is as before: leases come back after a
// second, and a disk that hangs stops all spending.
func TestFullDiskHasRoomAgain(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.setFree(1 << 40)
	r := newRigOn(t, disk, testStart)
	k := r.account("acme", "free")
	r.spend(k, 1, 1)
	disk.setFree(0)
	r.now += int64(testFlush)
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, accountstore.ErrNoSpace) {
		t.Fatalf("Drain = %v; want no space", err)
	}

	disk.setFree(1 << 40)
	r.pass(testFlush)
	r.spend(k, 1, 1)
	r.pass(2 * time.Second)
	if got := r.stored(k); got.Lease != 2 || got.Billed() != 2 {
		t.Errorf("stored %+v after two idle seconds; want 2 units billed and leased", got)
	}

	r.spend(k, 1, 1)
	r.pass(testFlush)
	r.now += graceNs(int64(testFlush)) + 1
	ticket := r.reg.Book().Admit(k, r.now)
	if v := r.reg.Book().Reserve(&ticket, 1); v == accounts.Granted {
		t.Error("a request got units of its lease while the disk hangs")
	}
}

// Idle leases are looked for at the tick and no more often: a wake, which comes with
// any request after a pause, costs the same however many accounts have a lease.
func TestWakeLeavesIdleLeases(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	r.spend(k, 1, 1)
	r.pass(testFlush)
	leased := r.stored(k).Lease

	f := func(after time.Duration, want int64) {
		t.Helper()
		r.now += int64(after)
		r.drain()
		if got := r.stored(k).Lease; got != want {
			t.Errorf("%s after the request the lease is %d; want %d",
				time.Duration(r.now-testStart.UnixNano()), got, want)
		}
	}

	f(950*time.Millisecond, leased) // a tick, 50 ms too early
	f(60*time.Millisecond, leased)  // a wake
	f(40*time.Millisecond, 1)       // the next tick
}

// A batch has the accounts in the order of their numbers, each once, and only what
// has changed; without a change nothing is written. The metrics count it.
func TestBatches(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	var keys []*accounts.Key
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		keys = append(keys, r.account(name, "unlimited"))
	}
	r.pass(testFlush)
	var batches [][]uint64
	r.onBatch(func(f *accountstore.Flush) {
		var ids []uint64
		for _, m := range f.Months {
			ids = append(ids, m.Account)
		}
		batches = append(batches, ids)
	})

	ids := func(places ...int) (list []uint64) {
		for _, i := range places {
			list = append(list, keys[i].Cell.ID)
		}
		return list
	}
	f := func(used []int, want ...uint64) {
		t.Helper()
		batches = nil
		for _, i := range used {
			r.spend(keys[i], 1, 1)
		}
		r.pass(testFlush)
		if got := slices.Concat(batches...); len(batches) > 1 || !slices.Equal(got, want) {
			t.Errorf("after requests of %v the batches are %v; want %v", used, batches, want)
		}
	}

	// The first request of an account waits for a batch of its own, without a change.
	for _, k := range keys {
		r.spend(k, 0, 0)
	}
	r.pass(testFlush)
	flushes, rows := r.meter.metrics.flushes.Get(), r.meter.metrics.rows.Get()

	f([]int{3, 0, 4, 1}, ids(0, 1, 3, 4)...)
	f([]int{2, 2, 2}, ids(2)...)
	f(nil)
	f([]int{1}, ids(1)...)
	r.now += int64(24 * time.Hour)
	r.drain()
	f([]int{1}, ids(1)...) // and the day before, which is over
	m := r.meter.metrics
	if got := m.flushes.Get() - flushes; got != 4 {
		t.Errorf("%d flushes are counted; want 4", got)
	}
	if got := m.rows.Get() - rows; got != 9 {
		t.Errorf("%d rows are counted; want 9, one of them a key", got)
	}

	flush, failures := r.meter.store.flush, m.failures.Get()
	r.meter.store.flush = func(*accountstore.Flush) error { return errors.New("broken") }
	r.spend(keys[0], 1, 1)
	for range 2 {
		r.reg.Book().RequestLease(keys[0].Cell)
		r.now += int64(testFlush)
		if err := r.meter.Drain(r.now, r.now); err == nil {
			t.Error("Drain hides that a batch failed")
		}
	}
	if got := m.failures.Get() - failures; got != 2 {
		t.Errorf("%d failures are counted; want 2", got)
	}
	r.meter.store.flush = flush
	f(nil, ids(0)...)
	if n := len(r.meter.leased); n != 2 {
		t.Errorf("%d accounts are looked through for idle leases; want the 2 of the last second", n)
	}
}

// An orderly stop in the first moment of a month, before any drain of it, writes what
// the month before still owes, and ends in the new month.
func TestStopAtTheTurnOfAMonth(t *testing.T) {
	last := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	r := newRig(t, vfs.NewCrashableMem(), last)
	k := r.account("acme", "free")
	r.spend(k, 10, 10)
	r.pass(testFlush)
	november := r.reg.Book().Calendar().This.Month

	r.now = last.Add(time.Second).UnixNano()
	if err := r.meter.Close(r.now, r.now); err != nil {
		t.Fatal(err)
	}
	stored, err := r.store.Month(k.Cell.ID, november)
	if err != nil {
		t.Fatal(err)
	}
	if this := r.reg.Book().Calendar().This.Month; this != november+1 {
		t.Errorf("the month is %v; want December", this)
	}
	if stored.Billed() != 10 {
		t.Errorf("November has %+v; want 10 units billed", stored.Tally)
	}
	r.check()
}

// A drain of many accounts is batches of a bounded number of them, each account in one.
// When a batch fails, the accounts of it and of those after it are written by the next
// drain.
func TestManyAccountsAreBatches(t *testing.T) {
	const n = 2*entriesABatch + 10
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	var keys []*accounts.Key
	for i := range n {
		keys = append(keys, r.account(fmt.Sprintf("account%d", i), "free"))
		r.spend(keys[i], 1, 1) // has a lease from now on
	}
	r.pass(testFlush)

	var sizes []int
	written, fails := map[uint64]int{}, errors.New("the disk fails")
	failing := 2 // the batch that fails
	flush := r.meter.store.flush
	r.meter.store.flush = func(f *accountstore.Flush) error {
		if sizes = append(sizes, len(f.Months)); len(sizes) == failing {
			return fails
		}
		for _, m := range f.Months {
			written[m.Account]++
		}
		return flush(f)
	}

	for _, k := range keys {
		r.spend(k, 1, 1)
	}
	r.now += int64(testFlush)
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, fails) || len(r.meter.queue) != n-entriesABatch {
		t.Fatalf("Drain = %v with %d accounts left; want %d", err, len(r.meter.queue), n-entriesABatch)
	}
	r.pass(testFlush)
	if want := []int{entriesABatch, entriesABatch, entriesABatch, 10}; !slices.Equal(sizes[:4], want) {
		t.Errorf("batches of %d accounts; want %d", sizes, want)
	}
	for _, k := range keys {
		if times := written[k.Cell.ID]; times != 1 {
			t.Errorf("account %d was written %d times", k.Cell.ID, times)
		}
	}
	r.pass(2 * time.Second)
	if left := len(r.meter.leased); left != 0 {
		t.Errorf("%d accounts are leased after two idle seconds", left)
	}
	r.check()
}
