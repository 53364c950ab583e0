package rpc

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// Config says where a chain is read from. Zero values are the defaults.
type Config struct {
	Chain           market.ChainID
	Endpoints       []EndpointConfig // in order of preference; at least one of http
	PoolManager     market.Address
	PositionManager market.Address
	// NativeSymbol and NativeName describe the zero address, with 18 decimals.
	NativeSymbol, NativeName string
	// Required are tokens that prices hang on: without their decimals the chain
	// waits. Decimals are those that need not be asked for.
	Required []market.Address
	Decimals map[market.Address]uint8

	MaxLogRange     uint64 // blocks in one request for logs; 0: 2000
	RangesInFlight  int    // whose logs are asked for at once; 0: 12
	FetchAheadBytes int64  // what may be read before it is wanted; 0: 256 MiB

	MaxHeadAge time.Duration // an older head confirms nothing; 0: off
	Poll       time.Duration // between two polls of the head; 0: 1 s

	Clock   endpoint.Clock
	Rand    func() float64 // in [0, 1), for jitter; nil: math/rand
	Metrics *metrics.Set   // nil: the feed's own
	Log     *slog.Logger   // nil: silent
}

func (c Config) withDefaults() Config {
	c.Clock = c.Clock.OrSystem()
	c.MaxLogRange = cmp.Or(c.MaxLogRange, 2000)
	c.RangesInFlight = cmp.Or(c.RangesInFlight, 12)
	c.FetchAheadBytes = cmp.Or(c.FetchAheadBytes, 256<<20)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	return c
}

// Feed reads one chain. Next and Close are for one goroutine, the rest for any.
type Feed struct {
	cfg     Config
	sources []*source
	streams []*endpoint.HeadStream
	wake    chan struct{} // a subscription told of a new head
	shown   shownHeads    // by subscriptions
	stop    context.CancelFunc
	work    sync.WaitGroup // the subscriptions, and what is read ahead

	blooms blooms
	m      *meters
	status status
	next   chan struct{} // held by the call of Next that reads

	due         time.Time // when the next call of Next may start to ask
	failures    int       // calls of Next in a row
	highestHead uint64    // that was believed
	settled     settledBlocks
	ahead       *ahead    // ranges that were read before they are wanted; nil: none
	recheck     []reading // ranges near the head that are read again
	singlyBelow uint64    // before this block they are read one by one
	pollSize    uint64    // blocks of the next poll
	proofs      proofs
	polled      time.Time // when the head was last polled, beside subscriptions
	logsDue     time.Time // when logs of shown blocks may be asked for again
	doubts      int       // how often in a row logs did not explain shown blocks
	pace        speed

	shorter         time.Time   // since when the chain ends below the ledger's head
	offChain        int         // how often in a row no anchor was on the chain
	pendingReceipts int         // how often in a row receipts were missing
	pruned          atomic.Bool // no node had the receipts of history that were asked for last
	tokens          tokens
}

var _ feed.Feed = (*Feed)(nil)

// New makes a feed. It asks nothing yet: a node that is down, or on another
// chain, is an error of Next and is tried again.
func New(c Config) (*Feed, error) {
	f := &Feed{cfg: c.withDefaults(), blooms: bloomsOf(c.PoolManager, c.PositionManager)}
	f.m = newMeters(f.cfg.Metrics, c.Chain)
	f.next, f.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	f.pollSize = maxWalk
	f.tokens.known = make(map[market.Address]market.TokenMeta)
	for i := range c.Endpoints {
		if err := f.addEndpoint(i, &c.Endpoints[i]); err != nil {
			return nil, fmt.Errorf("RPC URL %d of chain %d: %w", i+1, c.Chain, err)
		}
	}

	switch {
	case len(c.Endpoints) == 0:
		return nil, fmt.Errorf("chain %d has no RPC URL", c.Chain)
	case len(f.sources) == 0:
		return nil, fmt.Errorf("chain %d has ws and wss addresses only, which tell of new heads; "+
			"give it an http or https address too, for everything else", c.Chain)
	}

	for _, r := range []Role{Backfill, Live} {
		if f.sourcesFor(r)[0] == nil {
			return nil, fmt.Errorf("chain %d has no endpoint with the role %s", c.Chain, r)
		}
	}

	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	for _, s := range f.streams {
		f.work.Go(func() { s.Run(ctx, f.cfg.Rand, func(err error) { f.streamFailed(s, err) }) })
	}
	return f, nil
}

