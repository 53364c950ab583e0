package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// Receipts explain a block's bloom filter if they set its bits, all of them and no other, and
// there is one of every transaction.
func TestCompleteByBloom(t *testing.T) {
	c := newChain(5)
	n := newNode(t, c)
	c.mine(append(minted(8), swapped(1))...)
	l := follow(t, nil, n)
	f := func(what string, want bool, change func(h *wireHeader, receipts []wireReceipt) []wireReceipt) {
		t.Helper()
		h := l.headersOf(n, 1)[0]
		receipts := change(h, asWire[[]wireReceipt](t, c.head().receipts))
		if got := completeByBloom(h, receipts); got != want {
			t.Errorf("%s: complete: %t; want %t", what, got, want)
		}
	}
	of := func(change func(h *wireHeader)) func(*wireHeader, []wireReceipt) []wireReceipt {
		return func(h *wireHeader, r []wireReceipt) []wireReceipt { change(h); return r }
	}

	f("all", true, of(func(*wireHeader) {}))
	f("no filter", false, of(func(h *wireHeader) { h.Bloom = nil }))
	f("a short filter", false, of(func(h *wireHeader) { *h.Bloom = (*h.Bloom)[1:] }))
	f("no transactions", false, of(func(h *wireHeader) { h.Txs = nil }))
	f("one more transaction", false, of(func(h *wireHeader) { *h.Txs = append(*h.Txs, word{}) }))
	f("one more bit", false, of(func(h *wireHeader) { (*h.Bloom)[0]++ }))
	f("a receipt less", false, func(h *wireHeader, r []wireReceipt) []wireReceipt {
		*h.Txs = (*h.Txs)[1:]
		return r[1:]
	})
	f("a log less", false, func(_ *wireHeader, r []wireReceipt) []wireReceipt { r[0].Logs = nil; return r })
}

// A source keeps bloom filters once a header of it had a bit in one. Only then an empty one
// excludes events.
func TestSourcesWithBlooms(t *testing.T) {
	c := newChain(3)
	n := newNode(t, c)
	c.mine(swapped(1))
	l := follow(t, nil, n)
	s := l.f.sources[0]
	f := func(number uint64, want bool) {
		t.Helper()
		headers, err := s.readHeaders(t.Context(), []uint64{number})
		if err != nil || s.blooms.Load() != want {
			t.Errorf("after block %d: %v, it has filters: %t; want %t", number, err, s.blooms.Load(), want)
		}
		headers[0].ReceiptsRoot = word{1}
		if got := l.f.mayHold(s, headers[0]); got != (number == 3 || !want) {
			t.Errorf("block %d may hold events: %t", number, got)
		}
		headers[0].ReceiptsRoot = emptyRoot
		if l.f.mayHold(s, headers[0]) {
			t.Errorf("block %d without transactions may hold events", number)
		}
	}

	f(2, false)
	f(3, true)
	f(2, true)
	s = new(source)
	if s.noteHeader(&wireHeader{}); s.blooms.Load() {
		t.Error("a header without a filter has bits in it")
	}
}

// Logs of a block without receipts count as proven when every source that answers has given
// the same three times, and not while one gives fewer.
func TestAgreedLogs(t *testing.T) {
	f := func(what string, want []bool, change func(nodes []*fakeNode)) {
		t.Helper()
		c := busy(30)
		c.mine(swapped(1), swapped(2))
		nodes := []*fakeNode{newNode(t, c), newNode(t, c), newNode(t, c)}
		l := follow(t, nil, nodes...)
		h := l.headersOf(nodes[0], 1)[0]
		change(nodes)
		for i, proven := range want {
			if err := l.f.readLogs(t.Context(), h); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			b := l.f.proofs.blocks[h.Hash]
			if b.proven != proven || b.number != 30 || len(b.events) != 1 || len(b.events[0].Logs) != 2 {
				t.Errorf("%s, answer %d: %+v; want two events, proven: %t", what, i, b, proven)
			}
			l.clock.advance(time.Minute) // whoever failed rests no longer
		}
	}
	short := func(n *fakeNode) {
		n.answer = func(method string, o object) any {
			if logs, ok := o["result"].([]object); ok && method == "eth_getLogs" {
				return logs[:1]
			}
			return nil
		}
	}

	f("all alike", []bool{false, false, true, true}, func([]*fakeNode) {})
	f("one fails", []bool{false, false, true}, func(n []*fakeNode) { n[1].status = http.StatusBadGateway })
	f("one has none", []bool{false, false, true}, func(n []*fakeNode) {
		n[2].answer = func(method string, _ object) any {
			if method == "eth_getLogs" {
				return null{}
			}
			return nil
		}
	})
	f("the first is short", []bool{false, false, false, false}, func(n []*fakeNode) { short(n[0]) })
	f("the last is short", []bool{false, false, false, false}, func(n []*fakeNode) { short(n[2]) })
}

