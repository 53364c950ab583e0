package quota_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/actors/cluster/natstest"
	"tidemark/storage/accounts"
)

// share returns the count for the short tests, the quick torture and the full one.
func share(short, quick, full int) int {
	switch os.Getenv("TIDEMARK_TORTURE") {
	case "":
		return short
	case "quick":
		return quick
	}
	return full
}

// reportInterval is what a kill may lose of the bill.
const reportInterval = time.Second

// Several nodes are asked for more than a quota and killed at random. What they admit is
// within the quota, and what is billed was answered.
func TestQuotaIsSharedAndNeverPassed(t *testing.T) {
	nodes, kills := share(3, 8, 8), share(4, 20, 100)
	c := &setup{servers: natstest.Start(t, 1, false), units: int64(share(60_000, 1_000_000, 1_000_000))}
	if os.Getenv("TIDEMARK_TORTURE") == "full" {
		c.servers = natstest.Start(t, 3, true)
	}

	var l load
	var over atomic.Bool
	engines, answered := make([]*engine, nodes), make([]*history, nodes)
	for i := range engines {
		engines[i] = c.start(t, fmt.Sprint("n", i), vfs.NewCrashableMem())
		answered[i] = l.spend(engines[i], &over)
	}

	rng := rand.New(rand.NewPCG(3, 7))
	var mayLose int64
	for range kills {
		time.Sleep(time.Duration(20+rng.IntN(150)) * time.Millisecond)
		i := rng.IntN(nodes)
		disk := engines[i].kill()
		mayLose += answered[i].since(reportInterval)
		engines[i] = c.start(t, engines[i].name, disk)
		answered[i] = l.spend(engines[i], &over)
	}

	// The rest of the quota is spent.
	last, since := l.admitted.Load(), time.Now()
	for time.Since(since) < 2*time.Second {
		time.Sleep(50 * time.Millisecond)
		if now := l.admitted.Load(); now != last {
			last, since = now, time.Now()
		}
	}
	over.Store(true)
	time.Sleep(1500 * time.Millisecond) // a report, and the leases that are idle
	for _, e := range engines {
		e.end()
	}

	r := c.read(t, "small")
	billed, used := r.sums()
	t.Logf("figure: %d nodes, %d kills, a quota of %d: %d admitted, %d answered, %d billed, %d counted as used; "+
		"%d were answered within a second before a kill", nodes, kills, c.units, l.admitted.Load(),
		l.answered.Load(), billed, used, mayLose)
	if admitted := l.admitted.Load(); admitted > c.units || used > c.units {
		t.Errorf("%d units admitted and %d counted; the quota is %d", admitted, used, c.units)
	}
	if l.admitted.Load() > used {
		t.Errorf("%d units admitted; only %d are counted", l.admitted.Load(), used)
	}
	if billed > l.answered.Load() {
		t.Errorf("%d billed; only %d were answered", billed, l.answered.Load())
	}
	if lost := l.answered.Load() - billed; lost > mayLose {
		t.Errorf("%d answered and not billed; at most %d may be lost", lost, mayLose)
	}
}

// A node that is cut off spends its lease and then refuses at once, except accounts
// without a quota. When it is back, it goes on, and no quota was passed.
func TestPartition(t *testing.T) {
	f := func(onOutage int64) {
		t.Helper()
		c := &setup{servers: natstest.Start(t, 1, false), units: 20_000, onOutage: onOutage}
		proxy := natstest.NewProxy(t, c.servers.URLs()[0])
		other := c.start(t, "other", vfs.NewCrashableMem())
		c.urls = []string{proxy.URL()}
		e := c.start(t, "cut", vfs.NewCrashableMem())

		spend := func(e *engine, atMost int64) (units int64) {
			for units < atMost {
				ticket, v := e.ask("small", time.Second)
				if v != accounts.Granted {
					return units
				}
				e.answer(ticket)
				units += 10
			}
			return units
		}
		spent := spend(e, 100) + spend(other, 100)
		if spent != 200 {
			t.Fatalf("%d units before the partition", spent)
		}
		proxy.Hold()
		lone := spend(e, 1<<40)

		// Then it learns that it is cut off. After that it refuses without a wait, and
		// serves who has no quota.
		lone += spend(e, 10)
		time.Sleep(1500 * time.Millisecond)
		lone += spend(e, 1<<40)
		if spent += lone; lone < onOutage || lone > onOutage+10_000 {
			t.Errorf("cut off it admits %d units; want %d and at most a lease more", lone, onOutage)
		}
		began := time.Now()
		if _, v := e.ask("small", time.Second); v != accounts.Exhausted {
			t.Errorf("cut off and without a lease: %d; want Exhausted", v)
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("the refusal took %s", took)
		}
		if ticket, v := e.ask("unlimited", time.Second); v != accounts.Granted {
			t.Errorf("an account without a quota: %d; want Granted", v)
		} else {
			e.answer(ticket)
		}

		proxy.Heal()
		deadline := time.Now().Add(20 * time.Second)
		for _, v := e.ask("small", time.Second); v != accounts.Granted; _, v = e.ask("small", time.Second) {
			if time.Now().After(deadline) {
				t.Fatalf("20 s after the partition it is %d", v)
			}
			time.Sleep(20 * time.Millisecond)
		}
		spent += 10
		for idle := 0; idle < 20; idle++ {
			if more := spend(e, 1<<40) + spend(other, 1<<40); more > 0 {
				spent, idle = spent+more, 0
			}
			time.Sleep(100 * time.Millisecond)
		}
		if spent > c.units {
			t.Errorf("%d units admitted; the quota is %d", spent, c.units)
		}
		if spent < c.units*9/10 {
			t.Errorf("only %d units admitted of %d", spent, c.units)
		}
		e.end()
		other.end()
	}

	f(0)
	if os.Getenv("TIDEMARK_TORTURE") != "" {
		f(300)
	}
}

// The usage of an account is the sum over the nodes, on each of them. An orderly stop
// gives leases back.
func TestUsageIsSummed(t *testing.T) {
	c := &setup{servers: natstest.Start(t, 1, false), units: 1000}
	a, b := c.start(t, "a", vfs.NewCrashableMem()), c.start(t, "b", vfs.NewCrashableMem())
	for _, e := range []*engine{a, b, b} {
		ticket, v := e.ask("small", 5*time.Second)
		if v != accounts.Granted {
			t.Fatalf("a request: %d", v)
		}
		e.answer(ticket)
	}

	deadline := time.Now().Add(10 * time.Second)
	for _, e := range []*engine{a, b} {
		for {
			u, err := e.reg.Usage("small", "")
			if err != nil {
				t.Fatal(err)
			}
			if u.UnitsUsed == 30 && len(u.Routes) == 1 && u.Routes[0].Requests == 3 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("node %s has %+v; want 30 units of 3 requests", e.name, u)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}

	time.Sleep(1500 * time.Millisecond)
	a.end()
	b.end()
	r := c.read(t, "small")
	if billed, used := r.sums(); billed != 30 || used != 30 {
		t.Errorf("%d billed and %d used after the stop; want 30", billed, used)
	}
}
