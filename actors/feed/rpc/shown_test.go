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
		if problem == "in doubt" && !errors.Is(err, errInDoubt) {
			t.Errorf("%s: %v", what, err)
		}
	}

	f("all", "", 2, 3, func(_ []*wireHeader, logs []wireLog) []wireLog { return logs })
	f("those of the last block are missing", "", 1, 2, func(_ []*wireHeader, logs []wireLog) []wireLog { return logs[:1] })
	f("those of the first are missing", "block 5: the block may hold events", 0, 0, func(_ []*wireHeader, logs []wireLog) []wireLog {
		return logs[1:]
	})
	f("one without a block", "a log lacks its place", 0, 0, func(_ []*wireHeader, logs []wireLog) []wireLog {
		logs[1].Hash = nil
		return logs
	})
	f("one of another block", "which has logs, was not shown", 0, 0, func(_ []*wireHeader, logs []wireLog) []wireLog {
		logs[1].Hash = &word{1}
		return logs
	})
	f("one that is not whole", "it lacks its place", 0, 0, func(_ []*wireHeader, logs []wireLog) []wireLog {
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
	blocks, err := l.f.assembleBlock(walk[0], asWire[[]wireLog](t, c.blocks[5].logs))
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