// A block stays in doubt while nobody answers, what is answered does not explain its filter, or
// is not of the block.
func TestLogsInDoubt(t *testing.T) {
	f := func(what, problem string, change func(n *fakeNode, logs []object) any) {
		t.Helper()
		c := busy(30)
		c.mine(swapped(1))
		n := newNode(t, c)
		l := follow(t, nil, n)
		h := l.headersOf(n, 1)[0]
		n.answer = func(method string, o object) any {
			if logs, ok := o["result"].([]object); ok && method == "eth_getLogs" {
				return change(n, logs)
			}
			return nil
		}
		fails(t, what, l.f.readLogs(t.Context(), h), problem)
		if _, kept := l.f.proofs.blocks[h.Hash]; kept {
			t.Errorf("%s: its events are kept", what)
		}
	}

	f("refused", "block 30 may hold events: rpc-1: ", func(*fakeNode, []object) any { return fail(-32000, "no") })
	f("null", "block 30 may hold events: rpc-1: logs of the block: the node does not have it",
		func(*fakeNode, []object) any { return null{} })
	f("none", "block 30: the block may hold events that no node shows",
		func(*fakeNode, []object) any { return []object{} })
	f("of another block", "only blocks 30 to 30 were asked for", func(_ *fakeNode, logs []object) any {
		logs[0]["blockNumber"] = "0x1"
		return logs
	})

	c := busy(30)
	c.mine(swapped(1))
	n := newNode(t, c)
	l := follow(t, nil, n)
	h := l.headersOf(n, 1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.f.readLogs(ctx, h); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// Receipts come one by one from a node that does not know those of a block, all of them.
func TestReceiptsOneByOne(t *testing.T) {
	c := busy(5)
	c.mine(append(minted(8), swapped(1), swapped(2))...)
	n := newNode(t, c)
	f := func(what, problem string, answer func(method string, receipt any) any) {
		t.Helper()
		l := follow(t, nil, n)
		h := l.headersOf(n, 1)[0]
		n.answer = func(method string, o object) any { return answer(method, o["result"]) }
		left, err := l.f.readReceipts(t.Context(), l.f.sources[0], []*wireHeader{h})
		fails(t, what, err, problem)
		if (len(left) == 0) != (problem == "") || len(left) == 1 && left[0] != h {
			t.Errorf("%s: %d blocks are left", what, len(left))
		}
	}
	unknown := fail(-32601, "the method does not exist")

	f("all", "", func(method string, _ any) any {
		if method == "eth_getBlockReceipts" {
			return unknown
		}
		return nil
	})
	f("neither", "eth_getTransactionReceipt: ", func(string, any) any { return unknown })
	f("one is missing", "receipt of "+c.head().logs[1]["transactionHash"].(string)+": the node does not have it",
		func(method string, r any) any {
			receipt, single := r.(object)
			switch {
			case method == "eth_getBlockReceipts":
				return unknown
			case single && receipt["transactionIndex"] == "0x0":
				return null{}
			}
			return nil
		})
	f("not there yet", "receipts of block 5: the node does not have it", func(string, any) any { return null{} })
}

// Of several blocks those are left whose receipts are missing, for the next source.
func TestBlocksWhoseReceiptsAreLeft(t *testing.T) {
	c := busy(3)
	for i := range int64(3) {
		c.mine(swapped(i + 1))
	}
	first, second := newNode(t, c), newNode(t, c)
	l := follow(t, nil, first, second)
	headers := l.headersOf(first, 3)
	hidden := c.blocks[4].hash.String()
	first.answer = func(method string, o object) any {
		if method == "eth_getBlockReceipts" && fmt.Sprintf("%s", o["params"]) == fmt.Sprintf("[%q]", hidden) {
			return null{}
		}
		return nil
	}
	left, err := l.f.readReceipts(t.Context(), l.f.sources[0], headers)
	if !isAbsent(err) || !slices.Equal(left, headers[1:2]) || len(l.f.proofs.blocks) != 2 {
		t.Errorf("%v, %d blocks are left, %d known; want the second left", err, len(left), len(l.f.proofs.blocks))
	}

	l.f.proofs = proofs{}
	before := second.calls["eth_getBlockReceipts"]
	if err := l.f.proveBlocks(t.Context(), headers); err != nil || len(l.f.proofs.blocks) != 3 {
		t.Errorf("%v, %d blocks are known", err, len(l.f.proofs.blocks))
	}
	if got := second.calls["eth_getBlockReceipts"] - before; got != 1 {
		t.Errorf("the second was asked for the receipts of %d blocks; want those of one", got)
	}
}

// Blocks are proven together if each of them is.
func TestProvenTogether(t *testing.T) {
	n := newNode(t, newChain(3))
	l := follow(t, nil, n)
	f := func(want bool, proven ...bool) {
		t.Helper()
		walk := &headerWalk{source: l.f.sources[0]}
		for i, known := range proven {
			h := wireHeaderOf(uint64(i), byte(i+1), byte(i))
			walk.headers = append(walk.headers, h)
			l.f.proofs.put(h, provenBlock{events: make([]rawBlock, 1), proven: known})
		}
		blocks, got, err := l.f.readBlocks(t.Context(), walk)
		if err != nil || got != want || len(blocks) != len(proven) {
			t.Errorf("%v: %d blocks, proven: %t, %v; want %t", proven, len(blocks), got, err, want)
		}
	}

	f(true)
	f(true, true, true)
	f(false, false, true)
	f(false, true, false)
	f(false, true, false, true)
}

// Proofs are kept until their span is complete, and no more than two polls of them.
func TestKeptProofs(t *testing.T) {
	var p proofs
	for i := range uint64(maxProofs) {
		p.put(wireHeaderOf(i, 0, 0), provenBlock{})
		h := wireHeaderOf(i, 0, 0)
		h.Hash = word{1, byte(i), byte(i >> 8)}
		p.put(h, provenBlock{proven: true})
		if got := uint64(len(p.blocks)); got != min(i+2, maxProofs) && i < maxProofs-1 {
			t.Fatalf("after %d blocks %d are kept", i+2, got)
		}
	}
	if got := len(p.blocks); got > 2 {
		t.Errorf("%d are kept after too many", got)
	}

	p = proofs{agreed: map[word]int{{1}: 2}}
	for i := range uint64(5) {
		p.put(wireHeaderOf(i, byte(i+1), 0), provenBlock{})
	}
	if p.forget(2, true); len(p.blocks) != 2 || p.blocks[word{4}].number != 3 || len(p.agreed) != 1 {
		t.Errorf("after block 2, which the ledger refuses, %+v are kept, agreed on %v", p.blocks, p.agreed)
	}
	if p.forget(4, false); len(p.blocks) != 0 || p.agreed != nil {
		t.Errorf("after block 4 %+v are kept, agreed on %v", p.blocks, p.agreed)
	}
}

// Gas that was asked for and given up is no gas that is missing.
func TestReceiptsThatAreGivenUp(t *testing.T) {
	c := busy(5)
	n := newNode(t, c)
	c.mine(minted(8)...)
	l := follow(t, nil, n)
	blocks, err := l.f.assembleBlock(l.headersOf(n, 1)[0], asWire[[]wireLog](t, c.head().logs), false)
	if err != nil {
		t.Fatal(err)
	}
	n.answer = func(method string, _ object) any {
		if method == "eth_chainId" {
			return nil
		}
		return null{}
	}

	absent := patience
	ctx, cancel := context.WithCancel(t.Context())
	l.f.sources[0].checked.Store(l.clock.read().Unix())
	old := n.answer
	n.answer = func(method string, o object) any {
		if n.calls["eth_getTransactionReceipt"] == absentTries {
			cancel()
		}
		return old(method, o)
	}
	if err := l.f.fetchReceipts(ctx, blocks, 5, &absent, true); err == nil || absent != patience || l.f.m.noReceipts.Get() != 0 {
		t.Errorf("given up: %v, %d times absent, %d without gas", err, absent, l.f.m.noReceipts.Get())
	}
	n.answer = old
	f := func(problem string, wantAbsent int, without uint64) {
		t.Helper()
		fails(t, "missing receipts", l.f.fetchReceipts(t.Context(), blocks, 5, &absent, true), problem)
		if got := l.f.m.noReceipts.Get(); absent != wantAbsent || got != without {
			t.Errorf("%d times absent, %d without gas; want %d, %d", absent, got, wantAbsent, without)
		}
	}
	missing := "receipt of " + blocks[0].Txs[0].Hash.String() + ": the node does not have it"
	f("", 0, 1)

	// Those of the next span of history are asked for once more only, at the head as before.
	late := prunedPatience
	fails(t, "late receipts", l.f.fetchReceipts(t.Context(), blocks, 5, &late, false), missing)
	f(missing, 1, 1)
	n.status = http.StatusBadGateway
	f("502", 1, 1)
	n.status = 0
	f("", 0, 2)
	if blocks[0].Txs[0].GasKnown {
		t.Error("gas that no node has is known")
	}
}
