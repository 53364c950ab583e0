package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/rankings/market"
)

// A head far above all others, of which the source cannot show the parent, holds
// nobody up.
func TestAHeadTooHigh(t *testing.T) {
	c := busy(400)
	liar, honest := newNode(t, c), newNode(t, c)
	high := hex(1_000_000)
	liar.answer = func(method string, o object) any {
		b, ok := o["result"].(object)
		if !ok || method != "eth_getBlockByNumber" || b["number"] != hex(c.head().number) {
			return nil
		}
		lie := object{}
		for k, v := range b {
			lie[k] = v
		}
		lie["number"], lie["hash"] = high, market.Hash{9}.String()
		return lie
	}

	l := follow(t, nil, liar, honest)
	l.to(c, 40)
	from := l.clock.read()
	for range 20 {
		c.mine(swapped(1))
		l.to(c, 4)
	}

	if took := l.clock.read().Sub(from); took > 60*time.Second {
		t.Errorf("20 blocks took %s", took)
	}

	if n := l.last.Head.Number; n != c.head().number {
		t.Errorf("head %d", n)
	}
}

// Of two blocks at one height the one counts that nodes have there.
func TestTwoBlocksAtOneHeight(t *testing.T) {
	c := busy(100)
	odd, honest := newNode(t, c), newNode(t, c)
	odd.answer = func(method string, o object) any {
		var params string
		if p, ok := o["params"]; ok {
			params = fmt.Sprintf("%s", p)
		}
		b, ok := o["result"].(object)
		if !ok || !strings.Contains(params, "latest") {
			return nil
		}
		lie := object{}
		for k, v := range b {
			lie[k] = v
		}
		lie["hash"] = market.Hash{7}.String()
		return lie
	}

	l := follow(t, nil, odd, honest)
	l.to(c, 30)
	for range 5 {
		c.mine(swapped(1))
		l.to(c, 4)
	}

	if l.f.m.forks.Get() == 0 || l.reverts != 0 {
		t.Errorf("%d conflicts, %d reverts", l.f.m.forks.Get(), l.reverts)
	}
}

// A node on another fork does not make a ledger give up its chain.
func TestAForkOfOneNode(t *testing.T) {
	c := busy(60)
	other := busy(60)
	other.forks = 5
	for i := range other.blocks {
		other.blocks[i].hash = keccak(fmt.Appendf(nil, "other %d", i))
		if i > 0 {
			other.blocks[i].parent = other.blocks[i-1].hash
		}
	}

	for range 3 {
		other.mine()
	}

	l := follow(t, nil, newNode(t, c))
	l.to(c, 10)
	both := follow(t, nil, newNode(t, other), newNode(t, c))
	both.spans = l.spans
	for range 12 {
		_ = both.next()
	}

	if len(both.spans) < len(l.spans) || both.reverts != 0 {
		t.Errorf("%d spans, %d reverts", len(both.spans), both.reverts)
	}
	c.mine(swapped(1))
	both.to(c, 10)
}

// A backend that lags behind a balancer answers that its missing blocks are
// empty; what it is asked does not reach that far.
func TestABackendThatLags(t *testing.T) {
	for _, lag := range []int{3, 90, 300} {
		c := busy(600)
		n := newNode(t, c)
		n.finalized = 2

		asked := 0
		n.answer = func(method string, o object) any {
			if asked++; asked%3 != 0 {
				return nil
			}
			shown := uint64(len(c.blocks) - 1 - lag)
			switch r := o["result"].(type) {
			case []object:
				for i, l := range r {
					if method == "eth_getLogs" && numberOf(l) > shown {
						return append([]object{}, r[:i]...)
					}
				}
			case string:
				if method == "eth_blockNumber" {
					return hex(shown)
				}
			}
			return nil
		}

		l := follow(t, nil, n)
		l.to(c, 120)
	}
}

// numberOf returns a log's block.
func numberOf(l object) uint64 {
	var q quantity
	_ = q.UnmarshalJSON(fmt.Appendf(nil, "%q", l["blockNumber"]))
	return uint64(q)
}

