package accounts

import (
	"slices"
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
		if ticket.Look(); ticket.Burst.Left != want {
			t.Errorf("%d tokens are left; want %d", ticket.Burst.Left, want)
		}
	}
	takes := func(want int) {
		t.Helper()
		for got := 0; ; got++ {
			ticket := b.Admit(k, now)
			if !ticket.Take() {
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
