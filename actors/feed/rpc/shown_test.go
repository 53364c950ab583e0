package rpc

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed/endpoint"
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
