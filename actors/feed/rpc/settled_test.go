package rpc

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

// Blocks are read by ranges below the newest settled one and what every backend has, not
// near the head, nor where the ledger was told too little.
func TestReadByRanges(t *testing.T) {
	l, now := still(t)
	f := func(want bool, from uint64, change func(f *Feed)) {
		t.Helper()
		l.settled = settledBlocks{until: 500, known: true}
		l.singlyBelow, l.sources[0].lows = 0, lowest{now: 600, before: 600, since: *now}
		change(l)
		head := &observedHead{wireHeader: *wireHeaderOf(530, 1, 1)}
		if got := l.isFar(head, from); got != want {
			t.Errorf("from block %d, %+v, one by one below %d, lowest head %d: by ranges: %t; want %t",
				from, l.settled, l.singlyBelow, l.sources[0].lows.get(), got, want)
		}
		at := market.Head{Number: from - 1, Hash: market.Hash{1}}
		l.dropAhead()
		l.ahead = l.newAhead(at)
		if got := l.isAhead(head, at); got != want {
			t.Errorf("from block %d: it was read ahead: %t; want %t", from, got, want)
		}
	}
	lowestHead := func(n uint64) func(*Feed) {
		return func(f *Feed) { f.sources[0].lows = lowest{now: n, before: n, since: *now} }
	}

	f(true, 1, func(*Feed) {})
	f(true, 466, func(*Feed) {})
	f(false, 467, func(*Feed) {}) // nearGap under the head
	f(true, 300, func(f *Feed) { f.settled.until = 300 })
	f(false, 301, func(f *Feed) { f.settled.until = 300 })
	f(true, 300, lowestHead(300))
	f(false, 301, lowestHead(300))
	f(false, 1, lowestHead(0)) // none was seen
	f(true, 300, func(f *Feed) { f.singlyBelow = 300 })
	f(false, 299, func(f *Feed) { f.singlyBelow = 300 })
	f(false, 1, func(f *Feed) { f.settled.known = false })
}

// What is read ahead follows the ledger's head only, by its number and hash.
func TestIsAhead(t *testing.T) {
	l, now := still(t)
	l.settled = settledBlocks{until: 900, known: true}
	l.sources[0].lows = lowest{now: 900, before: 900, since: *now}
	head := &observedHead{wireHeader: *wireHeaderOf(1000, 1, 1)}
	f := func(want bool, at market.Head) {
		t.Helper()
		if got := l.isAhead(head, at); got != want {
			t.Errorf("after %+v: %t; want %t", at, got, want)
		}
	}
	at := market.Head{Number: 100, Hash: market.Hash{1}}

	f(false, at) // nothing is read ahead
	l.ahead = l.newAhead(at)
	f(true, at)
	f(false, market.Head{Number: 101, Hash: market.Hash{1}})
	f(false, market.Head{Number: 100, Hash: market.Hash{2}})
	l.ahead.after.Hash = market.Hash{}
	f(false, market.Head{Number: 100})
	above := market.Head{Number: 1001, Hash: market.Hash{1}}
	l.ahead.after, l.settled.until, l.sources[0].lows.now, l.sources[0].lows.before = above, 2000, 2000, 2000
	f(false, above) // the head fell below the ledger
}

// Ranges end at the highest of what the URLs have for sure, and at the settled block.
func TestRangesEnd(t *testing.T) {
	n := newNode(t, newChain(3))
	l := follow(t, nil, n, n, n)
	f := func(want, settled uint64, lows ...uint64) {
		t.Helper()
		l.f.settled.until = settled
		for i, low := range lows {
			l.f.sources[i].lows = lowest{now: low, before: low}
		}
		if got := l.f.rangesEnd(); got != want {
			t.Errorf("lowest heads %v, settled %d: %d; want %d", lows, settled, got, want)
		}
	}

	f(0, 500, 0, 0, 0)
	f(300, 500, 200, 300, 100)
	f(300, 500, 0, 300, 0)
	f(250, 250, 200, 300, 100)
}

