package edge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/actors/feed/sim"
	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// moving is a node whose chains publish one generation after another, and all
// their views.
type moving struct {
	*node
	chains []*growing

	mu    sync.Mutex
	views map[market.ChainID]map[uint64]*rankings.View
}

var movingChains = []market.ChainID{1, 42161, 43114}

// newMoving returns a node with three chains that have some of their history.
func newMoving(t *testing.T) *moving {
	m := &moving{node: newNode(t), views: map[market.ChainID]map[uint64]*rankings.View{}}

	for i, id := range movingChains {
		g := m.begin(sim.Config{Chain: id, Positions: 240 / (i + 1), Pools: 12, Days: 10, Actions: 3000})
		m.chains = append(m.chains, g)
		m.views[id] = map[uint64]*rankings.View{}
		for range 30 {
			g.advance()
		}
		m.publish(i)
	}
	return m
}

// publish publishes the next generation of a chain.
func (m *moving) publish(i int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chains[i].publish()
	v := m.view(movingChains[i])
	m.views[v.State.Chain][v.Generation] = v
}

// walkable serves the chains of a node, which are as old as their blocks.
func walkable(t *testing.T, n *node, change func(*pages.Limits)) *front {
	return serve(t, func(c *Config) {
		n.over(c)
		c.Chains = slices.DeleteFunc(slices.Clone(registered), func(r render.Chain) bool {
			_, there := n.board.Load().Chain(r.ID)
			return !there
		})
		c.Limits.UnavailableAfter = everPublished
		change(&c.Limits)
	})
}

// defaultWalks is how many walks make test takes; TIDEMARK_WALKS asks for others.
const defaultWalks = 150

// TestPinnedWalk walks over random filters while generations are published, page by
// page. Every walk must have the rows of its first page's generations, all of them
// once and in order, and a market of its own must show that they moved.
func TestPinnedWalk(t *testing.T) {
	walks := defaultWalks
	if text := os.Getenv("TIDEMARK_WALKS"); text != "" {
		var err error
		walks, err = strconv.Atoi(text)
		must(err)
	}

	m := newMoving(t)
	s := walkable(t, m.node, func(l *pages.Limits) { l.Pins, l.TotalCap = 64, 60 })
	stop := make(chan struct{})
	var publishing, walking sync.WaitGroup
	publishing.Go(func() { m.publishUntil(stop) })

	const walkers = 4
	var pinned, plain [walkers]tally
	for i := range walkers {
		w := &walker{Rand: rand.New(rand.NewPCG(uint64(i), 3)), s: s, m: m, key: s.issue("unlimited", accounts.Server)}
		walking.Go(func() {
			for range walks / walkers {
				w.walk(&pinned[i], &plain[i])
			}
		})
	}
	walking.Wait()
	close(stop)
	publishing.Wait()

	var p, q tally
	for i := range walkers {
		p.add(&pinned[i])
		q.add(&plain[i])
	}
	t.Logf("figure: %d pinned walks of %d rows over %d generations: %d repeated, %d missing, %d out of place; "+
		"the same without a pin: %d repeated, %d missing", p.walks, p.rows, m.published(), p.repeated, p.missing,
		p.misplaced, q.repeated, q.missing)
	for i := range walkers {
		if err := pinned[i].err; err != nil {
			t.Error(err)
		}
	}
	if p.repeated+p.missing+p.misplaced > 0 || p.walks < walks/walkers*walkers || p.rows < 10*p.walks {
		t.Errorf("pinned walks: %+v", p)
	}
	if walks >= 1000 && q.repeated+q.missing == 0 {
		t.Error("no walk without a pin repeated or missed a row: the market did not move")
	}
}

// publishUntil publishes generations of all chains in turn.
func (m *moving) publishUntil(stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(3 * time.Millisecond):
		}
		g := m.chains[i%3]
		g.advance()
		m.publish(i % 3)
	}
}

func (m *moving) published() (n int) {
	for _, generations := range m.views {
		n += len(generations)
	}
	return n
}

// tally counts what walks found.
type tally struct {
	walks, rows, repeated, missing, misplaced int
	err                                       error
}

func (t *tally) add(u *tally) {
	t.walks, t.rows = t.walks+u.walks, t.rows+u.rows
	t.repeated, t.missing, t.misplaced = t.repeated+u.repeated, t.missing+u.missing, t.misplaced+u.misplaced
}

// walker reads lists page by page.
type walker struct {
	*rand.Rand
	s   *front
	m   *moving
	key string
	ctx fasthttp.RequestCtx
}

// walk reads one list pinned, and once more with the newest generation on every
// page.
func (w *walker) walk(pinned, plain *tally) {
	path, limit := w.question()
	var ids []string
	named, err := w.begin(path)
	for page := 1; err == nil; page++ {
		var more bool
		if ids, _, more, err = w.page(ids, fmt.Sprintf("%s&limit=%d&page=%d&generation=%s", path, limit, page, named)); !more {
			break
		}
		time.Sleep(time.Duration(w.IntN(4)) * time.Millisecond)
	}
	if err != nil {
		pinned.err = fmt.Errorf("%s of %s: %w", path, named, err)
		return
	}
	want := w.m.expect(path, named)
	pinned.compare(ids, want)
	if err := w.export(path, named, ids); err != nil {
		pinned.err = err
	}

	ids = nil
	for page, more := 1, true; more && err == nil; page++ {
		ids, _, more, err = w.page(ids, fmt.Sprintf("%s&limit=%d&page=%d", path, limit, page))
	}
	plain.compare(ids, want)
}

