package storage

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/actors/feed"
	"tidemark/actors/feed/sim"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// life is a simulated chain with two ledgers: kept is restarted from the store now
// and then, shadow never is.
type life struct {
	*sim.Feed
	cfg          ledger.Config
	kept, shadow *ledger.Ledger
	now          time.Time
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
	for _, g := range []*ledger.Ledger{l.kept, l.shadow} {
		for step.RevertTo != nil && g.Head() != *step.RevertTo {
			if err := g.Revert(); err != nil {
				t.Fatal(err)
			}
		}
		if step.Span != nil {
			applyHours(t, g, step.Span)
		}
		g.Forget(step.Finalized)
	}

	return l.shadow.Head().Number < step.Head.Number
}

// applyHours applies a span with an invented record of prices at every hour.
func applyHours(t testing.TB, g *ledger.Ledger, s *market.Span) {
	t.Helper()
	for _, piece := range ledger.CutHours(s, g.Head().Time) {
		hour := market.HourOf(piece.Time)
		if hour > market.HourOf(g.Head().Time) {
			g.BeginHour(hour, invented(g.Freeze(), hour), nil)
		}
		if _, err := g.Apply(&piece); err != nil {
			t.Fatal(err)
		}
	}
}

func invented(st *market.State, hour uint32) (prices []ledger.HourPrice) {
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
	undos, err := s.Undos(1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Restore(1)
	if err != nil {
		t.Fatal(err)
	}
	r.Warm(func() bool { return false })
	l.kept = ledger.From(l.cfg, r.State, undos)
}

// TestALedgerGoesOnFromTheStore follows a market with many reorganisations, with
// one ledger that is restarted from the store again and again. At every block it
// must equal a ledger that never was restarted. So undos must read back exactly,
// also old ones and those whose successors were reverted.
func TestALedgerGoesOnFromTheStore(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	l := newLife(t, 80, 10, 3)
	r := rand.New(rand.NewPCG(5, 5))
	for l.step(t) {
		if r.UintN(4) == 0 {
			l.commit(t, s)
		}
	}

	reverts := 0
	for reverts < share(60, 500, 5000) {
		l.now = l.now.Add(time.Duration(1+r.UintN(20)) * time.Minute)
		if r.UintN(3) == 0 {
			must(l.Reorg(1 + r.Uint64N(200)))
			reverts++
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
	}

	findings, err := s.Check()
	for _, f := range findings {
		t.Error(f)
	}

	if st := l.shadow.Freeze(); err != nil || reverts < 20 || st.Transactions < 100 {
		t.Errorf("check: %v; %d reverts and %d entries are no test", err, reverts, st.Transactions)
	}

	figure(t, "%d reorganisations of depth 1 to 200: 0 states differ from a ledger that was never "+
		"restarted", reverts)
	closeTest(t, s)
}
