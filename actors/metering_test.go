package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

// rig is a meter on a store in memory; the test calls Drain.
type rig struct {
	t     *testing.T
	fs    *vfs.MemFS
	store *accountstore.Store
	reg   *registry.Registry
	keys  map[string]string // the only key of an account, by its name
	meter *Meter
	now   int64 // quota clock
	skew  int64 // wall clock minus quota clock
}

var testStart = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

const testFlush = 100 * time.Millisecond

// newRig starts a node's accounts on a file system at a time.
func newRig(t *testing.T, fs *vfs.MemFS, start time.Time) *rig {
	t.Helper()
	r := newRigOn(t, fs, start)
	r.fs = fs
	return r
}

func newRigOn(t *testing.T, fs vfs.FS, start time.Time) *rig {
	t.Helper()
	store, err := accountstore.Open("accounts", accountstore.Options{
		FS: fs, Logger: slog.New(slog.DiscardHandler), Exit: func() { panic("store ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}

	reg, err := registry.Open(store, testPlans(), start)
	if err != nil {
		t.Fatal(err)
	}

	r := &rig{
		t: t, store: store, reg: reg, keys: map[string]string{}, now: start.UnixNano(),
		meter: NewMeter(reg, store, testFlush, metrics.NewSet()),
	}
	r.drain()
	return r
}

// testPlans are the default ones and two of 1000 units: one whose lease reaches
// its quota at once, and one without a burst limit.
func testPlans() []accounts.Plan {
	small := accounts.Plan{ID: "small", MonthlyUnits: 1000, MaxAPIKeys: 10}
	unpaced := small
	unpaced.ID = "unpaced"
	small.RequestsPerSecond, small.Burst = 1000, 1000
	return append(accounts.DefaultPlans(), small, unpaced)
}

func (r *rig) drain() {
	r.t.Helper()
	if err := r.meter.Drain(r.now, r.now+r.skew); err != nil {
		r.t.Fatal(err)
	}
}

// pass lets time go by, a drain every flush.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	for end := r.now + int64(d); r.now < end; {
		r.now = min(r.now+int64(testFlush), end)
		r.drain()
	}
}

// jump moves both clocks without a drain.
func (r *rig) jump(to time.Time) { r.now = to.UnixNano() }

// account makes an account with a server key.
func (r *rig) account(name, plan string) *accounts.Key {
	r.t.Helper()
	if _, err := r.reg.CreateAccount(name, plan); err != nil {
		r.t.Fatal(err)
	}
	issued, err := r.reg.IssueKey(registry.KeyRequest{Account: name})
	if err != nil {
		r.t.Fatal(err)
	}
	r.keys[name] = issued.Key
	return r.key(name)
}

// key finds the only key of an account, also after a restart.
func (r *rig) key(name string) *accounts.Key {
	r.t.Helper()
	k, reason := r.reg.Book().Resolve([]byte(r.keys[name]))
	if reason != accounts.Accepted {
		r.t.Fatalf("the key of %s is refused: %d", name, reason)
	}
	return k
}

// spend reserves and settles, waking the meter as the edge would.
func (r *rig) spend(k *accounts.Key, units, charged int64) accounts.Verdict {
	r.t.Helper()
	t := r.reg.Book().Admit(k, r.now)
	v := r.reserve(&t, units)
	if v == accounts.Granted {
		r.reg.Book().Settle(&t, accounts.RoutePools, charged)
	}
	return v
}

func (r *rig) reserve(t *accounts.Ticket, units int64) accounts.Verdict {
	r.t.Helper()
	v := r.reg.Book().Reserve(t, units)
	if v == accounts.Unleased {
		woken := r.reg.Book().RequestLease(t.Key.Cell)
		r.meter.Drain(r.now, r.now+r.skew)
		<-woken
		v = r.reg.Book().Reserve(t, units)
	}
	return v
}

func (r *rig) usage(name string) registry.UsageView {
	r.t.Helper()
	u, err := r.reg.Usage(name, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

// stored is what the store has of an account's month.
func (r *rig) stored(k *accounts.Key) accounts.Tally {
	r.t.Helper()
	t, err := r.store.Month(k.Cell.ID, r.reg.Book().Calendar().This.Month)
	if err != nil {
		r.t.Fatal(err)
	}
	return t.Tally
}

// crash copies what a kill would leave, and starts on it.
func (r *rig) crash(unsynced int) *rig {
	r.t.Helper()
	clone := r.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: testRNG(unsynced)})
	after := newRig(r.t, clone, time.Unix(0, r.now))
	after.keys = r.keys
	return after
}

// check holds the store's own invariants.
func (r *rig) check() {
	r.t.Helper()
	findings, err := r.store.Check()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range findings {
		r.t.Error(f)
	}
}

func TestLeaseFollowsUse(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free") // 25,000 units, 5 a second, burst 10
	headroom := k.Cell.Terms().Headroom(int64(testFlush))
	if headroom != 10*10+5 {
		t.Fatalf("headroom = %d; want (burst + rate x flush) x 10 = 105", headroom)
	}
	if v := r.spend(k, 10, 10); v != accounts.Granted {
		t.Fatalf("first request: %d", v)
	}

	f := func(what string, got, want int64) {
		t.Helper()
		if got != want {
			t.Errorf("%s = %d; want %d", what, got, want)
		}
	}

	f("lease before the flush", r.stored(k).Lease, headroom)
	r.pass(testFlush)
	f("billed after it", ref(r.stored(k)).Billed(), 10)
	f("lease after it", r.stored(k).Lease, 10+headroom)
	r.pass(2 * time.Second)
	f("lease after a second without requests", r.stored(k).Lease, 10)
	f("accounts with a lease", int64(len(r.meter.leased)), 0)
	f("units used", r.usage("acme").UnitsUsed, 10)
	r.check()
}

func ref(t accounts.Tally) *accounts.Tally { return &t }

func TestQuotaIsExact(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "small")
	var granted int64
	for v := accounts.Granted; v != accounts.OverQuota; {
		if v = r.spend(k, 7, 7); v == accounts.Granted {
			granted += 7
		} else if v != accounts.OverQuota {
			t.Fatalf("after %d units: %d", granted, v)
		}
	}

	if granted != 994 {
		t.Errorf("granted %d of 1000 units in sevens; want 994", granted)
	}

	if v := r.spend(k, 6, 0); v != accounts.Granted {
		t.Errorf("the last 6 units: %d", v)
	}
	if v := r.spend(k, 6, 6); v != accounts.Granted {
		t.Errorf("the last 6 units, once given back: %d", v)
	}
	if v := r.spend(k, 1, 1); v != accounts.OverQuota {
		t.Errorf("unit 1001: %d; want OverQuota", v)
	}

	r.pass(time.Second)
	if u := r.usage("acme"); u.UnitsUsed != 1000 || u.Routes[0].Requests != 144 {
		t.Errorf("usage = %+v; want 1000 units of 144 requests", u)
	}
	r.check()
}

// 256 clients at once, with a meter beside them, are admitted exactly the quota.
func TestQuotaUnderConcurrency(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "unpaced")
	a, err := StartMetering(r.meter, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	var mu sync.Mutex
	var charged int64
	for client := range 256 {
		clients.Go(func() {
			var mine int64
			for i := 0; ; i++ {
				units := int64(1 + (client+i)%10)
				now := r.meter.clock.At(time.Now())
				ticket := r.reg.Book().Admit(k, now)
				v := r.reg.Book().Reserve(&ticket, units)
				for v == accounts.Unleased {
					<-r.reg.Book().RequestLease(k.Cell)
					v = r.reg.Book().Reserve(&ticket, units)
				}
				if v == accounts.Granted {
					bill := units * int64((client+i)%3&1) // some answers turn out free
					r.reg.Book().Settle(&ticket, accounts.RoutePools, bill)
					mine += bill
				} else if v == accounts.OverQuota && units == 1 {
					break
				}
			}
			mu.Lock()
			charged += mine
			mu.Unlock()
		})
	}
	clients.Wait()
	// Units held at the end of one client's loop may have been given back
	// since, so what is left is asked for alone.
	r.now = r.meter.clock.At(time.Now())
	for r.spend(k, 1, 1) == accounts.Granted {
		charged++
	}

	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.usage("acme").UnitsUsed; charged != 1000 || got != 1000 {
		t.Errorf("charged %d, usage says %d; want exactly the quota, 1000", charged, got)
	}
	r.check()
}

// The smallest quota is one unit, which can be spent.
func TestSmallestQuota(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "unpaced")
	plans := testPlans()
	plans[len(plans)-1].MonthlyUnits = 1
	if err := r.reg.ReplacePlans(plans); err != nil {
		t.Fatal(err)
	}
	for _, want := range []accounts.Verdict{accounts.Granted, accounts.OverQuota} {
		if got := r.spend(k, 1, 1); got != want {
			t.Errorf("a unit: %d; want %d", got, want)
		}
	}
}

