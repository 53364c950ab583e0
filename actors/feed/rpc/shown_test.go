package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// fastChain is followed by what a subscription shows, in virtual time.
func fastChain(t *testing.T) (*line, *follower) {
	c := &fakeChain{fast: true}
	for range 60 {
		c.mine()
	}

	n := newLine(c)
	l := overLine(t, n, nil)
	l.start = 40
	s, err := endpoint.NewHeadStream("heads", "ws://heads.test", endpoint.Clock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.f.streams = append(l.f.streams, s)
	return n, l
}

// show has the subscription tell of the head.
func (n *line) show(f *Feed) {
	n.mu.Lock()
	header, _ := json.Marshal(n.block("latest"))
	n.mu.Unlock()
	f.headShown("0x1", header)
}

// follow mines four blocks a second for a while and follows them.
func (n *line) follow(t *testing.T, l *follower, length time.Duration) {
	t.Helper()
	done := time.Now().Add(length)
	go func() {
		for i := int64(0); time.Now().Before(done); i++ {
			switch {
			case i%40 == 9:
				n.mine(minted(i)...)
			case i%3 == 0:
				n.mine(swapped(i))
			default:
				n.mine()
			}
			n.show(l.f)
			time.Sleep(250 * time.Millisecond)
		}
	}()

	for time.Now().Before(done.Add(time.Second)) {
		if err := l.next(); err != nil && n.answer == nil {
			t.Fatal(err)
		}
	}
}

func (n *line) sent() (sum int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range n.calls {
		sum += k
	}
	return sum
}

// At the head of a fast chain at most one call a second is made, every event comes,
// and gas is that of receipts.
func TestFastChainByItsHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, l := fastChain(t)
		n.follow(t, l, 30*time.Second)
		before := n.sent()
		n.follow(t, l, 100*time.Second)
		if calls := n.sent() - before; calls > 100 {
			t.Errorf("%d calls in 100 s: %v", calls, n.calls)
		}
		l.to(n.fakeChain, 40)

		for _, s := range l.spans {
			for _, b := range s.Blocks {
				if len(b.Txs) == 1 && len(b.Logs) == 2 && !b.Txs[0].GasKnown {
					t.Errorf("block %d: the gas of a new position is not known", b.Number)
				}
			}
		}
	})
}

// A fast chain is followed exactly through reorganisations, and by a node whose logs
// come late, are short, or are none.
func TestFastChainInTrouble(t *testing.T) {
	f := func(name string, trouble func(n *line)) {
		synctest.Test(t, func(t *testing.T) {
			n, l := fastChain(t)
			n.follow(t, l, 20*time.Second)
			n.mu.Lock()
			trouble(n)
			n.mu.Unlock()
			n.follow(t, l, 20*time.Second)
			n.mu.Lock()
			n.answer = nil
			n.mu.Unlock()
			n.follow(t, l, 20*time.Second)
			l.to(n.fakeChain, 100)
			if t.Failed() {
				t.Log(name)
			}
		})
	}

	f("five blocks replaced", func(n *line) { n.blocks, n.forks = n.blocks[:len(n.blocks)-5], n.forks+1 })
	f("no logs", func(n *line) {
		n.answer = func(method string, _ object) any {
			if method == "eth_getLogs" {
				return []object{}
			}
			return nil
		}
	})
	f("a log short", func(n *line) {
		n.answer = func(method string, o object) any {
			if logs, ok := o["result"].([]object); ok && method == "eth_getLogs" && len(logs) > 0 {
				return logs[1:]
			}
			return nil
		}
	})
}

// showing is what a subscription showed of a fast chain's blocks, the last a moment ago.
func showing(numbers ...uint64) *shownHeads {
	s := &shownHeads{at: time.Unix(1_700_000_000, 0), blooms: true}
	for _, n := range numbers {
		s.list = append(s.list, shownHeader(n, byte(n), byte(n-1)))
	}
	return s
}

// shownHeader is a header of a chain with four blocks a second.
func shownHeader(number uint64, hash, parent byte) *wireHeader {
	h := wireHeaderOf(number, hash, parent)
	at, bloom := quantity(1_700_000_000+number/4), make(hexBytes, bloomLen)
	h.Time, h.Bloom = &at, &bloom
	return h
}

