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
	"tidemark/edge/ui"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// Config is what a Server serves, and to whom. Everything is required.
type Config struct {
	pages.Config
	Preview bool // show the head of one ranking on the front page, without a key

	Book        *accounts.Book
	Clock       accounts.Clock
	Log         *slog.Logger
	Connections Connections
	// Slow is from when on a request is logged; 0: never.
	Slow time.Duration
}

// Server answers requests.
type Server struct {
	cfg     Config
	chains  query.Chains
	ids     requestIDs
	gate    *gate.Gate
	pages   *pages.Pages
	openAPI *pages.Page
	site    *ui.Site
	metrics *serverMetrics
	http    *fasthttp.Server

	tags     atomic.Pointer[map[*pages.Page]string] // ETags of the documents that a client may keep
	listener atomic.Pointer[listener]               // nil before Serve
	slow     atomic.Int64                           // from when on a request is logged, in ns
	draining atomic.Bool                            // every answer closes its connection
}

// New returns a server that does not listen yet.
func New(cfg Config) (*Server, error) {
	s := &Server{
		cfg: cfg, ids: newRequestIDs(), openAPI: &pages.Page{Body: openAPI},
		gate:    gate.New(cfg.Book, cfg.Clock, cfg.Metrics),
		metrics: newServerMetrics(cfg.Metrics),
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
	s.http = s.newHTTP()
	return s, nil
}

// newHTTP configures fasthttp; limits.go has the reasons.
func (s *Server) newHTTP() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:      s.serve,
		ErrorHandler: s.serveUnreadable,
		ConnState:    track,
		Logger:       droppedLog{s.metrics.broken},

		Concurrency:        2 * MaxConnections, // the listener refuses first, in JSON
		ReadBufferSize:     maxHead,
		WriteBufferSize:    writeBuffer,
		ReadTimeout:        readTimeout,
		WriteTimeout:       writeTimeout,
		IdleTimeout:        idleTimeout,
		MaxRequestBodySize: maxBody,

		NoDefaultServerHeader:        true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
		TCPKeepalive:                 true,
		DisablePreParseMultipartForm: true,
	}
}

// droppedLog counts what fasthttp would log. Its messages quote requests,
// keys included, and say nothing that an operator could act on.
type droppedLog struct{ count *metrics.Counter }

func (l droppedLog) Printf(string, ...any) { l.count.Inc() }

// Serve answers the connections of l until Shutdown, which closes it.
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

// Apply puts other settings in force for the requests and connections that
// follow.
func (s *Server) Apply(c Settings) {
	s.pages.SetLimits(c.Limits)
	s.pages.SetPlans(c.Plans)
	s.tagDocuments()
	s.slow.Store(int64(c.Slow))
	if l := s.listener.Load(); l != nil {
		l.setBounds(c.Connections)
	}
}

// ChainHealth returns a chain's status and its reason, as /health tells them.
func (s *Server) ChainHealth(id market.ChainID) (status, reason string) {
	return s.pages.ChainHealth(id, s.cfg.Clock.Time(time.Now()).UnixMilli())
}

// Drain has every answer from now on close its connection, and say so: clients
// that keep connections open go elsewhere without losing a request.
func (s *Server) Drain() { s.draining.Store(true) }

// workTimeout is what the work behind requests gets to end, whatever its
// clients do: it looks often whether it is still wanted.
const workTimeout = 3 * time.Second

// Shutdown stops listening, lets requests under way end, and ends the work
// behind them. It waits for clients until ctx ends; the store may be closed
// after an error that is ctx's own, too.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.ShutdownWithContext(ctx)
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	defer cancel()
	if stuck := s.pages.Close(work); stuck != nil {
		// Not a matter of ctx: the store must not be closed.
		return fmt.Errorf("the work behind requests has not ended: %v", stuck)
	}
	return err
}
