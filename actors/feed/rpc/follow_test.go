package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// virtual is a clock that only sleeping moves.
type virtual struct {
	mu    sync.Mutex
	now   time.Time
	slept time.Duration
}

// read and advance may be called while the feed reads the clock.
func (v *virtual) read() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

func (v *virtual) advance(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = v.now.Add(d)
}

func (v *virtual) clock() endpoint.Clock {
	return endpoint.Clock{
		Now: v.read,
		Sleep: func(ctx context.Context, d time.Duration) error {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.now = v.now.Add(d)
			v.slept += d
			return ctx.Err()
		},
	}
}

// follower is a ledger that keeps spans as they came.
type follower struct {
	t       testing.TB
	f       *Feed
	clock   *virtual
	log     bytes.Buffer
	start   uint64
	spans   []*market.Span
	reverts int
	refused uint64
	missing []market.Address // tokens of the ledger without decimals
	proven  []bool           // by span
	last    feed.Step
}

func follow(t testing.TB, change func(*Config), nodes ...*fakeNode) *follower {
	l := &follower{t: t, clock: &virtual{now: time.Unix(1_800_000_000, 0)}}
	c := Config{Chain: 1, PoolManager: manager, PositionManager: positions,
		NativeSymbol: "ETH", NativeName: "Ether", Clock: l.clock.clock(), MaxLogRange: 100,
		Rand: func() float64 { return 0.5 }, Log: slog.New(slog.NewTextHandler(&l.log, nil))}

	for _, n := range nodes {
		c.Endpoints = append(c.Endpoints,
			EndpointConfig{URL: n.URL + "/key/s3cret?token=s3cret"})
	}

	if change != nil {
		change(&c)
	}
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	l.f = f
	return l
}

func (l *follower) anchors() (a []market.Head) {
	for i := len(l.spans) - 1; i >= 0; i-- {
		a = append(a, l.spans[i].Head())
	}
	if len(l.spans) == 0 {
		a = append(a, market.Head{Number: l.start - 1})
	}
	return a
}

// next calls Next once and applies what it gives.
func (l *follower) next() error {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	anchors := l.anchors()
	step, err := l.f.Next(ctx, feed.Cursor{
		Anchors: anchors, Refused: l.refused, MissingTokens: l.missing,
	})
	if l.last = step; err != nil {
		return err
	}
	if r := step.RevertTo; r != nil {
		l.reverts++
		for len(l.spans) > 0 && l.spans[len(l.spans)-1].Head() != *r {
			l.spans = l.spans[:len(l.spans)-1]
		}
		if len(l.spans) == 0 {
			l.t.Fatalf("revert to %+v, which is no anchor", *r)
		}
		return nil
	}

	if s := step.Span; s != nil {
		if s.From != anchors[0].Number+1 || s.Parent != anchors[0].Hash || s.To < s.From {
			l.t.Fatalf("span %d..%d on %s; want it after %+v", s.From, s.To, s.Parent, anchors[0])
		}
		l.spans, l.proven = append(l.spans, s), append(l.proven, step.Proven)
	}

	return nil
}

// to calls Next until the chain's head is confirmed, over at most limit calls
// and any errors.
func (l *follower) to(c *fakeChain, limit int) {
	l.t.Helper()
	var err error
	for range limit {
		err = l.next()
		if err == nil && l.last.Span == nil && l.last.RevertTo == nil &&
			l.last.Head.Hash == c.head().hash && !l.last.Confirmed.IsZero() {
			l.same(c)
			return
		}
	}
	l.t.Fatalf("not at the head after %d calls; last error %v, at %+v, head %d",
		limit, err, l.last, c.head().number)
}

// same compares everything that was applied with the chain.
func (l *follower) same(c *fakeChain) {
	l.t.Helper()
	var got, want []string
	for _, s := range l.spans {
		if last := c.blocks[s.To]; s.Time != last.time {
			l.t.Fatalf("a span to block %d has the time %d; want %d", s.To, s.Time, last.time)
		}
		for _, b := range s.Blocks {
			for _, e := range b.Logs {
				got = append(got, fmt.Sprintf("%d %d %d %s", b.Number, b.Time, e.Index,
					b.Txs[e.Tx].Hash))
			}
		}
	}

	for _, b := range c.blocks[l.start:] {
		for _, e := range b.logs {
			if e["topics"].([]string)[0][:4] == "0x8c" {
				continue
			}
			index := quantity(0)
			_ = index.UnmarshalJSON(fmt.Appendf(nil, "%q", e["logIndex"]))
			want = append(want, fmt.Sprintf("%d %d %d %s", b.number, b.time, uint64(index),
				e["transactionHash"]))
		}
	}

	if fmt.Sprint(got) != fmt.Sprint(want) {
		l.t.Fatalf("events\n got %v\nwant %v", got, want)
	}
}

// busy makes a chain with events in every seventh block.
func busy(blocks int) *fakeChain {
	c := newChain(1)
	for i := 1; i < blocks; i++ {
		switch {
		case i%7 == 0:
			c.mine(swapped(int64(i)), swapped(5))
		case i%31 == 1:
			c.mine(minted(int64(i))...)
		default:
			c.mine()
		}
	}
	return c
}