func (s *shownHeads) String() (text string) {
	for _, h := range s.list {
		text += fmt.Sprintf(" %d:%d", *h.Number, h.Hash[0])
	}
	return text
}

// Headers that are shown make one chain: each the parent of the next.
func TestShownHeaders(t *testing.T) {
	s := &shownHeads{}
	f := func(want string, number uint64, hash, parent byte) {
		t.Helper()
		if s.add(shownHeader(number, hash, parent), time.Unix(int64(number), 0)); s.String() != want || s.blooms {
			t.Errorf("after block %d with hash %d:%s, filters %t; want%s", number, hash, s, s.blooms, want)
		}
	}
	f(" 5:5", 5, 5, 4)
	f(" 5:5 6:6", 6, 6, 5)
	f(" 5:5 6:6", 6, 6, 5)
	f(" 5:5 6:7", 6, 7, 5)
	f(" 5:5 6:7 7:8", 7, 8, 7)
	f(" 5:5 6:9", 6, 9, 5)
	f(" 8:8", 8, 8, 7)
	f(" 10:10", 10, 10, 8) // not the next of its parent
	h := shownHeader(11, 11, 10)
	(*h.Bloom)[7] = 1
	if s.add(h, time.Unix(70, 0)); !s.blooms || !s.at.Equal(time.Unix(70, 0)) {
		t.Errorf("filters %t, shown at %s", s.blooms, s.at)
	}

	other := shownHeader(10, 1, 8)
	if s.contradicts(&observedHead{wireHeader: *s.list[0]}) || !s.contradicts(&observedHead{wireHeader: *other}) ||
		s.contradicts(&observedHead{wireHeader: *shownHeader(12, 1, 8)}) {
		t.Error("only another block of a height that was shown contradicts")
	}
	for i := range uint64(maxShown + 5) {
		h := shownHeader(12+i, 0, 0)
		h.Parent, h.Hash = s.list[len(s.list)-1].Hash, word{1, byte(i), byte(i >> 8)}
		s.add(h, time.Unix(0, 0))
	}
	if n := len(s.list); n != maxShown || *s.list[0].Number != 17 {
		t.Errorf("%d headers are kept from block %d on; want %d from 17", n, *s.list[0].Number, maxShown)
	}
	if s.clear(); len(s.list) > 0 {
		t.Errorf("after all are dropped there are%s", s)
	}
}

// What was shown is followed while it is fresh, of a fast chain with filters, and reaches
// back to the ledger's head.
func TestShownAfter(t *testing.T) {
	f := func(what string, from uint64, want int, change func(s *shownHeads, now *time.Time)) {
		t.Helper()
		var numbers []uint64
		for n := uint64(10); n < 10+shownSpan; n++ {
			numbers = append(numbers, n)
		}
		s, now := showing(numbers...), time.Unix(1_700_000_000, 0)
		at := s.at
		change(s, &now)
		walk, seen, ok := s.after(market.Head{Hash: market.Hash{byte(from)}}, now)
		if ok != (want >= 0) || ok && (len(walk) != want || !seen.Equal(at)) {
			t.Errorf("%s: %d headers, %t; want %d", what, len(walk), ok, want)
		}
		if want > 0 && uint64(*walk[0].Number) != from+1 {
			t.Errorf("%s: they begin with block %d", what, *walk[0].Number)
		}
	}
	slower := func(seconds quantity) func(*shownHeads, *time.Time) {
		return func(s *shownHeads, _ *time.Time) { *s.list[shownSpan-1].Time = *s.list[0].Time + seconds }
	}
	none := func(*shownHeads, *time.Time) {}

	f("all", 9, 16, none)
	f("those after the first", 10, 15, none)
	f("at the head", 25, 0, none)
	f("further back", 8, -1, none)
	f("elsewhere", 77, -1, none)
	f("too few", 10, -1, func(s *shownHeads, _ *time.Time) { s.list = s.list[1:] })
	f("without filters", 10, -1, func(s *shownHeads, _ *time.Time) { s.blooms = false })
	f("just fresh", 10, 15, func(_ *shownHeads, now *time.Time) { *now = now.Add(shownFresh) })
	f("no longer fresh", 10, -1, func(_ *shownHeads, now *time.Time) { *now = now.Add(shownFresh + 1) })
	f("just fast", 10, 15, slower(9))
	f("not fast", 10, -1, slower(11))
}

