package pages

import (
	"reflect"
	"testing"
	"time"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// twoChains are pages of chain 1, of generation 7 with three positions, and of chain 2, of
// generation 5 with two, which was confirmed earlier. Chain 3 has no generation.
func twoChains(t *testing.T) *Pages {
	t.Helper()
	p := crowded(t, func(c *Config) {
		c.Chains = []render.Chain{{ID: 1, Enabled: true}, {ID: 2, Enabled: true}, {ID: 3, Enabled: true}}
	}, crowd(3, 1))

	st := crowd(2, 9)
	st.Chain, st.OpenCount, st.Transactions = 2, 1, 40
	view, _ := rankings.Build(nil, st, 5)
	view.Confirm(900)
	p.cfg.Board.SetStatus(2, rankings.ChainStatus{Enabled: true})
	p.cfg.Board.SetStatus(3, rankings.ChainStatus{Enabled: true})
	p.cfg.Board.Publish(view)
	return p
}

// TestStats checks the sums over the chains that have a generation, and their oldest time.
func TestStats(t *testing.T) {
	f := func(p *Pages, want string) {
		t.Helper()
		if got := string(p.Stats().Page.Body); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const one = `{"chainId":1,"positions":3,"activePositions":3,"pools":1,"transactions":0}`
	const two = `{"chainId":2,"positions":2,"activePositions":1,"pools":1,"transactions":40}`

	f(twoChains(t), `{"positions":{"total":5,"active":4,"inactive":1},"pools":{"total":2},"transactions":{"total":40},`+
		`"chains":[`+one+","+two+`],"asOf":"1970-01-01T00:00:00.900Z"}`)
	p := crowded(t, nil, crowd(3, 1))
	f(p, `{"positions":{"total":3,"active":3,"inactive":0},"pools":{"total":1},"transactions":{"total":0},`+
		`"chains":[`+one+`],"asOf":"1970-01-01T00:00:01.000Z"}`)
	p.cfg.Board = new(rankings.Board)
	f(p, `{"positions":{"total":0,"active":0,"inactive":0},"pools":{"total":0},"transactions":{"total":0},`+
		`"chains":[],"asOf":null}`)
}

// TestScopes checks which chains answer a question, which are named as missing, and what
// is said where none is left.
func TestScopes(t *testing.T) {
	p := twoChains(t)
	f := func(chain market.ChainID, now int64, views []uint64, missing []market.ChainID, problem string) {
		t.Helper()
		sc, err := p.scopeOf(&Question{Now: now}, chain)
		var got []uint64
		for _, v := range sc.views {
			got = append(got, v.Generation)
		}
		if !reflect.DeepEqual(got, views) || !reflect.DeepEqual(append([]market.ChainID(nil), sc.missing...), missing) {
			t.Errorf("chain %d: generations %v, missing %v; want %v, %v", chain, got, sc.missing, views, missing)
		}
		checkRefusal(t, err, problem)
	}
	offline := func(ids ...market.ChainID) {
		for _, id := range ids {
			p.cfg.Board.SetStatus(id, rankings.ChainStatus{Enabled: true, Offline: true})
		}
	}

	f(0, 1000, []uint64{7, 5}, []market.ChainID{3}, "")
	f(1, 1000, []uint64{7}, nil, "")
	f(2, 1000, []uint64{5}, nil, "")
	f(3, 1000, nil, []market.ChainID{3}, "chain 3 is temporarily unavailable")
	last := 900 + p.Limits().UnavailableAfter.Milliseconds()
	f(0, last, []uint64{7, 5}, []market.ChainID{3}, "")
	f(0, last+1, []uint64{7}, []market.ChainID{2, 3}, "")
	f(0, last+101, nil, []market.ChainID{1, 2, 3}, "every chain is temporarily unavailable")

	checkRefusal(t, p.CheckAvailable(nil, 1000), "")
	checkRefusal(t, p.CheckAvailable([]market.ChainID{1, 2}, 1000), "")
	checkRefusal(t, p.CheckAvailable([]market.ChainID{1, 3}, 1000), "chain 3 is temporarily unavailable")
	if got := p.Published(); got != "1:7,2:5" {
		t.Errorf("published are %s", got)
	}
	offline(2)
	f(0, 1000, []uint64{7}, []market.ChainID{2, 3}, "")
	offline(1)
	f(0, 1000, nil, []market.ChainID{1, 2, 3}, "every chain is temporarily unavailable")
	checkRefusal(t, p.CheckAvailable(nil, 1000), "every chain is temporarily unavailable")
	p.cfg.Board.SetStatus(2, rankings.ChainStatus{})
	if got := p.Published(); got != "1:7" {
		t.Errorf("published are %s of chains of which one is not enabled", got)
	}
}

// checkRefusal checks the message of an error to the client; "" stands for none.
func checkRefusal(t *testing.T, err *render.Error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Message
	}
	if got != want {
		t.Errorf("refused with %q; want %q", got, want)
	}
}

// TestEstimateSize checks how much an estimate reads: its days, the hours of those that have
// some, and the positions of the pool.
func TestEstimateSize(t *testing.T) {
	st := crowd(1, 1)
	st.Head.Time, st.HoursFrom = 1000*market.Day, 1
	p := crowded(t, nil, st)
	f := func(daysBack uint32, positions, want int) {
		t.Helper()
		w, err := p.beginEstimate(&Question{Account: 4, Chart: query.Chart{}}, st, 1000-daysBack, positions)
		if err != nil {
			t.Fatal(err)
		}
		defer w.end()
		if got := w.size - taskBase; got != want || w.account != 4 || w.kind != estimateTask {
			t.Errorf("%d days back, %d positions: %d points, %+v; want %d", daysBack, positions, got, w.task, want)
		}
	}

	hours := int(market.HoursOfDay)
	f(0, 0, 1+hours)
	f(2, 0, 3+3*hours)
	f(29, 15, 30+30*hours)
	f(99, 16, 100+30*hours+1)
	f(99, 160, 100+30*hours+10)
}

// TestExportOfSelection checks that an export of a filter waits for the selection of its
// rows, and is refused if there is none in time, or it failed.
func TestExportOfSelection(t *testing.T) {
	p := crowded(t, func(c *Config) { c.Limits.ScanWait, c.Limits.ExportRows = time.Nanosecond, 20 }, crowd(50, 1))
	at, _ := p.cfg.Board.Load().Chain(1)
	views := []*rankings.View{at.View}
	f := func(what string, after uint64, begin func(key string), want *render.Error, next, end uint64, more bool) {
		t.Helper()
		q := filtered(1)
		q.Route, q.After = accounts.RoutePositionExport, after
		e := &Export{pages: p, scope: scope{views: views}, list: newListing(&q, q.appendList(nil))}
		before := p.metrics.unselected.Get()
		key := string(e.scope.appendChainKey(nil, e.list.filter()))
		begin(key)

		if err := e.findRows(); err != want || e.next != next || e.end != end || e.more != more || e.Left() != end-next {
			t.Errorf("%s: %v, rows %d to %d, more %t; want %v, %d to %d, %t", what, err, e.next, e.end, e.more, want, next, end, more)
		}
		if got := p.metrics.unselected.Get() - before; (got == 1) != (want != nil) {
			t.Errorf("%s: %d refusals are counted", what, got)
		}
		p.jobs.selections.dropAll(func(*selection) bool { return true })
	}
	keep := func(done bool, search *rankings.Search) func(string) {
		sel := &selection{views: views, done: make(chan struct{}), search: search}
		if done {
			close(sel.done)
		}
		return func(key string) { p.jobs.selections.put(key, sel, func(*selection) bool { return true }) }
	}
	counted := inRange(t, at.View).Count(1000)
	for !counted.Step(1000) {
	}

	f("one that is ready", 0, keep(true, counted.Search()), nil, 0, 20, true)
	f("from a row on", 30, keep(true, counted.Search()), nil, 30, 50, false)
	f("from a row on, to the last but one", 29, keep(true, counted.Search()), nil, 29, 49, true)
	f("from behind the last row on", 60, keep(true, counted.Search()), nil, 50, 50, false)
	f("one that failed", 0, keep(true, nil), errReaching, 0, 0, false)
	f("one that takes longer", 0, keep(false, counted.Search()), errReaching, 0, 0, false)
	p.jobs.queued.Store(maxQueued)
	f("none, as too many wait", 0, func(string) {}, errReaching, 0, 0, false)
	p.jobs.queued.Store(0)
}
