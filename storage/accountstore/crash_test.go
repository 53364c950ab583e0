package accountstore

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/storage/accounts"
	"tidemark/storage/disktest"
)

// TestCrash clones the disk in the middle of writes and flushes, loses 0 to
// 100 % of the unsynced data, and opens each clone. It has every charge and every
// revocation that was acknowledged before the crash.
func TestCrash(t *testing.T) {
	crashes, want := 0, disktest.Share(100, 500, 20_000)
	for seed := uint64(1); crashes < want; seed++ {
		crashes += crashAccounts(t, seed)
	}
	disktest.Figure(t, "%d crashes inside writes and flushes of the accounts' store: 0 acknowledged charges "+
		"and revocations lost", crashes)
}

// accountsCrash is a disk after a crash, and what was acknowledged before it.
type accountsCrash struct {
	fs             vfs.FS
	units, revoked int64
}

// crashAccounts charges and revokes, and opens what each of some crashes left.
func crashAccounts(t *testing.T, seed uint64) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	fs := vfs.NewCrashableMem()
	var taken []accountsCrash
	var units, revoked, operations atomic.Int64
	var busy atomic.Bool
	injector := errorfs.InjectorFunc(func(errorfs.Op) error {
		n := operations.Add(1)
		if n%7 != 0 || units.Load() == 0 || !busy.CompareAndSwap(false, true) {
			return nil
		}
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		crash := accountsCrash{units: units.Load(), revoked: revoked.Load()}
		crash.fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
		taken = append(taken, crash)
		busy.Store(false)
		return nil
	})

	a := openAccounts(t, &disktest.NoReuse{FS: errorfs.Wrap(fs, injector)})
	records, keys := sampleAccounts()
	must(a.Put(records, keys))
	for n := int64(1); n < 40; n++ {
		switch r.IntN(8) {
		case 0:
			must(a.db.Flush())
		case 1:
			keys[0].RevokedAt = n
			must(a.Put(nil, keys[:1]))
			revoked.Store(n)
		default:
			must(a.Flush(chargedUnits(n)))
			units.Store(n)
		}
	}
	for !busy.CompareAndSwap(false, true) { // no more crashes
		runtime.Gosched()
	}
	must(a.Close())

	for _, crash := range taken {
		if err := crash.check(t); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	return len(taken)
}

// chargedUnits is a flush with a number of units in all, and a lease of as many.
func chargedUnits(n int64) *Flush {
	flush := sampleFlush()
	month := flush.Months[1]
	month.Lease = 1000 + n
	month.Routes[accounts.RoutePositions].Units = 10 + n
	return flush
}

// check opens what a crash left.
func (c *accountsCrash) check(t *testing.T) error {
	a := openAccounts(t, c.fs)
	defer a.Close()
	m, err := a.Month(2, november)
	if err != nil {
		return err
	}
	units := m.Lease - 1000
	if units < c.units || m != *chargedUnits(units).Months[1] {
		return fmt.Errorf("the month is %+v; %d units were charged", m, c.units)
	}

	content, err := a.Load(november)
	if err != nil || len(content.Keys) != 2 || content.Keys[0].RevokedAt < c.revoked {
		return fmt.Errorf("keys are %+v, %w; one was revoked at %d", content.Keys, err, c.revoked)
	}
	findings, err := a.Check()
	if err != nil || len(findings) > 0 {
		return fmt.Errorf("findings are %q, %w", findings, err)
	}
	return nil
}
