package rpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// Only what a node answers to a call can say that the contract's own code failed.
func TestRevertedCalls(t *testing.T) {
	f := func(kind endpoint.Kind, code int, text string, want bool) {
		t.Helper()
		err := fmt.Errorf("a node: %w", &endpoint.Error{Kind: kind, Code: code, Text: text})
		if got := callReverted(err); got != want {
			t.Errorf("%s %d %q: reverted %v; want %v", kind, code, text, got, want)
		}
	}

	f(endpoint.Refused, 3, "", true)
	f(endpoint.Refused, -32000, "execution reverted", true)
	f(endpoint.Refused, -32015, "VM Exception while processing", true)
	f(endpoint.Refused, -32000, "invalid opcode: INVALID", true)
	f(endpoint.Refused, -32000, "gas uint64 overflow", false)
	f(endpoint.Refused, -32000, "execution aborted (timeout = 5s)", false)
	f(endpoint.Refused, -32000, "header not found", false)
	f(endpoint.ServerError, 0, "execution reverted", false)
	f(endpoint.TimedOut, 3, "", false)
	if callReverted(nil) {
		t.Error("no error counts as reverted")
	}
}

// wireHeaderOf is the header of a block as nodes answer it.
func wireHeaderOf(number uint64, hash, parent byte) *wireHeader {
	n, at := quantity(number), quantity(1_700_000_000+number)
	return &wireHeader{Number: &n, Time: &at, Hash: word{hash}, Parent: word{parent}}
}

// The answers for a range are taken when they fit each other, and what was asked for.
func TestRangeAnswers(t *testing.T) {
	type answers struct {
		from, to     uint64
		before, last *wireHeader
		logs         logReader
		blocks       []rawBlock
		count        int
	}
	f := func(what, want string, change func(*answers)) {
		t.Helper()
		a := &answers{from: 10, to: 20, before: wireHeaderOf(9, 9, 8), last: wireHeaderOf(20, 20, 19)}
		change(a)
		a.logs.from, a.logs.to, a.logs.assembly.logs = a.from, a.to, a.count
		r := &rangeRead{from: a.from, to: a.to, last: a.last, blocks: a.blocks, logs: a.count}

		err := r.check(&a.logs, a.before)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", what, err, want)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if (a.from > 0) != (r.before == market.Head{Number: 9, Hash: market.Hash{9}, Time: 1_700_000_009}) {
			t.Errorf("%s: the block before is %+v", what, r.before)
		}
	}
	at := func(number uint64, hash byte) rawBlock {
		return rawBlock{Block: market.Block{Number: number}, hash: word{hash}}
	}
	one := func(a *answers) { a.to, a.last = 10, wireHeaderOf(10, 10, 9) }

	f("without logs", "", func(*answers) {})
	f("from the first block", "", func(a *answers) { a.from, a.before = 0, nil })
	f("with logs", "", func(a *answers) { a.blocks = []rawBlock{at(15, 15), at(20, 20)} })
	f("logs of a block before the last", "", func(a *answers) { a.blocks = []rawBlock{at(19, 1)} })
	f("one block", "", one)
	f("one block of very many logs", "", func(a *answers) { one(a); a.count = maxLogs })

	f("no last block", "block 20", func(a *answers) { a.last = nil })
	f("another last block", "asked for block 20, got 19", func(a *answers) { a.last = wireHeaderOf(19, 19, 18) })
	f("no block before", "block 9", func(a *answers) { a.before = nil })
	f("another block before", "asked for block 9, got 10", func(a *answers) { a.before = wireHeaderOf(10, 10, 9) })
	f("no answer for the logs", "logs of blocks 10 to 20", func(a *answers) { a.logs.none = true })
	f("wrong logs", "wrong", func(a *answers) { a.logs.wrong = errors.New("wrong") })
	f("as many logs as are cut", "10000 logs", func(a *answers) { a.count = maxLogs })
	f("logs of another last block", "its logs are of", func(a *answers) { a.blocks = []rawBlock{at(20, 1)} })
	f("the second block on another one", "block 1 follows another block than 0", func(a *answers) {
		a.from, a.to, a.before, a.last = 1, 1, wireHeaderOf(0, 9, 8), wireHeaderOf(1, 1, 8)
	})
	f("the first block, whatever it names", "", func(a *answers) {
		a.from, a.to, a.before, a.last = 0, 0, nil, wireHeaderOf(0, 1, 8)
	})
	f("one block on another one", "follows another block than 9", func(a *answers) {
		a.to, a.last = 10, wireHeaderOf(10, 10, 8)
	})
}

