package quota

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/cluster"
	"tidemark/storage/accounts"
)

// bucketName is where months of accounts are.
const bucketName = "TIDEMARK_USAGE"

// Config says whose quotas are shared.
type Config struct {
	Book *accounts.Book
	// OnOutage is how many units an account may spend beyond its lease while the servers
	// cannot be asked; 0: none.
	OnOutage int64
	Metrics  *metrics.Set
	Log      *slog.Logger
}

// Ledger is a node's end of the shared quotas. It is the Leases of a meter: only the meter
// calls Allow and Report.
type Ledger struct {
	cfg     Config
	bucket  *cluster.Bucket
	process string // names this process in the bucket
	metrics ledgerMetrics

	wake chan struct{} // of capacity 1
	slot chan struct{} // one for each request for a lease that may be under way
	work sync.WaitGroup

	mu        sync.Mutex
	sessions  map[*accounts.Cell]*[2]*session // by parity of the month
	queue     []*session                      // to be looked at
	reports   []*session                      // that are due, the oldest first
	reporters int                             // goroutines that send them
	cutOff    bool
	ousted    bool // another process has the name of this node
}

type ledgerMetrics struct {
	leases, units, conflicts, failures *metrics.Counter
}

// Requests to the servers that are under way are bounded. Reports may wait for each other,
// but no lease waits for reports: with thousands of accounts in use the servers may take
// more than a second to store one of each.
const (
	maxLeases  = 16
	maxReports = 16
)

// Open opens the bucket, and makes it if there is none. Run must be called.
func Open(ctx context.Context, c *cluster.Cluster, cfg Config) (*Ledger, error) {
	bucket, err := c.Bucket(ctx, bucketName)
	if err != nil {
		return nil, err
	}

	cfg.Book.SetShared()
	l := &Ledger{
		cfg: cfg, bucket: bucket, process: rand.Text(),
		wake: make(chan struct{}, 1), slot: make(chan struct{}, maxLeases),
		sessions: map[*accounts.Cell]*[2]*session{},
		metrics: ledgerMetrics{
			leases:    cfg.Metrics.NewCounter("tidemark_cluster_leases_total"),
			units:     cfg.Metrics.NewCounter("tidemark_cluster_leased_units_total"),
			conflicts: cfg.Metrics.NewCounter("tidemark_cluster_usage_conflicts_total"),
			failures:  cfg.Metrics.NewCounter("tidemark_cluster_usage_failures_total"),
		},
	}
	cfg.Metrics.NewGauge("tidemark_cluster_open_lease_units", func() float64 { return float64(l.openUnits()) })
	return l, nil
}

// session returns the session of a month, and begins it at its first use.
func (l *Ledger) session(c *accounts.Cell, t *accounts.Tally) *session {
	both := l.sessions[c]
	if both == nil {
		both = new([2]*session)
		l.sessions[c] = both
	}

	s := both[t.Month&1]
	if s == nil || s.month < t.Month {
		s = &session{cell: c, month: t.Month}
		s.begin(t)
		both[t.Month&1] = s
	}
	return s
}

// Allow returns how many units a cell may spend in a month; see actors.Leases.
func (l *Ledger) Allow(c *accounts.Cell, t *accounts.Tally) (allowance int64, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session(c, t)

	// Without a quota nothing was leased. If there is one now, what was spent is allowed.
	s.spent, s.idle = t.Lease, false
	s.allowed = max(s.allowed, s.spent)
	now := time.Now()
	switch {
	case l.cutOff && s.left() < accounts.MaxUnits && s.outage == 0 && l.cfg.OnOutage > 0:
		s.outage = l.cfg.OnOutage
		s.allowed += s.outage
		s.changed = true
		l.enqueue(s)
		l.tellCutOff(s)
	case s.low(now) && now.Sub(s.refusedAt) >= askAgain:
		s.asks = true
		l.enqueue(s)
	}
	// Nothing comes of what an ousted node asks for, or for a damaged record: to try again at
	// once would be in vain.
	waits = s.asks || s.damaged || l.ousted
	return s.allowed, waits && !l.cutOff && s.left() < accounts.MaxUnits
}

