package pages

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// newTestAdmission returns an admission with so many slots.
func newTestAdmission(slots int, limit time.Duration) *admission {
	a := newAdmission(limit, metrics.NewSet())
	a.slots, a.perAccount = slots, max(1, slots-1)
	return a
}

// submit begins a work in a goroutine, which ends it after a time.
func (a *admission) submit(wait *sync.WaitGroup, account uint64, took time.Duration, done func(refused bool)) {
	wait.Go(func() {
		w, err := a.begin(account)
		if err == nil {
			time.Sleep(took)
		}

		a.mu.Lock() // works may end at the same moment
		done(err != nil)
		a.mu.Unlock()
		w.end()
	})
	synctest.Wait()
}

// TestAdmissionOrder checks that accounts take turns: the works of an account with
// many come after the first ones of others.
func TestAdmissionOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmission(1, time.Second)
		var wait sync.WaitGroup
		var order []uint64
		for _, account := range []uint64{1, 1, 1, 1, 2, 3, 2} {
			a.submit(&wait, account, time.Millisecond, func(refused bool) {
				if refused {
					t.Errorf("a work of account %d was refused", account)
				}
				order = append(order, account)
			})
		}
		wait.Wait()

		if want := []uint64{1, 2, 3, 1, 2, 1, 1}; !slices.Equal(order, want) {
			t.Errorf("works ended in the order %v; want %v", order, want)
		}
		if a.running != 0 || len(a.waiting) != 0 || len(a.accounts) != 0 {
			t.Errorf("afterwards %d run, %d wait, %d accounts are kept", a.running, len(a.waiting), len(a.accounts))
		}
	})
}

// TestAdmissionLateComer checks that an account that comes later shares with those
// that have waited, and does not pass all of them.
func TestAdmissionLateComer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmission(1, time.Second)
		var wait sync.WaitGroup
		var order []uint64
		submit := func(account uint64) {
			a.submit(&wait, account, 2*time.Millisecond, func(bool) { order = append(order, account) })
		}

		for range 6 {
			submit(1)
		}
		time.Sleep(7 * time.Millisecond) // the fourth runs
		for range 3 {
			submit(2)
		}
		wait.Wait()
		if want := []uint64{1, 1, 1, 1, 2, 1, 2, 1, 2}; !slices.Equal(order, want) {
			t.Errorf("works ended in the order %v; want %v", order, want)
		}
	})
}

// TestAdmissionOwnWait checks that an account that runs as many works as it may is
// refused at once when they take long, although a slot is free.
func TestAdmissionOwnWait(t *testing.T) {
	a := newTestAdmission(2, 50*time.Millisecond)
	a.average = time.Second
	first, err := a.begin(1)
	if err != nil {
		t.Fatal(err)
	}

	from := time.Now()
	if _, err := a.begin(1); err != errBusy || time.Since(from) > 40*time.Millisecond {
		t.Errorf("got %v after %s; want errBusy at once", err, time.Since(from))
	}
	other, err := a.begin(2)
	if err != nil {
		t.Errorf("another account: %v", err)
	}
	other.end()
	first.end()
}

// TestAdmissionShare checks that one account never takes the last slot, and that
// several accounts use all slots.
func TestAdmissionShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmission(4, time.Second)
		var wait sync.WaitGroup
		f := func(account uint64, running, waiting int) {
			t.Helper()
			a.submit(&wait, account, time.Millisecond, func(bool) {})
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.running != running || len(a.waiting) != waiting {
				t.Errorf("account %d: %d run, %d wait; want %d and %d", account,
					a.running, len(a.waiting), running, waiting)
			}
		}

		f(1, 1, 0)
		f(1, 2, 0)
		f(1, 3, 0)
		f(1, 3, 1)
		f(2, 4, 1)
		f(3, 4, 2)
		wait.Wait()
	})
}

// TestAdmissionRefuses checks the two ways to a refusal: at once when the wait
// would be too long by what the last works took, and after the limit.
func TestAdmissionRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 50 * time.Millisecond
		a := newTestAdmission(1, limit)
		var wait sync.WaitGroup
		f := func(account uint64, refused bool, after time.Duration) {
			t.Helper()
			from := time.Now()
			a.submit(&wait, account, time.Second, func(was bool) {
				if took := time.Since(from); was != refused || was && took != after {
					t.Errorf("account %d: refused is %t after %s; want %t after %s", account, was, took, refused, after)
				}
			})
		}

		// Nothing is known about how long works take, so the second one waits.
		f(1, false, 0)
		f(2, true, limit)
		wait.Wait()

		// The last work took a second: whoever cannot begin is refused at once.
		f(1, false, 0)
		f(1, true, 0)
		f(2, true, 0)
		wait.Wait()
		if got := a.refused.Get(); got != 3 {
			t.Errorf("%d refusals are counted; want 3", got)
		}

		// The queue is as good as new once short works have ended.
		for range 60 {
			w, err := a.begin(1)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			w.end()
		}
		f(1, false, 0)
		f(2, true, limit)
		wait.Wait()
	})
}

