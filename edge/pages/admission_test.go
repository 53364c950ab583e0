package pages

import (
	"math/rand/v2"
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

// rateOf is the rate at which a task of no rows takes so long.
func rateOf(took time.Duration) rate { return rate{nanos: float64(took), size: taskBase} }

// submit begins a task in a goroutine, which ends it after a time.
func (a *admission) submit(wait *sync.WaitGroup, account uint64, took time.Duration, done func(refused bool)) {
	wait.Go(func() {
		w, err := a.begin(task{account: account})
		if err == nil {
			time.Sleep(took)
		}

		a.mu.Lock() // tasks may end at the same moment
		done(err != nil)
		a.mu.Unlock()
		w.end()
	})
	synctest.Wait()
}

// TestAdmissionOrder checks that accounts take turns: the tasks of an account with
// many come after the first ones of others.
func TestAdmissionOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmission(1, time.Second)
		var wait sync.WaitGroup
		var order []uint64
		for _, account := range []uint64{1, 1, 1, 1, 2, 3, 2} {
			a.submit(&wait, account, time.Millisecond, func(refused bool) {
				if refused {
					t.Errorf("a task of account %d was refused", account)
				}
				order = append(order, account)
			})
		}
		wait.Wait()

		if want := []uint64{1, 2, 3, 1, 2, 1, 1}; !slices.Equal(order, want) {
			t.Errorf("tasks ended in the order %v; want %v", order, want)
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
		a.rates[countTask] = rateOf(2 * time.Millisecond)
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
			t.Errorf("tasks ended in the order %v; want %v", order, want)
		}
	})
}

// TestAdmissionOwnWait checks that an account that runs as many tasks as it may is
// refused at once when they take long, although a slot is free.
func TestAdmissionOwnWait(t *testing.T) {
	a := newTestAdmission(2, 50*time.Millisecond)
	a.rates[countTask] = rateOf(time.Second)
	first, err := a.begin(task{account: 1})
	if err != nil {
		t.Fatal(err)
	}

	from := time.Now()
	if _, err := a.begin(task{account: 1}); err != errBusy || time.Since(from) > 40*time.Millisecond {
		t.Errorf("got %v after %s; want errBusy at once", err, time.Since(from))
	}
	other, err := a.begin(task{account: 2})
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

// TestAdmissionRefuses checks that tasks of many accounts wait while what is ahead of
// them takes no longer than the limit, that more are refused at once, and that none of
// those that wait is refused when the tasks take longer than was expected.
func TestAdmissionRefuses(t *testing.T) {
	const expected, limit = 10 * time.Millisecond, 50 * time.Millisecond
	for _, slots := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			a := newTestAdmission(slots, limit)
			a.rates[countTask] = rateOf(expected)
			var wait sync.WaitGroup
			from, refused := time.Now(), 0

			fit := 1 + slots*int(limit/expected)
			for account := range fit + 2 {
				a.submit(&wait, uint64(account), 3*expected, func(was bool) {
					if was != (account >= fit) {
						t.Errorf("%d slots: task %d is refused: %t; want it from %d on", slots, account+1, was, fit+1)
					}
					if was && time.Since(from) > 0 {
						t.Errorf("%d slots: a refusal took %s", slots, time.Since(from))
					}
					if was {
						refused++
					}
				})
			}
			wait.Wait()
			if refused != 2 || a.refused.Get() != 2 {
				t.Errorf("%d slots: %d refusals, %d counted; want 2", slots, refused, a.refused.Get())
			}
			if a.cost(&a.backlog) != 0 {
				t.Errorf("%d slots: a backlog of %v remains", slots, a.backlog)
			}
		})
	}
}

// TestAdmissionParts checks that an account alone takes half of the queue, and less the
// more accounts wait, so that there is room for one that comes later.
func TestAdmissionParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmission(1, 60*time.Millisecond)
		a.rates[countTask] = rateOf(10 * time.Millisecond)
		var wait sync.WaitGroup
		f := func(account uint64, want int) {
			t.Helper()
			for n := range want + 2 {
				a.submit(&wait, account, 10*time.Millisecond, func(was bool) {
					if was != (n >= want) {
						t.Errorf("task %d of account %d is refused: %t; want %d of its tasks", n+1, account, was, want)
					}
				})
			}
		}

		f(1, 4) // 30 ms, and one more
		f(2, 3) // 20 ms, and one more
		f(3, 0) // nothing is left
		wait.Wait()
	})
}

