package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// A poll of the head asks all at once, waits for the slow a while after the first answer, and
// for none longer than its limit. Fallbacks are asked where there is no other source.
func TestLooksAtTheHead(t *testing.T) {
	f := func(what string, want int, took time.Duration, problem string, roles []Role, latency ...time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			var lines []*line
			l := overLines(t, roles, func(i int) *line {
				n := newLine(newChain(10 + i))
				n.latency = func(uint64) time.Duration { return latency[i] }
				lines = append(lines, n)
				return n
			}, len(latency))
			for _, s := range l.f.sources {
				s.checked.Store(time.Now().Unix())
			}

			from := time.Now()
			head, err := l.f.observeHead(t.Context(), market.Head{})
			if got := time.Since(from); got != took {
				t.Errorf("%s took %s; want %s", what, got, took)
			}
			fails(t, what, err, problem)
			if err == nil && (*head.Number != quantity(want) || l.f.highestHead != uint64(want) || !head.at.Equal(from)) {
				t.Errorf("%s: head %d asked for at %s; want %d at %s", what, *head.Number, head.at, want, from)
			}
			for i, s := range l.f.sources {
				slow := latency[i] > took && lines[i].asks > 0
				if rests := s.RestsUntil().After(time.Now()); rests != slow {
					t.Errorf("%s: source %d rests: %t; want %t", what, i+1, rests, slow)
				}
				if asked := lines[i].asks > 0; asked != (i == 0 || roles[i] != Fallback) {
					t.Errorf("%s: source %d is asked: %t", what, i+1, asked)
				}
			}
		})
	}
	const ms = time.Millisecond
	both := []Role{Live, Live}

	f("both answer", 10, 300*ms, "", both, 100*ms, 300*ms)
	f("one is slow", 9, 100*ms+headGrace, "", both, 100*ms, 3*time.Second)
	f("the first is slow", 10, 100*ms+headGrace, "", both, 3*time.Second, 100*ms)
	f("both are slow", 0, headTimeout, "cannot read the head: rpc-1: no answer in time; rpc-2: no answer in time",
		both, 9*time.Second, 9*time.Second)
	f("beside a fallback", 9, 100*ms, "", []Role{Live, Fallback}, 100*ms, 3*time.Second)
}

// overLines follows chains over several lines, each with a role.
func overLines(t *testing.T, roles []Role, lineOf func(i int) *line, count int) *follower {
	return follow(t, func(c *Config) {
		c.Clock = endpoint.Clock{}
		for i := range count {
			c.Endpoints = append(c.Endpoints, EndpointConfig{
				URL: "http://node.test", Transport: lineOf(i), Roles: []Role{roles[i]},
			})
		}
		c.Endpoints[0].Roles = nil // so that every role is there
	})
}

// A look that is given up is no failure of the nodes.
func TestLookThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := overLine(t, newLine(newChain(3)), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := l.f.observeHead(ctx, market.Head{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("given up: %v", err)
		}
		if s := l.f.Status(); s.Errors != 0 || l.f.sources[0].RestsUntil().After(time.Now()) {
			t.Errorf("status %+v", s)
		}
	})
}

// A head must be whole, and its source on our chain.
func TestWholeHeads(t *testing.T) {
	f := func(problem string, answer func(method string, result any) any) {
		t.Helper()
		n := newNode(t, busy(9))
		n.answer = func(method string, o object) any { return answer(method, o["result"]) }
		l := follow(t, nil, n)
		h, err := l.f.readLatest(t.Context(), l.f.sources[0])
		fails(t, "the head", err, problem)
		if err == nil && (*h.Number != 8 || !l.f.sources[0].blooms.Load()) {
			t.Errorf("head %d, with filters %t", *h.Number, l.f.sources[0].blooms.Load())
		}
		_, err = l.f.observeHead(t.Context(), market.Head{})
		fails(t, "a look", err, problem)
	}
	head := func(result any) func(string, any) any {
		return func(method string, _ any) any {
			if method == "eth_getBlockByNumber" {
				return result
			}
			return nil
		}
	}

	n := &fakeNode{fakeChain: busy(8)}
	f("the head: the node does not have it", head(null{}))
	f("the head: the node does not have it", head(object{"hash": market.Hash{1}.String()}))
	f("header of block 8 lacks its number, hash or timestamp", head(object{"number": "0x8"}))
	f("eth_getBlockByNumber: ", head(fail(-32000, "no")))
	f("the node is on chain 7; want 1", func(method string, _ any) any {
		if method == "eth_chainId" {
			return "0x7"
		}
		return n.block("latest")
	})
	f("", func(method string, result any) any {
		if b, ok := result.(object); ok {
			b["logsBloom"] = fmt.Sprintf("%#x", append(make([]byte, bloomLen-1), 1))
		}
		return nil
	})
}

