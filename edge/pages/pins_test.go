package pages

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
)

// TestFirstAnswerOfPin checks that a cut can be asked for while the first answer from
// it is under way, and ends some time after the last one.
func TestFirstAnswerOfPin(t *testing.T) {
	var limits atomic.Pointer[Limits]
	bounds := DefaultLimits()
	limits.Store(&bounds)
	view, _ := rankings.Build(nil, crowd(3, 1), 7)
	board := new(rankings.Board)
	board.Publish(view)
	p := newPins(&Config{Board: board, Metrics: metrics.NewSet()}, &limits, func() {})
	defer p.close()

	first, refused := p.pinNewest(1, []*rankings.View{view})
	if refused != nil {
		t.Fatal(refused)
	}
	second := p.findPinned(2, 1, []query.Generation{{Chain: 1, Number: 7}})
	if second != first || first.answers != 2 || first.accounts != 2 {
		t.Fatalf("while the first answer is under way %p is found; want %p: %+v", second, first, *first)
	}

	f := func(after time.Duration, kept int) {
		t.Helper()
		p.dropExpired(first.used.Add(after))
		if len(p.cuts) != kept || view.Pinned() != (kept > 0) {
			t.Errorf("%v after the last answer %d cuts are kept; want %d", after, len(p.cuts), kept)
		}
	}
	p.endAnswer(first)
	f(2*bounds.Pin, 1) // of which one answer is under way
	p.endAnswer(second)
	f(bounds.Pin-1, 1)
	f(bounds.Pin, 0)
}

// pinning is pins over a board on which a new generation comes whenever one is asked for.
type pinning struct {
	*pins
	t          *testing.T
	set        *metrics.Set
	view       *rankings.View
	generation uint64
	dropped    atomic.Int64
}

func newPinning(t *testing.T, most int) *pinning {
	var limits atomic.Pointer[Limits]
	bounds := DefaultLimits()
	bounds.Pins = most
	limits.Store(&bounds)
	p := &pinning{t: t, set: metrics.NewSet()}
	cfg := &Config{Board: new(rankings.Board), Metrics: p.set}
	p.pins = newPins(cfg, &limits, func() { p.dropped.Add(1) })
	return p
}

// walk begins a walk of an account on the newest generation, and ends its first answer.
// It returns the generation that the walk is on.
func (p *pinning) walk(account uint64) (generation uint64, retry time.Duration) {
	p.t.Helper()
	p.generation++
	p.view, _ = rankings.Build(p.view, crowd(3, 1), p.generation)
	p.board.Publish(p.view)
	c, refused := p.pinNewest(account, []*rankings.View{p.view})
	if refused != nil {
		return 0, refused.Retry
	}
	p.endAnswer(c)
	return c.views[0].Generation, 0
}

// TestPinsMakeRoom checks which cut a new walk joins or replaces: it joins one that is
// younger than fifteen seconds, replaces one that is nobody's pin or only its own, and
// is refused when there is none.
func TestPinsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPinning(t, 2)
		defer p.close()
		f := func(after time.Duration, account, generation uint64, retry time.Duration, cuts int, dropped int64) {
			t.Helper()
			time.Sleep(after)
			got, wait := p.walk(account)
			if got != generation || wait != retry {
				t.Errorf("account %d is on generation %d, or to wait %s; want %d, %s", account, got, wait, generation, retry)
			}
			if n := p.set.GetOrCreateGauge("tidemark_edge_pins", nil).Get(); int(n) != cuts || p.dropped.Load() != dropped {
				t.Errorf("account %d: %g cuts are kept, %d were dropped; want %d, %d", account, n, p.dropped.Load(), cuts, dropped)
			}
		}

		f(0, 1, 1, 0, 1, 0)
		f(joinPin-1, 2, 1, 0, 1, 0) // joins
		f(1, 2, 3, 0, 2, 0)         // has a new one, and leaves the first to account 1
		f(joinPin-1, 1, 3, 0, 2, 0) // joins that, and leaves the first to nobody
		f(1, 3, 5, 0, 2, 1)         // which makes room
		f(joinPin, 4, 0, time.Minute-joinPin-1, 2, 1)
		if got := p.refused.Get(); got != 1 {
			t.Errorf("%d walks are counted as refused; want 1", got)
		}
		f(0, 3, 7, 0, 2, 2) // replaces its own
		f(time.Minute-joinPin-2, 4, 0, retryAfter, 2, 2)
		f(1, 4, 9, 0, 2, 3) // the time of one has passed
	})
}

// TestPinsEnd checks that a cut lasts for a minute after each answer, for ten in all, and
// that nothing is kept once nobody asks.
func TestPinsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPinning(t, 2)
		generation, _ := p.walk(1)
		began, view := time.Now(), p.view
		named := []query.Generation{{Chain: 1, Number: generation}}
		f := func(at time.Duration, found bool) {
			t.Helper()
			time.Sleep(time.Until(began.Add(at)))
			c := p.findPinned(1, 1, named)
			if (c != nil) != found || view.Pinned() != found {
				t.Errorf("after %s the cut is found %t, pinned %t; want %t", at, c != nil, view.Pinned(), found)
			}
			if c != nil {
				p.endAnswer(c)
			}
		}

		for n := range time.Duration(9) {
			f((n+1)*(time.Minute-1), true)
		}
		f(maxPin-30*time.Second, true)
		f(maxPin-1, true)
		f(maxPin, false)

		p.walk(1)
		last := p.view
		time.Sleep(time.Minute + minSweep)
		synctest.Wait()
		if last.Pinned() || len(p.cuts) > 0 || len(p.byAccount) > 0 || p.timer != nil {
			t.Errorf("a minute after the last answer there are %d cuts of %d accounts", len(p.cuts), len(p.byAccount))
		}
		p.walk(1)
		p.close()
		if p.view.Pinned() || len(p.cuts) > 0 {
			t.Error("a cut is left")
		}
	})
}

