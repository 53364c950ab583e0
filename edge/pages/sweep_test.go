package pages

import (
	"runtime"
	"testing"
	"weak"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// TestReplacedGenerationIsLetGo checks that a generation is not in memory any more when
// another one has followed it and nobody asks, although its pages and a count of it were
// asked for, and that a sweep comes again as long as there is anything to drop later.
func TestReplacedGenerationIsLetGo(t *testing.T) {
	p := crowded(t, nil, crowd(3, 1))
	published := func() *rankings.View { return p.cfg.Board.Load().Chains[0].View }
	replaced := weak.Make(published())
	ask := func() {
		if _, refused := p.Answer(&Question{Route: accounts.RoutePool, Now: 1000, Chain: 1}); refused != nil {
			t.Fatal(refused)
		}
		p.parts.partsOf(published())
	}
	ask()
	if !p.sweeper.armed.Load() {
		t.Fatal("no sweep comes after an answer")
	}
	p.jobs.counts.put("filter", &count{views: []*rankings.View{published()}}, func(*count) bool { return true })
	p.sweeper.sweep()
	if !p.sweeper.armed.Load() || p.jobs.counts.len() != 1 || p.parts[1].Load() == nil {
		t.Error("a sweep drops what is published")
	}

	next, _ := rankings.Build(nil, &market.State{Chain: 1}, 8)
	p.cfg.Board.Publish(next)
	p.sweeper.sweep()
	runtime.GC()
	if replaced.Value() != nil {
		t.Error("the replaced generation is still in memory")
	}
	if p.sweeper.armed.Load() {
		t.Error("another sweep comes although nothing is kept")
	}
	runtime.KeepAlive(p)
}
