package pages

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/dgraph-io/ristretto/v2"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// colliding returns a cache in which all keys have the same hash.
func colliding[K ristretto.Key, V any](t *testing.T) *ristretto.Cache[K, V] {
	t.Helper()
	c, err := ristretto.NewCache(&ristretto.Config[K, V]{
		NumCounters: 100, MaxCost: 1 << 20, BufferItems: 64,
		KeyToHash: func(K) (uint64, uint64) { return 7, 7 },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestPageCollision checks that a page is not served for another key with the same
// hash.
func TestPageCollision(t *testing.T) {
	set := metrics.NewSet()
	c, err := newPageCache(set, true)
	if err != nil {
		t.Fatal(err)
	}
	c.pages = colliding[[]byte, *Page](t)
	page := &Page{key: "positions? 1:1", Body: []byte("{}")}
	c.put(page)
	c.pages.Wait()

	if got, ok := c.get([]byte(page.key)); !ok || got != page {
		t.Errorf("%s: got %v, %v; want the page", page.key, got, ok)
	}
	for _, key := range []string{"", "positions? 1:2", "positions? 1:1 ", "pools? 1:1"} {
		if got, ok := c.get([]byte(key)); ok {
			t.Errorf("%q: got the page of %q", key, got.key)
		}
	}
	if hits, misses := c.hits.Get(), c.misses.Get(); hits != 1 || misses != 4 {
		t.Errorf("%d hits and %d misses are counted; want 1 and 4", hits, misses)
	}
}

// TestPageCost checks that a page costs the cache what its body and those that were packed
// take in memory, and what is beside them.
func TestPageCost(t *testing.T) {
	for size, want := range map[int]int64{
		0: 512, 1000: 1512, 32 << 10: 32<<10 + 512, 32<<10 + 1: 40<<10 + 512, 1 << 20: 1<<20 + 512,
	} {
		if got := (&Page{Body: make([]byte, size)}).cost(); got != want {
			t.Errorf("a body of %d bytes costs %d; want %d", size, got, want)
		}
	}

	p := crowded(t, nil, crowd(3, 1))
	page := &Page{key: "positions? 1:7", Body: bytes.Repeat([]byte(`{"rank":1},`), 200)}
	p.cache.put(page)
	p.cache.pages.Wait()
	used := func() int64 { return p.cache.pages.MaxCost() - p.cache.pages.RemainingCost() }
	own, want := used()-page.cost(), page.cost() // own: what the cache counts besides
	for _, coding := range []Coding{Gzip, Zstd} {
		want += int64(cap(p.Packed(page, coding)))
	}
	p.cache.pages.Wait()
	if got := page.cost(); got != want || used() != want+own {
		t.Errorf("a page that was packed costs %d, and takes %d of the cache; want %d", got, used()-own, want)
	}
}

// TestLargePages checks that a page of up to 1 MiB is kept, and a longer one is not.
func TestLargePages(t *testing.T) {
	c, err := newPageCache(metrics.NewSet(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)

	f := func(bytes int, kept bool) {
		t.Helper()
		page := &Page{key: strconv.Itoa(bytes), Body: make([]byte, bytes)}
		c.put(page)
		c.pages.Wait()
		if got, ok := c.get([]byte(page.key)); ok != kept || kept && got != page {
			t.Errorf("a page of %d bytes is kept: %t; want %t", bytes, ok, kept)
		}
	}
	f(1<<20, true)
	f(1<<20+1, false)
}

// TestSmallPages checks that the cache is full of pages without a body at some time.
func TestSmallPages(t *testing.T) {
	const room = 100
	c, err := newPageCache(metrics.NewSet(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	c.pages.UpdateMaxCost(room * pageOverhead)

	kept := 0
	for i := range 2 * room {
		c.put(&Page{key: strconv.Itoa(i)})
		c.pages.Wait()
	}
	for i := range 2 * room {
		if _, ok := c.get([]byte(strconv.Itoa(i))); ok {
			kept++
		}
	}
	if kept > room || kept < room/2 {
		t.Errorf("%d pages are kept in room for %d", kept, room)
	}
}

// crowded returns pages over a published generation, 7, of chain 1 that is in no store.
func crowded(t *testing.T, change func(*Config), st *market.State) *Pages {
	t.Helper()
	p := opened(t, change, st)
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// opened is crowded for who closes the pages.
func opened(t *testing.T, change func(*Config), st *market.State) *Pages {
	t.Helper()
	store := newStore(t)
	board := new(rankings.Board)
	board.SetStatus(1, rankings.ChainStatus{Enabled: true})
	view, _ := rankings.Build(nil, st, 7)
	view.Confirm(1000)
	board.Publish(view)

	params := value.DefaultParams()
	cfg := Config{
		Board: board, Store: store, Metrics: metrics.NewSet(), Limits: DefaultLimits(),
		Chains: []render.Chain{{ID: 1, Enabled: true}},
		Prices: func(market.ChainID) (*value.Params, []value.FeedPrice) { return &params, nil },
	}
	if change != nil {
		change(&cfg)
	}
	p, err := New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWithoutCache checks that a cache which is off keeps nothing.
func TestWithoutCache(t *testing.T) {
	p := crowded(t, func(c *Config) { c.NoPageCache = true }, crowd(3, 1))
	for range 3 {
		reply, err := p.Answer(&Question{Route: accounts.RoutePool, Now: 1000, Chain: 1})
		if err != nil || len(reply.Page.Body) < 10 {
			t.Fatalf("%+v, %+v", reply, err)
		}
	}
	if hits, misses := p.cache.hits.Get(), p.cache.misses.Get(); p.cache.pages != nil || hits != 0 || misses != 3 {
		t.Errorf("%d hits and %d misses are counted; want 0 and 3 without a cache", hits, misses)
	}
}

// TestGoneLeaves checks what is said when the leaves of a generation are gone: of the
// newest one that it changed, and of a pinned one that the walk has to begin again.
func TestGoneLeaves(t *testing.T) {
	p := crowded(t, nil, crowd(30, 1))
	f := func(cut query.Cut, want *render.Error) {
		t.Helper()
		all := rankings.PositionQuestion{Page: 1, Limit: 20, Sort: rankings.ByIDDescending, IncludeRisky: true}
		q := &Question{Route: accounts.RoutePositions, Now: 1000, Positions: all, Options: query.Options{Cut: cut}}
		if reply, err := p.Answer(q); err != want {
			t.Errorf("%+v: got %+v, %+v; want %+v", cut, reply, err, want)
		}
	}

	f(query.Cut{}, errChanging)
	f(query.Cut{Pin: true}, errGone)
	f(query.Cut{Named: []query.Generation{{Chain: 1, Number: 7}}}, errGone)
	f(query.Cut{Named: []query.Generation{{Chain: 1, Number: 6}}}, errGone)
}

// TestKeptAnswers checks that the same question about the same generation is answered
// from the cache the second time, whatever it is about.
func TestKeptAnswers(t *testing.T) {
	p := crowded(t, nil, crowd(3, 1))

	f := func(route accounts.Route, q Question) {
		t.Helper()
		q.Route, q.Now, q.Chain = route, 1000, 1
		q.Paging = query.Paging{Page: 1, Limit: 20}
		hits, misses := p.cache.hits.Get(), p.cache.misses.Get()
		var replies [2]Reply
		for i := range replies {
			asked := q
			reply, refused := p.Answer(&asked)
			if refused != nil {
				t.Fatalf("%s: %+v", route.Path(), refused)
			}
			replies[i] = reply
			p.cache.pages.Wait()
		}
		if !bytes.Equal(replies[0].Page.Body, replies[1].Page.Body) || len(replies[0].Page.Body) < 10 {
			t.Errorf("%s: got %s, then %s", route.Path(), replies[0].Page.Body, replies[1].Page.Body)
		}
		if replies[0].Page != replies[1].Page && route != accounts.RouteOwner { // it adds the time
			t.Errorf("%s: the page is made twice", route.Path())
		}
		if hits, misses = p.cache.hits.Get()-hits, p.cache.misses.Get()-misses; hits != 1 || misses != 1 {
			t.Errorf("%s: %d hits and %d misses are counted; want one of each", route.Path(), hits, misses)
		}
	}

	f(accounts.RouteOwner, Question{Owner: &market.Address{1}})
	f(accounts.RoutePosition, Question{Position: 2})
	f(accounts.RouteExplain, Question{Position: 2})
	f(accounts.RoutePool, Question{})
	f(accounts.RoutePoolTicks, Question{})
	f(accounts.RoutePositions, Question{Positions: rankings.DefaultPositionQuestion()})
	f(accounts.RoutePools, Question{Pools: rankings.DefaultPoolQuestion()})
	f(accounts.RouteTokens, Question{Tokens: rankings.TokenQuestion{Page: 1, Limit: 20}})
	f(accounts.RouteToken, Question{Token: &market.Address{}})
}

// TestLeafCollision checks that the ids of a leaf are not returned for another leaf
// with the same hash.
func TestLeafCollision(t *testing.T) {
	store := newStore(t)
	c, err := newLeafCache(store, metrics.NewSet())
	if err != nil {
		t.Fatal(err)
	}
	c.close()
	c.leaves = colliding[uint64, *leaf](t)
	c.leaves.Set(leafKey(1, 5), &leaf{chain: 1, number: 5, ids: []uint32{3, 1, 2}}, 1)
	c.leaves.Wait()

	if ids, err := c.Leaf(1, 5); err != nil || !slices.Equal(ids, []uint32{3, 1, 2}) {
		t.Errorf("leaf 5 of chain 1: got %v, %v", ids, err)
	}
	f := func(chain market.ChainID, number uint64) {
		t.Helper()
		if ids, err := c.Leaf(chain, number); !errors.Is(err, block.ErrLeafGone) {
			t.Errorf("leaf %d of chain %d, which is not stored: got %v, %v", number, chain, ids, err)
		}
	}
	f(1, 6)
	f(2, 5)
	f(5, 1)
}

// publishLeaves publishes a crowd of chain 1, whose first leaf may be changed before. It
// returns a cache of the leaves, and that leaf's number.
func publishLeaves(t *testing.T, change func(*block.NewLeaf)) (c *leafCache, first uint64) {
	t.Helper()
	store := newStore(t)
	c, err := newLeafCache(store, metrics.NewSet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)

	st := crowd(30, 1)
	_, publication := rankings.Build(nil, st, 1)
	change(&publication.Leaves[0])
	if err := store.Commit(&storage.Cut{State: st, Publication: publication}); err != nil {
		t.Fatal(err)
	}
	return c, publication.Leaves[0].Number
}

// TestKeptLeaves checks that a leaf is read from the store once, and takes room for its ids.
func TestKeptLeaves(t *testing.T) {
	c, first := publishLeaves(t, func(*block.NewLeaf) {})
	for n := range uint64(3) {
		ids, err := c.Leaf(1, first)
		c.leaves.Wait()
		if hits, misses := c.hits.Get(), c.misses.Get(); err != nil || len(ids) == 0 || hits != n || misses != 1 {
			t.Errorf("read %d: %d rows, %v; %d hits and %d misses are counted", n+1, len(ids), err, hits, misses)
		}
		if room := leafCacheBytes - c.leaves.RemainingCost(); room < int64(4*len(ids)+128) {
			t.Errorf("read %d: %d rows take %d bytes of the cache", n+1, len(ids), room)
		}
	}
}

// TestKeptBases checks that the base of a leaf is kept as a leaf is.
func TestKeptBases(t *testing.T) {
	const coded = 1000
	c, base := publishLeaves(t, func(*block.NewLeaf) {})
	whole, err := c.store.WholeLeaf(1, base)
	if err != nil {
		t.Fatal(err)
	}
	ranks := make([]uint32, slices.Max(whole)+1)
	for i, id := range whole {
		ranks[id] = uint32(i) + 1
	}
	var coder block.Relative
	bases := []block.Base{{Number: base, Rows: uint32(len(whole))}}
	leaf := block.NewLeaf{Number: coded, Bytes: coder.Append(nil, whole, ranks, bases)}
	st := crowd(30, 1)
	st.Head.Number++
	publication := &block.Publication{Generation: 2, Leaves: []block.NewLeaf{leaf}}
	if err := c.store.Commit(&storage.Cut{State: st, Publication: publication}); err != nil {
		t.Fatal(err)
	}

	ids, err := c.Leaf(1, coded)
	if err != nil || !slices.Equal(ids, whole) {
		t.Fatalf("%v, %v; want %v", ids, err, whole)
	}
	c.leaves.Wait()
	if kept := c.find(1, base); !slices.Equal(kept, whole) {
		t.Errorf("of the base %v is kept; want %v", kept, whole)
	}
}

// TestDamagedLeaf checks that a leaf which cannot be decoded is an error at every read,
// and not a leaf without rows.
func TestDamagedLeaf(t *testing.T) {
	c, damaged := publishLeaves(t, func(l *block.NewLeaf) {
		l.Bytes = slices.Clone(l.Bytes)
		l.Bytes[len(l.Bytes)-1] ^= 1
	})
	for range 2 {
		ids, err := c.Leaf(1, damaged)
		if c.leaves.Wait(); err == nil || errors.Is(err, block.ErrLeafGone) {
			t.Errorf("a damaged leaf has the rows %v, %v", ids, err)
		}
	}
}

// TestUsedAgain checks that encoders and buffers which were given back are used again.
func TestUsedAgain(t *testing.T) {
	f := func(what string, fresh, again func()) {
		t.Helper()
		made, kept := testing.AllocsPerRun(50, fresh), testing.AllocsPerRun(200, again)
		if kept > made/2 { // the race detector drops some
			t.Errorf("%s takes %g allocations, and a new one %g", what, kept, made)
		}
	}

	for _, c := range []Coding{Gzip, Zstd} {
		f(c.String(), func() {
			e := encoders[c].New().(Encoder)
			e.Reset(io.Discard)
		}, func() { CloseEncoder(c, OpenEncoder(c, io.Discard)) })
	}
	fill := func(b *Buffer) { b.body = append(b.body[:0], "some rows"...) }
	f("a buffer", func() {
		b := buffers.New().(*Buffer)
		fill(b)
		kept = b
	}, func() {
		b := takeBuffer()
		fill(b)
		b.Release()
	})
}

var kept *Buffer

// TestPackedOnce checks that a page is compressed once for each coding.
func TestPackedOnce(t *testing.T) {
	p := new(Pages) // without a cache: the page is not one of it
	page := &Page{Body: bytes.Repeat([]byte(`{"rank":1},`), 200)}
	for _, coding := range []Coding{Gzip, Zstd} {
		first, second := p.Packed(page, coding), p.Packed(page, coding)
		if len(first) == 0 || len(first) >= len(page.Body) || &first[0] != &second[0] {
			t.Errorf("%s: %d bytes of %d; the second time they are made anew: %t", coding,
				len(first), len(page.Body), &first[0] != &second[0])
		}
	}
}

// TestStaleKept checks that the stale form of a page and what it is packed to are made
// once, cost the page cache what they take, and are made anew for another time.
func TestStaleKept(t *testing.T) {
	p := crowded(t, nil, crowd(3, 1))
	page := &Page{key: "positions? 1:7", Generations: "1:7", Body: []byte(`{"positions":[]}`)}
	reply := &Reply{Page: page, AsOf: 1000}
	p.cache.put(page)
	p.cache.pages.Wait()
	used := func() int64 { return p.cache.pages.MaxCost() - p.cache.pages.RemainingCost() }
	own := used() - page.cost() // what the cache counts besides

	f := func(asOf int64, body string) *Page {
		t.Helper()
		reply.AsOf = asOf
		stale := p.Stale(reply)
		if string(stale.Body) != body || stale.Generations != "1:7" {
			t.Errorf("as of %d: got %s of %s; want %s", asOf, stale.Body, stale.Generations, body)
		}

		want := int64(len(page.Body) + len(stale.Body) + 2*pageOverhead)
		for _, coding := range []Coding{Gzip, Zstd} {
			packed := p.Packed(stale, coding)
			want += int64(cap(packed))
			if again := p.Packed(p.Stale(reply), coding); &packed[0] != &again[0] {
				t.Errorf("as of %d: %s is packed anew", asOf, coding)
			}
		}
		p.cache.pages.Wait()
		if p.Stale(reply) != stale || page.cost() != want || used() != want+own {
			t.Errorf("as of %d: it is made anew: %t; the page costs %d, and takes %d of the cache; want %d",
				asOf, p.Stale(reply) != stale, page.cost(), used()-own, want)
		}
		return stale
	}

	first := f(1000, `{"positions":[],"stale":true,"dataAsOf":"1970-01-01T00:00:01.000Z"}`)
	second := f(2000, `{"positions":[],"stale":true,"dataAsOf":"1970-01-01T00:00:02.000Z"}`)
	if first == second || string(page.Body) != `{"positions":[]}` {
		t.Errorf("the same form: %t; the page is %s", first == second, page.Body)
	}
}

// TestAbsentGeneration checks that a 404 names the generation that lacks the row,
// although another one is published meanwhile.
func TestAbsentGeneration(t *testing.T) {
	first, _ := rankings.Build(nil, crowd(3, 1), 7)
	second, _ := rankings.Build(first, crowd(4, 1), 8)
	board := new(rankings.Board)
	board.Publish(second)
	q := &Question{Chain: 1, Route: accounts.RoutePosition, Position: 4}
	if _, found := q.findIndex(first); found {
		t.Fatal("generation 7 has position 4")
	}
	if err := q.errAbsent(first); err.Generations != "1:7" || err.Code != 404 {
		t.Errorf("%d with generations %q; want 404 with 1:7", err.Code, err.Generations)
	}
}

// TestScopeKeys checks that a kept page has a key of its own for every question, chain
// and generation, and a last copy for every question and set of chains.
func TestScopeKeys(t *testing.T) {
	view := func(chain market.ChainID, generation uint64) *rankings.View {
		return &rankings.View{State: &market.State{Chain: chain}, Generation: generation}
	}
	type asked struct {
		question string
		views    []*rankings.View
		lasting  string // scopes with the same letter share their copies
	}
	list := []asked{
		{"pools?", []*rankings.View{view(1, 7)}, "a"},
		{"pools?", []*rankings.View{view(1, 8)}, "a"},
		{"pools?", []*rankings.View{view(10, 7)}, "b"},
		{"pools?", []*rankings.View{view(1, 7), view(10, 7)}, "c"},
		{"pools?", []*rankings.View{view(1, 7), view(10, 8)}, "c"},
		{"positions?", []*rankings.View{view(1, 7)}, "d"},
		{"pools?page=1", []*rankings.View{view(11, 7)}, "e"},
		{"pools?page=11", []*rankings.View{view(1, 7)}, "f"},
	}
	for i, a := range list {
		sc := &scope{views: a.views}
		walk := &scope{views: a.views, cut: new(cut)}
		for _, add := range []func(dst, question []byte) []byte{sc.appendKey, sc.appendChainKey, walk.appendChainKey} {
			if got := add([]byte("before "), []byte(a.question)); string(got) != "before "+string(add(nil, []byte(a.question))) {
				t.Errorf("scope %d: the key is appended as %q", i, got)
			}
		}

		for k, b := range list {
			x, y := &scope{views: a.views}, &scope{views: b.views}
			same := string(x.appendKey(nil, []byte(a.question))) == string(y.appendKey(nil, []byte(b.question)))
			if same != (i == k) {
				t.Errorf("scopes %d and %d have the same page: %t", i, k, same)
			}
			same = string(x.appendChainKey(nil, []byte(a.question))) == string(y.appendChainKey(nil, []byte(b.question)))
			if same != (a.lasting == b.lasting) {
				t.Errorf("scopes %d and %d have the same last copy: %t", i, k, same)
			}

			// The copies of a pinned walk are of its generations.
			x.cut, y.cut = new(cut), new(cut)
			same = string(x.appendChainKey(nil, []byte(a.question))) == string(y.appendChainKey(nil, []byte(b.question)))
			if same != (i == k) {
				t.Errorf("walks %d and %d have the same last copy: %t", i, k, same)
			}
		}
	}
}

// A list that lacks a chain is not charged, and counted; a whole one is charged.
func TestPartialListsAreFree(t *testing.T) {
	f := func(chains []render.Chain, partial bool) {
		t.Helper()
		p := crowded(t, func(c *Config) { c.Chains = chains }, crowd(3, 1))
		for n, route := range []accounts.Route{accounts.RouteTokens, accounts.RouteOwner} {
			q := &Question{Route: route, Now: 1000, Owner: &market.Address{1}}
			q.Tokens = rankings.DefaultTokenQuestion()
			reply, err := p.Answer(q)
			if err != nil {
				t.Fatalf("%s: %+v", route.Path(), err)
			}

			flagged := bytes.Contains(reply.Page.Body, []byte(`"partial":true`))
			counted := p.metrics.partial.Get() == uint64(n+1)
			if reply.Free != partial || flagged != partial || counted != partial {
				t.Errorf("%s: free %t, flagged %t, counted %t; want %t: %s",
					route.Path(), reply.Free, flagged, counted, partial, reply.Page.Body)
			}
		}
	}

	f([]render.Chain{{ID: 1, Enabled: true}}, false)
	f([]render.Chain{{ID: 1, Enabled: true}, {ID: 2, Enabled: true}}, true)
}

// A walk over a chain that is unavailable does not begin, and one that was named is refused
// alike; the other chains are walked.
func TestWalkOverMissingChain(t *testing.T) {
	chains := []render.Chain{{ID: 1, Enabled: true}, {ID: 2, Enabled: true}}
	p := crowded(t, func(c *Config) { c.Chains = chains }, crowd(3, 1))
	f := func(chain market.ChainID, cut query.Cut, want string) {
		t.Helper()
		c, err := p.findCut(&Question{Now: 1000, Account: 1, Options: query.Options{Cut: cut}}, chain)
		if c != nil {
			p.pins.endAnswer(c)
		}
		if want == "" && err != nil || want != "" && (err == nil || err.Message != want) {
			t.Errorf("chain %d, %+v: %+v; want %q", chain, cut, err, want)
		}
	}

	const missing = "chain 2 is temporarily unavailable"
	f(2, query.Cut{Pin: true}, missing)
	f(2, query.Cut{Named: []query.Generation{{Chain: 2, Number: 7}}}, missing)
	f(1, query.Cut{Pin: true}, "")
	f(1, query.Cut{Named: []query.Generation{{Chain: 1, Number: 7}}}, "")
}

// TestBatchIsKept checks that the answer to a batch is rendered once.
func TestBatchIsKept(t *testing.T) {
	p := crowded(t, nil, crowd(3, 1))
	q := &Question{Route: accounts.RoutePoolBatch, Now: 1000, Batch: []query.BatchID{{Chain: 1}}}
	for range 2 {
		if _, err := p.Answer(q); err != nil {
			t.Fatal(err)
		}
		p.cache.pages.Wait()
	}
	if hits, misses := p.cache.hits.Get(), p.cache.misses.Get(); hits != 1 || misses != 1 {
		t.Errorf("%d hits and %d misses; want one of each", hits, misses)
	}
}

// TestCloseEndsEverything checks that nothing of the pages runs when they are closed.
func TestCloseEndsEverything(t *testing.T) {
	before, running := runtime.NumGoroutine(), 0
	t.Run("pages", func(t *testing.T) { // its end closes them
		p := crowded(t, nil, crowd(3, 1))
		if _, err := p.Answer(&Question{Route: accounts.RoutePool, Now: 1000, Chain: 1}); err != nil {
			t.Fatal(err)
		}
		running = runtime.NumGoroutine()
	})

	for waited := 0; runtime.NumGoroutine() > before; waited++ {
		if waited > 1000 {
			t.Fatalf("%d goroutines of %d run after the close; %d did before", runtime.NumGoroutine(), running, before)
		}
		time.Sleep(time.Millisecond)
	}
}