// A header of a subscription is taken when it is whole and of our chain; each wakes Next.
func TestHeadShown(t *testing.T) {
	l := follow(t, nil, newNode(t, newChain(1)))
	f := func(what string, want int, chain string, change func(object)) {
		t.Helper()
		header := object{
			"number": "0x5", "hash": market.Hash{5}.String(), "parentHash": market.Hash{4}.String(),
			"timestamp": "0x6553f100", "logsBloom": fmt.Sprintf("%#x", make([]byte, bloomLen)),
		}
		change(header)
		text, _ := json.Marshal(header)
		l.f.shown.clear()
		l.f.headShown(chain, text)
		if got := len(l.f.shown.list); got != want {
			t.Errorf("%s: %d headers are kept; want %d", what, got, want)
		}
		select {
		case <-l.f.wake:
		default:
			t.Errorf("%s: nobody is woken", what)
		}
	}

	f("a header", 1, "0x1", func(object) {})
	f("of another chain", 0, "0x2", func(object) {})
	f("without a number", 0, "0x1", func(h object) { delete(h, "number") })
	f("without a time", 0, "0x1", func(h object) { delete(h, "timestamp") })
	f("without a filter", 0, "0x1", func(h object) { delete(h, "logsBloom") })
	f("with a short filter", 0, "0x1", func(h object) { h["logsBloom"] = "0x00" })
	f("with something else", 0, "0x1", func(h object) { h["logsBloom"] = 7 })
	l.f.headShown("0x1", []byte("null"))
	l.f.headShown("0x1", []byte("null")) // nobody has to wait for Next
	if len(l.f.shown.list) != 0 {
		t.Error("null is a header")
	}
}

// Logs of blocks that were shown explain their filters, and are of those blocks.
func TestMatchShown(t *testing.T) {
	c := busy(5)
	n := newNode(t, c)
	c.mine(swapped(1))
	c.mine()
	c.mine(swapped(2), swapped(3))
	l := follow(t, nil, n)
	f := func(what, problem string, blocks, known int, change func(walk []*wireHeader, logs []wireLog) []wireLog) {
		t.Helper()
		walk := l.headersOf(n, 3)
		logs := asWire[[]wireLog](t, append(append([]object{}, c.blocks[5].logs...), c.blocks[7].logs...))
		made, got, err := l.f.matchShown(walk, change(walk, logs))
		fails(t, what, err, problem)
		if len(made) != blocks || got != known {
			t.Errorf("%s: %d blocks with events of %d; want %d of %d", what, len(made), got, blocks, known)
		}
		for i := range made {
			if b := &made[i]; b.Time != c.blocks[b.Number].time || !b.dated {
				t.Errorf("%s: block %d has the time %d, dated %t", what, b.Number, b.Time, b.dated)
			}
		}
		if problem == "in doubt" && !errors.Is(err, errInDoubt) {
			t.Errorf("%s: %v", what, err)
		}
	}

	f("all", "", 2, 3, func(_ []*wireHeader, logs []wireLog) []wireLog { return logs })
	f("without times", "", 2, 3, func(_ []*wireHeader, logs []wireLog) []wireLog {
		logs[0].Time, logs[1].Time, logs[2].Time = nil, nil, nil
		return logs
	})
	f("those of the last block are missing", "", 1, 2, func(_ []*wireHeader, logs []wireLog) []wireLog { return logs[:1] })
	f("those of the first are missing", "block 5: the block may hold events", 0, 0, func(_ []*wireHeader, logs []wireLog) []wireLog {
		return logs[1:]
	})
	f("one without a block", "a log names no block", 0, 0, func(_ []*wireHeader, logs []wireLog) []wireLog {
		logs[1].Hash = nil
		return logs
	})
	f("one of another block", "which has logs, was not shown", 0, 0, func(_ []*wireHeader, logs []wireLog) []wireLog {
		logs[1].Hash = &word{1}
		return logs
	})
	f("one that is not whole", "its block, transaction or index is missing", 0, 0, func(_ []*wireHeader, logs []wireLog) []wireLog {
		logs[1].TxHash = nil
		return logs
	})
	f("one that the filter excludes", "block 6 has events that its bloom filter excludes", 0, 0,
		func(walk []*wireHeader, logs []wireLog) []wireLog {
			logs[1].Hash, logs[1].Block, logs[1].Time = &walk[1].Hash, walk[1].Number, walk[1].Time
			return logs
		})
}