// export reads the list of a walk once more, as an export that begins at a row of it,
// and holds it against the rows of the walk.
func (w *walker) export(path, named string, ids []string) error {
	after := w.IntN(len(ids) + 2)
	place, query, _ := strings.Cut(path, "?")
	a := w.s.get(fmt.Sprintf("%s/export?%s&generation=%s&after=%d", place, query, named, after),
		gate.HeaderKey+": "+w.key)
	if a.code != 200 {
		return fmt.Errorf("%s of %s: an export is %d %s", path, named, a.code, a.body)
	}

	want := ids[min(after, len(ids)):]
	lines := strings.Split(strings.TrimSuffix(a.body, "\n"), "\n")
	rows := lines[:len(lines)-1]
	if len(rows) != len(want) || !strings.HasPrefix(lines[len(rows)], `{"end":true,`) {
		return fmt.Errorf("%s of %s after %d: an export has %d rows and ends with %.200s; the walk has %d",
			path, named, after, len(rows), lines[len(rows)], len(want))
	}
	for i, line := range rows {
		var row walkedRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return err
		}
		if row.id() != want[i] || row.Rank != after+i+1 {
			return fmt.Errorf("%s of %s after %d: row %d of an export is %s, rank %d; the walk has %s",
				path, named, after, i, row.id(), row.Rank, want[i])
		}
	}
	return nil
}

// walkedRow is what tells a row of either list from others.
type walkedRow struct {
	Rank               int
	ChainID            int `json:"chainId"`
	PositionID, PoolID string
}

func (r *walkedRow) id() string {
	if r.PositionID != "" {
		return fmt.Sprint(r.ChainID, "-", r.PositionID)
	}
	return fmt.Sprint(r.ChainID, "-", r.PoolID)
}

// question returns a list with random filters, and the length of its pages.
func (w *walker) question() (path string, limit int) {
	one := func(of ...string) string { return of[w.IntN(len(of))] }
	path = "/v1/positions?sort=" + one(rankings.PositionSorts...) + one("", "&status=all") +
		one("", "&range=in", "&minValueUsd=10", "&fee=3000", "&hooks=none") + "&minPoolTvl=" + one("0", "1000", "5e4")
	if w.IntN(4) == 0 {
		path = "/v1/pools?sort=" + one(rankings.PoolSorts...) + one("", "&minTvlUsd=10", "&search=usd")
	}
	return path + one("", "&includeRisky=true") + one("", "", "&chainId=1"), 3 + w.IntN(20)
}

// begin asks for the first page, pins its generations, and returns their names.
func (w *walker) begin(path string) (named string, err error) {
	if w.IntN(2) == 0 {
		_, named, _, err = w.page(nil, path+"&generation=pin")
		return named, err
	}

	// Published generations can be named too, while they are.
	for range 100 {
		if _, named, _, err = w.page(nil, path); err == nil {
			if _, named, _, err = w.page(nil, path+"&generation="+named); err == nil {
				return named, nil
			}
		}
	}
	return named, err
}

// page appends the ids of a page.
func (w *walker) page(ids []string, path string) (_ []string, named string, more bool, err error) {
	w.ctx.Init(&fasthttp.Request{}, nil, nil)
	w.ctx.Response.Reset()
	w.ctx.Request.SetRequestURI(path)
	w.ctx.Request.Header.SetHost("api.example.com")
	w.ctx.Request.Header.Set(gate.HeaderKey, w.key)
	w.s.server.serve(&w.ctx)
	var body struct {
		Positions, Pools []walkedRow
		Pagination       struct{ HasMore bool }
	}
	if code := w.ctx.Response.StatusCode(); code != 200 {
		return ids, "", false, fmt.Errorf("%d %s", code, w.ctx.Response.Body())
	}
	if err := json.Unmarshal(w.ctx.Response.Body(), &body); err != nil {
		return ids, "", false, err
	}

	for _, r := range append(body.Positions, body.Pools...) {
		ids = append(ids, r.id())
	}
	return ids, string(w.ctx.Response.Header.Peek(gate.HeaderGeneration)), body.Pagination.HasMore, nil
}

// expect computes a whole list from the views that are named.
func (m *moving) expect(path, named string) (ids []string) {
	var o query.Options
	var registered query.Chains
	for id := range m.views {
		registered = append(registered, query.Chain{ID: id, Enabled: true})
	}
	list, raw, _ := strings.Cut(path, "?")
	if _, err := registered.Pools([]byte("generation="+named), &o); err != nil {
		panic(err)
	}
	var views []*rankings.View
	m.mu.Lock()
	for _, g := range o.Cut.Named {
		views = append(views, m.views[g.Chain][g.Number])
	}
	m.mu.Unlock()

	var search *rankings.Search
	var err error
	if list == "/v1/pools" {
		q, bad := registered.Pools([]byte(raw), new(query.Options))
		must(bad)
		search, err = rankings.SearchPools(views, &q)
	} else {
		q, bad := registered.Positions([]byte(raw), new(query.Options))
		must(bad)
		search, err = rankings.SearchPositions(views, &q)
	}
	must(err)
	page, err := search.Page(storeReader{m.store}, 0, 1<<20)
	must(err)
	for _, row := range page.Rows {
		st := row.View.State
		if list == "/v1/pools" {
			ids = append(ids, fmt.Sprint(st.Chain, "-", st.Pools.At(row.Index).ID))
		} else {
			ids = append(ids, fmt.Sprint(st.Chain, "-", st.Positions.At(row.Index).ID))
		}
	}
	return ids
}

// compare counts how a walk's rows differ from a list.
func (t *tally) compare(ids, want []string) {
	t.walks++
	t.rows += len(ids)
	times := map[string]int{}
	for i, id := range ids {
		if times[id]++; times[id] > 1 {
			t.repeated++
		} else if i >= len(want) || want[i] != id {
			t.misplaced++
		}
	}

	for _, id := range want {
		if times[id] == 0 {
			t.missing++
		}
	}
}