// A range is final far enough below the head, unless it is so recent that a backend may lack
// it; then it is read again, and the ledger can take it back until it was.
func TestFinalRanges(t *testing.T) {
	c := newChain(600)
	l := follow(t, nil, newNode(t, c))
	l.start = 44
	l.to(c, 60)
	for _, s := range l.spans {
		if want := s.To <= 599-market.UndoBlocks; s.Final != want {
			t.Errorf("blocks %d to %d under head 599: final %t; want %t", s.From, s.To, s.Final, want)
		}
	}
	if s := l.spans[2]; s.To != 599-market.UndoBlocks {
		t.Errorf("the third span ends at %d; want %d", s.To, 599-market.UndoBlocks)
	}
	if got := l.last.Finalized; got != 443 {
		t.Errorf("all is final up to block %d; want 443, below what is read again", got)
	}
	if r := l.f.recheck; len(r) != 1 || r[0].from != 444 || r[0].to != 543 {
		t.Errorf("to be read again are %+v; want the one range of the last half an hour", r)
	}

	fast := &fakeChain{fast: true}
	for range 600 {
		fast.mine()
	}
	l = follow(t, nil, newNode(t, fast))
	l.start = 44
	for i := range 3 {
		if err := l.next(); err != nil {
			t.Fatal(err)
		}
		s := l.last.Span
		if s.Final || len(l.f.recheck) != i+1 || l.last.Finalized != 43 {
			t.Errorf("blocks %d to %d of the last minutes: final %t, %d to be read again, all is final below %d",
				s.From, s.To, s.Final, len(l.f.recheck), l.last.Finalized)
		}
	}
}

// The newest settled block is the finalized one, or where a node has no such tag one that is
// deep enough, if there is one.
func TestSettledBlock(t *testing.T) {
	n := newNode(t, newChain(3))
	l := follow(t, nil, n)
	f := func(head, until uint64, known bool, answer any) {
		t.Helper()
		n.answer = func(string, object) any { return answer }
		l.f.sources[0].checked.Store(l.clock.read().Unix())
		err := l.f.findSettled(t.Context(), &observedHead{wireHeader: *wireHeaderOf(head, 1, 1)})
		if s := l.f.settled; err != nil || s.until != until || s.known != known || l.f.Finalized() != until ||
			!s.at.Equal(l.clock.read()) {
			t.Errorf("under head %d with the answer %v: %+v, %v; want block %d, %t", head, answer, s, err, until, known)
		}
		l.clock.advance(time.Second)
	}

	f(500, 400, true, object{"number": "0x190"})
	f(500, 500, true, object{"number": "0x1f4"})
	f(500, 500, true, object{"number": "0x1f5"}) // of another backend than the head
	f(500, 500-market.UndoBlocks, true, fail(-39001, "Unknown block"))
	f(500, 500-market.UndoBlocks, true, null{})
	f(500, 500-market.UndoBlocks, true, object{})
	f(market.UndoBlocks, 0, true, null{})
	f(market.UndoBlocks-1, 0, false, null{})

	// What one source says is of no use once it turned out to be broken.
	n.answer = func(string, object) any { return object{"number": "0x190", "hash": 7} }
	other := newNode(t, n.fakeChain)
	other.finalized = -1
	both := follow(t, nil, n, other)
	both.f.sources[0].checked.Store(l.clock.read().Unix())
	err := both.f.findSettled(t.Context(), &observedHead{wireHeader: *wireHeaderOf(500, 1, 1)})
	if err != nil || both.f.settled.until != 500-market.UndoBlocks {
		t.Errorf("%v, %+v; want block %d", err, both.f.settled, 500-market.UndoBlocks)
	}

	n.status = http.StatusBadGateway
	err = l.f.findSettled(t.Context(), &observedHead{wireHeader: *wireHeaderOf(9, 1, 1)})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot read the finalized block: ") {
		t.Errorf("a node that fails: %v", err)
	}
}