// TestPinOfNewestGenerations checks that a walk joins a cut that has the newest generations
// still, however old it is and although there is no room, and that the cut is then as good
// as a new one.
func TestPinOfNewestGenerations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPinning(t, 1)
		defer p.close()
		p.walk(1)
		oldest := p.view
		f := func(account uint64, at time.Duration, ask func() (*cut, *render.Error), want bool) {
			t.Helper()
			time.Sleep(at)
			c, err := ask()
			if (c != nil) != want || err != nil {
				t.Errorf("account %d has a pin: %t, %v; want %t", account, c != nil, err, want)
			}
			if c != nil {
				p.endAnswer(c)
			}
		}
		begin := func(account uint64, at time.Duration) {
			t.Helper()
			f(account, at, func() (*cut, *render.Error) { return p.pinNewest(account, []*rankings.View{p.view}) }, true)
		}
		goOn := func(account uint64, at time.Duration, want bool) {
			t.Helper()
			named := []query.Generation{{Chain: 1, Number: oldest.Generation}}
			f(account, at, func() (*cut, *render.Error) { return p.findPinned(account, 1, named), nil }, want)
		}

		begin(2, 50*time.Second)
		if n := len(p.cuts); n != 1 || p.refused.Get() != 0 {
			t.Errorf("%d cuts of one generation are kept; want 1", n)
		}
		if got, _ := p.walk(3); got != oldest.Generation { // as young as a new one
			t.Errorf("a walk is on generation %d; want %d", got, oldest.Generation)
		}
		for range 11 {
			goOn(1, 54*time.Second, true)
		}
		goOn(1, maxPin-11*54*time.Second-1, true) // ten minutes after it was renewed
		goOn(1, 1, false)
	})
}

// TestOutdatedPin checks that views which were replaced before they were pinned are not
// kept, and that a walk of them is to be begun again.
func TestOutdatedPin(t *testing.T) {
	p := newPinning(t, 2)
	defer p.close()
	old, _ := rankings.Build(nil, crowd(3, 1), 1)
	next, _ := rankings.Build(old, crowd(4, 1), 2)
	p.board.Publish(next)

	for name, pin := range map[string]func(uint64, []*rankings.View) (*cut, *render.Error){
		"pinNewest": p.pinNewest, "pinNamed": p.pinNamed,
	} {
		c, err := pin(1, []*rankings.View{old})
		if c != nil || err != errReplaced || old.Pinned() || len(p.cuts) != 0 || len(p.byAccount) != 0 {
			t.Errorf("%s: got %v, %v; pinned %t, with %d cuts", name, c, err, old.Pinned(), len(p.cuts))
		}
	}
}

// TestSharedPin checks that an account cannot replace the cut that another one walks on.
func TestSharedPin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPinning(t, 1)
		defer p.close()
		for account := range uint64(2) {
			if got, _ := p.walk(account); got != 1 {
				t.Fatalf("account %d is on generation %d; want 1", account, got)
			}
		}

		time.Sleep(joinPin)
		if got, retry := p.walk(0); got != 0 || retry != time.Minute-joinPin {
			t.Errorf("account 0 is on generation %d, or to wait %s; want to wait for account 1", got, retry)
		}
	})
}

// TestPinWithoutColumns checks that a new walk does not join a cut which was pinned before
// the records of a restarted chain were loaded, once they are, unless the cut has the same
// generation and so gets the columns too.
func TestPinWithoutColumns(t *testing.T) {
	p := newPinning(t, 2)
	defer p.close()
	_, stored := rankings.Build(nil, crowd(3, 1), 1)
	cold, err := rankings.Open(crowd(3, 1), 1, stored.Directory)
	if err != nil {
		t.Fatal(err)
	}
	f := func(v *rankings.View, generation uint64, cuts int) {
		t.Helper()
		p.board.Publish(v)
		c, refused := p.pinNewest(1, []*rankings.View{v})
		if refused != nil {
			t.Fatal(refused)
		}
		p.endAnswer(c)
		if got := c.views[0].Generation; got != generation || len(p.cuts) != cuts {
			t.Errorf("a walk is on generation %d, and %d cuts are kept; want %d, %d", got, len(p.cuts), generation, cuts)
		}
	}

	f(cold, 1, 1)
	f(cold, 1, 1)
	warm, err := rankings.Complete(cold, func() {})
	if err != nil {
		t.Fatal(err)
	}
	f(warm, 1, 1)
	next, _ := rankings.Build(warm, crowd(4, 1), 2)
	f(next, 2, 2)
}
