package accounts

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// The first and the last value of each setting of a plan are allowed; the next one
// is refused by the setting's name, with what is allowed.
func TestPlanBounds(t *testing.T) {
	f := func(says string, change func(p *Plan)) {
		t.Helper()
		p := Plan{ID: "p", RequestsPerSecond: 1, Burst: 1, MaxAPIKeys: 1}
		change(&p)
		err := errors.Join(p.Mistakes()...)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("plan %+v: %v; want %q", p, err, says)
		}
	}

	f("", func(*Plan) {})
	for _, id := range []string{"", "a b", "a\tb", "a\nb", "a/b"} {
		f("bad plan id", func(p *Plan) { p.ID = id })
	}

	const units = "it is 0 (none) to 70368744177664"
	f("", func(p *Plan) { p.MonthlyUnits = 1 << 46 })
	f("monthly-units is -1; "+units, func(p *Plan) { p.MonthlyUnits = -1 })
	f("monthly-units is 70368744177665; "+units, func(p *Plan) { p.MonthlyUnits = 1<<46 + 1 })

	const rate = "it is 0 (none) to 1000000000"
	f("", func(p *Plan) { p.RequestsPerSecond = 1_000_000_000 })
	f("", func(p *Plan) { p.RequestsPerSecond, p.Burst = 0, 0 })
	f("", func(p *Plan) { p.RequestsPerSecond, p.Burst = 0, 1_000_001 })
	f("requests-per-second is -1; "+rate, func(p *Plan) { p.RequestsPerSecond = -1 })
	f("requests-per-second is 1000000001; "+rate, func(p *Plan) { p.RequestsPerSecond = 1_000_000_001 })

	const burst = "with requests-per-second it is 1 to 1000000"
	f("", func(p *Plan) { p.Burst = 1_000_000 })
	f("burst is 0; "+burst, func(p *Plan) { p.Burst = 0 })
	f("burst is 1000001; "+burst, func(p *Plan) { p.Burst = 1_000_001 })

	f("max-api-keys is 0; it is at least 1", func(p *Plan) { p.MaxAPIKeys = 0 })

	f("", func(p *Plan) { p.PriceUsdMonthly = 0.5 })
	for _, price := range []float64{-0.5, math.Inf(1), math.Inf(-1), math.NaN()} {
		f("price-usd-monthly", func(p *Plan) { p.PriceUsdMonthly = price })
	}
}

// Only a plan with neither a rate nor a quota has no limit, and no policy to show.
func TestLimited(t *testing.T) {
	f := func(p Plan, limited, paced bool, policy string) {
		t.Helper()
		terms := NewTerms(&p, false)
		if terms.Limited() != limited || terms.Paced() != paced || terms.Policy(30) != policy {
			t.Errorf("plan %+v: limited %t, paced %t, policy %q; want %t, %t, %q",
				p, terms.Limited(), terms.Paced(), terms.Policy(30), limited, paced, policy)
		}
	}

	f(Plan{}, false, false, "")
	f(Plan{MonthlyUnits: 1}, true, false, `"month";q=1;w=2592000`)
	f(Plan{RequestsPerSecond: 1, Burst: 3}, true, true, `"burst";q=3;w=3`)
	f(Plan{RequestsPerSecond: 1_000_000_000, Burst: 3}, true, true, `"burst";q=3;w=1`)
	f(Plan{RequestsPerSecond: 1, Burst: 3, MonthlyUnits: 7}, true, true,
		`"burst";q=3;w=3, "month";q=7;w=2592000`)
}

// A single unit is billed, and given back, as any number is.
func TestOneUnit(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 10}, 10)
	now := testMonth.Start().UnixNano()
	f := func(units, charged, spent, billed int64) {
		t.Helper()
		ticket := b.Admit(k, now)
		if v := b.Reserve(&ticket, units); v != Granted {
			t.Fatalf("%d units: %d; want Granted", units, v)
		}
		b.Settle(&ticket, RoutePools, charged)
		tally, ok := k.Cell.Tally(testMonth)
		if !ok || tally.Lease != spent || tally.Billed() != billed || ticket.Quota().Left != 10-spent {
			t.Errorf("%d of %d units charged: %+v, %d left; want %d spent, %d billed",
				charged, units, tally, ticket.Quota().Left, spent, billed)
		}
	}

	f(1, 1, 1, 1)
	f(1, 0, 1, 1)
	f(2, 1, 2, 2)
	f(0, 0, 2, 2)
	if n := k.Cell.counts[testMonth&1][RoutePools].requests.Load(); n != 4 {
		t.Errorf("%d requests are counted; want 4", n)
	}
}

