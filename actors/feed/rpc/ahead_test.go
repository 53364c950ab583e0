package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// line is the way to a fake node, with latency in virtual time.
type line struct {
	*fakeNode
	latency func(from uint64) time.Duration // of a request for logs; 0 for none
	fault   func(from, to uint64) int       // a status instead of logs; 0: none

	asks      int           // requests of any kind
	now, most int           // requests for logs at once
	asked     [][2]uint64   // ranges of logs, as they were asked for
	watch     func()        // at every request for logs
	late      time.Duration // how long a request that was given up still takes
}

func newLine(c *fakeChain) *line {
	n := &fakeNode{fakeChain: c, id: 1, finalized: 32, calls: map[string]int{},
		params: map[string][]string{}, Server: &httptest.Server{URL: "http://node.test"}}
	return &line{fakeNode: n, latency: func(uint64) time.Duration { return 100 * time.Millisecond }}
}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	from, to, logs := rangeAsked(body)
	l.mu.Lock()
	l.asks++
	l.mu.Unlock()
	if logs {
		l.mu.Lock()
		l.asked = append(l.asked, [2]uint64{from, to})
		l.now++
		l.most = max(l.most, l.now)
		if l.watch != nil {
			l.watch()
		}
		l.mu.Unlock()
		defer func() { l.mu.Lock(); l.now--; l.mu.Unlock() }()
	}

	select {
	case <-time.After(l.latency(from)):
	case <-r.Context().Done():
		time.Sleep(l.late)
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	if logs && l.fault != nil {
		l.mu.Lock()
		status := l.fault(from, to)
		l.mu.Unlock()
		if status != 0 {
			w.WriteHeader(status)
			return w.Result(), nil
		}
	}
	l.fakeNode.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body))))
	return w.Result(), nil
}

// rangeAsked returns the range that a request asks for the logs of.
func rangeAsked(body []byte) (from, to uint64, logs bool) {
	var calls []fakeCall
	if json.Unmarshal(body, &calls) != nil {
		return 0, 0, false
	}

	for _, c := range calls {
		var q struct{ FromBlock, ToBlock string }
		if c.Method == "eth_getLogs" && json.Unmarshal(c.Params[0], &q) == nil {
			from, _ = strconv.ParseUint(q.FromBlock, 0, 64)
			to, _ = strconv.ParseUint(q.ToBlock, 0, 64)
			return from, to, true
		}
	}
	return 0, 0, false
}

// overLine follows a chain in virtual time.
func overLine(t *testing.T, l *line, change func(*Config)) *follower {
	f := follow(t, func(c *Config) {
		c.Clock, c.MaxLogRange, c.RangesInFlight = endpoint.Clock{}, 50, 8
		c.Endpoints[0].Transport = l
		if change != nil {
			change(c)
		}
	}, l.fakeNode)
	f.start = 1
	return f
}

// Ranges that are answered in any order reach the ledger in theirs, many times as
// fast as one after the other, and no more at once than are allowed.
func TestRangesInOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("6,000 blocks, twice")
	}

	f := func(inFlight int) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			n := newLine(busy(6000))
			n.latency = func(from uint64) time.Duration {
				return time.Duration(50+from*7919%200) * time.Millisecond
			}
			l := overLine(t, n, func(c *Config) { c.RangesInFlight = inFlight })
			from := time.Now()
			l.to(n.fakeChain, 400)
			took = time.Since(from)
			if n.most != inFlight {
				t.Errorf("%d requests at once; want %d", n.most, inFlight)
			}
		})
		return took
	}

	one, eight := f(1), f(8)
	if eight*4 > one {
		t.Errorf("%s with eight ranges in flight, %s with one", eight, one)
	}
}

// What is read before it is wanted stays within its bound, however long nobody wants
// it.
func TestFetchAheadIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("6,000 blocks")
	}

	synctest.Test(t, func(t *testing.T) {
		n := newLine(busy(6000))
		const bound = 3 * maxPieceBytes
		l := overLine(t, n, func(c *Config) { c.FetchAheadBytes, c.MaxLogRange = bound, 2 })
		check := func() {
			if a := l.f.ahead; a != nil {
				a.mu.Lock()
				defer a.mu.Unlock()
				if held := a.bytes + int64(a.reading+a.second)*maxPieceBytes; held > bound {
					t.Errorf("%d bytes are held; cannot exceed %d", held, bound)
				}
			}
		}

		for range 60 {
			if err := l.next(); err != nil {
				t.Fatal(err)
			}
			check()
		}
		time.Sleep(time.Hour) // the ledger is busy
		check()
		synctest.Wait()
		asked := len(n.asked)
		time.Sleep(time.Hour)
		if len(n.asked) != asked || n.most > 3 {
			t.Errorf("%d ranges were asked for and then %d, %d at once", asked, len(n.asked), n.most)
		}
	})
}