// A range that was answered without some events, twice in a row, is noticed when it is
// read again later, taken back, and read block by block.
func TestShortRangesAreReadAgain(t *testing.T) {
	c := busy(300)
	n := newNode(t, c)
	short := 2
	n.answer = func(method string, o object) any {
		r, ok := o["result"].([]object)
		if !ok || method != "eth_getLogs" || len(r) < 4 || short == 0 || numberOf(r[len(r)-1]) < 200 {
			return nil
		}
		short--
		return append([]object{}, r[:len(r)-2]...)
	}

	l := follow(t, nil, n)
	for range 10 {
		if err := l.next(); err != nil {
			t.Fatal(err)
		}
	}

	if short > 0 {
		t.Fatal("no range was answered short")
	}

	c.mine(swapped(1))
	l.clock.advance(firstAgain)
	l.to(c, 60)
	if got := l.f.Status().ShortAnswers; got != 1 || l.reverts != 1 {
		t.Errorf("%d short answers, %d reverts", got, l.reverts)
	}
}

// What the ledger refused is read again block by block, with proof.
func TestRefusedBlocksAreProven(t *testing.T) {
	c := busy(300)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.refused = 120
	l.to(c, 60)
	if s := l.spans[0]; s.To != 120 || !l.proven[0] {
		t.Errorf("first span %d..%d, proven %v", s.From, s.To, l.proven)
	}
	if s := l.spans[1]; s.To-s.From < 80 || l.proven[1] {
		t.Errorf("second span %d..%d, proven %v", s.From, s.To, l.proven)
	}
}

// Times of logs that are not those of their blocks are not believed.
func TestTimesAreChecked(t *testing.T) {
	f := func(spoil func(time uint64) uint64) {
		t.Helper()
		c := busy(600)
		n := newNode(t, c)
		n.answer = func(method string, o object) any {
			r, ok := o["result"].([]object)
			if !ok || method != "eth_getLogs" {
				return nil
			}
			for _, l := range r {
				var v quantity
				_ = v.UnmarshalJSON(fmt.Appendf(nil, "%q", l["blockTimestamp"]))
				l["blockTimestamp"] = hex(spoil(uint64(v)))
			}
			return nil
		}
		l := follow(t, nil, n)
		l.to(c, 60)
		if !l.f.sources[0].wrongTimes.Load() {
			t.Error("the times were believed")
		}
	}

	f(func(uint64) uint64 { return 0 })
	f(func(v uint64) uint64 { return v + 7200 })
	f(func(v uint64) uint64 { return v - 7200 })
	f(func(v uint64) uint64 { return v + 12 })
}

// A range whose second reading fails, or is shorter than the first, is read again after a
// while, and not at every step.
func TestSecondReadingFails(t *testing.T) {
	c := busy(300)
	n := newNode(t, c)
	l := follow(t, nil, n)
	for range 10 {
		if err := l.next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.f.recheck) == 0 {
		t.Fatal("nothing is to be read again")
	}

	spoil := func(with any) {
		t.Helper()
		n.answer = func(method string, _ object) any {
			if method == "eth_getLogs" {
				return with
			}
			return nil
		}
		l.clock.advance(firstAgain)
		for i := range l.f.recheck {
			l.f.recheck[i].due = l.clock.read()
		}
		for range l.f.recheck {
			l.f.readAgain(t.Context(), nil)
		}
		now := l.clock.read()
		for _, r := range l.f.recheck {
			if r.logs > 0 && (!r.due.After(now) || r.due.Sub(now) > firstAgain) {
				t.Errorf("blocks %d to %d are read again after %s", r.from, r.to, r.due.Sub(now))
			}
		}
	}
	before := len(l.f.recheck)
	spoil(fail(-32000, "not now"))
	spoil([]object{})
	if len(l.f.recheck) < before-1 {
		t.Errorf("%d ranges are left to be read again; there were %d", len(l.f.recheck), before)
	}

	n.answer = nil
	c.mine(swapped(1))
	l.clock.advance(firstAgain)
	l.to(c, 60)
}
