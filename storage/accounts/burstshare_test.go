package accounts

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A node admits by its share of the limit, and reports what it has itself. A change of the
// share makes no tokens: what a bucket has it keeps as far as there is room.
func TestBurstShare(t *testing.T) {
	b, k := one(t, Plan{ID: "p", RequestsPerSecond: 10, Burst: 21}, 0)
	now := testMonth.Start().UnixNano()
	b.SetNoBurst()
	left := func(want int64) {
		t.Helper()
		ticket := b.Admit(k, now)
		if ticket.PeekBurst(); ticket.Burst.Left != want {
			t.Errorf("%d tokens are left; want %d", ticket.Burst.Left, want)
		}
	}
	takes := func(want int) {
		t.Helper()
		for got := 0; ; got++ {
			ticket := b.Admit(k, now)
			if !ticket.TakeToken() {
				if got != want || ticket.Burst.RetryNs <= 0 {
					t.Errorf("%d tokens were taken, then one after %d ns; want %d", got, ticket.Burst.RetryNs, want)
				}
				return
			}
		}
	}
	half := BurstShare{Parts: WholeLimit / 2, Nodes: 2}

	takes(0)
	b.SetRestOfBurst(slices.Values([]*Cell{k.Cell}), half, now)
	left(0) // a process does not know what an earlier one has admitted
	now += int64(2 * time.Second)
	left(10)
	takes(10)
	now += int64(time.Minute)
	left(10) // one, and half of the 19 that the burst has beyond one for each node

	b.SetBurst(k.Cell, BurstShare{Parts: WholeLimit * 9 / 10, Nodes: 2}, now)
	left(10)
	now += int64(time.Minute)
	left(18)
	b.SetBurst(k.Cell, BurstShare{Parts: WholeLimit / 10, Nodes: 2}, now)
	left(2)
	b.ClearBurst(k.Cell, now)
	left(2)
	takes(2)
	now += int64(time.Second)
	takes(5)
	b.SetBurst(k.Cell, BurstShare{Parts: WholeLimit / 100, Nodes: 2}, now)
	left(0)
	now += int64(10 * time.Second)
	takes(1) // however small a part is

	b.SetBurst(k.Cell, BurstShare{Parts: WholeLimit, Nodes: 1}, now)
	now += int64(time.Hour)
	takes(21)
	if asked := b.TakeAsked(nil); len(asked) != 1 || asked[0].Cell != k.Cell || asked[0].Times != 45 {
		t.Errorf("asked are %+v; want the account 45 times", asked)
	}
	if asked := b.TakeAsked(nil); len(asked) != 0 {
		t.Errorf("asked are %+v again", asked)
	}
	takes(0)
	if asked := b.TakeAsked(nil); len(asked) != 1 || asked[0].Times != 1 {
		t.Errorf("asked are %+v; want the account once more", asked)
	}

	// A larger part has room for more tokens, and no more of them.
	b.SetBurst(k.Cell, half, now)
	now += int64(time.Second)
	left(5)
	b.SetBurst(k.Cell, BurstShare{Parts: WholeLimit, Nodes: 1}, now)
	left(5)
}

// A node that had no part of a limit for a while has no tokens when it gets one again, and an
// account without a limit is admitted whatever its part.
func TestShareOfNothing(t *testing.T) {
	now := testMonth.Start().UnixNano()
	f := func(plan Plan, left int64, admitted bool) {
		t.Helper()
		b, k := one(t, plan, 0)
		all := BurstShare{Parts: WholeLimit, Nodes: 1}
		b.SetNoBurst()
		b.SetBurst(k.Cell, all, now-int64(time.Hour))
		b.SetBurst(k.Cell, BurstShare{Nodes: 2}, now)
		if ticket := b.Admit(k, now); ticket.TakeToken() != admitted {
			t.Errorf("plan %+v without a part: admitted %t", plan, !admitted)
		}
		b.SetBurst(k.Cell, all, now+1000)
		ticket := b.Admit(k, now+1000)
		if ticket.PeekBurst(); ticket.Burst.Left != left {
			t.Errorf("plan %+v: %d tokens are left; want %d", plan, ticket.Burst.Left, left)
		}
	}

	f(Plan{ID: "p", RequestsPerSecond: 10, Burst: 21}, 0, false)
	f(Plan{ID: "p"}, 0, true)
}

// A bucket that was emptied stays empty for as long as before, also when the next one has less
// room.
func TestEmptyBucketOfManyNodes(t *testing.T) {
	b, k := one(t, Plan{ID: "p", RequestsPerSecond: 10, Burst: 21}, 0)
	now := testMonth.Start().UnixNano()
	b.SetNoBurst()
	b.SetBurst(k.Cell, BurstShare{Parts: WholeLimit, Nodes: 1}, now-int64(time.Hour))
	ticket := b.Admit(k, now)
	for range 21 {
		ticket.TakeToken()
	}

	b.SetBurst(k.Cell, BurstShare{Parts: WholeLimit, Nodes: 10}, now)
	later := b.Admit(k, now)
	if later.TakeToken() || later.Burst.RetryNs != int64(time.Second) {
		t.Errorf("a token comes after %s; want a second", time.Duration(later.Burst.RetryNs))
	}
}

