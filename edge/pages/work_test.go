package pages

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// readable returns pages over a published generation whose leaves are at hand.
func readable(t *testing.T, change func(*Config), st *market.State) *Pages {
	t.Helper()
	p := crowded(t, change, st)
	_, publication := rankings.Build(nil, st, 7)
	for _, l := range publication.Leaves {
		ids, err := block.DecodeLeaf(l.Bytes, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.leaves.leaves.Set(leafKey(1, l.Number), &leaf{1, l.Number, ids}, 1)
	}
	p.leaves.leaves.Wait()
	return p
}

// smallCap has pages from the third on be deep ones.
func smallCap(c *Config) { c.Limits.TotalCap = 40 }

// filtered is a question for a page of a filter that everything passes.
func filtered(page uint64) Question {
	return Question{Route: accounts.RoutePositions, Now: 1000, Positions: rankings.PositionQuestion{
		Page: page, Limit: 20, Sort: rankings.ByIDDescending, Range: rankings.InRange, IncludeRisky: true,
	}}
}

// expensive are questions whose work waits for its turn, by its kind.
func expensive() map[string]struct {
	taskKind
	Question
} {
	long := query.Chart{Range: query.RangeAll}
	estimate := query.Estimate{TickLower: -60, TickUpper: 60, ValueUsd: 100}
	return map[string]struct {
		taskKind
		Question
	}{
		"new filter":     {countTask, filtered(1)},
		"deep page":      {selectionTask, filtered(3)},
		"pool chart":     {chartTask, Question{Route: accounts.RoutePoolCharts, Chain: 1, Chart: long}},
		"position chart": {chartTask, Question{Route: accounts.RoutePositionCharts, Chain: 1, Position: 1, Chart: long}},
		"large owner":    {ownerTask, Question{Route: accounts.RouteOwner, Owner: &market.Address{1}}},
		"estimate":       {estimateTask, Question{Route: accounts.RoutePoolEstimate, Chain: 1, Estimate: estimate}},
	}
}

// TestExpensiveQuestions checks that the work of each expensive question is of its
// account, which leaves a processor to others, and that what it takes is expected of
// tasks of its kind alone.
func TestExpensiveQuestions(t *testing.T) {
	st := crowd(longOwner, 1)
	st.Head.Time = 2 * longChart * market.Day
	var days market.Table[market.PoolDay]
	days.Append(market.PoolDay{Day: 1})
	st.Days = days.Freeze()
	p := readable(t, func(c *Config) {
		c.Limits.TotalCap, c.Limits.UnavailableAfter = 40, 10*365*24*time.Hour
	}, st)
	a := p.admission
	a.slots, a.perAccount, a.limit = 2, 1, 0
	running, refused := a.begin(task{account: 1})
	if refused != nil {
		t.Fatal(refused)
	}

	for name, of := range expensive() {
		q := of.Question
		q.Now, q.Account = 1000, 1
		if _, err := p.Answer(&q); err != errBusy {
			t.Errorf("%s: beside work of its account: got %v; want %v", name, err, errBusy)
		}
		before := a.rates
		q = of.Question
		q.Now, q.Account = 1000, 2
		if _, err := p.Answer(&q); err == errBusy {
			t.Errorf("%s: beside work of another account it is refused", name)
		}
		for kind := range taskKinds {
			if learned := a.rates[kind] != before[kind]; learned != (kind == of.taskKind) {
				t.Errorf("%s: the rate of tasks of kind %d has changed: %t", name, kind, learned)
			}
			if size := a.rates[kind].size - fading*before[kind].size; kind == of.taskKind && size <= taskBase {
				t.Errorf("%s: its work is of size %g, as one that reads nothing", name, size)
			}
		}
	}
	if a.running != 1 || len(a.accounts) != 1 {
		t.Errorf("%d tasks of %d accounts run afterwards; want 1", a.running, len(a.accounts))
	}
	running.end()
}

// TestEarlierWork checks that other pages of a filter whose rows were counted or selected
// do not wait for a turn.
func TestEarlierWork(t *testing.T) {
	p := readable(t, smallCap, crowd(100, 1))
	p.admission.limit = 0
	f := func(page uint64, want *render.Error) {
		t.Helper()
		q := filtered(page)
		if _, err := p.Answer(&q); err != want {
			t.Errorf("page %d: got %v; want %v", page, err, want)
		}
	}

	f(1, nil)
	p.admission.slots = 0
	f(2, nil)
	f(3, errBusy)
	p.admission.slots = 1
	f(3, nil)
	p.jobs.counts.dropAll(func(*count) bool { return true })
	p.admission.slots = 0
	f(4, nil)
	q := filtered(1)
	q.Positions.Limit = 10
	if _, err := p.Answer(&q); err != errBusy {
		t.Errorf("a page whose rows are not known: got %v; want %v", err, errBusy)
	}
}

// TestTooManyJobs checks that the rows of a new filter are found while no count can be
// started, and a deep page is not.
func TestTooManyJobs(t *testing.T) {
	const rows = 3 * stepRows
	p := readable(t, func(c *Config) { c.Limits.TotalCap = rows }, crowd(rows+100, 1))
	p.jobs.queued.Store(maxQueued)
	defer p.jobs.queued.Store(0)
	for range 2 { // it is not kept
		q := filtered(rows / 20)
		reply, err := p.Answer(&q)
		if err != nil {
			t.Fatal(err)
		}
		body := string(reply.Page.Body)
		if n := strings.Count(body, `"positionId"`); n != 20 || !strings.Contains(body, `"totalCapped":true`) {
			t.Errorf("got %d rows in %.300s", n, body)
		}
	}
	if got := p.metrics.uncounted.Get(); got != 2 {
		t.Errorf("%d answers without a count are counted; want 2", got)
	}

	q := filtered(rows/20 + 2)
	if _, err := p.Answer(&q); err != errReaching {
		t.Errorf("a deep page: got %v; want %v", err, errReaching)
	}
	if got, refused := p.metrics.unselected.Get(), p.jobs.refused.Get(); got != 1 || refused != 1 {
		t.Errorf("%d answers without a selection and %d refused ones are counted; want 1", got, refused)
	}
}

// TestCopyWithoutCache checks that the last copy of a deep page is served, and flagged,
// when its selection is not ready, also without a page cache.
func TestCopyWithoutCache(t *testing.T) {
	for _, off := range []bool{false, true} {
		p := readable(t, func(c *Config) {
			smallCap(c)
			c.NoPageCache = off
		}, crowd(100, 1))
		q := filtered(3)
		first, err := p.Answer(&q)
		if err != nil || first.Stale || first.AsOf != 1000 {
			t.Fatalf("without a cache %t: got %+v, %+v", off, first, err)
		}

		p.jobs.running.Wait()
		p.jobs.selections.dropAll(func(*selection) bool { return true })
		p.jobs.queued.Store(maxQueued)
		again := filtered(3)
		copied, err := p.Answer(&again)
		if err != nil || copied.Page != first.Page || !copied.Stale || copied.AsOf != first.AsOf || copied.Free {
			t.Errorf("without a cache %t: the copy is %+v, %+v; want the page, stale", off, copied, err)
		}
		p.jobs.queued.Store(0)
	}
}

// TestUnkeptPage checks that a page nobody keeps comes in a buffer, which its records
// were read ahead for.
func TestUnkeptPage(t *testing.T) {
	p := readable(t, func(c *Config) { c.NoPageCache = true }, crowd(30, 1))
	for _, route := range []accounts.Route{
		accounts.RoutePositions, accounts.RoutePools, accounts.RoutePositionBatch, accounts.RoutePoolBatch,
		accounts.RoutePosition, accounts.RoutePool, accounts.RoutePoolTicks, accounts.RouteExplain,
	} {
		q := &Question{
			Route: route, Now: 1000, Chain: 1, Position: 1, Pools: rankings.DefaultPoolQuestion(),
			Positions: rankings.PositionQuestion{Page: 1, Limit: 20, Sort: rankings.ByIDDescending, IncludeRisky: true},
			Paging:    query.Paging{Page: 1, Limit: 20}, Batch: []query.BatchID{{Chain: 1, Position: 1}},
		}

		buffers.Put(new(Buffer))
		reply, err := p.Answer(q)
		if err != nil || reply.Buffer == nil || &reply.Buffer.body[0] != &reply.Page.Body[0] ||
			len(reply.Buffer.body) != len(reply.Page.Body) {
			t.Fatalf("%s: got %+v, %+v; want a page in a buffer", route.Path(), reply, err)
		}
		if reply.Buffer.read == 0 && route == accounts.RoutePositions {
			t.Error("nothing was read ahead")
		}
		reply.Buffer.Release()
	}
}

// TestFailedSelection checks that a deep page and an export whose leaves are gone are to
// be asked for again, and that their selection is not kept.
func TestFailedSelection(t *testing.T) {
	p := crowded(t, smallCap, crowd(100, 1))
	f := func(name string, ask func() *render.Error, want *render.Error) {
		t.Helper()
		if err := ask(); err != want {
			t.Errorf("%s: got %v; want %v", name, err, want)
		}
		p.jobs.running.Wait()
		if n := p.jobs.selections.len(); n != 0 {
			t.Errorf("%s: %d selections are kept", name, n)
		}
	}
	answer := func(page uint64) func() *render.Error {
		return func() *render.Error {
			q := filtered(page)
			_, err := p.Answer(&q)
			return err
		}
	}

	f("page", answer(1), errChanging)
	f("deep page", answer(3), errReaching)
	f("export", func() *render.Error {
		q := filtered(1)
		q.Route = accounts.RoutePositionExport
		_, err := p.OpenExport(&q, nil)
		return err
	}, errReaching)
	if p.exports.all != 0 || p.jobs.started.Get() != 2 {
		t.Errorf("%d exports are under way, %d selections were started", p.exports.all, p.jobs.started.Get())
	}
}

// TestKnownExport checks that an export whose rows the directories know starts no
// selection.
func TestKnownExport(t *testing.T) {
	p := readable(t, nil, crowd(100, 1))
	q := filtered(1)
	q.Route, q.Positions.Range = accounts.RoutePositionExport, rankings.AnyRange
	e, err := p.OpenExport(&q, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e.Left() != 100 || p.jobs.started.Get() != 0 {
		t.Errorf("%d rows are to come, %d selections were started; want 100 and none", e.Left(), p.jobs.started.Get())
	}
	e.Close()
}

// TestPageGauges checks what is told of jobs that run or wait, and of selections.
func TestPageGauges(t *testing.T) {
	p := readable(t, smallCap, crowd(100, 1))
	f := func(queued, selections float64) {
		t.Helper()
		for name, want := range map[string]float64{
			"tidemark_edge_jobs_queued": queued, "tidemark_edge_selections": selections,
		} {
			if got := p.cfg.Metrics.GetOrCreateGauge(name, nil).Get(); got != want {
				t.Errorf("%s is %g; want %g", name, got, want)
			}
		}
	}

	f(0, 0)
	q := filtered(3)
	if _, err := p.Answer(&q); err != nil {
		t.Fatal(err)
	}
	p.jobs.running.Wait()
	f(0, 1)
	hold := make(chan struct{})
	for range cap(p.jobs.reading) + 1 {
		p.jobs.startJob(p.jobs.reading, func() { <-hold })
	}
	f(float64(cap(p.jobs.reading)+1), 1)
	close(hold)
	p.jobs.running.Wait()
	p.jobs.selections.dropAll(func(*selection) bool { return true })
	f(0, 0)
}

// TestClose checks that pages whose jobs do not end in time keep what these use, and that
// closed ones keep nothing.
func TestClose(t *testing.T) {
	p := opened(t, nil, crowd(30, 1))
	on, _ := p.cfg.Board.Load().Chain(1)
	c, refused := p.pins.pinNewest(1, []*rankings.View{on.View})
	if refused != nil {
		t.Fatal(refused)
	}
	p.pins.endAnswer(c)

	hold := make(chan struct{})
	p.jobs.startJob(p.jobs.reading, func() { <-hold })
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(late); err == nil || !on.View.Pinned() {
		t.Errorf("with a job that runs: got %v; the view is pinned: %t", err, on.View.Pinned())
	}

	close(hold)
	p.jobs.stopping = make(chan struct{})
	if err := p.Close(t.Context()); err != nil || on.View.Pinned() {
		t.Errorf("after the job: got %v; the view is pinned: %t", err, on.View.Pinned())
	}
}

// TestOneProcessorIsLeft checks that exports are rendered, and the tasks of one account
// run, on all processors but one.
func TestOneProcessorIsLeft(t *testing.T) {
	p := crowded(t, nil, crowd(3, 1))
	want := max(1, runtime.GOMAXPROCS(0)-1)
	if exports, tasks := cap(p.exporting), p.admission.perAccount; exports != want || tasks != want {
		t.Errorf("%d exports are rendered at once, and %d tasks of an account run; want %d", exports, tasks, want)
	}
}

// TestWalkIsKept checks that the rows which a walk read are not read again by later ones,
// while the count of the filter is not ready.
func TestWalkIsKept(t *testing.T) {
	p := readable(t, func(c *Config) { c.Limits.CountWait = 0 }, crowd(300, 1))
	for range cap(p.jobs.counting) {
		p.jobs.counting <- struct{}{}
	}
	q := filtered(3)
	if _, err := p.Answer(&q); err != nil {
		t.Fatal(err)
	}

	c := p.jobs.counts.order.Front().Value.(*entry[*count]).value
	for offset, read := range map[uint64]bool{0: true, 40: true, 60: false} {
		if done, err := c.search.Load().Walk(offset, 20).Step(p.leaves, 0); done != read || err != nil {
			t.Errorf("the page behind row %d needs no reading: %t, %v; want %t", offset, done, err, read)
		}
	}
	for range cap(p.jobs.counting) {
		<-p.jobs.counting
	}
}

// TestKeptParts checks that what the rows of a pool share is rendered once a generation,
// and that a request which is still at an older one keeps nothing.
func TestKeptParts(t *testing.T) {
	c := newChainParts([]render.Chain{{ID: 1}})
	older, _ := rankings.Build(nil, crowd(3, 1), 7)
	newer, _ := rankings.Build(older, crowd(4, 1), 8)

	for _, v := range []*rankings.View{older, newer} {
		row, share := c.poolRow(v, 0), c.partsOf(v).share(0)
		if share == nil || c.poolRow(v, 0) != row || c.partsOf(v).share(0) != share {
			t.Errorf("generation %d: a part is rendered again", v.Generation)
		}
	}
	first, second := c.poolRow(older, 0), c.poolRow(older, 0)
	if c.partsOf(older) != nil || c.partsOf(older).share(0) != nil || first == second {
		t.Error("parts of an older generation are kept")
	}
}

// TestPartialAnswers checks that an answer without a chain is not charged, and counted.
func TestPartialAnswers(t *testing.T) {
	p := crowded(t, func(c *Config) { c.Chains = append(c.Chains, render.Chain{ID: 10, Enabled: true}) }, crowd(3, 1))
	for n, q := range []*Question{
		{Route: accounts.RoutePositions, Positions: rankings.PositionQuestion{Page: 2, Limit: 100, IncludeRisky: true}},
		{Route: accounts.RoutePools, Pools: rankings.PoolQuestion{Page: 2, Limit: 100, IncludeRisky: true}},
		{Route: accounts.RouteTokens, Tokens: rankings.TokenQuestion{Page: 1, Limit: 20}},
		{Route: accounts.RouteOwner, Owner: &market.Address{1}},
	} {
		q.Now = 1000
		reply, err := p.Answer(q)

		if err != nil || !reply.Free || p.metrics.partial.Get() != uint64(n+1) ||
			!strings.Contains(string(reply.Page.Body), `"missingChains":[10]`) {
			t.Errorf("%s: %+v, %+v; %d partial answers are counted", q.Route.Path(), reply, err, p.metrics.partial.Get())
		}
	}
}

// TestLeastLimits checks that limits of 1 are enough.
func TestLeastLimits(t *testing.T) {
	crowded(t, func(c *Config) {
		c.Limits.TotalCap, c.Limits.Selections, c.Limits.Pins, c.Limits.ExportRows = 1, 1, 1, 1
	}, crowd(3, 1))
}