func TestFailedSync(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	u := r.account("other", "unlimited")
	r.spend(k, 1, 1)
	r.spend(u, 1, 1)

	good, broken := r.meter.store.flush, errors.New("no space left on device")
	r.meter.store.flush = func(*accountstore.Flush) error { return broken }
	r.now += int64(testFlush)
	if err := r.meter.Drain(r.now, r.now); !errors.Is(err, broken) {
		t.Fatalf("Drain = %v; want %v", err, broken)
	}
	for range 3 {
		r.now += int64(testFlush)
		r.meter.Drain(r.now, r.now)
		for _, key := range []*accounts.Key{k, u} {
			if v := r.spend(key, 1, 1); v != accounts.Stalled {
				t.Errorf("while syncs fail: %d; want Stalled", v)
			}
		}
	}

	r.meter.store.flush = good
	r.pass(testFlush)
	for _, key := range []*accounts.Key{k, u} {
		if v := r.spend(key, 1, 1); v != accounts.Granted {
			t.Errorf("after recovery: %d; want Granted", v)
		}
	}

	r.pass(testFlush)
	if a, b := r.usage("acme").UnitsUsed, r.usage("other").UnitsUsed; a != 2 || b != 2 {
		t.Errorf("units used = %d, %d; want 2 each", a, b)
	}
	r.check()
}