// TestAdmissionLearns checks what a task is expected to take: by the rows of its kind
// that were read lately, and hardly more after the machine slept.
func TestAdmissionLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmission(1, time.Second)
		run := func(kind taskKind, size int, took time.Duration) {
			w, err := a.begin(task{1, kind, size})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(took)
			w.end()
		}
		f := func(kind taskKind, size int, least, most time.Duration) {
			t.Helper()
			var b backlog
			b[kind] = size
			if got := a.cost(&b); got < least || got > most {
				t.Errorf("%d rows of kind %d cost %s; want %s to %s", size, kind, got, least, most)
			}
		}

		for range 100 {
			run(countTask, 1e6-taskBase, 20*time.Millisecond)
			run(selectionTask, 1e6-taskBase, 40*time.Millisecond)
		}
		f(countTask, 500_000, 9*time.Millisecond, 11*time.Millisecond)
		f(selectionTask, 500_000, 19*time.Millisecond, 21*time.Millisecond)
		f(chartTask, 1000, 10*time.Millisecond, 10*time.Millisecond) // nothing is known

		run(countTask, 1e6-taskBase, time.Minute)
		f(countTask, 500_000, 11*time.Millisecond, 15*time.Millisecond)
	})
}

// TestAdmissionFair checks that an account with far more tasks than can run at most
// doubles the time that another account's tasks take.
func TestAdmissionFair(t *testing.T) {
	const took = 5 * time.Millisecond
	for _, slots := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			a := newTestAdmission(slots, 50*time.Millisecond)
			a.rates[countTask] = rateOf(took)
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
						t.Error("a task of the other account was refused")
					}
				})
				time.Sleep(took)
			}
			wait.Wait()
			if slowest > 2*took || refused == 0 {
				t.Errorf("%d slots: the other account's tasks took up to %s, and %d of the flood were refused; "+
					"want at most %s, and some", slots, slowest, refused, 2*took)
			}
		})
	}
}

// TestAdmissionWithoutWait checks that with a limit of 0 tasks run or are refused.
func TestAdmissionWithoutWait(t *testing.T) {
	a := newTestAdmission(1, 0)
	first, err := a.begin(task{account: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.begin(task{account: 2}); err != errBusy {
		t.Errorf("a second task: got %v; want errBusy", err)
	}
	if len(a.accounts) != 1 {
		t.Errorf("%d accounts have tasks; want the one whose task was not refused", len(a.accounts))
	}

	first.end()
	second, err := a.begin(task{account: 2})
	if err != nil {
		t.Errorf("after the first: %v", err)
	}
	second.end()
}

// TestBusyDeepPage checks what a new filter gets whose work is refused: a deep page
// that was served before gets that copy, everything else the refusal.
func TestBusyDeepPage(t *testing.T) {
	p := &Pages{copies: newSharedRecent[Reply](maxCopies), metrics: newPageMetrics(metrics.NewSet())}
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
	running, err := p.admission.begin(task{account: 1})
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
		t.Errorf("%d tasks run afterwards", p.admission.running)
	}
}

// TestLongOwnersWait checks that adding up very many positions waits for its turn, and
// the positions of other owners do not.
func TestLongOwnersWait(t *testing.T) {
	f := func(rows int, want *render.Error) {
		t.Helper()
		view, _ := rankings.Build(nil, crowd(rows, 1), 1)
		p := &Pages{admission: newTestAdmission(1, 0)}
		running, err := p.admission.begin(task{account: 1})
		if err != nil {
			t.Fatal(err)
		}
		q, sc := &Question{Owner: &market.Address{1}, Account: 2}, &scope{views: []*rankings.View{view}}
		if _, err := p.sumOwner(q, sc); err != want {
			t.Errorf("%d positions, beside other work: got %v; want %v", rows, err, want)
		}
		running.end()
		if _, err := p.sumOwner(q, sc); err != nil {
			t.Errorf("%d positions, alone: got %v", rows, err)
		}
		if p.admission.running != 0 {
			t.Errorf("%d tasks run after %d positions", p.admission.running, rows)
		}
	}

	f(longOwner-1, nil)
	f(longOwner, errBusy)
}

// BenchmarkAdmission is a task that need not wait.
func BenchmarkAdmission(b *testing.B) {
	a := newTestAdmission(2, time.Second)
	b.ReportAllocs()
	for b.Loop() {
		w, err := a.begin(task{account: 1})
		if err != nil {
			b.Fatal(err)
		}
		w.end()
	}
}

// TestAdmissionBurst checks that tasks of several accounts that come together fill the
// queue, also when they are short and soon after an overload, and that they fill only
// a part of it in an overload.
func TestAdmissionBurst(t *testing.T) {
	const took, limit = 2 * time.Millisecond, 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmission(1, limit)
		a.rates[countTask] = rateOf(took)
		var wait sync.WaitGroup
		account := uint64(0)
		f := func(what string, tasks, want int) {
			t.Helper()
			admitted := 0
			for range tasks {
				account++
				a.submit(&wait, account, took, func(refused bool) {
					if !refused {
						admitted++
					}
				})
			}
			if wait.Wait(); admitted != want {
				t.Errorf("%s: %d of %d tasks were let in; want %d", what, admitted, tasks, want)
			}
		}
		overload := func() {
			for range 6 * overloadAfter / took {
				account++
				a.submit(&wait, account, took, func(bool) {})
				time.Sleep(took / 3)
			}
		}

		all := 1 + int(limit/took)
		f("the first burst", 2*all, all)
		f("the next one", 2*all, all)

		overload()
		a.mu.Lock()
		waiting := len(a.waiting)
		a.mu.Unlock()
		if want := int(limit / longTask); waiting != want {
			t.Errorf("%d tasks wait in an overload; want %d", waiting, want)
		}
		wait.Wait()
		f("directly after the overload", all, 1+int(limit/longTask))
		time.Sleep(overloadAfter)
		f("a while after it", 2*all, all)
	})
}

