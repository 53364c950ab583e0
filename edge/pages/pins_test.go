package pages

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/query"
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

	first, refused := p.join(1, []*rankings.View{view})
	if refused != nil {
		t.Fatal(refused)
	}
	second := p.find(2, 1, []query.Generation{{Chain: 1, Number: 7}})
	if second != first || first.answers != 2 || first.accounts != 2 {
		t.Fatalf("while the first answer is under way %p is found; want %p: %+v", second, first, *first)
	}

	f := func(after time.Duration, kept int) {
		t.Helper()
		p.expire(first.used.Add(after))
		if len(p.cuts) != kept || view.Pinned() != (kept > 0) {
			t.Errorf("%v after the last answer %d cuts are kept; want %d", after, len(p.cuts), kept)
		}
	}
	p.release(first)
	f(2*bounds.Pin, 1) // of which one answer is under way
	p.release(second)
	f(bounds.Pin-1, 1)
	f(bounds.Pin, 0)
}