// The plans of a node that configures none, as the price list shows them.
func TestDefaultPlans(t *testing.T) {
	want := []string{
		"{free Free 0 25000 5 10 2 false true}",
		"{starter Starter 49 500000 25 50 5 true true}",
		"{growth Growth 199 3000000 100 200 20 true true}",
		"{scale Scale 799 20000000 500 1000 100 true true}",
		"{unlimited Unlimited 0 0 0 0 1000 true false}",
	}

	plans := DefaultPlans()
	if len(plans) != len(want) {
		t.Fatalf("%d plans; want %d", len(plans), len(want))
	}
	for i, p := range plans {
		if got := fmt.Sprint(p); got != want[i] {
			t.Errorf("plan %d is %s; want %s", i, got, want[i])
		}
	}
	if _, err := FindPlan(plans, "gold"); err == nil ||
		err.Error() != `unknown plan "gold"; plans are free, starter, growth, scale, unlimited` {
		t.Errorf("an unknown plan: %v", err)
	}
}

// The fastest plan that can be configured, a request every nanosecond, is a limit too.
func TestFastestPlan(t *testing.T) {
	b, k := one(t, Plan{ID: "p", RequestsPerSecond: 1_000_000_000, Burst: 5, MaxAPIKeys: 1}, 0)
	now := testMonth.Start().UnixNano()
	ticket := b.Admit(k, now)
	if ticket.PeekBurst(); ticket.Burst != (Burst{Left: 5}) || !ticket.Terms.Paced() || !ticket.Terms.Limited() {
		t.Errorf("a look: %+v; want 5 requests left", ticket.Burst)
	}
	if !ticket.TakeToken() || ticket.Burst != (Burst{Left: 4, FullNs: 1}) {
		t.Errorf("a request: %+v; want 4 left", ticket.Burst)
	}
}

// What the headers say of a month: what is left, what a kill reserved, when it ends.
func TestQuota(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 100}, 0)
	end := testMonth.End().UnixNano()
	tally := Tally{Month: testMonth, Lease: 30}
	tally.Routes[RoutePools] = Count{Requests: 3, Units: 12}
	k.Cell.Restore(&tally)

	f := func(what string, now int64, want Quota) {
		t.Helper()
		ticket := b.Admit(k, now)
		if got := ticket.Quota(); got != want {
			t.Errorf("%s: %+v; want %+v", what, got, want)
		}
	}
	if got, ok := k.Cell.Tally(testMonth); !ok || got != tally {
		t.Errorf("restored %+v; want %+v", got, tally)
	}
	f("a second before the end", end-1e9, Quota{Limit: 100, Left: 70, Reserved: 18, ResetInNs: 1e9})
	f("at the end", end, Quota{Limit: 100, Left: 100, ResetInNs: (testMonth + 1).End().UnixNano() - end})

	b.SetTerms(k.Cell, NewTerms(&Plan{ID: "p"}, false))
	f("without a quota", end-1e9, Quota{ResetInNs: 1e9})
	b.SetTerms(k.Cell, NewTerms(&Plan{ID: "p", MonthlyUnits: 20}, false))
	f("with a smaller one", end-1e9, Quota{Limit: 20, Reserved: 18, ResetInNs: 1e9})
}