// A span of one shown block with an event is read again later, and confirms the head only
// where it ends there.
func TestGivesShown(t *testing.T) {
	c := busy(5)
	n := newNode(t, c)
	c.mine(swapped(1))
	c.mine()
	l := follow(t, func(c *Config) { c.MaxHeadAge = time.Hour }, n)
	l.f.settled = settledBlocks{until: 50, known: true}
	walk := l.headersOf(n, 2)
	blocks, err := l.f.assembleBlock(walk[0], asWire[[]wireLog](t, c.blocks[5].logs), false)
	if err != nil {
		t.Fatal(err)
	}
	give := func(head *wireHeader, seen time.Time, blocks []rawBlock) feed.Step {
		t.Helper()
		at := c.blocks[4]
		step, err := l.f.giveShown(t.Context(), feed.Step{Head: head.head(), Finalized: 50},
			market.Head{Number: 4, Hash: at.hash, Time: at.time}, walk[:1], blocks, seen)
		want := market.Span{From: 5, To: 5, Parent: at.hash, Hash: market.Hash(walk[0].Hash), Time: int64(*walk[0].Time)}
		if s := step.Span; err != nil || s.From != want.From || s.To != want.To || s.Parent != want.Parent ||
			s.Hash != want.Hash || s.Time != want.Time || len(s.Blocks) != len(blocks) {
			t.Errorf("%v, %+v; want %+v", err, s, want)
		}
		return step
	}

	seen := time.Unix(int64(*walk[0].Time)+3600, 0)
	if step := give(walk[0], seen, nil); len(l.f.recheck) != 0 || step.Finalized != 50 || !step.SpanConfirmed.Equal(seen) {
		t.Errorf("a block without events: %+v, to be read again %+v", step, l.f.recheck)
	}
	if step := give(walk[0], seen.Add(time.Second), nil); !step.SpanConfirmed.IsZero() {
		t.Errorf("a head of more than an hour confirms: %+v", step)
	}
	step := give(walk[1], seen, blocks)
	if len(l.f.recheck) != 1 || l.f.recheck[0].from != 5 || l.f.recheck[0].to != 5 || step.Finalized != 4 || !step.SpanConfirmed.IsZero() {
		t.Errorf("a block with an event: %+v, to be read again %+v", step, l.f.recheck)
	}
	if events := l.f.Status().Events; events != 1 {
		t.Errorf("%d events were counted; want 1", events)
	}

	blocks[0].needsGas[0], n.receiptless = true, true
	step, err = l.f.giveShown(t.Context(), feed.Step{}, market.Head{Number: 4}, walk[:1], blocks, seen)
	fails(t, "a block without its receipts", err, "blocks 5 to 5: cannot read receipts: ")
	if step.Span != nil {
		t.Errorf("a block without its receipts: %+v", step.Span)
	}
}

// Shown headers that exclude all events are a span without a request, up to the newest.
func TestFollowsShownHeaders(t *testing.T) {
	n := newNode(t, newChain(1))
	l := follow(t, nil, n)
	var numbers []uint64
	for i := uint64(10); i < 10+shownSpan; i++ {
		numbers = append(numbers, i)
	}
	s := showing(numbers...)
	l.f.shown.list, l.f.shown.blooms, l.f.shown.at = s.list, true, l.clock.read()

	f := func(at uint64, spans, confirms bool) {
		t.Helper()
		step, err := l.f.followShown(t.Context(), feed.Step{}, market.Head{Number: at, Hash: market.Hash{byte(at)}, Time: 5})
		given := step.Span != nil && step.Span.From == at+1 && step.Span.To == 25 && step.SpanConfirmed.Equal(l.clock.read())
		if err != nil || given != spans || step.Confirmed.Equal(l.clock.read()) != confirms || n.requestCount != 0 {
			t.Errorf("after block %d: %v, %+v, %d requests", at, err, step, n.requestCount)
		}
		if spans && (step.Head.Number != 25 || l.f.highestHead != 25) {
			t.Errorf("after block %d: the head is %+v, the highest %d", at, step.Head, l.f.highestHead)
		}
	}
	f(99, false, false)
	f(25, false, true)
	f(10, true, false)
	f(24, true, false)
}