// A head is believed when it is near what was known or what another source shows, or
// when its source has its parent.
func TestHighHeads(t *testing.T) {
	c := newChain(1)
	for len(c.blocks) < 2000 {
		c.blocks = append(c.blocks, &fakeBlock{
			number: uint64(len(c.blocks)), hash: keccak(fmt.Append(nil, len(c.blocks))),
			parent: c.head().hash, time: int64(len(c.blocks)),
		})
	}
	node := newNode(t, c)
	l := follow(t, nil, node, node, node)
	f := func(known uint64, heads []uint64, lies bool, want ...uint64) {
		t.Helper()
		l.f.highestHead = known
		var seen []*observedHead
		for i, n := range heads {
			h := &observedHead{wireHeader: *wireHeaderOf(n, 1, 1), source: l.f.sources[i]}
			if !lies {
				h.Parent = word(c.blocks[n].parent)
			}
			seen = append(seen, h)
		}

		var got []uint64
		for _, h := range l.f.plausibleHeads(t.Context(), seen) {
			got = append(got, uint64(*h.Number))
			if h.source.head.Load() != uint64(*h.Number) {
				t.Errorf("a source with head %d is noted at %d", *h.Number, h.source.head.Load())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("heads %v, %d known, lies %v: believed %v; want %v", heads, known, lies, got, want)
		}
	}

	f(0, []uint64{1000}, true, 1000) // the only source of a new ledger
	f(1000, []uint64{1000 + maxJump}, true, 1000+maxJump)
	f(1000, []uint64{1001 + maxJump}, true)
	f(1000, []uint64{1001 + maxJump}, false, 1001+maxJump)
	f(0, []uint64{1000, 1000 + maxJump}, true, 1000+maxJump, 1000)
	f(0, []uint64{1000, 1001 + maxJump}, true, 1000)
	f(0, []uint64{1000, 1900}, false, 1900, 1000)
	f(100, []uint64{1900, 1900 + maxJump, 1900}, true, 1900+maxJump, 1900, 1900)
	f(1900, []uint64{100, 1900 + maxJump}, true, 1900+maxJump, 100)
	f(100, []uint64{300, 1900, 1000}, true, 300)
}

// While all sources rest, the one is asked whose rest ends first; those that do not
// rest are asked in order, fallbacks last.
func TestSourcesThatRest(t *testing.T) {
	n := newNode(t, newChain(3))
	roles := [][]Role{{Fallback}, {Backfill, Live}, {Backfill}, {Live}}
	l := follow(t, func(c *Config) {
		for i, r := range roles {
			c.Endpoints[i].Roles, c.Endpoints[i].Name = r, []string{"spare", "both", "range", "head"}[i]
		}
	}, n, n, n, n)
	f := func(want string, r Role) {
		t.Helper()
		var got []string
		for _, s := range l.f.sourcesFor(r) {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is asked of %q; want %q", r, got, want)
		}
	}

	f("both range spare", Backfill)
	f("both head spare", Live)
	rest := func(name string, d time.Duration) {
		i := slices.IndexFunc(l.f.sources, func(s *source) bool { return s.Name == name })
		l.f.sources[i].Failed(&endpoint.Error{Kind: endpoint.Limited, RetryAfter: d}, 0)
	}
	rest("both", 50*time.Second)
	f("range spare", Backfill)
	rest("spare", 20*time.Second)
	rest("range", 40*time.Second)
	f("spare", Backfill)
	f("head", Live)
	rest("head", 10*time.Second)
	f("head", Live)
	l.clock.advance(45 * time.Second)
	f("range spare", Backfill)
}

// That the chain ended below the ledger, or has none of its anchors, counts only if it is
// seen again and again: one look at the ledger's own head, or at an older anchor, ends it.
func TestDoubtsInARow(t *testing.T) {
	c := newChain(20)
	nodes := []*fakeNode{newNode(t, c), newNode(t, c)}
	l := follow(t, nil, nodes...)
	block := func(n uint64) market.Head { return market.Head{Number: n, Hash: c.blocks[n].hash} }
	ours := []market.Head{block(18), block(15), block(10)}
	others := []market.Head{{Number: 18, Hash: market.Hash{1}}, {Number: 15, Hash: market.Hash{2}}, {Number: 10, Hash: market.Hash{3}}}
	f := func(head uint64, anchors []market.Head, want int, wantErr string) {
		t.Helper()
		h := &observedHead{wireHeader: *wireHeaderOf(head, 0, 0), source: l.f.sources[0]}
		h.Hash = word(c.blocks[head].hash)
		got, err := l.f.findAnchor(t.Context(), h, anchors)
		if wantErr == "" && (err != nil || got != want) || wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)) {
			t.Errorf("head %d: anchor %d, %v; want %d, %q", head, got, err, want, wantErr)
		}
	}
	shorter := func(wait time.Duration, want int) {
		t.Helper()
		l.clock.advance(wait)
		f(17, ours, want, "")
	}

	for _, between := range []uint64{18, 19} { // the head is the newest anchor, or follows it
		shorter(0, notKnownYet)
		shorter(believeShorter-1, notKnownYet)
		f(between, ours, 0, "")
		shorter(believeShorter, notKnownYet)
		shorter(believeShorter, 1)
		f(between, ours, 0, "")

		f(19, others, 0, "no anchor from block 10 to 18")
		f(19, others, 0, "no anchor from block 10 to 18")
		f(between, ours, 0, "")
		f(19, others, 0, "no anchor from block 10 to 18")
		f(19, others, 0, "no anchor from block 10 to 18")
		f(19, others, 0, "deeper than the kept history")
		f(between, ours, 0, "")
	}

	// Where backends lag, a shorter chain is believed later.
	l.f.sources[0].lagged = l.clock.read()
	shorter(0, notKnownYet)
	shorter(believeLaggard-1, notKnownYet)
	shorter(1, 1)
	l.f.sources[0].live = false
	shorter(0, notKnownYet)
	shorter(believeShorter, 1)
	l.f.sources[0].live = true

	// The start is on every chain.
	start := append(others[:2:2], market.Head{Number: 10})
	f(19, start, 0, "no anchor")
	f(19, start, 0, "no anchor")
	f(19, start, 2, "")
	f(9, ours, 0, "below every anchor of a ledger at 18")

	// What no node answers says nothing of the chain.
	for _, n := range nodes {
		n.answer = func(string, object) any { return fail(-32000, "not now") }
	}
	f(19, ours, 0, "eth_getBlockByNumber: not now")
}

