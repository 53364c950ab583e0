package pages

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// Config is what answers are made of. Everything is required unless it says
// otherwise.
type Config struct {
	Board *rankings.Board
	Store *storage.Store

	Chains  []render.Chain // the registered ones, as they are listed
	Plans   []accounts.Plan
	Limits  Limits
	Version string
	// Prices returns what a chain's prices are solved with now: thresholds, and
	// the answers of the configured price feed.
	Prices func(market.ChainID) (*value.Params, []value.FeedPrice)
	// Disk and WallClock are what the node stands on, for /health.
	Disk      func() storage.Disk
	WallClock func() accounts.ClockState
	// NoPageCache renders every page anew: for benchmarks.
	NoPageCache bool

	Metrics *metrics.Set
}

// Pages answers questions.
type Pages struct {
	// The answers that the configuration alone decides.
	Chains, Protocols, Units *Page

	plans  atomic.Pointer[Page] // SetPlans replaces it
	limits atomic.Pointer[Limits]

	cfg     *Config
	enabled []market.ChainID // ascending
	metrics pageMetrics

	cache  *pageCache
	leaves *leafCache
	copies *lastCopies
	parts  chainParts

	jobs      *jobs
	histories *histories
}

// New returns the pages of a configuration, which stays the caller's and must
// not change while they are used.
func New(cfg *Config) (*Pages, error) {
	if cfg.Limits.TotalCap < 1 || cfg.Limits.Selections < 1 {
		return nil, fmt.Errorf("limits: total-cap is %d and selections %d; both are at least 1",
			cfg.Limits.TotalCap, cfg.Limits.Selections)
	}
	p := &Pages{
		Chains:    &Page{Body: render.AppendChains(nil, cfg.Chains)},
		Protocols: &Page{Body: render.AppendProtocols(nil, cfg.Chains)},
		Units:     &Page{Body: appendUnits(nil)},

		cfg: cfg, metrics: newPageMetrics(cfg.Metrics),
		copies: newLastCopies(), parts: newChainParts(cfg.Chains), histories: newHistories(),
	}
	p.SetLimits(cfg.Limits)
	p.SetPlans(cfg.Plans)
	for i := range cfg.Chains {
		if cfg.Chains[i].Enabled {
			p.enabled = append(p.enabled, cfg.Chains[i].ID)
		}
	}
	slices.Sort(p.enabled)

	var err error
	if p.cache, err = newPageCache(cfg.Metrics, cfg.NoPageCache); err != nil {
		return nil, err
	}
	if p.leaves, err = newLeafCache(cfg.Store, cfg.Metrics); err != nil {
		return nil, err
	}
	p.jobs = newJobs(cfg, &p.limits, p.leaves)
	return p, nil
}

// Limits returns the limits in force.
func (p *Pages) Limits() *Limits { return p.limits.Load() }

// SetLimits puts other limits in force for the requests that follow; a page that
// is cached stays until the next generation. How many selections are kept is
// fixed by New.
func (p *Pages) SetLimits(l Limits) { p.limits.Store(&l) }

// Plans is the list of public plans.
func (p *Pages) Plans() *Page { return p.plans.Load() }

// SetPlans replaces the list of public plans.
func (p *Pages) SetPlans(plans []accounts.Plan) {
	p.plans.Store(&Page{Body: appendPlans(nil, plans)})
}

// Close ends the jobs that run beside requests. Nothing may be asked any more.
// The store may be closed once it has returned nil.
func (p *Pages) Close(ctx context.Context) error {
	if err := p.jobs.stop(ctx); err != nil {
		return err
	}
	p.cache.close()
	p.leaves.close()
	return nil
}

// Question is one question about positions or pools, and room for its answer:
// what points into it is good until it is asked again.
type Question struct {
	Route accounts.Route
	Now   int64 // unix milliseconds

	// Of a list.
	Positions rankings.PositionQuestion
	Pools     rankings.PoolQuestion

	// Of a detail or a chart.
	Chain      market.ChainID
	Position   uint64
	NoPosition bool // the id names no position
	Pool       market.PoolID
	Range      query.ChartRange

	text    [512]byte // the canonical question and its key
	views   [4]*rankings.View
	missing [4]market.ChainID
}

// Answer answers a question. A page that was rendered before for the same
// question and generations is served as it is.
func (p *Pages) Answer(q *Question) (Reply, *render.Error) {
	switch q.Route {
	case accounts.RoutePositions, accounts.RoutePools:
		return p.list(q)
	}
	return p.detail(q)
}

// broken is the answer when the store could not be read.
func broken(cause error) *render.Error {
	e := render.Unavailable("data could not be read", retryAfter)
	e.Cause = cause
	return e
}

// pageMetrics count what answers had to leave out.
type pageMetrics struct {
	copies, partial, degraded *metrics.Counter
	uncounted, unselected     *metrics.Counter // waits that ended without a result
}

func newPageMetrics(set *metrics.Set) pageMetrics {
	return pageMetrics{
		copies:     set.NewCounter(`tidemark_edge_answers_total{flag="copy"}`),
		partial:    set.NewCounter(`tidemark_edge_answers_total{flag="partial"}`),
		degraded:   set.NewCounter(`tidemark_edge_answers_total{flag="degraded"}`),
		uncounted:  set.NewCounter(`tidemark_edge_waits_expired_total{for="count"}`),
		unselected: set.NewCounter(`tidemark_edge_waits_expired_total{for="selection"}`),
	}
}