// tellCutOff tells the cell what it may spend while the others cannot be asked.
func (l *Ledger) tellCutOff(s *session) {
	sh := accounts.Share{Month: s.month}
	if known := s.cell.Share(s.month); known != nil {
		sh = *known
	}
	sh.Allowance = s.allowed
	// The units of an outage may go beyond the quota of the others, not of this node.
	sh.Elsewhere = min(sh.Elsewhere, max(s.cell.Terms().Plan.MonthlyUnits-s.allowed, 0))
	s.cell.SetShare(&sh)
}

// Report takes the totals that are in the store; see actors.Leases.
func (l *Ledger) Report(c *accounts.Cell, t *accounts.Tally, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session(c, t)
	if t.Routes != s.reported {
		s.reported, s.changed = t.Routes, true
	}

	// A month without a quota has no leases: what is spent is allowed.
	s.spent = max(s.spent, unitsOf(&t.Routes)+s.start-unitsOf(&s.startCounts))
	s.allowed = max(s.allowed, s.spent)
	if idle && !s.idle && !l.cutOff {
		s.idle, s.asks = true, false
		s.spent = t.Lease
		s.changed = s.changed || s.left() > 0
		s.allowed = s.spent // the bucket follows
	}
	if s.changed || time.Since(s.syncedAt) >= reportEvery {
		s.changed = true
		l.enqueue(s)
	}
}

// enqueue has a session looked at by Run.
func (l *Ledger) enqueue(s *session) {
	if !s.queued {
		s.queued = true
		l.queue = append(l.queue, s)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

const (
	// lookEvery is how often reports that are due are looked for.
	lookEvery = 100 * time.Millisecond
	// stopTimeout bounds the last reports of a node that stops.
	stopTimeout = 5 * time.Second
)

// Run takes leases and reports usage until ctx ends, then once more what is left. No cell
// may be spending then.
func (l *Ledger) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.startDue(ctx, time.Now())
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-tick.C:
		}
	}
	l.work.Wait()

	last, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for l.startDue(last, time.Now().Add(reportEvery)) > 0 && last.Err() == nil {
		l.work.Wait()
	}
}

// startDue starts the requests that are due, and returns how many sessions are left.
func (l *Ledger) startDue(ctx context.Context, now time.Time) (left int) {
	asking, left := l.sortDue(ctx, now)
	for _, s := range asking {
		select {
		case l.slot <- struct{}{}:
		case <-ctx.Done():
			l.release(s)
			continue
		}

		l.work.Go(func() {
			defer func() { <-l.slot }()
			l.sync(ctx, s)
		})
	}
	return left
}

// sortDue looks at the queue. It returns the sessions that are to ask for a lease at once,
// has the reports sent that are due, and keeps the others.
func (l *Ledger) sortDue(ctx context.Context, now time.Time) (asking []*session, left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.queue[:0]
	for _, s := range l.queue {
		switch {
		case s.busy:
			rest = append(rest, s)
		case s.asks:
			s.busy, s.queued = true, false
			asking = append(asking, s)
		case s.inLine, !s.changed:
			s.queued = false
		case s.reportDue(now):
			s.inLine, s.queued = true, false
			l.reports = append(l.reports, s)
		default:
			rest = append(rest, s)
		}
	}

	clear(l.queue[len(rest):])
	l.queue = rest

	left = len(asking) + len(rest) + len(l.reports)
	for range min(len(l.reports), maxReports-l.reporters) {
		l.reporters++
		l.work.Go(func() { l.sendReports(ctx) })
	}
	return asking, left
}

// sendReports sends reports, one after the other, until there are none.
func (l *Ledger) sendReports(ctx context.Context) {
	for s := l.nextReport(ctx); s != nil; s = l.nextReport(ctx) {
		l.sync(ctx, s)
	}
}

// nextReport takes a report to be sent. What a session had to report may have gone with its
// request for a lease. Without one, or when ctx has ended, the caller is to end too.
func (l *Ledger) nextReport(ctx context.Context) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.reports) > 0 && ctx.Err() == nil {
		s := l.reports[0]
		l.reports[0], l.reports = nil, l.reports[1:]
		s.inLine = false
		if s.changed && !s.busy {
			s.busy = true
			return s
		}
	}

	l.reporters--
	return nil
}

// release puts a session back that was not looked at.
func (l *Ledger) release(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.busy = false
	l.enqueue(s)
}

func keyOf(account uint64, m accounts.Month) string { return fmt.Sprintf("%d.%s", account, m) }
