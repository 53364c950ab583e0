package stream

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/query"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// Config is what a Hub needs. Every field is required.
type Config struct {
	Board   *rankings.Board
	Metrics *metrics.Set
}

// Hub tells streams what the published generations changed.
type Hub struct {
	Config
	metrics hubMetrics
	clock   accounts.Clock // by which minutes are counted; see steady
	window  atomic.Int64   // how long a watched row is kept without a stream, ms
	unsent  atomic.Int64   // bytes of events that may wait for a client

	mu       sync.Mutex // of readers only: no writer takes it
	index    index
	snapshot *rankings.Snapshot // that was told last
	seq      uint64             // the next step of the log to tell of
	known    query.Generations  // what has been told of
	rendered eventCache
	wheel    wheel
	open     int
	stopped  bool
	cancel   context.CancelFunc // of the running goroutine; nil: there is none
	start    func(run func(context.Context)) context.CancelFunc
}

// New returns a hub without streams.
func New(cfg Config) *Hub {
	h := &Hub{
		Config: cfg, clock: accounts.NewClock(time.Now()), index: newIndex(), rendered: newEventCache(), start: spawn,
	}
	h.metrics = newHubMetrics(cfg.Metrics, func() float64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		return float64(h.open)
	})
	return h
}

// SetBounds sets how long the rows of a stream that left are kept, which is as long as
// the board keeps changes, and how many bytes of events may wait for a client that
// does not read.
func (h *Hub) SetBounds(window time.Duration, unsentBytes int) {
	h.window.Store(window.Milliseconds())
	h.unsent.Store(int64(unsentBytes))
}

// spawn runs the hub in a goroutine of its own.
func spawn(run func(context.Context)) context.CancelFunc {
	ctx, cancel := context.WithCancel(context.Background())
	go run(ctx)
	return cancel
}

type hubMetrics struct{ events, resumed, reset, cut *metrics.Counter }

func newHubMetrics(set *metrics.Set, open func() float64) hubMetrics {
	set.NewGauge(`tidemark_edge_streams_open`, open)
	return hubMetrics{
		events:  set.NewCounter(`tidemark_edge_stream_events_total`),
		resumed: set.NewCounter(`tidemark_edge_streams_resumed_total{how="continued"}`),
		reset:   set.NewCounter(`tidemark_edge_streams_resumed_total{how="reset"}`),
		cut:     set.NewCounter(`tidemark_edge_streams_cut_total`),
	}
}

// run polls the board and turns the wheel until Poll returns false.
func (h *Hub) run(ctx context.Context) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if !h.Poll(now) {
				return
			}
		}
	}
}

// Poll tells the streams what was published since the last poll, and what the clock
// says. It returns false when there are no streams and nothing is watched any more.
func (h *Hub) Poll(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readBoard()
	h.turnWheel(h.steady(now))
	if h.open == 0 && h.index.empty() {
		h.cancel, h.snapshot = nil, nil
		h.rendered = newEventCache()
		return false
	}
	return true
}

// steady returns a time as it would be if nobody had set the wall clock since the hub was
// made. Minutes are counted by it: a clock that is set back must not end their payment.
func (h *Hub) steady(t time.Time) time.Time { return h.clock.Time(t) }

// readBoard tells of the steps since the last one.
func (h *Hub) readBoard() {
	next := h.Board.Load()
	if next == h.snapshot {
		return
	}
	h.snapshot = next

	steps := next.Log.After(h.seq)
	if len(steps) > 0 && steps[0].Seq > h.seq {
		h.resetStreams(0) // the hub stood still for longer than the log goes back
	}
	for _, s := range steps {
		h.readStep(s)
		h.seq = s.Seq + 1
	}

	h.readViews()
	h.rendered.forget(next.Log)
}

// readStep tells of a step. That of a chain which is not served is passed over.
func (h *Hub) readStep(s *rankings.Step) {
	i := slices.IndexFunc(h.known, func(g query.Generation) bool { return g.Chain == s.Chain })
	if i < 0 {
		return
	}

	was := h.known[i].Number
	h.known[i].Number = s.Generation
	if s.Unknown || s.Since != was {
		h.resetStreams(s.Chain)
		return
	}
	h.tellStep(s)
}

// readViews notices chains that were published anew, or that no longer are.
func (h *Hub) readViews() {
	now := generationsOf(h.snapshot)
	was := h.known
	h.known = now
	for _, g := range now {
		if was.Of(g.Chain) != g.Number {
			h.resetStreams(g.Chain)
		}
	}
}

// generationsOf returns the published generations of the chains that are served.
func generationsOf(s *rankings.Snapshot) (list query.Generations) {
	for i := range s.Chains {
		if c := &s.Chains[i]; c.View != nil && c.Status.Enabled && !c.Status.Offline {
			list = append(list, query.Generation{Chain: c.ID, Number: c.View.Generation})
		}
	}
	return list
}

// resetStreams tells the streams that concern a chain, 0 for all, to start again.
func (h *Hub) resetStreams(chain market.ChainID) {
	event := resetEvent(h.known.String())
	h.wheel.each(func(s *Stream) {
		if chain != 0 && !s.follows(chain) {
			return
		}
		s.backlog = nil
		h.queue(s, event)
		s.seen = h.snapshot.Log.Next()
	})
}

// queue queues an event for a stream.
func (h *Hub) queue(s *Stream, event []byte) {
	h.metrics.events.Inc()
	s.push(event)
}

// remove takes a stream off.
func (h *Hub) remove(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	h.wheel.remove(s)
	h.index.remove(s, h.steady(time.Now()).UnixMilli()+h.window.Load())
}

// Stop ends all streams, and those that begin later.
func (h *Hub) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.wheel.each(func(s *Stream) { s.End(EndStop) })
	if h.cancel != nil {
		h.cancel()
	}
}