// An account without a rate that used its lease up waits for the next flush; one with a
// rate is refused, as it was admitted too fast.
func TestUsedUpLease(t *testing.T) {
	f := func(p Plan, want Verdict) {
		t.Helper()
		p.ID, p.MonthlyUnits = "p", 100
		b, k := one(t, p, 10)
		now := testMonth.Start().UnixNano()
		for i, want := range []Verdict{Granted, want} {
			b.Dirty(nil)
			ticket := b.Admit(k, now)
			if took := ticket.TakeToken(); took != (i == 0 || p.Burst == 0) {
				t.Errorf("plan %+v, request %d: took a token %t", p, i+1, took)
			}
			if got := b.Reserve(&ticket, 10); got != want || len(b.Dirty(nil)) != 1 {
				t.Errorf("plan %+v, request %d: %d; want %d, and metering to look at it", p, i+1, got, want)
			}
		}
	}

	f(Plan{}, Unleased)
	f(Plan{RequestsPerSecond: 1, Burst: 1}, Exhausted)
}

// An account with a rate waits for the first lease of new terms: the old one was sized by
// others, so that using it up is not too fast.
func TestLeaseOfOtherTerms(t *testing.T) {
	small := Plan{ID: "small", MonthlyUnits: 10, RequestsPerSecond: 1, Burst: 9}
	b, k := one(t, small, 10)
	now := testMonth.Start().UnixNano()
	f := func(what string, units int64, want Verdict) {
		t.Helper()
		ticket := b.Admit(k, now)
		if got := b.Reserve(&ticket, units); got != want {
			t.Errorf("%s: %d; want %d", what, got, want)
		}
	}

	f("the whole quota", 10, Granted)
	f("beyond the quota", 1, OverQuota)
	big := small
	big.MonthlyUnits = 100
	b.SetTerms(k.Cell, NewTerms(&big, false))
	f("before a lease of the larger quota", 1, Unleased)
	f("beyond the larger quota", 91, OverQuota)

	k.Cell.Open(testMonth, 30)
	k.Cell.SizedBy(k.Cell.Terms())
	f("with its lease", 20, Granted)
	f("beyond its lease", 1, Exhausted)
}

// Whoever waits for a lease is woken, however many come at once.
func TestAllWaitersAreWoken(t *testing.T) {
	b, k := one(t, Plan{ID: "p", MonthlyUnits: 10}, 0)

	for round := range 300 {
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		waiters := make(chan (<-chan struct{}), 8)
		for range 8 {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-start
				waiters <- b.RequestLease(k.Cell)
			})
		}
		ready.Wait()
		close(start)
		done.Wait()
		k.Cell.Wake()
		for range 8 {
			select {
			case <-<-waiters:
			default:
				t.Fatalf("round %d: a request waits for ever", round)
			}
		}
	}
}