func TestFollowsAChain(t *testing.T) {
	c := busy(700)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 40)
	ranges, final := 0, 0
	for _, s := range l.spans {
		if s.To-s.From > 80 {
			ranges++
		}
		if s.Final {
			if final++; s.To+market.UndoBlocks > 699 {
				t.Errorf("span to %d is final under head 699", s.To)
			}
		}
	}

	if ranges < 6 || final < 4 {
		t.Errorf("%d ranges, %d final of %d spans", ranges, final, len(l.spans))
	}

	for range 30 {
		c.mine(swapped(1))
		l.to(c, 3)
	}

	if s := l.f.Status(); s.Errors != 0 || s.Failures != 0 || s.Events < 250 || s.LastError != "" {
		t.Errorf("status %+v", s)
	}
	if got := l.last.Head.Time; got != c.head().time {
		t.Errorf("head time %d", got)
	}
}

// A start block in the middle, blocks that no log dates, and a node without
// the finalized tag.
func TestDatesBlocksFromTheirHeaders(t *testing.T) {
	c := busy(1000)
	n := newNode(t, c)
	n.undated, n.finalized = true, -1

	l := follow(t, nil, n)
	l.start = 300
	l.to(c, 60)
	if got := n.calls["eth_getBlockByNumber"]; got > 500 {
		t.Errorf("%d headers were read for 700 blocks, of which 443 are settled", got)
	}

	for _, s := range l.spans {
		if s.To > 999-256 && s.From < 999-256 && s.To-s.From > 80 {
			t.Errorf("span %d..%d by range", s.From, s.To)
		}
	}
}

func TestReorganisations(t *testing.T) {
	c := busy(400)
	n := newNode(t, c)
	l := follow(t, nil, n)
	l.to(c, 40)
	for depth := 1; depth <= 12; depth++ {
		for range depth {
			c.mine(swapped(2))
			l.to(c, 4)
		}
		c.cut(depth)
		for range depth + depth%3 {
			c.mine(minted(int64(depth))...)
		}
		l.to(c, 8)
	}

	if l.reverts != 12 || l.f.Status().Reorgs != 12 {
		t.Errorf("%d reverts, status %+v", l.reverts, l.f.Status())
	}
}

// A chain that ends below the ledger's head may be a node that lags: it is
// believed after a while, and at once when it grows past.
func TestAShorterChainIsBelievedLater(t *testing.T) {
	c := busy(400)
	l := follow(t, nil, newNode(t, c))
	l.to(c, 40)
	for range 4 {
		c.mine(swapped(2))
		l.to(c, 4)
	}

	c.cut(3)
	from := l.clock.read()
	l.to(c, 30)
	if waited := l.clock.read().Sub(from); waited < believeShorter || l.reverts != 1 {
		t.Errorf("believed after %s, %d reverts", waited, l.reverts)
	}

	c.mine(swapped(3))
	l.to(c, 4)
	c.cut(1)
	if err := l.next(); err != nil || l.last.RevertTo != nil || !l.last.Confirmed.IsZero() {
		t.Errorf("a node that lags: %+v, %v", l.last, err)
	}

	c.mine()
	c.mine(swapped(9))
	from = l.clock.read()
	l.to(c, 5)
	if waited := l.clock.read().Sub(from); waited > 5*time.Second {
		t.Errorf("believed after %s", waited)
	}
}

func TestTooDeep(t *testing.T) {
	c := busy(50)
	l := follow(t, nil, newNode(t, c))
	l.to(c, 10)
	c.cut(50)
	for range 60 {
		c.mine(swapped(1))
	}

	for i := range believeDeep {
		err := l.next()
		if err == nil || errors.Is(err, feed.ErrTooDeep) != (i == believeDeep-1) {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}

// A ledger that keeps the inverse of its first span can go back to the start.
func TestBackToTheStart(t *testing.T) {
	c := busy(50)
	l := follow(t, nil, newNode(t, c))
	l.start = 5
	l.to(c, 10)
	c.cut(50)
	for range 60 {
		c.mine(swapped(1))
	}

	var err error
	for range believeDeep {
		anchors := append(l.anchors(), market.Head{Number: 4})
		var step feed.Step
		step, err = l.f.Next(t.Context(), feed.Cursor{Anchors: anchors})
		if r := step.RevertTo; r != nil && *r != anchors[len(anchors)-1] {
			t.Errorf("revert to %+v", *r)
		} else if r != nil {
			l.spans = nil
		}
	}

	if err != nil {
		t.Error(err)
	}

	l.to(c, 10)
}

// A ledger that stands at a cut between blocks, above nothing but the start,
// goes back to the start.
func TestBackFromACut(t *testing.T) {
	c := busy(50)
	l := follow(t, nil, newNode(t, c))
	start := market.Head{Number: 4}
	step, err := l.f.Next(t.Context(), feed.Cursor{Anchors: []market.Head{{Number: 20}, start}})
	if err != nil || step.RevertTo == nil || *step.RevertTo != start {
		t.Errorf("%+v, %v", step, err)
	}
}

// The chain is replaced between two answers of one poll: what was read is not
// one picture and must not become a span.
func TestAChainThatMovesWhileItIsRead(t *testing.T) {
	for _, during := range []string{"eth_getBlockReceipts", "eth_getLogs"} {
		c := busy(30)
		n := newNode(t, c)
		l := follow(t, nil, n)
		l.to(c, 10)
		n.receiptless = during == "eth_getLogs"
		c.mine(minted(99)...)
		moved := false
		n.answer = func(method string, _ object) any {
			if method == during && !moved {
				moved = true
				n.mu.Unlock()
				defer n.mu.Lock()
				c.cut(1)
				c.mine(swapped(4))
			}
			return nil
		}

		if err := l.next(); err == nil || l.last.Span != nil {
			t.Errorf("%s: %v, span %v", during, err, l.last.Span)
		}

		n.receiptless = false
		l.to(c, 8)
	}
}