// While the disk hangs, or the process does not run, nothing is admitted after the grace
// period. The next flush ends that.
func TestHungSync(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	u := r.account("acme", "unlimited")
	r.spend(u, 1, 1)
	r.drain()
	r.now += graceNs(int64(testFlush)) - 1
	if v := r.spend(u, 1, 1); v != accounts.Granted {
		t.Errorf("within the grace: %d; want Granted", v)
	}
	r.now += 2
	late := r.reg.Book().Admit(u, r.now)
	if v := r.reg.Book().Reserve(&late, 1); v != accounts.Unleased {
		t.Errorf("after the grace: %d; want Unleased", v)
	}

	if v := r.spend(u, 1, 1); v != accounts.Granted { // the process had not run
		t.Errorf("after the next flush: %d; want Granted", v)
	}
}

// Units are reported on the day of their flush, and days add up to the month,
// over midnights and restarts, also under a clock that went back.
func TestDays(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	for i := range int64(6) {
		r.drain()
		if v := r.spend(k, 1+i, 1+i); v != accounts.Granted {
			t.Fatalf("spend %d: %d", i, v)
		}
		r.pass(testFlush)
		r.now += int64(20 * time.Hour)
		if i == 3 {
			r.now -= int64(50 * time.Hour)
			r = r.crash(0)
			k = r.key("acme")
		}
	}

	var got []string
	for _, d := range r.usage("acme").Days {
		got = append(got, fmt.Sprintf("%s: %d of %d", d.Day, d.Units, d.Requests))
	}
	want := []string{"2026-11-21: 1 of 1", "2026-11-22: 2 of 1", "2026-11-23: 18 of 4"}
	if !slices.Equal(got, want) {
		t.Errorf("days = %q; want %q", got, want)
	}
	r.check()
}