func (f *Feed) addEndpoint(i int, c *EndpointConfig) error {
	name := cmp.Or(c.Name, fmt.Sprintf("rpc-%d", i+1))
	if strings.HasPrefix(c.URL, "ws:") || strings.HasPrefix(c.URL, "wss:") {
		s, err := endpoint.NewHeadStream(name, c.URL, f.cfg.Clock, f.headShown)
		f.streams = append(f.streams, s)
		return err
	}

	e, err := endpoint.New(endpoint.Config{
		Name: name, URL: c.URL, RequestsPerSecond: c.RequestsPerSecond,
		ComputeUnitsPerSecond: c.ComputeUnitsPerSecond, Timeout: c.Timeout,
		Transport: c.Transport,
		Clock:     f.cfg.Clock, Requests: f.m.requestCounter(name),
	})

	if err != nil {
		return err
	}
	f.sources = append(f.sources, &source{
		Endpoint: e, backfill: c.has(Backfill), live: c.has(Live), fallback: c.has(Fallback),
		ranges: newRangeSize(f.cfg.MaxLogRange),
		health: health{warned: make(map[endpoint.Kind]*warning)},
	})
	return nil
}

func (f *Feed) streamFailed(s *endpoint.HeadStream, err error) {
	f.m.countFailure(s.Name, endpoint.KindOf(err))
	f.cfg.Log.Info("a subscription to heads ended; heads are polled until it is back",
		"chain", f.cfg.Chain, "endpoint", s.Name, "error", err)
}

// Close ends the subscriptions and frees the connections.
func (f *Feed) Close() error {
	f.dropAhead()
	f.stop()
	f.work.Wait()
	for _, s := range f.sources {
		s.Close()
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
	case f.next <- struct{}{}:
		defer func() { <-f.next }()
	case <-ctx.Done():
		return feed.Step{}, ctx.Err()
	}
	if err := f.awaitNextPoll(ctx); err != nil {
		return feed.Step{}, err
	}

	started := f.cfg.Clock.Now()
	step, err := f.nextStep(ctx, &c)
	f.addProgress(&step)
	switch {
	case err == nil:
		f.failures = 0
		f.due = f.nextPoll(started, &step)
	case ctx.Err() == nil:
		f.failures++
		f.noteError(err)
		pause := endpoint.Pause(f.failures, f.cfg.Rand())
		if isPassing(err) {
			pause = min(pause, f.cfg.Poll) // a block that is not there yet soon will be
		}
		f.due = f.cfg.Clock.Now().Add(pause)
		if ready := f.readyAt(Live); ready.After(f.due) {
			f.due = ready
		}
		err = fmt.Errorf("cannot read chain %d: %w", f.cfg.Chain, err)
	}
	f.status.failures.Store(int64(f.failures))
	return step, err
}