// While the ledger is far behind, a head is good for ten seconds, and the finalized block for
// thirty.
func TestKeptHeads(t *testing.T) {
	c := newChain(500)
	n := newNode(t, c)
	l := follow(t, nil, n)
	head := func(at uint64) (heads, finals int) {
		t.Helper()
		before, asked := n.calls["eth_getBlockByNumber"], strings.Count(fmt.Sprint(n.params), "finalized")
		h, err := l.f.headFor(t.Context(), market.Head{Number: at})
		if err != nil || *h.Number != 499 {
			t.Fatalf("head %+v, %v", h, err)
		}
		finals = strings.Count(fmt.Sprint(n.params), "finalized") - asked
		return n.calls["eth_getBlockByNumber"] - before - finals, finals
	}
	f := func(what string, at uint64, wait time.Duration, heads, finals int) {
		t.Helper()
		l.clock.advance(wait)
		if h, s := head(at); h != heads || s != finals {
			t.Errorf("%s: %d heads and %d finalized blocks are asked for; want %d and %d", what, h, s, heads, finals)
		}
	}

	f("at first", 0, 0, 1, 1)
	f("far behind", 0, headKept-1, 0, 0)
	f("at the last settled block", 466, 0, 1, 0)
	f("nine seconds later", 434, headKept-1, 0, 0)
	f("near the head", 435, 0, 1, 0)
	f("ten seconds later", 0, headKept, 1, 0)
	f("after half a minute", 0, finalizedKept, 1, 1)
	l.f.settled.known = false
	f("without a settled block", 0, 0, 1, 0)

	l.f.settled.known, l.f.settled.until = true, 100
	f("before the last settled block", 99, 0, 0, 0)
	f("at the settled block", 100, 0, 1, 0)
}

// A probe tells of the source that it asked, and nothing where that fails.
func TestHeadsOfBackends(t *testing.T) {
	c := newChain(5)
	down, up, odd := newNode(t, c), newNode(t, c), newNode(t, c)
	l := follow(t, nil, down, up, odd)
	l.f.highestHead = 4
	down.status = http.StatusBadGateway
	odd.answer = func(string, object) any { return "0x" }
	l.f.sources[2].sawHead(3, l.clock.read())

	l.f.probeBackends(t.Context())
	if got := fmt.Sprint(l.f.sources[0].lows.get(), l.f.sources[1].lows.get(), l.f.sources[2].lows.get()); got != "0 4 3" {
		t.Errorf("the lowest heads are %s; want none of the one that is down, 4, and 3 as it was", got)
	}
	if l.f.failures != 0 || !l.f.sources[0].RestsUntil().Before(l.clock.read()) {
		t.Error("a probe that fails counts as a failure")
	}
}

// Blocks that a probe shows to be missing somewhere are read one by one, in the same call.
// A range that no node answers is an error that names its first block.
func TestRangesThatABackendLacks(t *testing.T) {
	c := newChain(400)
	n := newNode(t, c)
	n.answer = func(method string, _ object) any {
		if method == "eth_blockNumber" {
			return hex(9)
		}
		return nil
	}
	l := follow(t, nil, n)
	head, err := l.f.headFor(t.Context(), market.Head{})
	if err != nil {
		t.Fatal(err)
	}

	step, err := l.f.backfillRange(t.Context(), feed.Step{Head: head.head()}, head, market.Head{Number: 9}, new(feed.Cursor))
	if err != nil || step.Span == nil || step.Span.From != 10 || step.Span.To != 9+maxWalk || n.calls["eth_getLogs"] != 0 {
		t.Errorf("%+v, %v, logs were asked for %d times", step.Span, err, n.calls["eth_getLogs"])
	}

	n.answer = func(method string, _ object) any {
		if method == "eth_getLogs" {
			return fail(-32000, "unknown block")
		}
		return nil
	}
	l.clock.advance(probeEvery)
	l.f.sources[0].lows = lowest{}
	step, err = l.f.backfillRange(t.Context(), feed.Step{Head: head.head()}, head, market.Head{Number: 9}, new(feed.Cursor))
	if step.Span != nil || err == nil || !strings.HasPrefix(err.Error(), "blocks from 10: rpc-1: blocks 10 to 109: ") {
		t.Errorf("%+v, %v", step.Span, err)
	}
}

