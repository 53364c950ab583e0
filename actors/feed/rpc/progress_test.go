package rpc

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed"
)

// A feed that catches up says how far it is, how fast, and how long it takes; at
// the head it says nothing.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLine(busy(1500))
		l := overLine(t, n, func(c *Config) { c.Endpoints[0].RequestsPerSecond = 10 })
		var seen []feed.Progress
		for range 120 {
			if err := l.next(); err != nil {
				t.Fatal(err)
			}
			if p := l.last.Progress; p != nil {
				seen = append(seen, *p)
			}
			if !l.last.Confirmed.IsZero() {
				break
			}
		}

		if len(seen) < 5 || l.last.Progress != nil {
			t.Fatalf("%d steps with progress, and at the head %+v", len(seen), l.last.Progress)
		}
		// A speed is known after its first window.
		known := slices.IndexFunc(seen, func(p feed.Progress) bool { return p.RequestsPerSecond > 0 })
		if known < 0 || known == len(seen)-1 {
			t.Fatalf("of %d steps with progress, number %d is the first with a speed", len(seen), known)
		}
		mid, late := seen[known], seen[len(seen)-1]
		if mid.To != 1499 || mid.At <= mid.From || late.At <= mid.At || late.Events <= mid.Events {
			t.Errorf("progress %+v and then %+v", mid, late)
		}
		if mid.RequestsPerSecond < 5 || mid.RequestsPerSecond > 10 || mid.EventsPerSecond <= 0 {
			t.Errorf("%.1f requests and %.1f events a second at a limit of 10 requests",
				mid.RequestsPerSecond, mid.EventsPerSecond)
		}
		if mid.ETA <= 0 || mid.ETA > time.Hour || late.ETA >= mid.ETA/4 {
			t.Errorf("%s left and then %s", mid.ETA, late.ETA)
		}
		for _, word := range []string{"catching up", "requests_per_second=", "left="} {
			if !strings.Contains(l.log.String(), word) {
				t.Errorf("the log has no %s: %s", word, l.log.String())
			}
		}
	})
}

func TestInWords(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		if got := inWords(d); got != want {
			t.Errorf("%s: %s; want %s", d, got, want)
		}
	}

	f(0, "unknown")
	f(1, "less than a minute")
	f(time.Minute-1, "less than a minute")
	f(time.Minute, "about 1 minute")
	f(90*time.Second, "about 2 minutes")
	f(89*time.Minute, "about 89 minutes")
	f(90*time.Minute, "about 2 hours")
	f(47*time.Hour, "about 47 hours")
	f(48*time.Hour, "about 2 days")
	f(3*time.Hour, "about 3 hours")
	f(72*time.Hour, "about 3 days")
}

// A failure of a node does not have its chain id asked for again.
func TestChainIDIsAskedOnce(t *testing.T) {
	c := busy(30)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 10)

	for range 8 {
		n.status = 500
		_ = l.next()
		n.status = 0
		c.mine(swapped(1))
		l.to(c, 20)
	}

	if got := n.calls["eth_chainId"]; got != 1 {
		t.Errorf("asked %d times", got)
	}
}

// A node that does not say which chain it is on is asked for nothing else.
func TestNoChainID(t *testing.T) {
	c := busy(30)
	n := newNode(t, c)
	n.answer = func(method string, _ object) any {
		if method == "eth_chainId" {
			return null{}
		}
		return nil
	}

	l := follow(t, nil, n)

	if err := l.next(); err == nil || !strings.Contains(err.Error(), "want 1") {
		t.Errorf("a node without a chain: %v", err)
	}
	if n.calls["eth_getLogs"]+n.calls["eth_getBlockByNumber"] > 0 {
		t.Errorf("it was asked for %v", n.calls)
	}
}

// A header that is compared with an import is that of the block, of a node that has it.
func TestHeaderOfABlock(t *testing.T) {
	c := busy(30)
	n := newNode(t, c)
	l := follow(t, nil, n)
	b := c.blocks[20]
	h, err := l.f.Header(t.Context(), 20)
	if err != nil || h.Number != 20 || h.Hash != b.hash || h.Time != b.time {
		t.Errorf("%+v, %v; want block 20, %s", h, err, b.hash)
	}

	f := func(want string, result any) {
		t.Helper()
		n.answer = func(method string, _ object) any {
			if method == "eth_getBlockByNumber" {
				return result
			}
			return nil
		}
		h, err := l.f.Header(t.Context(), 20)
		if err == nil || !strings.HasPrefix(err.Error(), "cannot read the header of block 20 of chain 1: ") ||
			!strings.Contains(err.Error(), want) || h.Number != 0 {
			t.Errorf("%+v, %v; want %q", h, err, want)
		}
	}
	f("not now", fail(-32000, "not now"))
	f("block 20", null{})
	f("asked for block 20, got 19", n.block("0x13"))
	f("lacks its number, hash or timestamp", object{"number": "0x14"})
}
