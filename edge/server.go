package edge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/query"
	"tidemark/edge/stream"
	"tidemark/edge/ui"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// Config configures a Server. Every field is required.
type Config struct {
	pages.Config
	Preview bool // show the top of one ranking on the front page, without a key

	Book        *accounts.Book
	Clock       accounts.Clock
	Log         *slog.Logger
	Connections Connections
	// Slow is from when on a request is logged; 0: never.
	Slow time.Duration
}

// Server serves the API.
type Server struct {
	cfg     Config
	chains  query.Chains
	ids     requestIDs
	gate    *gate.Gate
	pages   *pages.Pages
	openAPI *pages.Page
	site    *ui.Site
	metrics *serverMetrics
	long    *longAnswers
	packers packers
	hub     *stream.Hub
	http    *fasthttp.Server

	tags     atomic.Pointer[map[*pages.Page]string] // ETags of the documents that a client may keep
	listener atomic.Pointer[listener]               // nil before Serve
	slow     atomic.Int64                           // from when on a request is logged, in ns
	draining atomic.Bool                            // every answer closes its connection
}

// New returns a server. It answers nothing until Serve is called.
func New(cfg Config) (*Server, error) {
	s := &Server{
		cfg: cfg, ids: newRequestIDs(), openAPI: &pages.Page{Body: openAPI},
		gate:    gate.New(cfg.Book, cfg.Clock, cfg.Metrics),
		metrics: newServerMetrics(cfg.Metrics), long: newLongAnswers(cfg.Metrics),
	}
	for i := range cfg.Chains {
		c := &cfg.Chains[i]
		s.chains = append(s.chains, query.Chain{ID: c.ID, Enabled: c.Enabled})
	}
	slices.SortFunc(s.chains, func(a, b query.Chain) int { return cmp.Compare(a.ID, b.ID) })

	var err error
	if s.pages, err = pages.New(&s.cfg.Config); err != nil {
		return nil, err
	}
	s.site = ui.Open()
	s.tagDocuments()
	s.slow.Store(int64(cfg.Slow))
	s.hub = stream.New(stream.Config{Board: cfg.Board, Metrics: cfg.Metrics})
	s.boundStreams(&cfg.Limits, &cfg.Connections)
	s.http = s.newHTTP()
	return s, nil
}

// newHTTP configures fasthttp. limits.go explains the values.
func (s *Server) newHTTP() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:      s.serve,
		ErrorHandler: s.answerUnreadable,
		ConnState:    trackIdle,
		Logger:       countingLog{s.metrics.brokenConnections},

		// The listener refuses connections first, with an error in JSON.
		Concurrency:        2 * MaxConnections,
		ReadBufferSize:     maxHead,
		WriteBufferSize:    writeBuffer,
		MaxRequestBodySize: maxBody,

		NoDefaultServerHeader:        true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
		TCPKeepalive:                 true,
		DisablePreParseMultipartForm: true,
		// The connection of a long answer is left to its goroutine, so that the
		// buffers of fasthttp are given back when it begins.
		KeepHijackedConns: true,
	}
}

// countingLog counts the messages that fasthttp would log, and drops them: they
// quote requests with their keys, and an operator cannot act on them.
type countingLog struct{ count *metrics.Counter }

func (l countingLog) Printf(string, ...any) { l.count.Inc() }

// Serve accepts connections on l until Shutdown, which closes l.
func (s *Server) Serve(l net.Listener) error {
	bounded := newListener(l, s.cfg.Connections, s.cfg.Metrics)
	s.listener.Store(bounded)
	if err := s.http.Serve(bounded); err != nil {
		return fmt.Errorf("cannot serve on %s: %w", l.Addr(), err)
	}
	return nil
}

// Settings are what may change while a server serves.
type Settings struct {
	Limits      pages.Limits
	Connections Connections
	Plans       []accounts.Plan
	Slow        time.Duration
}

// SetPlans replaces the plans that /v1/plans lists.
func (s *Server) SetPlans(plans []accounts.Plan) {
	s.pages.SetPlans(plans)
	s.tagDocuments()
}

// Apply replaces the settings for the requests and connections that follow.
func (s *Server) Apply(c Settings) {
	s.pages.SetLimits(c.Limits)
	s.SetPlans(c.Plans)
	s.slow.Store(int64(c.Slow))
	s.boundStreams(&c.Limits, &c.Connections)
	if l := s.listener.Load(); l != nil {
		l.setBounds(c.Connections)
	}
}

// boundStreams sets how long changes are kept and how much may be unsent.
func (s *Server) boundStreams(l *pages.Limits, c *Connections) {
	s.cfg.Board.SetWindow(l.StreamWindow)
	s.hub.SetBounds(l.StreamWindow, c.UnsentBytes)
}

// ChainHealth returns a chain's status and its reason, as /health does.
func (s *Server) ChainHealth(id market.ChainID) (status, reason string) {
	return s.pages.ChainHealth(id, s.cfg.Clock.Time(time.Now()).UnixMilli())
}

// HearWalk keeps what another node of the cluster keeps for a walk.
func (s *Server) HearWalk(w *pages.Walk) { s.pages.HearWalk(w) }

// HearStart notes that another node of the cluster has started.
func (s *Server) HearStart() { s.pages.HearStart() }

// Drain makes every answer from now on close its connection and say so, and ends
// streams, so that clients with open connections move elsewhere without losing a
// request.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.hub.Stop()
}

// workTimeout bounds the wait for background work at a shutdown, apart from
// the wait for clients. The work checks every few microseconds whether to stop.
const workTimeout = 3 * time.Second

// awaitAnswers waits until no answer is computed. Clients may still read theirs.
func (s *Server) awaitAnswers(ctx context.Context) error {
	for {
		n := int(s.metrics.inFlight.Get())
		if n == 0 {
			return nil
		}

		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d answers are still computed: %w", n, ctx.Err())
		}
	}
}

// Shutdown stops listening, ends long answers, waits for requests under way until ctx
// ends, and stops background work. If the error is ctx's own, the work has stopped and the
// store may be closed; after any other error it may not.
func (s *Server) Shutdown(ctx context.Context) error {
	s.long.interrupt()
	s.hub.Stop()
	err := s.http.ShutdownWithContext(ctx)

	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	stuck := s.awaitAnswers(work)
	if stuck == nil {
		stuck = s.long.stop(work)
	}
	if stuck == nil {
		stuck = s.pages.Close(work)
	}
	if stuck != nil {
		// %v hides the deadline error, so that the caller does not take it for ctx's.
		return fmt.Errorf("background work of requests is still running: %v", stuck)
	}
	return err
}
