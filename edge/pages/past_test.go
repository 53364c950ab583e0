package pages

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// TestPast lets days go by in a market whose prices are recorded by the hour, some of which
// are taken back by reorganisations, and checks that the quotes and the ends of days that
// are kept are those that the store has, for old views too, and that they are not read again.
func TestPast(t *testing.T) {
	store := newStore(t)
	board := new(rankings.Board)
	past, err := newPastCache()
	if err != nil {
		t.Fatal(err)
	}
	defer past.close()
	p := &Pages{cfg: &Config{Store: store, Board: board}, past: past}
	l := ledger.New(ledger.Config{Chain: 1, PositionManager: script.Manager})
	m, r := script.New(), rand.New(rand.NewPCG(1, 2))
	apply := func(line string) {
		t.Helper()
		span, err := m.Span(l.Freeze(), line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Apply(span); err != nil {
			t.Fatal(err)
		}
	}

	// publish commits what the ledger has and makes it the next generation.
	var view *rankings.View
	publish := func(reverted bool) {
		t.Helper()
		st := l.Freeze()
		if err := store.Commit(&storage.Cut{State: st, Changes: l.Changes()}); err != nil {
			t.Fatal(err)
		}
		next := &rankings.View{State: st, Generation: 1}
		if view != nil {
			next.Generation = view.Generation + 1
			next.Changes = &rankings.Changes{Since: view.Generation, Reverted: reverted}
		}
		view = next
		board.Publish(view)
	}

	// check compares what is kept with what is stored, but for the running interval.
	reads, kept := 0, 0
	check := func(v *rankings.View) {
		t.Helper()
		for _, step := range []chart.Step{chart.Daily, chart.Hourly} {
			now := step.Of(v.State.Now())
			from := now - uint32(r.IntN(20))
			got, err := p.quotes(v, 0, step, from)
			if err != nil {
				t.Fatal(err)
			}
			want, err := p.readQuotes(v.State, 0, step, from, now)
			if err != nil {
				t.Fatal(err)
			}
			over := len(want) - 1
			if len(got) != len(want) || !slices.EqualFunc(got[:over], want[:over], sameQuote) {
				t.Fatalf("generation %d, step %d from %d: %v; the store has %v", v.Generation, step, from, got, want)
			}

			reads++
			past.kept.Wait()
			if again, _ := p.quotes(v, 0, step, from); &again[0] == &got[0] {
				kept++
			}
		}
	}

	// checkDays does so for the ends of the pool's days, which are led by an older one.
	daysKept := 0
	checkDays := func(v *rankings.View) {
		t.Helper()
		now := chart.Daily.Of(v.State.Now())
		from := now - uint32(r.IntN(20))
		got, err := p.dayEnds(v, 0, from)
		want, wantErr := p.readDayEnds(v.State, 0, from, now)
		over := func(e chart.End) bool { return e.At >= now }
		if got, want = slices.DeleteFunc(slices.Clone(got), over), slices.DeleteFunc(want, over); err != nil ||
			wantErr != nil || !slices.Equal(got, want) {
			t.Fatalf("generation %d from %d: %v, %v; the store has %v, %v", v.Generation, from, got, err, want, wantErr)
		}

		past.kept.Wait()
		again, _ := p.dayEnds(v, 0, from)
		if more, _ := p.dayEnds(v, 0, from); len(more) > 0 && &more[0] == &again[0] {
			daysKept++
		}
	}

	for _, token := range []string{"A", "B"} {
		if _, err := m.Set([]string{"token", token, "18"}); err != nil {
			t.Fatal(err)
		}
	}
	apply("pool P A B 3000 60")
	apply("mint 1 alice P min max 1e21")
	publish(false)
	for range 100 {
		old, hours := view, 1+r.IntN(9)
		next := l.Freeze().Now() + int64(hours)*market.Hour
		l.BeginHour(market.HourOf(next), []ledger.HourPrice{{
			Token: 0, Usd: float64(1 + r.IntN(1000)), OnlyPool: market.NoIndex, Reason: market.ReasonNone,
		}}, nil)
		apply(fmt.Sprintf("wait +%dh", hours))
		if r.IntN(2) == 0 {
			apply("sell0 P 1e18")
		}
		publish(false)
		check(view)
		checkDays(view)

		if r.IntN(3) == 0 {
			before := view
			if err := l.Revert(); err != nil {
				t.Fatal(err)
			}
			publish(true)
			check(view)
			checkDays(view)
			check(before)
			checkDays(before)
		}
		check(old)
		checkDays(old)
	}
	if daysKept < reads/4 {
		t.Errorf("the ends of days were kept %d times", daysKept)
	}
	if kept < reads/2 || kept == reads {
		t.Errorf("%d of %d quotes were kept; want most, and not those of replaced blocks", kept, reads)
	}
}

// sameQuote compares two quotes, of which either may be unknown.
func sameQuote(a, b value.Quote) bool {
	return a == b || !market.Known(a.Usd) && !market.Known(b.Usd) && a.OnlyPool == b.OnlyPool
}

// newStore returns an empty store.
func newStore(t *testing.T) *storage.Store {
	t.Helper()
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil { // as of an iterator that is left open
			t.Error(err)
		}
	})
	return store
}
