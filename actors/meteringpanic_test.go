package actors

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// TestMeteringActorPanics has metering panic a hundred times: before a batch is written,
// after it is, and where it reads an account. Requests are admitted meanwhile, and every
// charge is written by the end.
func TestMeteringActorPanics(t *testing.T) {
	const panics = 100
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, vfs.NewCrashableMem(), time.Now())
		keys := []*accounts.Key{r.account("acme", "unlimited"), r.account("other", "free")}

		var due [3]atomic.Bool
		var done atomic.Int64
		strike := func(place int) {
			if due[place].CompareAndSwap(true, false) {
				done.Add(1)
				panic("a fault in metering")
			}
		}
		kept := r.meter.store
		r.meter.store.flush = func(u *accountstore.Flush) error {
			strike(0)
			defer strike(1)
			return kept.flush(u)
		}
		r.meter.store.month = func(account uint64, m accounts.Month) (accountstore.MonthRecord, error) {
			strike(2)
			return kept.month(account, m)
		}

		a, err := StartMetering(r.meter, metrics.NewSet(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		request := func(k *accounts.Key) {
			began := time.Now()
			ticket := r.reg.Book().Admit(k, r.meter.clock.At(began))
			for r.reg.Book().Reserve(&ticket, 1) == accounts.Unleased {
				<-r.reg.Book().RequestLease(k.Cell)
			}
			r.reg.Book().Settle(&ticket, accounts.RoutePositions, 1)
			if waited := time.Since(began); waited > testFlush {
				t.Errorf("a request waited for %s; cannot exceed the flush of %s", waited, testFlush)
			}
		}

		billed := map[*accounts.Key]int64{}
		for n := 0; done.Load() < panics; n++ {
			place := n % len(due)
			if place == 2 { // an account is read when it comes for the first time
				keys = append(keys, r.account("account-"+time.Duration(n).String(), "free"))
			}
			due[place].Store(true)
			for _, k := range keys[max(0, len(keys)-3):] {
				request(k)
				billed[k]++
			}
			time.Sleep(2 * testFlush)
		}
		time.Sleep(2 * testFlush)

		lost := 0
		for k, units := range billed {
			if got := r.stored(k); got.Billed() != units {
				lost++
				t.Errorf("stored are %d units; want %d", got.Billed(), units)
			}
		}
		if got := a.panics.Get(); got != panics {
			t.Errorf("%d panics were counted; want %d", got, panics)
		}
		t.Logf("figure: %d panics of metering: the charges of %d of %d accounts were lost, no request waited for "+
			"more than a flush", panics, lost, len(billed))

		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