// Of two heads of one height without a majority, that counts which is the ledger's or follows
// it, and else the first.
func TestTiedHeads(t *testing.T) {
	ours, theirs := newChain(9), newChain(8)
	theirs.forks = 1
	theirs.mine()
	nodes := []*fakeNode{newNode(t, theirs), newNode(t, ours)}
	l := follow(t, nil, nodes...)
	f := func(what string, want int, at market.Head) {
		t.Helper()
		var seen []*observedHead
		for i, n := range nodes {
			seen = append(seen, &observedHead{wireHeader: *l.headersOf(n, 1)[0], source: l.f.sources[i]})
			seen[i].Parent = word{byte(i + 1)}
		}
		if got := l.f.chooseHead(t.Context(), seen, at); got != seen[want] {
			t.Errorf("%s: chose that of %s", what, got.source.Name)
		}
	}

	f("neither is known", 0, market.Head{Hash: market.Hash{9}})
	f("the first's is the ledger's", 0, market.Head{Hash: theirs.head().hash})
	f("the second's is the ledger's", 1, market.Head{Hash: ours.head().hash})
	f("the first's follows the ledger's", 0, market.Head{Hash: market.Hash{1}})
	f("the second's follows the ledger's", 1, market.Head{Hash: market.Hash{2}})
	nodes[0].status = 502 // what it has there cannot be asked for any more
	f("one cannot say what it has", 1, market.Head{Hash: theirs.head().hash})
}

// The status has every counter, and each has its metric.
func TestStatusOfCounters(t *testing.T) {
	set := metrics.NewSet()
	l := follow(t, func(c *Config) { c.Metrics = set; c.Chain = 7 }, newNode(t, newChain(1)))
	m := l.f.m
	m.requests[0].Add(1)
	for range 2 {
		m.countFailure("rpc-1", endpoint.TimedOut)
	}
	m.falsePositives.Add(3)
	m.reorgs.Add(4)
	m.missed.Add(5)
	m.events.Add(6)
	m.noReceipts.Add(7)
	m.forks.Add(8)
	m.rate.Set(9.5)
	l.f.status.failures.Store(10)
	l.f.status.finalized.Store(11)
	l.f.noteSuccess(l.f.sources[0])
	l.f.noteError(errors.New("broken"))

	want := Status{
		Endpoint: "rpc-1", Failures: 10, LastError: "broken", LastErrorAt: l.clock.read(), Finalized: 11,
		Requests: 1, Errors: 2, FalsePositives: 3, Reorgs: 4, ShortAnswers: 5, Events: 6, NoReceipts: 7,
		EventsPerSec: 9.5,
	}
	if got := l.f.Status(); got != want {
		t.Errorf("status\n got %+v\nwant %+v", got, want)
	}

	var out bytes.Buffer
	set.WritePrometheus(&out)
	for _, line := range []string{
		`requests_total{chain="7",endpoint="rpc-1"} 1`,
		`errors_total{chain="7",endpoint="rpc-1",kind="` + string(endpoint.TimedOut) + `"} 2`,
		`bloom_false_positives_total{chain="7"} 3`, `reorgs_total{chain="7"} 4`, `short_answers_total{chain="7"} 5`,
		`events_total{chain="7"} 6`, `receipts_missing_total{chain="7"} 7`, `head_conflicts_total{chain="7"} 8`,
		`events_per_second{chain="7"} 9.5`,
	} {
		if !strings.Contains(out.String(), "tidemark_feed_"+line+"\n") {
			t.Errorf("no %s in\n%s", line, &out)
		}
	}
}