// However many requests ask at once, an account is listed once, and every one is counted.
func TestAskedTogether(t *testing.T) {
	const each, requesters = 5000, 4
	b, k := one(t, Plan{ID: "p"}, 0)
	var requests sync.WaitGroup
	for range requesters {
		requests.Go(func() {
			for range each {
				b.noteAsked(k.Cell)
			}
		})
	}

	total := int64(0)
	for total < each*requesters {
		asked := b.TakeAsked(nil)
		if len(asked) > 1 {
			t.Fatalf("one account is listed %d times", len(asked))
		}
		for _, a := range asked {
			total += a.Times
		}
	}
	if requests.Wait(); total != each*requesters || k.Cell.asked.Load() != 0 {
		t.Errorf("%d requests were counted, and %d are left; want %d", total, k.Cell.asked.Load(), each*requesters)
	}
}

// An account that two requests note at the same moment is on a list once.
func TestNotedOnce(t *testing.T) {
	const rounds = 100_000
	b, k := one(t, Plan{ID: "p"}, 0)
	b.Dirty(nil)
	f := func(note func(), listed func() int) {
		t.Helper()
		var begun, ended atomic.Int64
		var other sync.WaitGroup
		other.Go(func() {
			for round := int64(1); round <= rounds; round++ {
				for begun.Load() < round {
					runtime.Gosched()
				}
				note()
				ended.Store(round)
			}
		})

		twice := 0
		for round := int64(1); round <= rounds; round++ {
			begun.Store(round)
			note()
			for ended.Load() < round {
				runtime.Gosched()
			}
			if listed() != 1 {
				twice++
			}
		}
		if other.Wait(); twice > 0 {
			t.Errorf("noted by two requests together %d times, it was not listed once %d times", rounds, twice)
		}
	}

	f(func() { b.noteAsked(k.Cell) }, func() int { return len(b.TakeAsked(nil)) })
	f(func() { b.markDirty(k.Cell) }, func() int { return len(b.Dirty(nil)) })
}

// Requests count as asking only where a limit is shared.
func TestWhoAsks(t *testing.T) {
	f := func(plan Plan, shared bool, want int) {
		t.Helper()
		b, k := one(t, plan, 0)
		if shared {
			b.SetNoBurst()
		}
		for range 3 {
			ticket := b.Admit(k, testMonth.Start().UnixNano())
			ticket.TakeToken()
		}
		if asked := b.TakeAsked(nil); len(asked) != want {
			t.Errorf("plan %+v, shared %t: %+v asked; want %d", plan, shared, asked, want)
		}
	}

	paced := Plan{ID: "p", RequestsPerSecond: 10, Burst: 21}
	f(paced, true, 1)
	f(paced, false, 0)
	f(Plan{ID: "p"}, true, 0)
}

// A bucket is rescaled in whole numbers, and never above what it has room for.
func TestRescale(t *testing.T) {
	f := func(v, by, over, limit, want int64) {
		t.Helper()
		if got := rescale(v, by, over, limit); got != want {
			t.Errorf("%d * %d / %d, at most %d: %d; want %d", v, by, over, limit, got, want)
		}
	}

	f(12, 3, 4, 100, 9)
	f(12, 3, 4, 9, 9)
	f(12, 3, 4, 8, 8)
	f(11, 1, 4, 100, 2)
	f(0, 3, 4, 100, 0)
	f(12, 3, 0, 5, 5)
	f(0, 3, 0, 5, 5)
	f(1<<62, 1<<20, 1<<20, 1<<62, 1<<62)
	f(1<<62, 4, 1, 77, 77) // 2^64
	f(1<<62, 2, 1, 77, 77)
	f(1<<62, 1<<10, 1<<8, 77, 77)
}

// More nodes than the burst has requests have one token each.
func TestBurstShareOfManyNodes(t *testing.T) {
	terms := NewTerms(&Plan{ID: "p", RequestsPerSecond: 1_000_000_000, Burst: 2}, false)
	for _, parts := range []int64{1, 1000, WholeLimit} {
		interval, tolerance := terms.pace(BurstShare{Parts: parts, Nodes: 50})
		if interval != ceilDiv(WholeLimit, parts) || tolerance != interval {
			t.Errorf("%d parts: a token in %d ns, and a bucket worth %d", parts, interval, tolerance)
		}
	}
	if got := rescale(1<<60, 1<<30, 3, 77); got != 77 {
		t.Errorf("what does not fit is %d; want the limit", got)
	}
}