// atShownHead is a ledger at the head of a fast chain, all of whose headers were shown.
func atShownHead(t *testing.T) (*fakeNode, *follower) {
	t.Helper()
	c := &fakeChain{fast: true}
	for range 60 {
		c.mine()
	}
	c.mine(swapped(1))
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.start = 40
	l.to(c, 10)

	l.f.streams = append(l.f.streams, deadStream(t))
	t.Cleanup(func() { l.f.streams = nil })
	for _, h := range l.headersOf(n, 20) {
		l.f.shown.add(h, l.clock.read())
	}
	l.f.due = time.Time{}
	return n, l
}

// mineShown mines a block that the subscription shows at once.
func (l *follower) mineShown(n *fakeNode, logs ...object) {
	n.mine(logs...)
	l.f.shown.add(l.headersOf(n, 1)[0], l.clock.read())
	l.f.due = time.Time{}
}

// Beside a subscription to a fast chain the head is polled every half a minute, and what was
// shown counts no longer if another block is there.
func TestLooksBesideASubscription(t *testing.T) {
	n, l := atShownHead(t)
	f := func(what string, wait time.Duration, looks int) {
		t.Helper()
		l.clock.advance(wait)
		l.f.shown.at, l.f.due = l.clock.read(), time.Time{}
		before := n.calls["eth_getBlockByNumber"]
		if err := l.next(); err != nil || l.last.Confirmed.IsZero() || l.last.Head.Number != 60 || l.last.Finalized != 28 {
			t.Errorf("%s: %+v, %v", what, l.last, err)
		}
		if got := n.calls["eth_getBlockByNumber"] - before; got != looks {
			t.Errorf("%s: %d headers were read; want %d", what, got, looks)
		}
	}

	f("a moment later", 0, 0)
	f("just before it is due", shownPollEvery-1-l.clock.read().Sub(l.f.polled), 0)
	f("when it is due", 1, 2) // with the finalized block
	f("again", shownPollEvery-1, 0)

	other := *l.f.shown.list[len(l.f.shown.list)-1]
	other.Hash = word{9}
	l.f.shown.list = append(l.f.shown.list, &other)
	f("with another block", 1, 2)
	if len(l.f.shown.list) != 0 {
		t.Errorf("after a look that contradicts them %d headers are kept", len(l.f.shown.list))
	}
}

// A ledger that refused a block, or whose logs were in doubt three times, does not follow what
// was shown, nor one that does not know its head's hash.
func TestFollowsShown(t *testing.T) {
	_, l := atShownHead(t)
	f := func(want bool, change func(c *feed.Cursor)) {
		t.Helper()
		c := &feed.Cursor{Anchors: l.anchors()}
		change(c)
		if got := l.f.followsShown(c); got != want {
			t.Errorf("%+v with %d doubts: follows %t; want %t", c, l.f.doubts, got, want)
		}
		l.f.doubts = 0
	}

	f(true, func(*feed.Cursor) {})
	f(false, func(c *feed.Cursor) { c.Refused = 1 })
	f(false, func(c *feed.Cursor) { c.Anchors[0].Hash = market.Hash{} })
	f(false, func(c *feed.Cursor) { c.Anchors[0].Hash = market.Hash{1} })
	f(true, func(*feed.Cursor) { l.f.doubts = maxDoubts - 1 })
	f(false, func(*feed.Cursor) { l.f.doubts = maxDoubts })
	l.f.shown.list[0].Parent = word{}
	f(false, func(c *feed.Cursor) { c.Anchors[0].Hash = market.Hash{} })
	l.f.streams = nil
	f(false, func(*feed.Cursor) {})
}

