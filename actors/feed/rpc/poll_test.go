package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// Headers of blocks in a row follow each other, the ledger's head, and end at the head.
func TestWalkedHeaders(t *testing.T) {
	c := newChain(12)
	n := newNode(t, c)
	l := follow(t, nil, n)
	headers := l.headersOf(n, 12)
	f := func(what, problem string, from, to uint64, change func(at *market.Head, head *observedHead, answer object)) {
		t.Helper()
		at := headers[from-1].head()
		head := &observedHead{wireHeader: *headers[11], source: l.f.sources[0]}
		answer := n.block(fmt.Sprint(from)).(object)
		change(&at, head, answer)
		n.answer = func(_ string, o object) any {
			if b, ok := o["result"].(object); ok && b["number"] == hex(from) {
				return answer
			}
			return nil
		}

		walk, err := l.f.walkHeaders(t.Context(), l.f.sources[0], from, to, at, head)
		fails(t, what, err, problem)
		if err == nil && (uint64(len(walk.headers)) != to-from+1 || *walk.headers[0].Number != quantity(from) ||
			walk.headers[to-from].Hash != headers[to].Hash) {
			t.Errorf("%s: %d headers from block %d", what, len(walk.headers), *walk.headers[0].Number)
		}
	}
	same := func(*market.Head, *observedHead, object) {}

	f("up to the head", "", 8, 11, same)
	f("below the head", "", 8, 10, same)
	f("one below the head", "", 8, 8, same)
	f("the head alone", "", 11, 11, same)
	f("after a block of unknown hash", "", 8, 11,
		func(at *market.Head, _ *observedHead, _ object) { at.Hash = market.Hash{} })
	f("after another block", "block 8 follows "+c.blocks[7].hash.String()+", not 0x01", 8, 11,
		func(at *market.Head, _ *observedHead, _ object) { at.Hash = market.Hash{1} })
	f("up to another head", "block 11 is "+c.blocks[11].hash.String()+", the head was 0x02", 8, 11,
		func(_ *market.Head, head *observedHead, _ object) { head.Hash = word{2} })
	f("with a gap", "block 9 follows "+c.blocks[8].hash.String()+", not 0x03", 8, 11,
		func(_ *market.Head, _ *observedHead, answer object) { answer["hash"] = market.Hash{3}.String() })
	f("the head itself, elsewhere", "block 11 follows ", 11, 11,
		func(_ *market.Head, head *observedHead, _ object) { head.Parent = word{4} })
}

// A poll that fails is tried with half as many blocks, eight at last; one that succeeds has
// the next read four times as many.
func TestSizesOfPolls(t *testing.T) {
	c := newChain(700)
	n := newNode(t, c)
	l := follow(t, nil, n)
	poll := func(fails bool) (feed.Step, error) {
		n.answer = func(_ string, o object) any {
			if b, ok := o["result"].(object); ok && fails && b["number"] == hex(1) {
				return fail(-32000, "not now")
			}
			return nil
		}
		head := &observedHead{wireHeader: *l.headersOf(n, 1)[0], source: l.f.sources[0]}
		return l.f.pollBlocks(t.Context(), feed.Step{Head: head.head()}, head, market.Head{Hash: c.blocks[0].hash}, new(feed.Cursor))
	}

	for _, want := range []uint64{128, 64, 32, 16, 8, 8} {
		if _, err := poll(true); err == nil || l.f.pollSize != want {
			t.Errorf("%v: the next poll has %d blocks; want %d", err, l.f.pollSize, want)
		}
	}
	for i, want := range []uint64{8, 32, 64, 128, 256, 256} {
		if i == 1 {
			l.f.pollSize = want
		}
		step, err := poll(false)
		if next := min(4*max(want/2, leastWalk), maxWalk); err != nil || step.Span.To != want || l.f.pollSize != next {
			t.Errorf("%v: %+v, the next poll has %d blocks; want %d and %d", err, step.Span, l.f.pollSize, want, next)
		}
	}
}