// TestAdmissionWaits checks how long tasks wait when three times as many come as can
// run: what the queue was bounded by, although tasks of other accounts may overtake,
// and with many accounts a multiple of what they take.
func TestAdmissionWaits(t *testing.T) {
	const limit = 50 * time.Millisecond
	slowest, answered, all := time.Duration(0), 0, 0
	f := func(took time.Duration, slots, accounts int) {
		synctest.Test(t, func(t *testing.T) {
			a := newTestAdmission(slots, limit)
			a.rates[countTask] = rateOf(took)
			waits := a.overload(took, accounts)
			longest, p99 := waits[len(waits)-1], waits[len(waits)*99/100]
			all += overloadTasks
			slowest, answered = max(slowest, longest), answered+len(waits)

			served := overloadTasks * 33 / 100
			if accounts == 1 {
				served = served * a.perAccount / slots
			}
			if most := limit*6/5 + took; longest > most || len(waits) < served || len(waits) == overloadTasks {
				t.Errorf("%d slots, %d accounts, tasks of %s: the longest wait is %s, %d answered; want at most %s, "+
					"at least %d, and some refused", slots, accounts, took, longest, len(waits), most, served)
			}
			if most := 4 * took; accounts >= 40 && p99 > most {
				t.Errorf("%d slots, %d accounts, tasks of %s: one in a hundred waits for %s; want at most %s",
					slots, accounts, took, p99, most)
			}
		})
	}

	for _, took := range []time.Duration{time.Millisecond, 3 * time.Millisecond, 15 * time.Millisecond} {
		for _, slots := range []int{1, 2, 8} {
			f(took, slots, 1)
			f(took, slots, 3)
			f(took, slots, 40)
			f(took, slots, 1000)
		}
	}
	t.Logf("figure: %d of %d tasks that came three times too fast were let in: the longest wait is %s behind a "+
		"queue of %s, 0 waited in vain", answered, all, slowest, limit)
}

// overloadTasks is how many tasks come in an overload, after those that begin it.
const overloadTasks = 3000

// overload submits tasks of so many accounts, three times as many as can run, and
// returns how long those waited that were let in, the shortest wait first. Those that
// come before it counts as an overload are left out.
func (a *admission) overload(took time.Duration, accounts int) (waits []time.Duration) {
	random := rand.New(rand.NewPCG(uint64(a.slots), uint64(accounts)))
	pause := took / time.Duration(3*a.slots)
	var wait sync.WaitGroup

	for n := range overloadTasks + 3*overloadAfter/pause {
		from, counts := time.Now(), n >= 3*overloadAfter/pause
		a.submit(&wait, uint64(random.IntN(accounts)), took, func(refused bool) {
			if counts && !refused {
				waits = append(waits, time.Since(from)-took)
			}
		})
		time.Sleep(pause)
	}

	wait.Wait()
	slices.Sort(waits)
	return waits
}
