package storage

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/actors/feed"
	"tidemark/actors/feed/sim"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/disktest"
)

// life is a simulated chain with two ledgers: kept is restarted from the store now
// and then, shadow never is.
type life struct {
	*sim.Feed
	cfg          ledger.Config
	kept, shadow *ledger.Ledger
	now          time.Time
	spans        []appliedSpan // of the chain as it is now
}

// appliedSpan is a span of the chain, with what was applied before it.
type appliedSpan struct {
	market.Span
	hour   uint32 // 0: none began
	prices []ledger.HourPrice
}

func newLife(t testing.TB, positions, pools, days int) *life {
	t.Helper()
	genesis := int64(1_750_000_000 / 3600 * 3600)
	l := &life{now: time.Unix(genesis, 0).Add(time.Duration(days) * 24 * time.Hour)}
	stables := []market.Address{{1}, {2}, {3}}
	var err error
	l.Feed, err = sim.New(sim.Config{
		Chain: 1, Seed: 5, Positions: positions, Pools: pools, Days: days, Genesis: genesis,
		StartBlock: 1000, PositionManager: market.Address{9}, Stables: stables,
		Wrapped: market.Address{4}, Now: func() time.Time { return l.now },
	})
	if err != nil {
		t.Fatal(err)
	}

	l.cfg = ledger.Config{Chain: 1, PositionManager: market.Address{9}, Start: 1000}
	l.kept, l.shadow = ledger.New(l.cfg), ledger.New(l.cfg)
	return l
}

