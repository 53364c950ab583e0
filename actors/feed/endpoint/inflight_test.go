package endpoint

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// All calls are answered, in several requests at once, each no larger than the
// provider takes.
func TestAskAtOnce(t *testing.T) {
	f := func(calls, most int) {
		t.Helper()
		p := newProvider(t)
		p.most = most
		p.refuse = func(w http.ResponseWriter, _ int) bool { w.WriteHeader(413); return true }
		if right, err := ask(t, p.endpoint(t, nil), calls, (*Endpoint).AskAtOnce); right != calls || err != nil {
			t.Errorf("%d of %d answered in requests of at most %d: %v", right, calls, most, err)
		}
	}

	f(0, 100)
	f(1, 100)
	f(50, 100)
	f(51, 100)
	f(1000, 100)
	f(120, 7)
}

// One request that fails is the error of the whole; what the others brought is kept.
func TestAskAtOnceFails(t *testing.T) {
	p := newProvider(t)
	p.refuse = func(w http.ResponseWriter, calls int) bool {
		if calls < 20 {
			w.WriteHeader(http.StatusUnauthorized)
		}
		return calls < 20
	}
	right, err := ask(t, p.endpoint(t, nil), 119, (*Endpoint).AskAtOnce)
	if right != 100 || KindOf(err) != Unauthorized {
		t.Errorf("%d answered, %v; want 100 and a refusal", right, err)
	}
}

// How many requests may be under way follows from the limits: a second's worth.
func TestInFlight(t *testing.T) {
	f := func(callsPerSecond, unitsPerSecond float64, method string, calls, want int) {
		t.Helper()
		part := make([]Call, calls)
		for i := range part {
			part[i].Method = method
		}
		if got := newPace(callsPerSecond, unitsPerSecond).inFlight(part); got != want {
			t.Errorf("%g calls and %g units a second: %d requests of %d %s at once; want %d",
				callsPerSecond, unitsPerSecond, got, calls, method, want)
		}
	}

	f(0, 0, "eth_call", 100, mostInFlight)
	f(300, 0, "eth_call", 50, 5)
	f(25, 0, "eth_call", 6, 3)
	f(25, 0, "eth_call", 50, leastInFlight)
	f(0, 1500, "eth_getTransactionReceipt", 10, 8)
	f(20, 1500, "eth_getTransactionReceipt", 5, 3)
	f(100_000, 0, "eth_chainId", 1, mostInFlight)
	f(0, 100, "eth_chainId", 1, 87)
}

// Requests begin in the order in which they were queued, never more than may be under
// way; one that gave up is left out, and a turn that it had goes to the next.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f inFlight
		var mu sync.Mutex
		var order []int
		var busy, most atomic.Int64
		begin := make(chan struct{})
		for i := range 9 {
			turn, ctx := f.queue(2), t.Context()
			if i == 4 {
				gone, cancel := context.WithCancel(ctx)
				cancel()
				ctx = gone
			}
			go func() {
				defer f.leave(turn, 2)
				if err := f.await(ctx, turn); err != nil {
					if i != 4 || !errors.Is(err, context.Canceled) {
						t.Errorf("request %d: %v", i, err)
					}
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				most.Store(max(most.Load(), busy.Add(1)))
				<-begin
				busy.Add(-1)
			}()
			synctest.Wait()
		}

		for range 8 {
			begin <- struct{}{}
			synctest.Wait()
		}
		want := []int{0, 1, 2, 3, 5, 6, 7, 8}
		for i := range want {
			if len(order) != len(want) || order[i] != want[i] {
				t.Fatalf("requests began in the order %v; want %v", order, want)
			}
		}
		if most.Load() != 2 || f.busy != 0 {
			t.Errorf("%d were under way at once and %d are at the end; want 2 and none", most.Load(), f.busy)
		}
	})
}

// A request that gives up when its turn has come passes it on.
func TestTurnGivenUp(t *testing.T) {
	var f inFlight
	first, second, third := f.queue(1), f.queue(1), f.queue(1)
	f.leave(second, 1)
	select {
	case <-third:
		t.Fatal("the third began beside the first")
	default:
	}

	f.leave(first, 1)
	if err := f.await(t.Context(), third); err != nil || f.busy != 1 {
		t.Errorf("the third: %v, %d under way", err, f.busy)
	}
}

// A batch grows to what is taken, remembers it, and tries more only now and then.
func TestBatchGrows(t *testing.T) {
	f := func(limit int) {
		t.Helper()
		b := newBatch()
		refusals := 0
		for range 40 * regrow {
			if k := b.get(); k > limit {
				refusals++
				b.refused(k)
			} else {
				b.answered(k)
			}
		}
		if b.get() != min(limit, mostBatch) {
			t.Errorf("a provider that takes %d: %d calls", limit, b.get())
		}
		if refusals > 8 {
			t.Errorf("a provider that takes %d: %d requests refused", limit, refusals)
		}
	}

	for _, limit := range []int{1, 5, 10, 20, 49, 50, 51, 64, 99, 100, 1000} {
		f(limit)
	}
}

// A provider that takes fewer calls than it took is asked for fewer.
func TestBatchShrinksAgain(t *testing.T) {
	b := newBatch()
	b.answered(50)
	b.refused(50)
	if got := b.get(); got != 25 {
		t.Errorf("%d calls after 50 were refused that had been taken; want 25", got)
	}
	b.answered(20)
	b.refused(25)
	if got := b.get(); got != 20 {
		t.Errorf("%d calls after 25 were refused and 20 taken; want 20", got)
	}
}

// A refusal is forgotten after so many requests, and a larger batch is tried at once.
func TestBatchGrowsOnceARefusalIsForgotten(t *testing.T) {
	b := newBatch()
	b.refused(50)
	const before = 5 // a rate limit makes it smaller in between
	for n := range forget - 1 {
		if b.answered(b.get()); n == before {
			b.shrink()
		}
	}

	if got := b.get(); got != 49 {
		t.Errorf("%d calls go into a request before the refusal is forgotten; want 49", got)
	}
	if b.answered(49); b.get() != (49+mostBatch+1)/2 {
		t.Errorf("%d calls go into a request then; want %d", b.get(), (49+mostBatch+1)/2)
	}
}
