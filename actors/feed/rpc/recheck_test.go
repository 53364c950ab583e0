package rpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/rankings/market"
)

// A range is read again after ten seconds, and after three minutes for the last time, once its
// blocks are settled; until an answer is the same, soon once more.
func TestReadingsInTurn(t *testing.T) {
	c := newChain(1)
	for range 60 {
		c.mine(swapped(1))
	}
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.f.settled = settledBlocks{until: 19, known: true}
	read := l.readRangeOf(10, 20)
	l.f.keepReading(10, 20, read.blocks, read.source)
	f := func(what string, wait time.Duration, asked bool, left int, last bool, due time.Duration) {
		t.Helper()
		l.clock.advance(wait)
		before := n.calls["eth_getLogs"]
		if on := l.f.readAgain(t.Context(), nil); on != 0 || (n.calls["eth_getLogs"] > before) != asked {
			t.Errorf("%s: anchor %d, asked %t; want %t", what, on, n.calls["eth_getLogs"] > before, asked)
		}
		if len(l.f.recheck) != left {
			t.Errorf("%s: %d ranges are left; want %d", what, len(l.f.recheck), left)
		} else if left > 0 && (l.f.recheck[0].last != last || l.f.recheck[0].due.Sub(l.clock.read()) != due) {
			t.Errorf("%s: %+v; want it to be due in %s, for the last time: %t", what, l.f.recheck[0], due, last)
		}
	}

	f("before it is due", firstAgain-1, false, 1, false, 1)
	n.answer = func(method string, _ object) any {
		if method == "eth_getLogs" {
			return fail(-32000, "not now")
		}
		return nil
	}
	f("a node that refuses", 1, true, 1, false, firstAgain)
	if got := l.f.Status().LastError; !strings.HasPrefix(got, "cannot read blocks 10 to 20 again: rpc-1: ") {
		t.Errorf("the last error is %q", got)
	}
	short := func(method string, o object) any {
		if logs, ok := o["result"].([]object); ok && method == "eth_getLogs" {
			return logs[1:]
		}
		return nil
	}
	n.answer = short
	f("an answer with less", firstAgain, true, 1, false, firstAgain)
	n.answer = nil
	f("the same answer", firstAgain, true, 1, true, lastAgain)
	f("before the last time", lastAgain-1, false, 1, true, 1)
	f("before its blocks are settled", 1, false, 1, true, 0)
	l.f.settled.until = 20
	n.answer = short
	f("an answer with less, the last time", 0, true, 1, true, firstAgain)
	n.answer = nil
	f("the last time", firstAgain, true, 0, false, 0)
	f("none is left", time.Hour, false, 0, false, 0)
}

// What identifies the events of blocks changes with each of them, and with their place.
func TestDigest(t *testing.T) {
	c := newChain(1)
	c.mine(swapped(1), swapped(2))
	c.mine(swapped(3))
	l := follow(t, nil, newNode(t, c))
	blocks := func() []rawBlock { return l.readRangeOf(1, 2).blocks }
	logs, sum := digest(blocks())
	if again, same := digest(blocks()); logs != 3 || again != 3 || same != sum {
		t.Errorf("%d logs and %d, %d and %d; want 3 and the same", logs, again, sum, same)
	}

	for i, change := range []func(b []rawBlock) []rawBlock{
		func(b []rawBlock) []rawBlock { return b[:1] },
		func(b []rawBlock) []rawBlock { b[1].Number++; return b },
		func(b []rawBlock) []rawBlock { b[1].hash = word{1}; return b },
		func(b []rawBlock) []rawBlock { b[0].Logs[1].Index++; return b },
		func(b []rawBlock) []rawBlock { b[0].Logs[1].Tx = 0; return b },
		func(b []rawBlock) []rawBlock { b[0].Txs[1].Hash = market.Hash{1}; return b },
		func(b []rawBlock) []rawBlock { b[0].Logs[1].Event = b[0].Logs[0].Event; return b },
		func(b []rawBlock) []rawBlock { b[0].Logs = b[0].Logs[:1]; return b },
	} {
		if _, other := digest(change(blocks())); other == sum {
			t.Errorf("change %d is not seen", i)
		}
	}
}