// What is known of a poll goes out, up to the first block that is in doubt; of which the
// status tells.
func TestPollsUpToADoubt(t *testing.T) {
	c := busy(30)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 10)
	for i := range int64(20) {
		c.mine(swapped(i + 1))
	}
	doubtful := c.blocks[40].hash.String()
	n.answer = func(method string, o object) any {
		if params := fmt.Sprintf("%s", o["params"]); strings.Contains(params, doubtful) {
			if method == "eth_getLogs" {
				return []object{}
			}
			return null{}
		}
		return nil
	}

	if err := l.next(); err != nil || l.last.Span == nil || l.last.Span.To != 39 || !l.last.Proven {
		t.Fatalf("%v, %+v; want the blocks up to 39", err, l.last.Span)
	}
	if got := l.f.Status().LastError; !strings.Contains(got, "block 40: the block may hold events") {
		t.Errorf("the last error is %q", got)
	}
	if s := l.last; !s.SpanConfirmed.IsZero() || s.Head.Number != 49 {
		t.Errorf("%+v; want it not to confirm head 49", s)
	}
	err := l.next()
	fails(t, "a poll that begins with it", err, "cannot read chain 1: blocks 40 to 49: block 40: ")
	if got := l.f.Status().LastError; l.last.Span != nil || "cannot read chain 1: "+got != err.Error() {
		t.Errorf("%+v; the last error is %q", l.last.Span, got)
	}
	n.answer = nil
	l.to(c, 5)
}

// A head that no URL can follow is held against the one that showed it, if there are others.
func TestHeadsThatNobodyFollows(t *testing.T) {
	f := func(nodes int, rests bool) {
		t.Helper()
		c := newChain(20)
		var list []*fakeNode
		for range nodes {
			list = append(list, newNode(t, c))
		}
		l := follow(t, nil, list...)
		head := &observedHead{wireHeader: *l.headersOf(list[0], 1)[0], source: l.f.sources[0]}
		head.Hash = word{7}
		at := c.blocks[15]
		_, err := l.f.pollBlocks(t.Context(), feed.Step{}, head, market.Head{Number: 15, Hash: at.hash}, new(feed.Cursor))
		fails(t, "the poll", err, "blocks 16 to 19: rpc-1: block 19 is ")
		if got := l.f.sources[0].RestsUntil().After(l.clock.read()); got != rests {
			t.Errorf("of %d, the one that showed it rests: %t; want %t", nodes, got, rests)
		}
		if len(list) > 1 && l.f.sources[1].RestsUntil().After(l.clock.read()) {
			t.Error("the other rests")
		}
	}

	f(1, false)
	f(2, true)
}

// A poll that is given up says so, and holds nothing against the nodes.
func TestPollsThatAreGivenUp(t *testing.T) {
	c := busy(30)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 10)
	c.mine() // which is known when the poll is given up
	c.mine(swapped(1))
	ctx, cancel := context.WithCancel(t.Context())
	n.answer = func(method string, _ object) any {
		if method == "eth_getBlockReceipts" {
			cancel()
		}
		return nil
	}

	step, err := l.f.Next(ctx, feed.Cursor{Anchors: l.anchors()})
	if !errors.Is(err, context.Canceled) || step.Span != nil {
		t.Errorf("%v, %+v", err, step.Span)
	}
	if s := l.f.Status(); s.Errors != 0 || s.LastError != "" {
		t.Errorf("status %+v", s)
	}
}

// What a node merely does not have yet is the last error, and lets nobody rest; what fails
// does.
func TestErrorsOfSources(t *testing.T) {
	f := func(err error, last string, failures uint64) {
		t.Helper()
		l := follow(t, nil, newNode(t, newChain(3)))
		s := l.f.sources[0]
		if got := l.f.useSource(t.Context(), s, func(*source) error { return err }); got != err {
			t.Errorf("%v became %v", err, got)
		}
		status := l.f.Status()
		rests := s.RestsUntil().After(l.clock.read())
		if status.LastError != last || status.Errors != failures || rests != (failures > 0) {
			t.Errorf("%v: rests %t, status %+v; want %d failures and %q", err, rests, status, failures, last)
		}
		if named := status.Endpoint == "rpc-1"; named != (err == nil) {
			t.Errorf("%v: the endpoint that answered last is %q", err, status.Endpoint)
		}
	}

	f(nil, "", 0)
	f(absentError("block 7"), "rpc-1: block 7: the node does not have it", 0)
	f(movedError("block 7 moved"), "rpc-1: block 7 moved: the chain changed while it was read", 0)
	f(&endpoint.Error{Kind: endpoint.ServerError, Text: "gone"}, "rpc-1: gone", 1)
}

