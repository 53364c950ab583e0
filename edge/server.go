package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"

	"github.com/VictoriaMetrics/metrics"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/edge/ui"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// Config is what a Server reads from, and how it behaves. Everything is
// required unless it says otherwise.
type Config struct {
	Board *rankings.Board
	Store *storage.Store
	Book  *accounts.Book
	Clock accounts.Clock

	Chains  []render.Chain // the registered ones, as they are listed
	Plans   []accounts.Plan
	Limits  Limits
	Version string
	// Prices returns what a chain's prices are solved with now: thresholds, and
	// the answers of the configured price feed.
	Prices func(market.ChainID) (*value.Params, []value.FeedPrice)
	// Preview shows the head of one ranking to everyone, on the front page.
	Preview bool
	// NoPageCache renders every page anew: for benchmarks.
	NoPageCache bool

	Metrics *metrics.Set
	Log     *slog.Logger
}

// Server answers requests.
type Server struct {
	cfg         Config
	limits      *Limits
	queryChains query.Chains
	gate        *gate
	metrics     *serverMetrics
	http        *fasthttp.Server

	pages   *pageCache
	leaves  *leafCache
	works   *works
	loads   *histories
	parts   chainParts
	packer  *zstd.Encoder
	statics statics
	site    *ui.Site

	background sync.WaitGroup // work that outlives its request
	stopping   chan struct{}
}

// New returns a server that does not listen yet.
func New(cfg Config) (*Server, error) {
	s := &Server{
		cfg: cfg, limits: &cfg.Limits,
		gate:     newGate(cfg.Book, cfg.Clock, cfg.Metrics),
		metrics:  newServerMetrics(cfg.Metrics),
		stopping: make(chan struct{}),
	}
	if cfg.Limits.TotalCap < 1 || cfg.Limits.Selections < 1 {
		return nil, fmt.Errorf("limits: total-cap is %d and selections %d; both are at least 1",
			cfg.Limits.TotalCap, cfg.Limits.Selections)
	}
	for i := range cfg.Chains {
		c := &cfg.Chains[i]
		s.queryChains = append(s.queryChains, query.Chain{ID: c.ID, Enabled: c.Enabled})
	}
	var err error
	if s.packer, err = newPacker(); err != nil {
		return nil, err
	}
	if err = s.openCaches(); err != nil {
		return nil, err
	}
	slices.SortFunc(s.queryChains, func(a, b query.Chain) int { return cmp.Compare(a.ID, b.ID) })
	s.works = newWorks(s)
	s.loads = newHistories()
	s.parts = newChainParts(cfg.Chains)
	s.statics = newStatics(&cfg)
	s.site = ui.Open()
	s.http = s.newHTTP()
	return s, nil
}

// openCaches makes what is kept between requests.
func (s *Server) openCaches() (err error) {
	if s.pages, err = newPageCache(s.cfg.Metrics, s.cfg.NoPageCache); err != nil {
		return err
	}
	if s.leaves, err = newLeafCache(s.cfg.Store, s.cfg.Metrics); err != nil {
		return err
	}
	return nil
}

// newHTTP configures fasthttp; limits.go has the reasons.
func (s *Server) newHTTP() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               s.serve,
		ErrorHandler:          s.unreadable,
		ExpectHandler:         s.expect,
		Concurrency:           2 * maxConnections, // the listener refuses first, in JSON
		ReadBufferSize:        maxHead,
		WriteBufferSize:       writeBuffer,
		ReadTimeout:           readTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		MaxRequestBodySize:    maxBody,
		NoDefaultServerHeader: true,
		SecureErrorLogMessage: true,
		CloseOnShutdown:       true,
		TCPKeepalive:          true,
		Logger:                droppedLog{s.metrics.broken},
	}
}

// droppedLog counts what fasthttp would log. Its messages quote requests,
// keys included, and say nothing that an operator could act on.
type droppedLog struct{ count *metrics.Counter }

func (l droppedLog) Printf(string, ...any) { l.count.Inc() }

// Serve answers the connections of l until Shutdown, which closes it.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(newListener(l, s.cfg.Metrics)); err != nil {
		return fmt.Errorf("cannot serve on %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown stops listening, lets requests under way end, and ends the work
// behind them. The store may be closed once it has returned nil.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.ShutdownWithContext(ctx)
	close(s.stopping)
	ended := make(chan struct{})
	go func() {
		s.background.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("cannot end background work: %w", ctx.Err()))
	}
	if err == nil {
		s.pages.close()
		s.leaves.close()
	}
	return err
}