// A range has as many blocks as its source takes, and what was read of it is kept for a minute.
func TestReadsPieces(t *testing.T) {
	c := newChain(400)
	n := newNode(t, c)
	l := follow(t, nil, n)
	f := func(what, problem string, p *piece, to uint64, asked int) {
		t.Helper()
		before := n.calls["eth_getLogs"]
		fails(t, what, l.f.readPiece(t.Context(), p), problem)
		if (p.read == nil) != (problem != "") || p.read != nil && (p.read.from != 10 || p.read.to != to) {
			t.Errorf("%s: read %+v; want blocks 10 to %d", what, p.read, to)
		}
		if got := n.calls["eth_getLogs"] - before; got != asked {
			t.Errorf("%s: logs were asked for %d times; want %d", what, got, asked)
		}
	}

	far := uint64(1000) // the chain's head
	p := &piece{from: 10, to: 300, top: far}
	f("a long range", "", p, 109, 1)
	l.clock.advance(partialKept)
	f("within a minute", "", p, 109, 0)
	l.clock.advance(1)
	f("after a minute", "", p, 109, 1)
	f("a short range", "", &piece{from: 10, to: 10, top: far}, 10, 1)
	f("the last range that cannot be replaced", "", &piece{from: 10, to: 12, top: 12 + market.UndoBlocks}, 12, 1)
	f("one that can", "", &piece{from: 10, to: 12, top: 11 + market.UndoBlocks}, 12, 2)

	n.answer = func(method string, _ object) any {
		if method == "eth_getLogs" {
			return null{}
		}
		return nil
	}
	l.clock.advance(partialKept + 1)
	f("no logs", "logs of blocks 10 to 109: the node does not have it", p, 0, absentTries)
}

// A piece whose logs were read becomes a span once it has its times, its gas and its tokens. What
// is of another chain than its headers is read again.
func TestCompletesPieces(t *testing.T) {
	c := busy(40)
	c.mine(append(minted(8), created(token))...)
	n := newNode(t, c)
	l := follow(t, nil, n)
	f := func(what, problem string, again bool, change func(p *piece) func(method string, o object) any) {
		t.Helper()
		p := &piece{from: 5, to: 40, read: l.readRangeOf(5, 40)}
		n.answer = change(p)
		fails(t, what, l.f.completePiece(t.Context(), p), problem)
		n.answer = nil
		if (p.span != nil) != (problem == "") || (p.read == nil) != again {
			t.Errorf("%s: span %+v, to be read again: %t; want %t", what, p.span, p.read == nil, again)
		}
		if s := p.span; s != nil && (s.From != 5 || s.To != 40 || s.Parent != c.blocks[4].hash || s.Hash != c.head().hash ||
			s.Time != c.head().time || len(s.Tokens) != 2 || !s.Blocks[len(s.Blocks)-1].Txs[0].GasKnown ||
			s.Blocks[0].Time != c.blocks[7].time) {
			t.Errorf("%s: %+v", what, s)
		}
		l.clock.advance(time.Minute)
	}
	refused := func(name string) func(*piece) func(string, object) any {
		return func(*piece) func(string, object) any {
			return func(method string, _ object) any {
				if method == name {
					return fail(-32000, "upstream is gone")
				}
				return nil
			}
		}
	}

	f("no headers", "cannot date blocks 5 to 40: ", false, refused("eth_getBlockByNumber"))
	f("no gas", "cannot read receipts: ", false, func(*piece) func(string, object) any {
		return func(method string, _ object) any {
			if method == "eth_getTransactionReceipt" || method == "eth_getBlockReceipts" {
				return null{}
			}
			return nil
		}
	})
	f("no tokens", "(and no node answers eth_call: ", false, refused("eth_call"))
	f("other blocks", "the chain changed", true, func(p *piece) func(string, object) any {
		p.read.blocks[0].hash = word{1}
		return nil
	})
	f("all", "", false, func(*piece) func(string, object) any {
		return func(method string, _ object) any {
			if method == "eth_call" {
				return number(6).String()
			}
			return nil
		}
	})
}