// Logs of shown blocks are asked for together, at most every two and a half seconds; blocks
// without a hint before the first of them go out at once.
func TestGathersLogs(t *testing.T) {
	n, l := atShownHead(t)
	f := func(what string, to uint64, logs int) {
		t.Helper()
		before := n.calls["eth_getLogs"]
		if err := l.next(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if at := l.anchors()[0].Number; at != to || n.calls["eth_getLogs"]-before != logs {
			t.Errorf("%s: at block %d after %d requests for logs; want block %d after %d", what, at,
				n.calls["eth_getLogs"]-before, to, logs)
		}
	}

	l.mineShown(n, swapped(1))
	l.mineShown(n)
	f("a block with events and one without", 62, 1)
	due := l.clock.read().Add(gatherLogs)
	if !l.f.logsDue.Equal(due) || l.f.highestHead != 62 || l.last.Head.Number != 62 {
		t.Errorf("logs are due at %s; want %s; the head is %d", l.f.logsDue, due, l.f.highestHead)
	}
	l.mineShown(n)
	l.mineShown(n, swapped(1))
	l.mineShown(n)
	f("one without events before the next", 63, 0)
	f("before logs are due", 63, 0)
	if l.f.highestHead != 65 || l.last.Head.Number != 65 || !l.last.SpanConfirmed.IsZero() {
		t.Errorf("%+v, the highest head is %d; want 65", l.last, l.f.highestHead)
	}
	l.clock.advance(gatherLogs)
	l.mineShown(n)
	f("when they are due", 66, 1)
	l.same(n.fakeChain)
	if len(l.f.recheck) != 1 || l.f.recheck[0].from != 61 || l.f.recheck[0].to != 66 {
		t.Errorf("to be read again are %+v; want one range of blocks 61 to 66", l.f.recheck)
	}

	n.answer = func(method string, _ object) any {
		if method == "eth_getLogs" {
			return []object{}
		}
		return nil
	}
	for i := range maxDoubts {
		l.clock.advance(gatherLogs)
		l.mineShown(n, swapped(1))
		err := l.next()
		fails(t, "logs that are missing", err, "block 67: the block may hold events")
		if l.f.doubts != i+1 || l.last.Span != nil {
			t.Errorf("%d doubts after %d answers, span %+v", l.f.doubts, i+1, l.last.Span)
		}
	}
	l.f.due = time.Time{}
	f("by receipts", 69, 0)
	if l.f.doubts != 0 || !l.last.Proven {
		t.Errorf("%d doubts, proven: %t", l.f.doubts, l.last.Proven)
	}
	l.same(n.fakeChain)
}

// What was missing in blocks that were taken from logs alone has the ledger go back.
func TestShownBlocksThatLackEvents(t *testing.T) {
	n, l := atShownHead(t)
	l.mineShown(n, swapped(1))
	if err := l.next(); err != nil || len(l.f.recheck) != 1 {
		t.Fatalf("%v, to be read again are %+v", err, l.f.recheck)
	}
	l.f.recheck[0].digest, l.f.recheck[0].logs = 7, 0
	l.f.sources[0].sawHead(61, l.clock.read())
	l.clock.advance(firstAgain)
	l.f.shown.at, l.f.due = l.clock.read(), time.Time{}

	at := l.anchors()[1]
	if err := l.next(); err != nil || l.reverts != 1 || *l.last.RevertTo != at || l.f.Status().ShortAnswers != 1 {
		t.Errorf("%v, %+v; want it to go back to %+v", err, l.last, at)
	}
}

// Logs of shown blocks come from a source that has them; null is no answer.
func TestReadsShown(t *testing.T) {
	n, l := atShownHead(t)
	n.mine(swapped(1))
	walk := l.headersOf(n, 1)
	f := func(what, problem string, blocks int, answer any) {
		t.Helper()
		n.answer = func(method string, _ object) any {
			if method == "eth_getLogs" {
				return answer
			}
			return nil
		}
		got, known, err := l.f.readShown(t.Context(), walk)
		fails(t, what, err, problem)
		if len(got) != blocks || known != blocks {
			t.Errorf("%s: %d blocks of %d", what, len(got), known)
		}
	}

	f("the node's own", "", 1, nil)
	f("null", "logs of blocks 61 to 61: the node does not have it", 0, null{})
	f("refused", "eth_getLogs: ", 0, fail(-32000, "no"))
}