// ask returns the next step of the feed after the shadow's head.
func (l *life) ask(t testing.TB) feed.Step {
	t.Helper()
	step, err := l.Next(context.Background(),
		feed.Cursor{Anchors: l.shadow.Anchors(), State: l.shadow.Freeze()})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// step applies one step of the feed to both ledgers and reports whether there is
// more.
func (l *life) step(t testing.TB) bool {
	t.Helper()
	step := l.ask(t)
	if step.RevertTo != nil {
		l.dropSpans(step.RevertTo.Number)
	}
	for _, g := range []*ledger.Ledger{l.kept, l.shadow} {
		for step.RevertTo != nil && g.Head() != *step.RevertTo {
			if err := g.Revert(); err != nil {
				t.Fatal(err)
			}
		}
		if step.Span != nil {
			applied := applyHours(t, g, step.Span)
			if g == l.shadow {
				l.spans = append(l.spans, applied...)
			}
		}
		g.Forget(step.Finalized)
	}

	return l.shadow.Head().Number < step.Head.Number
}

// dropSpans removes the spans after a block. Their tokens stay known, as those of the
// span before them.
func (l *life) dropSpans(after uint64) {
	n := len(l.spans)
	for n > 0 && l.spans[n-1].To > after {
		n--
	}
	for _, s := range l.spans[n:] {
		tokens := &l.spans[n-1].Tokens
		*tokens = append((*tokens)[:len(*tokens):len(*tokens)], s.Tokens...)
	}
	l.spans = l.spans[:n]
}

// rebuild returns a ledger that only ever saw the chain as it is now.
func (l *life) rebuild(t testing.TB) *ledger.Ledger {
	t.Helper()
	g := ledger.New(l.cfg)
	for i := range l.spans {
		s := &l.spans[i]
		if s.hour != 0 {
			g.BeginHour(s.hour, s.prices, nil)
		}
		if _, err := g.Apply(&s.Span); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// applyHours applies a span with an invented record of prices at every hour. It
// returns its pieces.
func applyHours(t testing.TB, g *ledger.Ledger, s *market.Span) (applied []appliedSpan) {
	t.Helper()
	for _, piece := range ledger.CutHours(s, g.Head().Time) {
		a := appliedSpan{Span: piece}

		if hour := market.HourOf(piece.Time); hour > market.HourOf(g.Head().Time) {
			a.hour, a.prices = hour, invented(g.Present(), hour)
			g.BeginHour(a.hour, a.prices, nil)
		}
		if _, err := g.Apply(&piece); err != nil {
			t.Fatal(err)
		}
		applied = append(applied, a)
	}
	return applied
}

func invented(st *market.State, hour uint32) []ledger.HourPrice {
	prices := make([]ledger.HourPrice, 0, st.Tokens.Len()/3+1)
	for i := range st.Tokens.Len() {
		if (hour+i)%3 != 0 {
			continue
		}
		prices = append(prices, ledger.HourPrice{Token: i, Usd: float64(hour%100 + i), AsOf: st.Now()})
	}
	return prices
}

func (l *life) commit(t testing.TB, s *Store) {
	t.Helper()
	cut := &Cut{State: l.kept.Freeze(), Changes: l.kept.Changes()}
	if err := s.Commit(cut); err != nil {
		t.Fatal(err)
	}
}

// restart replaces the kept ledger by one made from the store.
func (l *life) restart(t testing.TB, s *Store) {
	t.Helper()
	undos, err := coldUndos(s, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Restore(1)
	if err != nil {
		t.Fatal(err)
	}
	r.Warm(func() bool { return false })
	l.kept = ledger.From(l.cfg, r.State, undos, func() {})
}

// TestALedgerGoesOnFromTheStore follows markets with many reorganisations, with one
// ledger that is restarted from the store again and again, and another that never is.
// At every block both are the same. After every reorganisation the bytes of the State
// are those of a ledger that only ever saw the chain as it is now.
func TestALedgerGoesOnFromTheStore(t *testing.T) {
	want, done, seed := disktest.Share(40, 500, 5000), 0, uint64(5)
	for ; done < want; seed++ {
		done += reorganise(t, seed, min(want-done, 50))
	}
	disktest.Figure(t, "%d reorganisations of depth 1 to 200: the bytes of the State equal a rebuild after each, "+
		"0 differences from a ledger that was never restarted", done)
}

// reorganise follows one market, and returns the number of its reorganisations.
func reorganise(t *testing.T, seed uint64, reverts int) (done int) {
	t.Helper()
	fs := vfs.NewMem()
	s := openTest(t, fs)
	l := newLife(t, 80, 10, 3)
	r := rand.New(rand.NewPCG(seed, 5))
	for l.step(t) {
		if r.UintN(4) == 0 {
			l.commit(t, s)
		}
	}

	for done < reverts {
		l.now = l.now.Add(time.Duration(1+r.UintN(20)) * time.Minute)
		reorganised := r.UintN(3) == 0
		if reorganised {
			must(l.Reorg(1 + r.Uint64N(200)))
			done++
		}

		for more := true; more; {
			more = l.step(t)
			if r.UintN(3) > 0 {
				continue // a cut may have several spans, or only a revert
			}
			l.commit(t, s)
			if r.UintN(2) == 0 {
				closeTest(t, s)
				s = openTest(t, fs)
				l.restart(t, s)
			}
			sameState(t, l.shadow.Freeze(), l.kept.Freeze())
		}
		if reorganised {
			got, want := stateBytes(l.kept.Freeze()), stateBytes(l.rebuild(t).Freeze())
			if !bytes.Equal(got, want) {
				t.Fatalf("seed %d, reorganisation %d: %d bytes of the State differ from the %d of a rebuild",
					seed, done, len(got), len(want))
			}
			l.commit(t, s)
			sameHours(t, s, l.rebuild(t).Changes().Ops)
		}
	}

	l.commit(t, s)
	findings, err := s.Check()
	for _, f := range findings {
		t.Error(f)
	}
	if st := l.shadow.Freeze(); err != nil || st.Transactions < 100 {
		t.Errorf("check: %v; %d entries are no test", err, st.Transactions)
	}
	closeTest(t, s)
	return done
}

// sameHours compares the hours in a store with those that operations put.
func sameHours(t *testing.T, s *Store, ops ledger.Ops) {
	t.Helper()
	want := map[string]string{}
	for op := range ops.All() {
		if h := ledger.PoolHours.Entry(&op); h != nil {
			want[string(seriesFor(ledger.PoolHours).appendKey(nil, 1, h))] = string(encode(nil, h, codePoolHour))
		}
		if h := ledger.TickHours.Entry(&op); h != nil {
			want[string(seriesFor(ledger.TickHours).appendKey(nil, 1, h))] = string(encode(nil, h, codeTickHour))
		}
	}

	pools, ticks := seriesFor(ledger.PoolHours).kind, seriesFor(ledger.TickHours).kind
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendKind(nil, 1, pools), UpperBound: appendKind(nil, 1, ticks+1),
	})
	must(err)
	found := 0
	for ok := it.First(); ok; ok = it.Next() {
		if want[string(it.Key())] != string(it.Value()) {
			t.Fatalf("hour %x is %x; a rebuild has %x", it.Key(), it.Value(), want[string(it.Key())])
		}
		found++
	}
	must(it.Close())
	if found != len(want) || found < 100 {
		t.Fatalf("%d hours are stored; a rebuild has %d", found, len(want))
	}
}

// stateBytes returns the records of every table of a State, as a store has them.
func stateBytes(st *market.State) (all []byte) {
	h := head{
		At: st.Head, Native: st.Native, Rows: lengths(st), OpenCount: st.OpenCount,
		Transactions: st.Transactions, DaysFrom: st.DaysFrom, HoursFrom: st.HoursFrom,
	}
	all = encode(all, &h, codeHead)
	for _, t := range tables {
		all = t.(interface {
			appendRows([]byte, *market.State) []byte
		}).appendRows(all, st)
	}
	return all
}

func (t *rows[T]) appendRows(all []byte, st *market.State) []byte {
	for i := range t.of(st).Len() {
		all = encode(all, t.of(st).At(i), t.code)
	}
	return all
}