// Only so many ranges wait to be read again; the oldest is forgotten first.
func TestMostReadings(t *testing.T) {
	l, now := still(t)
	for i := range uint64(maxReadings + 2) {
		l.keepReading(i, i+1, nil, l.sources[0])
	}
	first, newest := l.recheck[0], l.recheck[len(l.recheck)-1]
	if len(l.recheck) != maxReadings || first.from != 2 || newest.from != maxReadings+1 || newest.to != maxReadings+2 {
		t.Errorf("%d ranges from %d to %d", len(l.recheck), first.from, newest.to)
	}
	if first.due.Sub(*now) != firstAgain || first.source != l.sources[0] || first.open || first.last {
		t.Errorf("%+v", first)
	}
}

// A range is read again from another source than before, which has its blocks.
func TestOtherSources(t *testing.T) {
	c := busy(60)
	nodes := []*fakeNode{newNode(t, c), newNode(t, c), newNode(t, c)}
	l := follow(t, nil, nodes...)
	f := func(what string, before, want int, problem string, heads ...uint64) {
		t.Helper()
		for i, h := range heads {
			l.f.sources[i].head.Store(h)
		}
		read, err := l.f.askOther(t.Context(), &reading{from: 10, to: 20, source: l.f.sources[before]})
		fails(t, what, err, problem)
		if err == nil && (read.source != l.f.sources[want] || read.from != 10 || read.to != 20) {
			t.Errorf("%s: blocks %d to %d of %s; want those of source %d", what, read.from, read.to, read.source.Name, want+1)
		}
	}

	f("of the first", 0, 1, "", 50, 50, 50)
	f("of the second", 1, 0, "", 50, 50, 50)
	f("of the third", 2, 0, "", 50, 50, 50)
	f("where the next lacks it", 0, 2, "", 50, 19, 20)
	f("where the next's head is not known", 0, 1, "", 50, 0, 20)
	f("where the next has but one block", 0, 2, "", 50, 1, 20)
	f("where the others lack it", 0, 0, "", 20, 19, 19)
	f("where all lack it", 0, 0, "rpc-2: block 20: the node does not have it; rpc-3: block 20", 19, 19, 19)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.f.askOther(ctx, &reading{from: 10, to: 19}); err != context.Canceled {
		t.Errorf("given up: %v; want no other source to be asked", err)
	}
}

// Blocks are gathered up to a minute after the first of them.
func TestGatheredMinute(t *testing.T) {
	l, _ := still(t)
	block := func(number uint64, at int64) []rawBlock {
		return []rawBlock{{Block: market.Block{Number: number, Time: at}}}
	}
	f := func(blocks []rawBlock, to uint64, readings int, from, lastTo uint64, gathered int) {
		t.Helper()
		l.gatherReading(blocks[0].Number, to, blocks)
		r := l.recheck[len(l.recheck)-1]
		logs, sum := digest(r.blocks)
		if len(l.recheck) != readings || r.from != from || r.to != lastTo || len(r.blocks) != gathered || !r.open ||
			r.logs != logs || r.digest != sum {
			t.Errorf("%d readings, the last %+v; want %d, the last %d to %d of %d blocks", len(l.recheck), r, readings,
				from, lastTo, gathered)
		}
	}

	f(block(5, 1000), 7, 1, 5, 7, 1)
	f(block(8, 1001), 8, 1, 5, 8, 2)
	f(append(block(9, 1059), block(10, 1060)...), 12, 1, 5, 12, 4)
	f(block(13, 1061), 13, 2, 13, 13, 1)
	l.recheck[1].open = false
	f(block(14, 1061), 15, 3, 14, 15, 1)
}