// Keys and origins are spread over their index, so that finding one takes a probe or
// two however many there are.
func TestIndexSpreads(t *testing.T) {
	const n = 4096
	f := func(what string, hash func(i int) uint64) {
		t.Helper()
		places := map[uint64]bool{}
		for i := range n {
			places[hash(i)%(2*n)] = true
		}
		if len(places) < n/2 {
			t.Errorf("%d %s have %d places of %d", n, what, len(places), 2*n)
		}
	}

	rng := rand.New(rand.NewPCG(3, 4))
	random := readerFunc(func(p []byte) (int, error) {
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		return len(p), nil
	})
	f("keys", func(int) uint64 {
		key, err := NewKey(random, Server)
		if err != nil {
			t.Fatal(err)
		}
		return prefixHash([]byte(key))
	})
	f("origins", func(i int) uint64 { return originHash(fmt.Appendf(nil, "https://app%d.example", i)) })
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A key that is revoked while its account is suspended is taken off the list of origins
// once, so that another key with the same origin still counts.
func TestRevokedWhileSuspended(t *testing.T) {
	b, k := one(t, Plan{ID: "p"}, 0)
	browser := func(id byte) *Key {
		return b.Key(b.Add(&Issued{
			ID: uint64(id), Hash: Hash{id}, Prefix: PrefixOf("tm_web_00000000" + string('0'+rune(id))), Cell: k.Cell,
			Kind: Browser, Origins: []string{"https://a.example"},
		}, 0, 0))
	}
	revoked, other := browser(2), browser(3)
	f := func(what string, want bool) {
		t.Helper()
		if got := b.Listed([]byte("https://a.example")); got != want {
			t.Errorf("%s: listed %t; want %t", what, got, want)
		}
	}
	suspend := func(suspended bool, by int64, keys ...*Key) {
		for _, key := range keys {
			b.CountOrigins(key, by)
		}
		b.SetTerms(k.Cell, NewTerms(&k.Cell.Terms().Plan, suspended))
	}

	f("two keys", true)
	suspend(true, -1, revoked, other)
	f("suspended", false)
	b.Revoke(revoked, 1)
	suspend(false, +1, other)
	f("resumed", true)
	b.Revoke(other, 1)
	f("both revoked", false)
}

// Whether the clocks are trusted shows as soon as they disagree.
func TestTurnerShowsMistrust(t *testing.T) {
	now := testMonth.Start().UnixNano()
	turner := NewTurner(now, 0)

	for _, step := range []struct {
		now, off int64
		want     bool
	}{
		{0, 0, false}, {1, clockSlack, false}, {2, clockSlack + 1, true}, {3, 0, true},
		{2 + clockTrust - 1, 0, true}, {2 + clockTrust, 0, false}, {2 + clockTrust, -clockSlack, false},
		{2 + clockTrust, -clockSlack - 1, true},
	} {
		c := turner.Step(now+step.now, now+step.now+step.off)
		if got := turner.Mistrusted(); got != step.want || c.Turns == step.want {
			t.Errorf("after %d ns, the wall clock %d ns ahead: mistrusted %t, the month may turn: %t; want mistrusted %t",
				step.now, step.off, got, c.Turns, step.want)
		}
	}
}

// A quota of a single unit is one.
func TestQuotaOfOne(t *testing.T) {
	for lease, want := range map[int64]Verdict{1: Granted, 0: Exhausted} {
		b, k := one(t, Plan{ID: "p", MonthlyUnits: 1, RequestsPerSecond: 1, Burst: 1}, lease)
		ticket := b.Admit(k, testMonth.Start().UnixNano())
		if got := b.Reserve(&ticket, 2); got != OverQuota {
			t.Errorf("2 units of 1: %d; want OverQuota", got)
		}
		if got := b.Reserve(&ticket, 1); got != want {
			t.Errorf("1 unit of a lease of %d: %d; want %d", lease, got, want)
		}
	}
}

// What the store knows of a key and its account is there after Add, and each account
// that changed is drained once.
func TestAddedKeys(t *testing.T) {
	now := testMonth.Start().UnixNano()
	b := NewBook(NewTurner(now, 0).Step(now, now))
	plan := Plan{ID: "p"}
	var cells []*Cell
	for id := range uint64(3) {
		c := NewCell(id, "acme", 70+int64(id), NewTerms(&plan, false))
		k := b.Key(b.Add(&Issued{
			ID: id, Hash: Hash{byte(id)}, Prefix: PrefixOf("tm_srv_00000000" + string('0'+rune(id))), Cell: c,
		}, 5*int64(id), 7*int64(id)))
		if k.RevokedAt() != 5*int64(id) || k.UsedMinute() != 7*int64(id) || c.ID != id || c.CreatedAt != 70+int64(id) {
			t.Errorf("key %d: revoked at %d, used at %d, account %d made at %d",
				id, k.RevokedAt(), k.UsedMinute(), c.ID, c.CreatedAt)
		}
		b.Touch(k, now)
		b.SetTerms(c, c.Terms())
		cells = append(cells, c)
	}

	drained := map[*Cell]int{}
	for _, c := range b.Dirty(nil) {
		drained[c]++
	}
	for _, c := range cells {
		if drained[c] != 1 {
			t.Errorf("account %d is drained %d times; want once", c.ID, drained[c])
		}
	}
	if keys := b.DirtyKeys(nil); len(keys) != 3 || len(b.DirtyKeys(nil)) != 0 || len(b.Dirty(nil)) != 0 {
		t.Errorf("%d keys were used; want 3, once", len(keys))
	}

	next := NewTurner(testMonth.End().UnixNano(), 0).Step(0, 0)
	if b.SetCalendar(next); b.Calendar() != next {
		t.Error("a new calendar is not in force")
	}
}