// A call of Next that is given up loses nothing, and Close ends whatever is under way.
func TestCancelWhileReadingAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLine(busy(3000))
		l := overLine(t, n, nil)
		for i := range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Millisecond)
			step, err := l.f.Next(ctx, feed.Cursor{Anchors: l.anchors()})
			cancel()
			if err == nil && step.Span != nil {
				l.spans, l.proven = append(l.spans, step.Span), append(l.proven, step.Proven)
			}
		}
		l.to(n.fakeChain, 200)

		n.late = time.Second
		again := overLine(t, n, nil)
		_ = again.next()
		_ = again.next()
		if err := again.f.Close(); err != nil || n.now != 0 {
			t.Errorf("%v, %d requests under way after Close", err, n.now)
		}
	})
}

// A range that fails is tried again while the others are kept; nothing is asked for
// beside it until it has been answered.
func TestOneRangeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLine(busy(3000))
		var bad uint64
		fails, after := 12, 0
		n.fault = func(from, to uint64) int {
			if bad == 0 && from > 1000 {
				bad = from
			}
			switch {
			case fails > 0 && from == bad:
				fails--
				return http.StatusServiceUnavailable
			case fails > 0 && fails < 6:
				after++
			}
			return 0
		}
		l := overLine(t, n, nil)
		l.to(n.fakeChain, 300)
		if fails != 0 || after > 8 {
			t.Errorf("%d failures left, %d ranges were read while one failed", fails, after)
		}

		times := make(map[uint64]int)
		for _, r := range n.asked {
			for b := r[0]; b <= r[1]; b++ {
				times[b]++
			}
		}
		for b, k := range times {
			want := 1
			if b+market.UndoBlocks > 2999-50 { // ranges that may be replaced are read twice
				want = 2
			}
			if k > want && (b < bad || b >= bad+50) {
				t.Fatalf("block %d was read %d times; only those from %d on failed", b, k, bad)
			}
		}
	})
}

// A provider whose limits are only found out on the way: ranges are split, and none of
// their blocks is lost or comes twice.
func TestRangesSplitInFlight(t *testing.T) {
	for _, most := range []uint64{1, 7, 40} {
		synctest.Test(t, func(t *testing.T) {
			n := newLine(busy(1200))
			l := overLine(t, n, func(c *Config) { c.MaxLogRange = 300 })
			for range 3 {
				_ = l.next()
			}

			n.mu.Lock()
			n.maxRange = most
			n.mu.Unlock()
			l.to(n.fakeChain, 1500)
		})
	}
}

// A reorganisation while ranges are in flight: what was read on the old chain is
// dropped, and the ledger goes back to the newest block that is on the new one.
func TestReorgWhileRangesAreInFlight(t *testing.T) {
	for _, wait := range []int{3, 8, 15, 21} {
		synctest.Test(t, func(t *testing.T) {
			n := newLine(busy(2000))
			n.finalized = -1
			l := overLine(t, n, func(c *Config) { c.MaxLogRange = 100 })
			for range wait {
				if err := l.next(); err != nil {
					t.Fatal(err)
				}
			}

			n.cut(1600)
			for i := range 1700 {
				if i%5 == 0 {
					n.mine(swapped(int64(i)))
					continue
				}
				n.mine()
			}
			l.to(n.fakeChain, 200)
			if at := l.spans[0]; wait >= 8 && l.reverts == 0 {
				t.Errorf("after %d spans from %d: no revert", wait, at.From)
			}
		})
	}
}

// After a kill nothing is read again that was committed, and of what was not only the
// ranges that were under way.
func TestKilledFeed(t *testing.T) {
	for _, calls := range []int{1, 4, 11, 20} {
		synctest.Test(t, func(t *testing.T) {
			n := newLine(busy(4000))
			l := overLine(t, n, nil)
			for range calls {
				if err := l.next(); err != nil {
					t.Fatal(err)
				}
			}
			committed := l.anchors()[0]
			_ = l.f.Close()
			before := map[uint64]bool{}
			for _, r := range n.asked {
				for b := r[0]; b <= r[1]; b++ {
					before[b] = true
				}
			}

			n.asked = nil
			after := overLine(t, n, nil)
			after.spans = l.spans
			after.to(n.fakeChain, 300)
			again := 0
			for _, r := range n.asked {
				if r[0] <= committed.Number {
					t.Errorf("blocks %d to %d were read again after a commit of %d", r[0], r[1], committed.Number)
				}
				for b := r[0]; b <= r[1]; b++ {
					if before[b] {
						again++
					}
				}
			}
			if bound := 3 * 8 * 50; again > bound {
				t.Errorf("%d blocks were read again; at most %d were under way", again, bound)
			}
		})
	}
}

