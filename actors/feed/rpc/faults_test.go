package rpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

// The head is the highest that any URL reports, and blocks come from a URL
// that has them.
func TestURLsThatLag(t *testing.T) {
	c := busy(300)
	first, second := newNode(t, c), newNode(t, c)
	first.lag = 5
	l := follow(t, nil, first, second)
	l.to(c, 20)
	for range 5 {
		c.mine(minted(3)...)
		l.to(c, 4)
	}
	if got := l.f.Status(); got.Errors != 0 || got.Endpoint == "" {
		t.Errorf("status %+v", got)
	}
}

// One URL after the other fails in its own way; the feed goes on with what is
// left, rests longer at each failure, and says which and why, but no secret.
func TestURLsThatFail(t *testing.T) {
	f := func(want string, fault func(*fakeNode)) {
		t.Helper()
		c := busy(300)
		bad, good := newNode(t, c), newNode(t, c)
		fault(bad)
		l := follow(t, nil, bad, good)
		l.to(c, 30)
		s := l.f.Status()
		if !strings.Contains(s.LastError, want) || s.Errors == 0 || s.Failures != 0 || s.LastErrorAt.IsZero() {
			t.Errorf("status %+v; want %q", s, want)
		}
		if text := l.log.String() + s.LastError; strings.Contains(text, "s3cret") {
			t.Errorf("a secret in %s", text)
		}
		if !strings.Contains(l.log.String(), want) {
			t.Errorf("log %s; want %q", l.log.String(), want)
		}
		asked := bad.requestCount
		for range 60 {
			c.mine(swapped(1))
			l.to(c, 3)
		}
		if asked = bad.requestCount - asked; asked > 20 {
			t.Errorf("%s: asked %d times in a minute", want, asked)
		}
	}

	f("429", func(n *fakeNode) { n.status = http.StatusTooManyRequests })
	f("502", func(n *fakeNode) { n.status = http.StatusBadGateway })
	f("connection refused", func(n *fakeNode) { n.Close() })
	f("the node is on chain 5; want 1", func(n *fakeNode) { n.id = 5 })
	f("the node does not have it", func(n *fakeNode) {
		n.answer = func(method string, _ object) any {
			if method == "eth_chainId" {
				return nil
			}
			return null{}
		}
	})

	f("is not a hex string", func(n *fakeNode) {
		n.answer = func(method string, _ object) any { return "full" }
	})

	flood := func(size int) func(*fakeNode) {
		return func(n *fakeNode) {
			part := bytes.Repeat([]byte("7"), 64<<10)
			n.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n.mu.Lock()
				n.requestCount++
				n.mu.Unlock()
				if size > 0 {
					w.Header().Set("Content-Length", strconv.Itoa(size))
				}
				_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":"`)
				for left := 128 << 20; left > 0 && err == nil; left -= len(part) {
					_, err = w.Write(part)
				}
			})
		}
	}
	f("answer has 134217728 bytes; cannot exceed 67108864", flood(128<<20))
	if !testing.Short() { // under the race detector so much takes longer than a request may
		f("a value of the answer is larger than 33554432 bytes", flood(0))
	}

	f("daily quota", func(n *fakeNode) {
		n.answer = func(string, object) any { return fail(-32005, "daily quota exceeded") }
	})
}

func TestRetryAfter(t *testing.T) {
	c := busy(60)
	n := newNode(t, c)
	n.status, n.retryAfter = http.StatusTooManyRequests, "90"
	l := follow(t, nil, n, newNode(t, c))
	l.to(c, 20)
	for range 60 {
		c.mine()
		l.to(c, 3)
	}
	if n.requestCount > 2 {
		t.Errorf("asked %d times although told to wait for 90 s", n.requestCount)
	}
}

// A single node that is gone for a while: growing pauses, then all is well.
func TestANodeThatComesBack(t *testing.T) {
	c := busy(100)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 20)
	n.id = 137
	c.mine(swapped(1))
	l.f.sources[0].checked.Store(0)
	from := l.clock.read()
	for range 20 {
		if err := l.next(); err == nil || !strings.Contains(err.Error(), "chain 137; want 1") {
			t.Fatal(err)
		}
	}

	if waited := l.clock.read().Sub(from); waited < 2*time.Minute || waited > 5*time.Minute {
		t.Errorf("20 failures took %s", waited)
	}

	if s := l.f.Status(); s.Failures != 20 {
		t.Errorf("status %+v", s)
	}

	n.id = 1
	l.to(c, 4)
	if s := l.f.Status(); s.Failures != 0 {
		t.Errorf("status %+v", s)
	}
}

// Refusals halve a range, answers let it grow again; nodes without batches
// and nodes that cut long answers silently are served as well.
func TestRangesAdapt(t *testing.T) {
	c := busy(3000)
	n := newNode(t, c)
	n.maxRange, n.single = 60, true
	l := follow(t, func(c *Config) { c.MaxLogRange = 2000 }, n)
	l.to(c, 100)
	if s := l.f.Status(); s.Errors != 0 {
		t.Errorf("status %+v", s)
	}
	n.maxRange, n.single = 0, false
	l = follow(t, nil, n)
	l.f.sources[0].ranges.size = 1
	l.to(c, 100)
	if l.f.sources[0].ranges.size != 100 {
		t.Errorf("a range of 1 grew to %d", l.f.sources[0].ranges.size)
	}

	c = newChain(1)
	for range 170 {
		var logs []object
		for range 100 {
			logs = append(logs, swapped(1))
		}
		c.mine(logs...)
	}
	n = newNode(t, c)
	n.answer = func(_ string, o object) any {
		if logs, ok := o["result"].([]object); ok && len(logs) > maxLogs {
			return logs[:maxLogs]
		}
		return nil
	}
	follow(t, func(c *Config) { c.MaxLogRange = 2000 }, n).to(c, 60)
}

func TestRequestsPerSecond(t *testing.T) {
	c := busy(600)
	n := newNode(t, c)
	l := follow(t, func(c *Config) { c.Endpoints[0].RequestsPerSecond = 4 }, n)
	from := l.clock.read()
	l.to(c, 60)
	sent := float64(l.f.Status().Requests)
	if rate := sent / l.clock.read().Sub(from).Seconds(); rate > 4.2 || rate < 2 {
		t.Errorf("%.1f requests a second", rate)
	}
}

// A block whose receipts come late: its header hints at events, so the chain
// waits for them, whatever eth_getLogs answers.
func TestReceiptsThatComeLate(t *testing.T) {
	f := func(late int, block func(c *fakeChain), falsePositives uint64) {
		t.Helper()
		c := busy(30)
		first, second := newNode(t, c), newNode(t, c)
		l := follow(t, nil, first, second)
		l.to(c, 10)
		before := l.f.Status().FalsePositives
		block(c)
		hidden := late
		for _, n := range []*fakeNode{first, second} {
			n.answer = func(method string, _ object) any {
				switch {
				case hidden == 0:
				case method == "eth_getLogs":
					return []object{}
				case method == "eth_getBlockReceipts":
					hidden--
					return null{}
				}
				return nil
			}
		}
		l.to(c, 20)
		if got := l.f.Status().FalsePositives - before; got != falsePositives {
			t.Errorf("%d false positives; want %d", got, falsePositives)
		}
	}

	f(0, func(c *fakeChain) { c.mine() }, 0)
	f(1, func(c *fakeChain) { c.mine(swapped(1)) }, 0)
	f(6, func(c *fakeChain) { c.mine(minted(7)...) }, 0)

	// Bits of our events without any: another log before them set those.
	hinted := func(hint object) func(c *fakeChain) {
		return func(c *fakeChain) { c.mine(approved()).setBloom(hint) }
	}

	f(0, hinted(swapped(1)), 1)
	f(5, hinted(swapped(1)), 1)
	// The address of one of our contracts and a topic of the other.
	f(0, hinted(rawLog(positions, []market.Hash{managerTopics[0]})), 0)

	// An approval beside a transfer of some other contract.
	f(0, hinted(rawLog(market.Address{1}, []market.Hash{positionTopics[0]})), 1)
}

// Without receipts an answer counts only when it has a log for every hint of
// the header; an empty one is never believed, however long it stays.
func TestBlocksWithoutReceipts(t *testing.T) {
	c := busy(30)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 10)
	if len(l.f.recheck) != 0 {
		t.Errorf("proven blocks are read again: %+v", l.f.recheck)
	}
	n.receiptless = true
	c.mine(swapped(1), swapped(2))
	c.mine(swapped(3))
	l.f.settled.until = 31
	if err := l.next(); err != nil || l.last.Span == nil || l.last.Finalized != 29 {
		t.Errorf("%v, %+v; want the ledger to be able to take back what is read again", err, l.last)
	}
	if len(l.f.proofs.agreed) != 0 {
		t.Errorf("of blocks that the ledger has, %v is kept", l.f.proofs.agreed)
	}
	l.to(c, 4)
	if last := l.spans[len(l.spans)-1]; last.From != 30 || last.To != 31 || l.proven[len(l.proven)-1] {
		t.Errorf("blocks %d to %d are proven: %v", last.From, last.To, l.proven[len(l.proven)-1])
	}
	if n := len(l.f.recheck); n != 1 || l.f.recheck[0].from != 30 || l.f.recheck[0].to != 31 {
		t.Errorf("to be read again are %+v; want blocks 30 to 31", l.f.recheck)
	}

	short := true
	n.answer = func(method string, o object) any {
		if logs, ok := o["result"].([]object); ok && method == "eth_getLogs" && short {
			return logs[:len(logs)/2]
		}
		return nil
	}
	for _, logs := range [][]object{{swapped(1)}, minted(5)} {
		short = true
		c.mine(logs...)
		for range 30 {
			if err := l.next(); err == nil || l.last.Span != nil {
				t.Fatalf("a short answer was believed: %+v", l.last.Span)
			}
		}
		short = false
		l.to(c, patience+6)
	}
}

// A node that knows no eth_getBlockReceipts gives them one by one; receipts that
// are not all there, or were changed, are not believed.
func TestReceiptsAreProven(t *testing.T) {
	c := busy(30)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 10)
	n.answer = func(method string, _ object) any {
		if method == "eth_getBlockReceipts" {
			return fail(-32601, "the method eth_getBlockReceipts does not exist")
		}
		return nil
	}
	c.mine(append(minted(8), swapped(1), swapped(2))...)
	if err := l.next(); err != nil || !l.last.Proven || n.calls["eth_getTransactionReceipt"] != 3 {
		t.Errorf("%v, step %+v, %d receipts", err, l.last, n.calls["eth_getTransactionReceipt"])
	}

	spoils := []func([]object) []object{
		func(r []object) []object { return r[:1] },
		func(r []object) []object { return r[1:] },
		func(r []object) []object { r[0]["logs"] = []object{}; return r },
		func(r []object) []object { r[1]["cumulativeGasUsed"] = "0x1"; return r },
	}
	for i, spoil := range spoils {
		n.answer = func(method string, o object) any {
			if r, ok := o["result"].([]object); ok && method == "eth_getBlockReceipts" {
				return spoil(r)
			}
			if method == "eth_getLogs" {
				return []object{}
			}
			return nil
		}
		c.mine(append(minted(int64(10+i)), swapped(1))...)
		for range 3 {
			err := l.next()
			if err == nil || l.last.Span != nil || !strings.Contains(err.Error(), "receiptsRoot") {
				t.Fatalf("%d: %v, span %v", i, err, l.last.Span)
			}
		}
		n.answer = nil
		l.to(c, 6)
	}
}

// A chain whose receipts do not give its roots is believed where the receipts explain the
// bloom filter, and one is there of every transaction.
func TestReceiptsOfOtherEncodings(t *testing.T) {
	f := func(want string, spoil func([]object) []object) {
		t.Helper()
		c := busy(30)
		n := newNode(t, c)
		n.answer = func(method string, o object) any {
			if b, ok := o["result"].(object); ok && method == "eth_getBlockByNumber" {
				other := maps.Clone(b)
				other["receiptsRoot"] = market.Hash{7}.String()
				return other
			}
			if r, ok := o["result"].([]object); ok && method == "eth_getBlockReceipts" {
				return spoil(r)
			}
			if method == "eth_getLogs" {
				return []object{}
			}
			return nil
		}
		l := follow(t, nil, n)
		l.start = 30
		c.mine(append(minted(8), swapped(1), swapped(2))...)
		err := l.next()
		if want == "" && (err != nil || l.last.Span == nil) {
			t.Errorf("%v, span %v", err, l.last.Span)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v; want %q", err, want)
		}
	}

	f("", func(r []object) []object { return r })
	f("some are missing", func(r []object) []object { return r[:1] })
	f("some are missing", func(r []object) []object { return r[1:] })
	f("some are missing", func(r []object) []object { r[0]["logs"] = []object{}; return r })
}

// Answers that contradict themselves or what was asked for never become a span.
func TestAnswersThatAreWrong(t *testing.T) {
	try := func(want string, spoil func(logs []object), places ...bool) {
		t.Helper()
		for _, near := range places {
			c := busy(200)
			c.mine(append(minted(1), swapped(1), swapped(2))...)
			if !near {
				for range 150 {
					c.mine()
				}
			}
			n := newNode(t, c)
			n.receiptless = near
			n.answer = func(method string, o object) any {
				if logs, ok := o["result"].([]object); ok && method == "eth_getLogs" && len(logs) > 3 {
					spoil(logs[len(logs)-4:])
				}
				return nil
			}
			l := follow(t, nil, n)
			l.start = 200
			err := l.next()
			if near && err != nil && strings.Contains(err.Error(), "no node shows") {
				continue // what is left of the logs does not explain the header
			}
			if err == nil || l.last.Span != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("near %v: %v; want %q", near, err, want)
			}
		}
	}

	f := func(want string, spoil func(logs []object)) { t.Helper(); try(want, spoil, true, false) }
	ranged := func(want string, spoil func(logs []object)) { t.Helper(); try(want, spoil, false) }
	set := func(i int, key string, v any) func([]object) {
		return func(logs []object) { logs[i][key] = v }
	}

	f("removed", set(1, "removed", true))
	f("was not asked for", set(1, "address", market.Address{1}.String()))
	f("were asked for", set(3, "blockNumber", "0x1000"))
	f("were asked for", set(0, "blockNumber", "0x1"))
	f("it follows log 3", set(2, "logIndex", "0x3"))
	f("it follows log 3", set(2, "logIndex", "0x0"))
	f("block hash", set(3, "blockHash", market.Hash{1}.String()))
	f("its block, transaction or index is missing", set(0, "blockHash", nil))
	f("its block, transaction or index is missing", set(0, "logIndex", nil))
	f("cannot exceed 2147483648", set(1, "logIndex", "0x80000001"))
	f("cannot exceed 2147483648", set(1, "transactionIndex", "0x80000001"))

	// Near the head all topics are asked for.
	ranged("was not asked for", set(3, "topics", []string{market.Hash{1}.String()}))
	ranged("has no topic", set(3, "topics", []string{}))
	f("bytes of data", set(3, "data", "0x00"))
	f("not a hex string", set(3, "data", "zz"))
	f("hex digits", set(3, "transactionHash", "0x12"))
	f("cannot exceed 16", set(3, "logIndex", "0x11112222333344445"))
	f("block timestamp", func(logs []object) {
		if logs[3]["blockTimestamp"] = "0x1"; logs[0]["blockNumber"] == "0xc8" {
			logs[3]["blockTimestamp"] = "0x2"
		}
	})
}

// A head that is old confirms nothing; without the limit it does.
func TestMaxHeadAge(t *testing.T) {
	c := busy(20)
	l := follow(t, func(c *Config) { c.MaxHeadAge = time.Minute }, newNode(t, c))
	for range 5 {
		if err := l.next(); err != nil {
			t.Fatal(err)
		}
		if !l.last.Confirmed.IsZero() || !l.last.SpanConfirmed.IsZero() {
			t.Errorf("an old head confirmed: %+v", l.last)
		}
	}

	if s := l.f.Status(); !strings.Contains(s.LastError, "more than 1m0s confirms nothing") {
		t.Errorf("status %+v", s)
	}

	l.clock.advance(time.Unix(c.head().time+30, 0).Sub(l.clock.read()))
	l.f.due = time.Time{}
	l.to(c, 2)
}

// What a step says of the head while the chain grows during the poll.
func TestSpanConfirmed(t *testing.T) {
	c := busy(20)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 10)
	c.mine(swapped(1))
	grown := false
	n.answer = func(method string, _ object) any {
		if method == "eth_getBlockReceipts" && !grown {
			grown = true
			n.mu.Unlock()
			defer n.mu.Lock()
			c.mine()
		}
		return nil
	}

	if err := l.next(); err != nil {
		t.Fatal(err)
	}

	if s := l.last; s.Span.To != 20 || s.Head.Number != 21 || s.SpanConfirmed.IsZero() ||
		!s.Confirmed.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestCancel(t *testing.T) {
	c := busy(20)
	l := follow(t, nil, newNode(t, c))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.f.Next(ctx, feed.Cursor{Anchors: l.anchors()}); err == nil {
		t.Error("no error")
	}
	if s := l.f.Status(); s.Errors != 0 || s.Failures != 0 {
		t.Errorf("status %+v", s)
	}
}

func TestNewRefuses(t *testing.T) {
	f := func(want string, urls ...string) {
		t.Helper()
		var list []EndpointConfig
		for _, u := range urls {
			list = append(list, EndpointConfig{URL: u})
		}
		if _, err := New(Config{Chain: 7, Endpoints: list}); fmt.Sprint(err) != want {
			t.Errorf("%v; want %s", err, want)
		}
	}

	f("chain 7 has no RPC URL")
	f("chain 7 has ws and wss addresses only, which tell of new heads; give it an http or https address too, "+
		"for everything else", "ws://a", "wss://b")
	f("RPC URL 2 of chain 7: is not an http or https URL", "http://a", "ftp://user:s3cret@b")
	f("RPC URL 1 of chain 7: is not an http or https URL", "http://%zz")
	f("RPC URL 1 of chain 7: is not an http or https URL", "http:///path")
	f("RPC URL 1 of chain 7: is not an http or https URL", "")
}
