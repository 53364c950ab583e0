package pages

import (
	"context"
	"fmt"
	"runtime"
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

// Config is what answers are computed from. Every field is required unless its
// comment says otherwise.
type Config struct {
	Board *rankings.Board
	Store *storage.Store

	Chains  []render.Chain // all registered chains, in the order of /v1/chains
	Plans   []accounts.Plan
	Limits  Limits
	Version string
	// Prices returns the inputs of a chain's current prices: the thresholds, and
	// the prices of the configured feed.
	Prices func(market.ChainID) (*value.Params, []value.FeedPrice)
	// Disk and WallClock report the state of the machine, for /health.
	Disk      func() storage.Disk
	WallClock func() accounts.ClockState
	// Membership reports what the node knows of a chain in its cluster, for /health; nil:
	// it is in none.
	Membership func(market.ChainID) (rankings.Membership, bool)
	// TellWalk tells the other nodes of the cluster of a walk. It must not wait. The pages
	// of these get it by HearWalk; nil: there are no other nodes.
	TellWalk func(*Walk)
	// NoPageCache turns the page cache off, for benchmarks.
	NoPageCache bool

	Metrics *metrics.Set
}

// Pages answers questions.
type Pages struct {
	// Answers that depend on the configuration only.
	Chains, Protocols, Units *Page

	plans  atomic.Pointer[Page] // replaced by SetPlans
	limits atomic.Pointer[Limits]

	cfg     *Config
	enabled []market.ChainID // ascending
	metrics pageMetrics

	cache  *pageCache
	leaves *leafCache
	copies *sharedRecent[Reply] // deep pages as last served, by question and chains
	starts *pageStarts
	parts  chainParts

	admission *admission
	jobs      *jobs
	pins      *pins
	histories *histories
	past      *pastCache
	charts    *chartParts
	exports   exports
	exporting slots // held while rows of an export are read and rendered, not while sent
	sweeper   sweeper
}

// New returns pages over a configuration, which must not change afterwards.
func New(cfg *Config) (*Pages, error) {
	l := &cfg.Limits
	if min(l.TotalCap, l.Selections, l.Pins, l.ExportRows) < 1 {
		return nil, fmt.Errorf("limits.total-cap is %d, limits.selections is %d, limits.pins is %d "+
			"and limits.export-rows is %d; all must be at least 1",
			l.TotalCap, l.Selections, l.Pins, l.ExportRows)
	}

	p := &Pages{
		Chains:    &Page{Body: render.AppendChains(nil, cfg.Chains)},
		Protocols: &Page{Body: render.AppendProtocols(nil, cfg.Chains)},
		Units:     &Page{Body: appendUnits(nil)},

		cfg: cfg, metrics: newPageMetrics(cfg.Metrics),
		copies: newSharedRecent[Reply](maxCopies), starts: newPageStarts(),
		parts: newChainParts(cfg.Chains), histories: newHistories(),
	}
	p.limits.Store(&cfg.Limits)
	p.SetPlans(cfg.Plans)
	for i := range cfg.Chains {
		if cfg.Chains[i].Enabled {
			p.enabled = append(p.enabled, cfg.Chains[i].ID)
		}
	}
	slices.Sort(p.enabled)

	if err := p.openCaches(); err != nil {
		return nil, err
	}
	p.admission = newAdmission(cfg.Limits.Queue, cfg.Metrics)
	p.jobs = newJobs(cfg, &p.limits, p.leaves)
	p.sweeper.drop = p.dropOutdated
	p.pins = newPins(cfg, &p.limits, func() { p.jobs.forgetCounts() })
	p.exports.byAccount = map[uint64]*accountExports{}
	p.exporting = make(slots, max(1, runtime.GOMAXPROCS(0)-1))
	return p, nil
}

// openCaches opens the caches that Close closes.
func (p *Pages) openCaches() (err error) {
	if p.cache, err = newPageCache(p.cfg.Metrics, p.cfg.NoPageCache); err != nil {
		return err
	}
	if p.leaves, err = newLeafCache(p.cfg.Store, p.cfg.Metrics); err != nil {
		return err
	}
	if p.past, err = newPastCache(); err != nil {
		return err
	}
	p.charts, err = newChartParts()
	return err
}

// Limits returns the limits in force.
func (p *Pages) Limits() *Limits { return p.limits.Load() }

// SetLimits replaces the limits for the requests that follow. Cached pages stay
// until the next generation. UnavailableAfter, which chains go by too, Selections and
// Queue stay as New was given them.
func (p *Pages) SetLimits(l Limits) {
	first := &p.cfg.Limits
	l.UnavailableAfter, l.Selections, l.Queue = first.UnavailableAfter, first.Selections, first.Queue
	p.limits.Store(&l)
}

// Plans returns the list of public plans.
func (p *Pages) Plans() *Page { return p.plans.Load() }

// SetPlans replaces the list of public plans.
func (p *Pages) SetPlans(plans []accounts.Plan) {
	p.plans.Store(&Page{Body: appendPlans(nil, plans)})
}

// Close stops background jobs. No request may be under way or arrive later. When
// it returns nil, the store may be closed.
func (p *Pages) Close(ctx context.Context) error {
	if err := p.jobs.stop(ctx); err != nil {
		return err
	}
	p.pins.close()
	p.cache.close()
	p.leaves.close()
	p.past.close()
	p.charts.close()
	return nil
}

// Question is one request for positions or pools. It also holds buffers that its
// answer uses, so it must not be reused before the answer is sent.
type Question struct {
	Route accounts.Route
	Now   int64 // unix milliseconds
	// Account is whose request it is. Accounts share expensive work fairly.
	Account uint64

	// Set for a list.
	Positions rankings.PositionQuestion
	Pools     rankings.PoolQuestion
	query.Options

	// Set for a detail or a chart.
	Chain      market.ChainID
	Position   uint64
	NoPosition bool // the id in the path cannot be a position's
	Pool       market.PoolID
	query.Chart
	Paging   query.Paging
	Estimate query.Estimate

	// Set for a batch.
	Batch []query.BatchID
	// Set for an owner.
	Owner *market.Address
	// Set for a list of tokens, and for one token.
	Tokens rankings.TokenQuestion
	Token  *market.Address

	text    [512]byte // the canonical question and its cache key
	views   [4]*rankings.View
	missing [4]market.ChainID
}

// Units returns what the answer costs, if it is charged.
func (q *Question) Units() int64 {
	groups := (len(q.Batch) + accounts.RowsPerUnit - 1) / accounts.RowsPerUnit
	return q.Route.Units() * int64(max(1, groups))
}

// Answer answers a question, from the page cache when it can.
func (p *Pages) Answer(q *Question) (Reply, *render.Error) {
	reply, err := p.answer(q)
	p.sweeper.arm()
	return reply, err
}

func (p *Pages) answer(q *Question) (Reply, *render.Error) {
	switch q.Route {
	case accounts.RoutePositions, accounts.RoutePools:
		return p.answerList(q)
	case accounts.RoutePositionBatch, accounts.RoutePoolBatch:
		return p.answerBatch(q)
	case accounts.RouteOwner:
		return p.answerOwner(q)
	case accounts.RouteTokens:
		return p.answerTokens(q)
	case accounts.RouteToken:
		return p.answerToken(q)
	}
	return p.answerDetail(q)
}

// errUnreadable is the 503 when the store could not be read; cause is logged.
func errUnreadable(cause error) *render.Error {
	e := render.Unavailable("data could not be read", retryAfter)
	e.Cause = cause
	return e
}

// pageMetrics counts incomplete answers.
type pageMetrics struct {
	copies, partial, degraded *metrics.Counter
	uncounted, unselected     *metrics.Counter // waits that expired
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