// Sizes follow the density of logs.
func TestPlanSizes(t *testing.T) {
	f := func(density float64, limit, want uint64) {
		t.Helper()
		p := newPlan(1)
		p.density = density
		if got := p.size(limit); got != want {
			t.Errorf("%g logs a block: %d blocks; want %d", density, got, want)
		}
	}

	f(-1, 2000, 2000)
	f(0, 10_000, 10_000)
	f(1.5, 2000, 2000)
	f(4, 2000, 1000)
	f(4000, 2000, 1)
	f(1e6, 2000, 1)
}

// However pieces are taken and split, they hold all blocks in order.
func TestPlanHasNoGaps(t *testing.T) {
	p := newPlan(10)
	for i := range 200 {
		q := p.take(uint64(1+i*13%40), 3000)
		if q == nil {
			break
		}
		q.state = isRead
		if i%3 == 0 && q.to > q.from {
			p.split(q, q.from+(q.to-q.from)/2)
		}

		next := uint64(10)
		for k, r := range p.pieces {
			if r.from != next || r.to < r.from {
				t.Fatalf("piece %d is %s; want it from %d", k, fmt.Sprint(r.from, "-", r.to), next)
			}
			next = r.to + 1
		}
		if next != p.next {
			t.Fatalf("the next block is %d; want %d", p.next, next)
		}
	}
}

// The chain is replaced between the answers to the calls of one request for a range that a
// reorganisation may reach, as far below its head as can be taken back: logs of one branch never
// become a span that ends with a block of another.
func TestReorgWithinAnAnswer(t *testing.T) {
	f := func(depth, call int, quiet bool) {
		t.Helper()
		c := newChain(1)
		for i := 1; i < 900; i++ {
			if i < 900-depth || !quiet {
				c.mine(swapped(int64(i)))
			} else {
				c.mine()
			}
		}
		n := newNode(t, c)
		n.finalized = 64
		l := follow(t, nil, n)
		l.start = 300
		calls, replaced := 0, false
		n.answer = func(method string, o object) any {
			near := method == "eth_getLogs" && lastBlock(o) > uint64(900-depth)
			if calls > 0 || near {
				calls++
			}
			if calls != call || replaced {
				return nil
			}
			replaced = true
			n.mu.Unlock()
			defer n.mu.Lock()
			c.cut(depth)
			for i := range depth + 40 {
				if quiet && i < depth {
					c.mine(swapped(int64(i + 1)))
					continue
				}
				c.mine()
			}
			return nil
		}

		l.to(c, 200)
		if !replaced {
			t.Error("nothing was replaced")
		}
		for _, s := range l.spans {
			if s.Hash != c.blocks[s.To].hash || s.Parent != c.blocks[s.From-1].hash && s.From > l.start {
				t.Errorf("%d blocks are replaced at call %d: a span ends with block %d %s", depth, call, s.To, s.Hash)
			}
		}
	}

	for _, depth := range []int{66, 130, 255} {
		for call := 1; call <= 6; call++ {
			f(depth, call, false)
			f(depth, call, true)
		}
	}
}

// lastBlock returns where the range ends that a call asks for the logs of.
func lastBlock(o object) uint64 {
	var q struct{ ToBlock string }
	_ = json.Unmarshal(o["params"].([]json.RawMessage)[0], &q)
	to, _ := strconv.ParseUint(q.ToBlock, 0, 64)
	return to
}

// A span ends where the cursor says, whether it is a range or a poll, so that what follows there
// can be compared with it.
func TestUntil(t *testing.T) {
	c := busy(700)
	l := follow(t, nil, newNode(t, c))
	f := func(after, until, refused, want uint64) {
		t.Helper()
		at := c.blocks[after]
		step, err := l.f.Next(t.Context(), feed.Cursor{
			Anchors: []market.Head{{Number: at.number, Hash: at.hash, Time: at.time}}, Until: until, Refused: refused,
		})
		if err != nil || step.Span == nil || step.Span.From != after+1 || step.Span.To != want {
			t.Errorf("after block %d until %d: %v, %+v; want blocks up to %d", after, until, err, step.Span, want)
		}
	}

	f(100, 130, 0, 130)
	f(130, 0, 0, 230)
	f(10, 300, 0, 110)
	f(10, 10, 0, 110) // a block before has no say
	f(650, 660, 0, 660)
	f(650, 660, 655, 655)
	f(650, 655, 660, 655)
	f(650, 0, 0, 699)
}