// A source that likely has a block is asked before others: of two with one fault each,
// the lesser fault comes first.
func TestNearestSources(t *testing.T) {
	faults := []func(*source){
		func(s *source) { s.head.Store(9) }, func(s *source) { s.forked.Store(true) },
		func(s *source) { s.health.failureRate = 0.3 }, func(s *source) { s.fallback = true },
	}

	for i := range 1 << len(faults) {
		s := new(source)
		s.head.Store(10)
		for k, spoil := range faults {
			if i&(1<<k) != 0 {
				spoil(s)
			}
		}
		if got := s.distance(10); got != i {
			t.Errorf("a source with the faults %04b is at %d; want %d", i, got, i)
		}
	}
}

// A token's failures count in a row: once a node told of it, they begin anew.
func TestTokenFailuresInARow(t *testing.T) {
	f, _ := still(t)
	waits := func(want bool) {
		t.Helper()
		if got := f.strikeTokens([]market.Address{token}); got != want {
			t.Errorf("the chain waits for the token: %v; want %v", got, want)
		}
	}

	for range 2 {
		waits(true)
		waits(true)
		f.keepToken(market.TokenMeta{Address: token, Decimals: 6})
	}
	waits(true)
	waits(true)
	waits(false)
	if f.strikeTokens([]market.Address{token, {1}}) == false {
		t.Error("the chain does not wait for a token that failed once")
	}
}

// Of heads at one height the one counts that most sources have there. The others are on
// a fork until they show it too; each time that they leave is counted once.
func TestForkedSources(t *testing.T) {
	ours, theirs := newChain(20), newChain(19)
	theirs.forks = 1
	theirs.mine()
	l := follow(t, nil, newNode(t, theirs), newNode(t, ours), newNode(t, ours))
	f := func(forks uint64, forked ...bool) {
		t.Helper()
		var seen []*observedHead
		for i, c := range []*fakeChain{theirs, ours, ours} {
			h := &observedHead{wireHeader: *wireHeaderOf(c.head().number, 0, 0), source: l.f.sources[i]}
			h.Hash, h.Parent = word(c.head().hash), word(c.head().parent)
			seen = append(seen, h)
		}
		slices.SortStableFunc(seen, func(a, b *observedHead) int { return int(*b.Number) - int(*a.Number) })
		best := l.f.chooseHead(t.Context(), seen, market.Head{})

		var got []bool
		for _, s := range l.f.sources {
			got = append(got, s.forked.Load())
		}
		if best.Hash != word(ours.head().hash) || !slices.Equal(got, forked) || uint64(l.f.m.forks.Get()) != forks {
			t.Errorf("chose head %d, the sources are on a fork: %v, %d forks are counted; want %v, %d",
				*best.Number, got, l.f.m.forks.Get(), forked, forks)
		}
	}

	f(1, true, false, false)
	f(1, true, false, false)
	ours.mine() // the other is only lower
	f(1, false, false, false)
	theirs.mine()
	f(2, true, false, false)
}

