package burst

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/cluster"
	"tidemark/storage/accounts"
)

const (
	// tickEvery is the pause between two announcements.
	tickEvery = 500 * time.Millisecond
	// subject and header are those of an announcement.
	subject = "burst"
	header  = "Tidemark-Node"
)

// Config says whose burst limits are shared.
type Config struct {
	Book  *accounts.Book
	Clock accounts.Clock
	// Known is how many nodes the cluster had when Remember was last called; 0: never.
	Known    int64
	Remember func(nodes int64) error
	Metrics  *metrics.Set
	Log      *slog.Logger
}

// Limits are a node's end of the shared burst limits.
type Limits struct {
	cfg     Config
	cluster *cluster.Cluster
	ready   atomic.Bool
	reached atomic.Bool
	asking  atomic.Bool // whether the servers answer
	work    sync.WaitGroup

	mu         sync.Mutex
	shares     *Shares
	silent     []string // nodes
	remembered int64
	doubled    bool

	failures *metrics.Counter
}

// Open begins to share burst limits: until Run has listened to the others, the node has no
// part of any.
func Open(c *cluster.Cluster, cfg Config) (*Limits, error) {
	l := &Limits{
		cfg: cfg, cluster: c, remembered: cfg.Known,
		shares:   NewShares(c.Node(), rand.Text(), cfg.Book, cfg.Known, cfg.Clock.At(time.Now())),
		failures: cfg.Metrics.NewCounter("tidemark_cluster_burst_failures_total"),
	}
	gauge := func(name string, read func() int) {
		cfg.Metrics.NewGauge(name, func() float64 {
			l.mu.Lock()
			defer l.mu.Unlock()
			return float64(read())
		})
	}
	gauge("tidemark_cluster_nodes", func() int { return int(l.shares.Nodes()) })
	gauge("tidemark_cluster_nodes_silent", func() int { return len(l.silent) })
	gauge("tidemark_cluster_burst_accounts", func() int { return len(l.shares.accounts) })

	if err := c.Listen(subject, header, l.hear); err != nil {
		return nil, fmt.Errorf("cannot listen to the burst limits of other nodes: %w", err)
	}
	return l, nil
}

// Ready reports whether this node has a part of the limits.
func (l *Limits) Ready() bool { return l.ready.Load() }

func (l *Limits) now() int64 { return l.cfg.Clock.At(time.Now()) }

func (l *Limits) hear(text string, body []byte) {
	a, err := decodeAnnouncement(text, body)
	if err != nil {
		l.failures.Inc()
		l.cfg.Log.Warn("cannot read what another node tells of burst limits", "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shares.Hear(a, l.now())
}

// Run shares the limits until ctx ends, and then leaves. No requests may come then.
func (l *Limits) Run(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.tick(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}

	l.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell(l.shares.Leave())
}

func (l *Limits) tick(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	wanted := l.shares.WantsServers(now)
	if !wanted {
		l.reached.Store(false) // it is not known
	}
	a := l.shares.Tick(now, l.reached.Load())
	if wanted {
		l.askServers(ctx)
	}

	l.tell(a)
	l.ready.Store(l.shares.Ready())
	l.noteNodes(now)
}

// askServers finds out whether the servers answer, without waiting.
func (l *Limits) askServers(ctx context.Context) {
	if !l.asking.CompareAndSwap(false, true) {
		return
	}
	l.work.Go(func() {
		defer l.asking.Store(false)
		l.reached.Store(l.cluster.Reaches(ctx))
	})
}

// tell sends an announcement. One that cannot be sent now is of no use later.
func (l *Limits) tell(a *Announcement) {
	if !l.cluster.Connected() {
		return
	}
	text, body := a.encode()
	if err := l.cluster.Tell(subject, header, text, body); err != nil {
		l.failures.Inc()
		l.cfg.Log.Debug("cannot tell other nodes of burst limits", "error", err)
	}
}

// noteNodes says which nodes come and go, and remembers how many there are.
func (l *Limits) noteNodes(now int64) {
	silent := l.shares.silentNodes(now)
	for _, name := range silent {
		if !slices.Contains(l.silent, name) {
			l.cfg.Log.Warn("a node of the cluster is not heard; a part of burst limits is left to it", "node", name)
		}
	}
	for _, name := range l.silent {
		if !slices.Contains(silent, name) {
			l.cfg.Log.Info("a node of the cluster is heard again, or counts as dead", "node", name,
				"nodes", l.shares.Nodes())
		}
	}
	l.silent = silent

	if l.shares.doubled && !l.doubled {
		l.cfg.Log.Error("another process has the name of this node; no two nodes of a cluster may have the same",
			"name", l.cluster.Node())
	}
	l.doubled = l.shares.doubled

	nodes := l.shares.Nodes()
	if !l.ready.Load() || nodes == l.remembered {
		return
	}
	if err := l.cfg.Remember(nodes); err != nil {
		l.cfg.Log.Warn("cannot remember how many nodes the cluster has", "error", err)
		return
	}
	l.remembered = nodes
}