// Sources are tried in order until one answers. What none has is asked for three times.
func TestTriedSources(t *testing.T) {
	n := newNode(t, newChain(3))
	l := follow(t, nil, n, n)
	absent, failed := absentError("it"), errors.New("broken")
	f := func(want string, problem string, answers ...error) {
		t.Helper()
		for _, s := range l.f.sources {
			s.Succeeded()
			s.head.Store(0)
			s.health.failureRate = 0
		}
		l.clock.advance(time.Hour)
		var asked []string
		err := l.f.trySources(t.Context(), Live, 0, func(s *source) error {
			i := min(len(asked), len(answers)-1)
			asked = append(asked, s.Name[4:])
			return answers[i]
		})
		fails(t, want, err, problem)
		if got := strings.Join(asked, ""); got != want {
			t.Errorf("asked %s; want %s", got, want)
		}
	}

	f("1", "", nil)
	f("12", "", failed, nil)
	f("12", "rpc-1: broken; rpc-2: broken", failed)
	f("12", "rpc-1: broken; rpc-2: it", failed, absent)
	f("12", "rpc-1: it", absent, failed)
	f("121212", "rpc-1: it", absent)
	f("1212", "", absent, absent, absent, nil)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tries := 0
	err := l.f.trySources(ctx, Live, 0, func(*source) error { tries++; return ctx.Err() })
	if !errors.Is(err, context.Canceled) || tries > 1 {
		t.Errorf("given up: %v after %d tries", err, tries)
	}
}

// The source that likely has a block comes first, whatever the order of the others.
func TestNearestFirst(t *testing.T) {
	n := newNode(t, newChain(3))
	l := follow(t, nil, n, n, n)
	for i, head := range []uint64{5, 9, 7} {
		l.f.sources[i].head.Store(head)
	}
	f := func(need uint64, want ...string) {
		t.Helper()
		var got []string
		for _, s := range l.f.nearest(Live, need) {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("for block %d: %v; want %v", need, got, want)
		}
	}

	f(5, "rpc-1", "rpc-2", "rpc-3")
	f(6, "rpc-2", "rpc-3", "rpc-1")
	f(8, "rpc-2", "rpc-1", "rpc-3")
	f(10, "rpc-1", "rpc-2", "rpc-3")
}

// A source that failed is asked last until it has answered eight times.
func TestPoorSources(t *testing.T) {
	l := follow(t, nil, newNode(t, newChain(3)))
	s := l.f.sources[0]
	use := func(err error) {
		_ = l.f.useSource(t.Context(), s, func(*source) error { return err })
	}

	use(absentError("a block"))
	if s.health.isPoor() {
		t.Error("a source that lacks a block counts as one that fails")
	}
	use(errors.New("broken"))
	for i := range 9 {
		if poor := s.health.isPoor(); poor != (i < 8) {
			t.Errorf("after %d answers it counts as failing: %t", i, poor)
		}
		use(nil)
	}
}

// A source is asked which chain it is on once an hour, and again after it was on another one.
// On another chain it is asked for nothing else.
func TestChainOfASource(t *testing.T) {
	n := newNode(t, newChain(3))
	l := follow(t, nil, n)
	s := l.f.sources[0]
	f := func(wait time.Duration, problem string, asked int) {
		t.Helper()
		l.clock.advance(wait)
		before, used := n.calls["eth_chainId"], false
		err := l.f.useSource(t.Context(), s, func(*source) error { used = true; return nil })
		fails(t, "the source", err, problem)
		if got := n.calls["eth_chainId"] - before; got != asked || used != (problem == "") {
			t.Errorf("after %s it was asked for its chain %d times, and used: %t; want %d times", wait, got, used, asked)
		}
	}

	f(0, "", 1)
	f(recheckChain-time.Second, "", 0)
	f(time.Second, "", 1)
	n.id = 9
	f(time.Second, "", 0)
	s.checked.Store(0)
	f(time.Second, "the node is on chain 9; want 1", 1)
	s.checked.Store(l.clock.read().Unix())
	l.f.noteFailure(s, &endpoint.Error{Kind: endpoint.WrongChain})
	f(time.Hour, "the node is on chain 9; want 1", 1)
	n.id = 1
	f(time.Minute, "", 1)
}

// Headers that a source says it does not have are asked for three times, and only those.
func TestHeadersThatComeLate(t *testing.T) {
	f := func(absent, asked int, problem string) {
		t.Helper()
		n := newNode(t, newChain(9))
		l := follow(t, nil, n)
		n.answer = func(_ string, o object) any {
			if b, ok := o["result"].(object); ok && b["number"] == "0x5" && absent > 0 {
				absent--
				return null{}
			}
			return nil
		}
		headers, err := l.f.sources[0].readHeaders(t.Context(), []uint64{4, 5, 6})
		fails(t, "headers", err, problem)
		if got := n.calls["eth_getBlockByNumber"]; got != asked {
			t.Errorf("%d headers were asked for; want %d", got, asked)
		}
		for i, h := range headers {
			if uint64(*h.Number) != uint64(i+4) {
				t.Errorf("header %d is of block %d", i, *h.Number)
			}
		}
	}

	f(0, 3, "")
	f(1, 4, "")
	f(2, 5, "")
	f(3, 5, "block 5: the node does not have it")
}