// TestAdmissionFair checks that an account with far more works than can run at most
// doubles the time that another account's works take.
func TestAdmissionFair(t *testing.T) {
	const took = 5 * time.Millisecond
	for _, slots := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			a := newTestAdmission(slots, 50*time.Millisecond)
			var wait sync.WaitGroup
			refused, slowest := 0, time.Duration(0)

			for round := range 200 {
				for range 4 * slots {
					a.submit(&wait, 1, took, func(was bool) {
						if was {
							refused++
						}
					})
				}
				if round%4 > 0 { // the other account stays within its share
					time.Sleep(took)
					continue
				}
				from := time.Now()
				a.submit(&wait, 2, took, func(was bool) {
					if slowest = max(slowest, time.Since(from)); was {
						t.Error("a work of the other account was refused")
					}
				})
				time.Sleep(took)
			}
			wait.Wait()
			if slowest > 2*took || refused == 0 {
				t.Errorf("%d slots: the other account's works took up to %s, and %d of the flood were refused; "+
					"want at most %s, and some", slots, slowest, refused, 2*took)
			}
		})
	}
}

// TestAdmissionWithoutWait checks that with a limit of 0 works run or are refused.
func TestAdmissionWithoutWait(t *testing.T) {
	a := newTestAdmission(1, 0)
	first, err := a.begin(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.begin(2); err != errBusy {
		t.Errorf("a second work: got %v; want errBusy", err)
	}

	first.end()
	second, err := a.begin(2)
	if err != nil {
		t.Errorf("after the first: %v", err)
	}
	second.end()
}

// TestBusyDeepPage checks what a new filter gets whose work is refused: a deep page
// that was served before gets that copy, everything else the refusal.
func TestBusyDeepPage(t *testing.T) {
	p := &Pages{copies: newLastCopies(), metrics: newPageMetrics(metrics.NewSet())}
	views := []*rankings.View{{State: &market.State{Chain: 1}, Generation: 3}}
	kept := Reply{Page: &Page{Body: []byte("{}")}, AsOf: 7}
	sc := &scope{views: views}
	p.copies.put(string(sc.appendChainKey(nil, []byte("kept"))), kept)
	f := func(text string, shallow, copied bool) {
		t.Helper()
		got, err := p.whenBusy(&listing{text: []byte(text)}, sc, shallow, errBusy)
		if copied {
			if err != nil || got.lastCopy == nil || *got.lastCopy != kept {
				t.Errorf("%s: got %v, %v; want the copy", text, got.lastCopy, err)
			}
		} else if err != errBusy || got.lastCopy != nil {
			t.Errorf("%s: got %v, %v; want the refusal", text, got.lastCopy, err)
		}
	}

	f("kept", false, true)
	f("kept", true, false)
	f("other", false, false)
	sc.views = []*rankings.View{{State: &market.State{Chain: 10}}}
	f("kept", false, false)
	if got := p.metrics.copies.Get(); got != 1 {
		t.Errorf("%d copies are counted; want 1", got)
	}
}

// TestLongChartsWait checks that charts of more than a year wait for their turn, and
// shorter ones do not.
func TestLongChartsWait(t *testing.T) {
	const today = 2000
	var pools market.Table[market.Pool]
	for _, age := range []int64{longChart - 1, longChart} {
		pools.Append(market.Pool{CreatedAt: (today - age) * market.Day})
	}
	st := &market.State{Pools: pools.Freeze(), Head: market.Head{Time: today * market.Day}}
	p := &Pages{admission: newTestAdmission(1, 0)}
	running, err := p.admission.begin(1)
	if err != nil {
		t.Fatal(err)
	}

	f := func(pool uint32, r query.ChartRange, want *render.Error) {
		t.Helper()
		turn, err := p.beginCharts(&Question{Chart: query.Chart{Range: r}, Account: 2}, st, pool)
		turn.end()
		if err != want {
			t.Errorf("pool %d, %s: got %v; want %v", pool, r, err, want)
		}
	}
	f(1, query.RangeAll, errBusy)
	f(1, query.Range180d, nil)
	f(0, query.RangeAll, nil)
	running.end()
	f(1, query.RangeAll, nil)
	if p.admission.running != 0 {
		t.Errorf("%d works run afterwards", p.admission.running)
	}
}

// BenchmarkAdmission is a work that need not wait.
func BenchmarkAdmission(b *testing.B) {
	a := newTestAdmission(2, time.Second)
	b.ReportAllocs()
	for b.Loop() {
		w, err := a.begin(1)
		if err != nil {
			b.Fatal(err)
		}
		w.end()
	}
}
