package gate

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// newBenchGate returns a gate and the key of an account that cannot run out of
// units or burst tokens.
func newBenchGate(tb testing.TB) (*Gate, string) {
	now := time.Now()
	ns := now.UnixNano()

	book := accounts.NewBook(accounts.NewTurner(ns, 0).Step(ns, ns))
	book.SetAlive(ns + int64(time.Hour))
	plan := accounts.Plan{ID: "p", MonthlyUnits: 1 << 40, RequestsPerSecond: 1e9, Burst: 1e6}
	cell := accounts.NewCell(1, "acme", 0, accounts.NewTerms(&plan, false))
	cell.Begin(accounts.MonthAt(ns))
	cell.Open(accounts.MonthAt(ns), 1<<40)
	key, err := accounts.NewKey(rand.Reader, accounts.Server)
	if err != nil {
		tb.Fatal(err)
	}
	book.Add(&accounts.Issued{
		Hash: accounts.HashKey([]byte(key)), Prefix: accounts.PrefixOf(key), Cell: cell,
	}, 0, 0)

	return New(book, accounts.NewClock(now), metrics.NewSet()), key
}

// pass takes a request through all the steps of the gate.
func (g *Gate) pass(tb testing.TB, ctx *fasthttp.RequestCtx, now time.Time) {
	SetPrivate(ctx)
	t, err := g.Admit(ctx, now)
	if err == nil {
		err = g.Reserve(&t, 1)
	}
	if err != nil {
		tb.Fatal(err)
	}
	SetMeter(ctx, &t, g.Settle(&t, accounts.RoutePositions, 1))
}

func TestGateAllocations(t *testing.T) {
	g, key := newBenchGate(t)
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.Header.Set(HeaderKey, key)
	now := time.Now()
	g.pass(t, ctx, now) // the first use allocates the headers' room

	if n := testing.AllocsPerRun(1000, func() {
		ctx.Response.Header.Reset()
		g.pass(t, ctx, now)
	}); n != 0 {
		t.Errorf("%v allocations a request; want 0", n)
	}
}

// BenchmarkGate measures the gate with all its headers. Compare it with
// storage/accounts.BenchmarkRequest, which measures the accounts alone.
func BenchmarkGate(b *testing.B) {
	g, key := newBenchGate(b)
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.Header.Set(HeaderKey, key)
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Header.Reset()
		g.pass(b, ctx, now)
	}
}

// TestTicketBounds checks the last moment at which units may be spent, and the last
// unit of a quota.
func TestTicketBounds(t *testing.T) {
	g, _, admitted := admitted(t)
	ticket := *admitted

	f := func(aliveUntil, units int64, want *render.Error) {
		t.Helper()
		g.book.SetAlive(aliveUntil)
		held := ticket
		if err := g.Reserve(&held, units); err != want {
			t.Errorf("%d units, alive for %d ns more: got %v; want %v", units, aliveUntil-ticket.Now, err, want)
		}
		g.Settle(&held, accounts.RoutePositions, 0)
	}
	f(ticket.Now, 1, nil)
	f(ticket.Now+1, 1, nil)
	g.LeaseWait = time.Millisecond
	f(ticket.Now-1, 1, errLease)
	f(0, 1, errStalled)

	g.book.SetAlive(ticket.Now)
	const quota = 1 << 40 // of newBenchGate, and leased
	f(ticket.Now, quota, nil)
	held := ticket
	if err := g.Reserve(&held, quota+1); err == nil || !err.Quota {
		t.Errorf("one unit more than the quota: got %v; want the 429 of the quota", err)
	}
}

// TestRateLimitWithoutBurst checks the RateLimit header of a plan that has a quota
// and no burst limit.
func TestRateLimitWithoutBurst(t *testing.T) {
	ticket := Ticket{Terms: accounts.NewTerms(&accounts.Plan{ID: "p", MonthlyUnits: 100}, false)}
	got := string(appendRateLimit(nil, &ticket, &accounts.Quota{Limit: 100, Left: 7, ResetInNs: 2e9}))
	if want := `"month";r=7;t=2`; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// admitted is a gate, a request that it has admitted, and its ticket.
func admitted(t *testing.T) (*Gate, *fasthttp.RequestCtx, *Ticket) {
	t.Helper()
	g, key := newBenchGate(t)
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.Header.Set(HeaderKey, key)
	ticket, err := g.Admit(ctx, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return g, ctx, &ticket
}

// TestReserveAfterStop checks that a request which comes right after the process had
// stopped for long waits for the next flush, and is refused when that fails.
func TestReserveAfterStop(t *testing.T) {
	f := func(alive int64, want *render.Error) {
		t.Helper()
		g, _, ticket := admitted(t)

		g.book.SetAlive(ticket.Now - int64(time.Minute))
		go func() { // metering
			<-g.book.Wakes()
			if alive != 0 {
				alive += ticket.Now
			}
			g.book.SetAlive(alive)
			ticket.Key.Cell.Wake()
		}()
		if err := g.Reserve(ticket, 1); err != want {
			t.Errorf("after a flush that lets spend for %d ns: got %v; want %v", alive, err, want)
		}
	}
	f(int64(time.Second), nil)
	f(0, errStalled)
}