func TestPlanChange(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "unlimited")
	for range 2000 {
		r.spend(k, 1, 1)
	}

	f := func(plan string, want accounts.Verdict) {
		t.Helper()
		if _, err := r.reg.SetPlan("acme", plan); err != nil {
			t.Fatal(err)
		}
		r.drain()
		if got := r.spend(k, 1, 1); got != want {
			t.Errorf("on plan %s: %d; want %d", plan, got, want)
		}
	}

	f("small", accounts.OverQuota)
	f("free", accounts.Granted)
	f("small", accounts.OverQuota)
	f("unlimited", accounts.Granted)
	if got := r.usage("acme").UnitsUsed; got != 2002 {
		t.Errorf("units used = %d; want 2002", got)
	}

	// The first request under a quota may come before metering knows of it: it waits.
	if _, err := r.reg.SetPlan("acme", "free"); err != nil {
		t.Fatal(err)
	}
	first := r.reg.Book().Admit(k, r.now)
	if v := r.reg.Book().Reserve(&first, 1); v != accounts.Unleased {
		t.Errorf("at once on plan free: %d; want Unleased", v)
	}
	if v := r.spend(k, 1, 1); v != accounts.Granted {
		t.Errorf("on plan free, after waiting: %d", v)
	}

	// So does the first one after a quota that was used up becomes larger.
	f("small", accounts.OverQuota)
	if _, err := r.reg.SetPlan("acme", "free"); err != nil {
		t.Fatal(err)
	}
	more := r.reg.Book().Admit(k, r.now)
	if v := r.reg.Book().Reserve(&more, 1); v != accounts.Unleased {
		t.Errorf("at once on the larger plan: %d; want Unleased", v)
	}
	if v := r.spend(k, 1, 1); v != accounts.Granted {
		t.Errorf("on the larger plan, after waiting: %d", v)
	}
	r.drain()
	late := r.reg.Book().Admit(k, r.now)
	if v := r.reg.Book().Reserve(&late, 10_000); v != accounts.Exhausted {
		t.Errorf("beyond the lease of the larger plan: %d; want Exhausted", v)
	}
	r.check()
}

func TestManyAccounts(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	for i := range 300 {
		k := r.account(fmt.Sprintf("account%d", i), "free")
		r.spend(k, 1, 1)
	}
	r.pass(3 * time.Second)
	if n := len(r.meter.leased) + len(r.meter.queue); n != 0 {
		t.Errorf("%d accounts are leased or queued after three idle seconds; want 0", n)
	}
	r.check()
}

// TestDrainPauses checks that a drain of many accounts lets requests in all the time.
func TestDrainPauses(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	pauses, begun := 0, 0
	r.meter.NewPause = func() func() {
		begun++
		return func() { pauses++ }
	}
	const n = 10 * entriesAPause
	var keys []*accounts.Key
	for i := range n {
		keys = append(keys, r.account(fmt.Sprintf("account%d", i), "free"))
		r.spend(keys[i], 1, 1) // has a lease from now on
	}
	for _, k := range keys {
		r.spend(k, 1, 1)
	}

	pauses, begun = 0, 0
	r.pass(testFlush)
	if begun != 2 {
		t.Errorf("pauses were started %d times; want at the beginning and after the batch", begun)
	}
	// In three loops over accounts, and while records are written.
	if least := 3 * n / entriesAPause; pauses < least {
		t.Errorf("a drain of %d accounts paused %d times; want at least %d", n, pauses, least)
	}
	r.check()
}

func TestLastUsed(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	r.spend(k, 1, 1)
	r.pass(testFlush)
	list, err := r.crash(0).reg.KeyList("acme")
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].LastUsedAt; got == nil || *got != "2026-11-21T08:00:00.000Z" {
		t.Errorf("last used %v; want the minute", got)
	}
}

// TestKeysWhileFlushesFail checks that a key which is used again and again while flushes fail is
// written once.
func TestKeysWhileFlushesFail(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	a, b := r.account("acme", "unlimited"), r.account("other", "unlimited")
	good, broken := r.meter.store.flush, errors.New("broken")
	r.meter.store.flush = func(*accountstore.Flush) error { return broken }
	for range 10 {
		r.now += int64(time.Minute)
		for _, k := range []*accounts.Key{a, b} {
			r.reg.Book().Admit(k, r.now)
		}
		if err := r.meter.Drain(r.now, r.now); !errors.Is(err, broken) {
			t.Fatalf("Drain = %v; want %v", err, broken)
		}
	}
	if n := len(r.meter.keys); n != 2 {
		t.Errorf("%d uses of 2 keys are to be written", n)
	}

	var written []accountstore.KeyUse
	r.meter.store.flush = func(f *accountstore.Flush) error {
		written = slices.Clone(f.Keys)
		return good(f)
	}
	r.drain()
	minute := r.now / int64(time.Minute)
	if want := []accountstore.KeyUse{{Key: a.ID, Minute: minute}, {Key: b.ID, Minute: minute}}; !slices.Equal(written, want) {
		t.Errorf("the uses %v are written; want %v", written, want)
	}
}