// awaitNextPoll sleeps until the next poll is due or a subscription tells of a head.
func (f *Feed) awaitNextPoll(ctx context.Context) error {
	wait := f.due.Sub(f.cfg.Clock.Now())
	if len(f.streams) == 0 || f.failures > 0 || wait <= 0 {
		return f.cfg.Clock.Sleep(ctx, max(wait, 0))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-f.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

const (
	// shorterPoll is the pause between two polls while the chain ends below the
	// ledger's head: whether it stays so must be known within two seconds.
	shorterPoll = 250 * time.Millisecond
	// subscribedPolls is how many times rarer the head is polled while a subscription
	// is live.
	subscribedPolls = 5
)

// nextPoll returns when to poll the head again: at once while there is more
// to read.
func (f *Feed) nextPoll(started time.Time, step *feed.Step) time.Time {
	switch {
	case step.RevertTo != nil || step.Span != nil && step.Span.To < step.Head.Number:
		return time.Time{}
	case !f.shorter.IsZero():
		return started.Add(min(shorterPoll, f.cfg.Poll))
	}
	if f.logsDue.After(started) {
		return f.logsDue
	}
	for _, s := range f.streams {
		if s.Live() {
			return started.Add(subscribedPolls * f.cfg.Poll)
		}
	}
	return started.Add(f.cfg.Poll)
}

// nextStep returns what follows the cursor, by the headers that a subscription shows, or by a
// poll of the head. The head is polled now and then beside a subscription too.
func (f *Feed) nextStep(ctx context.Context, c *feed.Cursor) (feed.Step, error) {
	at := c.Anchors[0]
	if f.followsShown(c) && f.cfg.Clock.Now().Sub(f.polled) < shownPollEvery {
		step := feed.Step{Finalized: f.outOfReach()}
		if on := f.readAgain(ctx, c.Anchors); on > 0 {
			return f.revertTo(step, c.Anchors[on]), nil
		}
		return f.followShown(ctx, step, at)
	}

	head, err := f.headFor(ctx, at)
	if err != nil {
		return feed.Step{}, err
	}
	step := feed.Step{Head: head.head(), Finalized: f.outOfReach()}
	on, err := f.anchorToFollow(ctx, head, c)
	switch {
	case err != nil || on == notKnownYet:
		return step, err
	case on > 0:
		return f.revertTo(step, c.Anchors[on]), nil
	}

	f.rereadTokens(ctx, c.MissingTokens, at.Number)
	if f.polled = f.cfg.Clock.Now(); f.shown.contradicts(head) {
		f.shown.clear()
	}
	if f.followsShown(c) {
		return f.followShown(ctx, step, at)
	}
	return f.followPolled(ctx, step, head, c)
}

// anchorToFollow returns the place of the anchor that the next span follows: 0, the newest,
// unless the chain left it or a span after another one lacked events.
func (f *Feed) anchorToFollow(ctx context.Context, head *observedHead, c *feed.Cursor) (on int, err error) {
	if c.Refused > 0 || !f.isAhead(head, c.Anchors[0]) {
		if on, err = f.findAnchor(ctx, head, c.Anchors); err != nil || on != 0 {
			return on, err
		}
	}
	return f.readAgain(ctx, c.Anchors), nil
}

// followPolled reads what follows the newest anchor up to a head that was polled.
func (f *Feed) followPolled(
	ctx context.Context, step feed.Step, head *observedHead, c *feed.Cursor,
) (feed.Step, error) {
	at := c.Anchors[0]

	switch from := at.Number + 1; {
	case head.Hash == word(at.Hash):
		step.Confirmed = f.confirmedAt(head)
		return step, nil
	case from > uint64(*head.Number):
		return step, nil
	case f.isFar(head, from) && !isRefused(c, from):
		return f.backfillRange(ctx, step, head, at, c)
	default:
		return f.pollBlocks(ctx, step, head, at, c)
	}
}

// revertTo has the ledger go back to an anchor.
func (f *Feed) revertTo(step feed.Step, at market.Head) feed.Step {
	f.m.reorgs.Inc()
	step.RevertTo = &at
	f.dropReadings(at.Number)
	f.tokens.tellAgain()
	return step
}

// confirmedAt returns when the head was seen, or zero when it is too old to
// confirm anything.
func (f *Feed) confirmedAt(head *observedHead) time.Time {
	age := head.at.Sub(time.Unix(int64(*head.Time), 0))
	if f.cfg.MaxHeadAge > 0 && age > f.cfg.MaxHeadAge {
		f.noteError(fmt.Errorf("%s: head %d is %s old; more than %s confirms nothing",
			head.source.Name, *head.Number, age.Round(time.Second), f.cfg.MaxHeadAge))
		return time.Time{}
	}
	return head.at
}
