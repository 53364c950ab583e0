package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/storage/accounts"
)

// Each refusal of a key has a counter of its own, and the client is told the same of all.
func TestReasonsAreCounted(t *testing.T) {
	g, key := newBenchGate(t)
	of, _ := g.book.Resolve([]byte(key))
	counted := func() []uint64 {
		m := &g.metrics
		return []uint64{
			m.missing.Get(), m.repeated.Get(), m.malformed.Get(), m.unknown.Get(), m.suspended.Get(), m.revoked.Get(),
		}
	}
	f := func(reason int, keys ...string) {
		t.Helper()
		before := counted()
		ctx := new(fasthttp.RequestCtx)
		for _, k := range keys {
			ctx.Request.Header.Add(HeaderKey, k)
		}
		if _, err := g.Admit(ctx, time.Now()); err != errKey {
			t.Errorf("%q: got %v; want %v", keys, err, errKey)
		}
		for i, n := range counted() {
			if got := n - before[i]; got != 0 && i != reason || got != 1 && i == reason {
				t.Errorf("%q: counter %d rises by %d; want that of %d to rise by 1", keys, i, got, reason)
			}
		}
	}

	const missing, repeated, malformed, unknown, suspended, revoked = 0, 1, 2, 3, 4, 5
	f(missing)
	f(missing, "")
	f(repeated, key, key)
	f(repeated, "", "")
	f(malformed, key[:20])
	f(malformed, "nonsense")
	_, other := newBenchGate(t)
	f(unknown, other)
	plan := of.Cell.Terms().Plan
	g.book.SetTerms(of.Cell, accounts.NewTerms(&plan, true))
	f(suspended, key)
	g.book.SetTerms(of.Cell, accounts.NewTerms(&plan, false))
	g.book.Revoke(of, 1)
	f(revoked, key)
}

// A burst limit that nodes share is said to be shared, and by how many.
func TestSharedBurst(t *testing.T) {
	f := func(nodes int64, among string) {
		t.Helper()
		g, _, ticket := admitted(t)
		if nodes > 0 {
			g.book.SetRestOfBurst(func(func(*accounts.Cell) bool) {}, accounts.BurstShare{Parts: 1, Nodes: nodes}, ticket.Now)
		}
		again := g.book.Admit(ticket.Key, ticket.Now)
		if got := errBurst(&again).Message; !strings.HasSuffix(got, " and bursts of up to 1000000"+among) {
			t.Errorf("with %d nodes: %s; want %q", nodes, got, among)
		}
	}

	f(0, "")
	f(1, "")
	f(2, ", shared by 2 nodes")
	f(5, ", shared by 5 nodes")
}