// What the ledger need not be able to take back ends below every range that is still to
// be read again.
func TestOutOfReach(t *testing.T) {
	f := func(want uint64, known bool, from ...uint64) {
		t.Helper()
		l := &Feed{settled: settledBlocks{until: 50, known: known}}
		for _, n := range from {
			l.recheck = append(l.recheck, reading{from: n, to: n + 5})
		}
		if got := l.outOfReach(); got != want {
			t.Errorf("ranges from %v are open: block %d is out of reach; want %d", from, got, want)
		}
	}

	f(0, false)
	f(50, true)
	f(50, true, 60, 51)
	f(49, true, 60, 50)
	f(29, true, 40, 30, 45)
}

// A probe learns the lowest of the backends behind a URL, believes no head that is too
// high, and holds for a minute.
func TestProbes(t *testing.T) {
	n := newNode(t, newChain(1))
	numbers, asked := []uint64{900, 1000, 5000, 950}, 0
	n.answer = func(method string, _ object) any {
		if method != "eth_blockNumber" {
			return nil
		}
		asked++
		return hex(numbers[(asked-1)%len(numbers)])
	}
	l := follow(t, nil, n)
	l.f.highestHead = 1000
	s := l.f.sources[0]
	s.sawHead(990, l.clock.read())
	f := func(wait time.Duration, calls int) {
		t.Helper()
		l.clock.advance(wait)
		l.f.probeBackends(t.Context())
		if asked != calls || s.lows.get() != 900 || s.head.Load() != 1000 {
			t.Errorf("after %d calls the lowest head is %d, the source's %d; want 900 and 1000 of %d",
				asked, s.lows.get(), s.head.Load(), calls)
		}
	}

	f(0, probes)
	f(probeEvery-1, probes)
	f(1, 2*probes)
}

// What is known of tokens is forgotten before it would be too much.
func TestTokensAreForgotten(t *testing.T) {
	k := tokens{known: map[market.Address]market.TokenMeta{}}
	for i := range maxTokens {
		k.known[market.Address{byte(i), byte(i >> 8), byte(i >> 16)}] = market.TokenMeta{}
	}
	list := []market.Address{{0}, {}, {19: 1}}
	if known, unread := k.find(list[:0]); len(known)+len(unread) != 0 || len(k.known) != maxTokens {
		t.Errorf("%d tokens are kept; want %d", len(k.known), maxTokens)
	}
	if known, unread := k.find(list); len(known) != 0 || len(unread) != 1 || len(k.known) != 0 {
		t.Errorf("%d tokens of %v are known, %v are read; %d are kept; want none, the last, none",
			len(known), list, unread, len(k.known))
	}
}

// What was read ahead is given up when the ledger stands elsewhere, and when a probe
// shows backends that lack those blocks.
func TestReadAheadIsGivenUp(t *testing.T) {
	c := busy(1000)
	n := newNode(t, c)
	l := follow(t, func(c *Config) { c.MaxLogRange = 20 }, n)
	next := func() *ahead {
		t.Helper()
		if err := l.next(); err != nil || l.last.Span == nil {
			t.Fatalf("%v, span %v", err, l.last.Span)
		}
		return l.f.ahead
	}

	first := next()
	if again := next(); first == nil || again != first || first.ctx.Err() != nil {
		t.Fatal("the ranges that follow were not read ahead")
	}
	l.spans = nil // the ledger begins again
	second := next()
	if second == nil || second == first || first.ctx.Err() == nil {
		t.Error("after the ledger began again the old ranges are still read")
	}

	n.mu.Lock()
	n.answer = func(method string, _ object) any {
		if method == "eth_blockNumber" {
			return hex(10)
		}
		return nil
	}
	n.mu.Unlock()
	l.clock.advance(probeEvery)
	if next() != nil || second.ctx.Err() == nil {
		t.Error("beyond the head of a backend ranges are still read ahead")
	}
}

// What a range holds in memory counts its blocks and its logs.
func TestRangeBytes(t *testing.T) {
	f := func(r *rangeRead, want int64) {
		t.Helper()
		if got := r.size(); got != want {
			t.Errorf("%+v counts %d bytes; want %d", r, got, want)
		}
	}

	f(nil, 0)
	f(new(rangeRead), pieceBytes)
	f(&rangeRead{blocks: make([]rawBlock, 2)}, pieceBytes+2*blockBytes)
	f(&rangeRead{blocks: make([]rawBlock, 2), logs: 5}, pieceBytes+2*blockBytes+5*logBytes)
}
