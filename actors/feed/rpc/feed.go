package rpc

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"golang.org/x/time/rate"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

// Config says where a chain is read from. Zero values are the defaults.
type Config struct {
	Chain           market.ChainID
	URLs            []string // in order of preference; at least one
	PoolManager     market.Address
	PositionManager market.Address
	// NativeSymbol and NativeName describe the zero address, with 18 decimals.
	NativeSymbol, NativeName string

	MaxLogRange       uint64        // blocks in one request for logs; 0: 2000
	RequestsPerSecond float64       // over all URLs; 0: no limit
	MaxHeadAge        time.Duration // an older head confirms nothing; 0: off
	Poll              time.Duration // between two looks at the head; 0: 1 s
	Timeout           time.Duration // of one request; 0: 20 s

	Clock   Clock
	Rand    func() float64 // in [0, 1), for jitter; nil: math/rand
	Metrics *metrics.Set   // nil: the feed's own
	Log     *slog.Logger   // nil: silent
}

func (c Config) withDefaults() Config {
	c.Clock = c.Clock.orSystem()
	c.MaxLogRange = cmp.Or(c.MaxLogRange, 2000)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.Timeout = cmp.Or(c.Timeout, 20*time.Second)
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	return c
}

// Feed reads one chain. Next and Close are for one goroutine, Status for any.
type Feed struct {
	cfg    Config
	nodes  []*node
	blooms blooms
	m      *meters
	now    standing
	turn   chan struct{} // held by the call of Next that reads

	due      time.Time // when the next call of Next may start to ask
	failures int       // calls of Next in a row
	far      farSight  // see backfill.go
	shorter  time.Time // since when the chain ends below the ledger's head; see anchor.go
	deep     int       // how often in a row no anchor was on the chain
	unpaid   int       // how often in a row receipts were missing; see receipts.go
	unnamed  int       // how often in a row tokens could not be read; see tokens.go
	tokens   map[market.Address]market.TokenMeta
}

var _ feed.Feed = (*Feed)(nil)

// New makes a feed. It asks nothing yet: a node that is down, or on another
// chain, is an error of Next and is tried again.
func New(c Config) (*Feed, error) {
	if len(c.URLs) == 0 {
		return nil, fmt.Errorf("chain %d has no RPC URL", c.Chain)
	}
	if c.RequestsPerSecond < 0 {
		return nil, fmt.Errorf("requests per second cannot be %g", c.RequestsPerSecond)
	}
	f := &Feed{cfg: c.withDefaults(), blooms: bloomsOf(c.PoolManager, c.PositionManager)}
	f.m = newMeters(f.cfg.Metrics, c.Chain)
	f.far.size = f.cfg.MaxLogRange
	f.turn = make(chan struct{}, 1)
	f.tokens = make(map[market.Address]market.TokenMeta)
	var limit *rate.Limiter
	if rps := c.RequestsPerSecond; rps > 0 {
		limit = rate.NewLimiter(rate.Limit(rps), max(1, int(rps)))
	}
	for i, u := range c.URLs {
		n, err := dial(u, f.cfg.Timeout)
		if err != nil {
			return nil, fmt.Errorf("RPC URL %d of chain %d: %w", i+1, c.Chain, err)
		}
		n.limit, n.clock, n.m = limit, f.cfg.Clock, f.m
		f.nodes = append(f.nodes, n)
	}
	return f, nil
}

// Close frees the connections.
func (f *Feed) Close() error {
	for _, n := range f.nodes {
		n.close()
	}
	return nil
}

// Next returns what follows the cursor; see feed.Feed. After a failure the
// next call waits before it asks again, and so it does when the last one was
// less than Config.Poll ago and found the head. A call that was given up, as
// when a chain is restored, may still be ending: the next waits for it.
func (f *Feed) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	if len(c.Anchors) == 0 {
		panic("BUG: a cursor without anchors")
	}
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return feed.Step{}, ctx.Err()
	}
	wait := f.due.Sub(f.cfg.Clock.Now())
	if err := f.cfg.Clock.Sleep(ctx, max(wait, 0)); err != nil {
		return feed.Step{}, err
	}
	started := f.cfg.Clock.Now()
	step, err := f.step(ctx, c.Anchors)
	switch {
	case err == nil:
		f.failures = 0
		if step.RevertTo == nil && (step.Span == nil || step.Span.To >= step.Head.Number) {
			f.due = started.Add(f.cfg.Poll)
		}
	case ctx.Err() == nil:
		f.failures++
		f.note(err)
		f.due = f.cfg.Clock.Now().Add(pause(f.failures, f.cfg.Rand()))
		err = fmt.Errorf("cannot read chain %d: %w", f.cfg.Chain, err)
	}
	f.now.failures.Store(int64(f.failures))
	return step, err
}

func (f *Feed) step(ctx context.Context, anchors []market.Head) (feed.Step, error) {
	head, err := f.headFor(ctx, anchors[0])
	if err != nil {
		return feed.Step{}, err
	}
	step := feed.Step{Head: head.head()}
	if f.far.known {
		step.Finalized = f.far.until
	}
	on, err := f.find(ctx, head, anchors)
	if err != nil || on == waitForIt {
		return step, err
	}
	at := anchors[on]
	if on > 0 {
		f.m.reorgs.Inc()
		step.RevertTo = &at
		return step, nil
	}
	switch from := at.Number + 1; {
	case head.Hash == word(at.Hash):
		step.Confirmed = f.confirm(head)
		return step, nil
	case from > uint64(*head.Number):
		return step, nil
	case f.isFar(head, from):
		return f.backfill(ctx, step, head, at)
	default:
		return f.poll(ctx, step, head, at)
	}
}

// confirm returns when the head was seen, or zero when it is too old to
// confirm anything.
func (f *Feed) confirm(head *sight) time.Time {
	age := head.at.Sub(time.Unix(int64(*head.Time), 0))
	if f.cfg.MaxHeadAge > 0 && age > f.cfg.MaxHeadAge {
		f.note(fmt.Errorf("%s: head %d is %s old; more than %s confirms nothing",
			head.node.name, *head.Number, age.Round(time.Second), f.cfg.MaxHeadAge))
		return time.Time{}
	}
	return head.at
}
