package quota_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/actors"
	"tidemark/actors/cluster"
	"tidemark/actors/cluster/natstest"
	"tidemark/actors/cluster/quota"
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

const testFlush = 20 * time.Millisecond

var discard = slog.New(slog.DiscardHandler)

// engine is the metering of a node: its store, its meter and its end of the quotas.
type engine struct {
	t       *testing.T
	name    string
	fs      *vfs.MemFS
	store   *accountstore.Store
	reg     *registry.Registry
	meter   *actors.Meter
	cluster *cluster.Cluster
	keys    map[string]*accounts.Key

	ctx    context.Context
	stop   context.CancelFunc
	killed atomic.Bool
	drains sync.WaitGroup
	ledger sync.WaitGroup
}

// setup is how the engines of a test are.
type setup struct {
	servers  *natstest.Servers
	urls     []string // instead of the servers' own
	units    int64    // of the plan "small"
	onOutage int64
}

// start starts an engine on a disk.
func (c *setup) start(t *testing.T, name string, fs *vfs.MemFS) *engine {
	t.Helper()
	urls := c.servers.URLs()
	if c.urls != nil {
		urls = c.urls
	}
	joined, err := cluster.Open(t.Context(), cluster.Config{
		Servers: urls, Monitoring: c.servers.Monitoring(), Name: name, Insecure: len(c.servers.All) < 3,
		Metrics: metrics.NewSet(), Log: discard,
	})
	if err != nil {
		t.Fatal(err)
	}

	e := &engine{t: t, name: name, fs: fs, cluster: joined, keys: map[string]*accounts.Key{}}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.store, err = accountstore.Open("accounts", accountstore.Options{
		FS: fs, Logger: discard, Exit: func() { panic("store ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}
	small := accounts.Plan{ID: "small", Name: "Small", MonthlyUnits: c.units, MaxAPIKeys: 100}
	free := accounts.Plan{ID: "unlimited", Name: "Unlimited", MaxAPIKeys: 100}
	if e.reg, err = registry.Open(e.store, []accounts.Plan{small, free}, time.Now()); err != nil {
		t.Fatal(err)
	}

	// The accounts are the same on all engines; their keys do not matter here.
	for _, plan := range []string{"small", "unlimited"} {
		if _, err := e.reg.Account(plan); err != nil {
			if _, err := e.reg.CreateAccount(plan, plan); err != nil {
				t.Fatal(err)
			}
		}
		issued, err := e.reg.IssueKey(registry.KeyRequest{Account: plan})
		if err != nil {
			t.Fatal(err)
		}
		e.keys[plan], _ = e.reg.Book().Resolve([]byte(issued.Key))
	}
	e.run(c)
	return e
}

// run starts the drains and the ledger.
func (e *engine) run(c *setup) {
	e.t.Helper()
	ledger, err := quota.Open(e.t.Context(), e.cluster, quota.Config{
		Book: e.reg.Book(), OnOutage: c.onOutage, Metrics: metrics.NewSet(), Log: discard,
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.reg.AddUsage(ledger.Elsewhere)
	e.meter = actors.NewMeter(e.reg, e.store, testFlush, metrics.NewSet())
	e.meter.Leases = ledger

	// The first drain is over when a node begins to serve.
	clock, now := e.reg.Clock(), time.Now()
	if err := e.meter.Drain(clock.At(now), now.UnixNano()); err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.ledger.Go(func() { ledger.Run(ctx) })
	e.drains.Go(func() {
		defer cancel()
		for e.ctx.Err() == nil {
			now := time.Now()
			if err := e.meter.Drain(clock.At(now), now.UnixNano()); err != nil {
				e.t.Error(err)
			}
			select {
			case <-e.ctx.Done():
			case <-e.reg.Book().Wakes():
			case <-time.After(testFlush):
			}
		}
		if !e.killed.Load() {
			now := time.Now()
			if err := e.meter.Close(clock.At(now), now.UnixNano()); err != nil {
				e.t.Error(err)
			}
		}
	})
}

// kill ends an engine without a word, and returns what is on its disk: of what was not
// synced, nothing.
func (e *engine) kill() *vfs.MemFS {
	e.killed.Store(true)
	e.cluster.Close()
	e.stop()
	e.drains.Wait()
	return e.fs.CrashClone(vfs.CrashCloneCfg{RNG: rand.New(rand.NewPCG(1, 7))})
}

// end ends an engine in order: leases are given back.
func (e *engine) end() {
	e.t.Helper()
	e.stop()
	e.drains.Wait()
	e.ledger.Wait()
	e.cluster.Close()
	if err := e.store.Close(); err != nil {
		e.t.Error(err)
	}
}

// ask is a request of 10 units, which waits for a lease as the gate does.
func (e *engine) ask(account string, timeout time.Duration) (*accounts.Ticket, accounts.Verdict) {
	book, clock := e.reg.Book(), e.reg.Clock()
	end := time.Now().Add(timeout)
	ticket := book.Admit(e.keys[account], clock.At(time.Now()))

	for {
		v := book.Reserve(&ticket, 10)
		if v != accounts.Unleased || time.Now().After(end) {
			return &ticket, v
		}
		select {
		case <-book.RequestLease(ticket.Key.Cell):
		case <-time.After(time.Until(end)):
		case <-e.ctx.Done():
			return &ticket, v
		}
	}
}

func (e *engine) answer(ticket *accounts.Ticket) {
	e.reg.Book().Settle(ticket, accounts.RoutePools, 10)
}

// stored is the record of the account "small" in the bucket.
type stored struct {
	Limit int64
	Nodes map[string]struct{ Billed, Lease, Lost int64 }
}

func (r *stored) sums() (billed, used int64) {
	for _, n := range r.Nodes {
		billed += n.Billed
		used += n.Billed + n.Lease
	}
	return billed, used
}

// read returns what the bucket has of an account in this month.
func (c *setup) read(t *testing.T, account string) (r stored) {
	t.Helper()
	reader, err := cluster.Open(t.Context(), cluster.Config{
		Servers: c.servers.URLs(), Monitoring: c.servers.Monitoring(), Name: "reader",
		Insecure: len(c.servers.All) < 3, Metrics: metrics.NewSet(), Log: discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	bucket, err := reader.Bucket(t.Context(), "TIDEMARK_USAGE")
	if err != nil {
		t.Fatal(err)
	}

	id := map[string]string{"small": "1", "unlimited": "2"}[account]
	entry, err := bucket.Get(t.Context(), id+"."+accounts.MonthAt(time.Now().UnixNano()).String())
	if err == nil {
		err = json.Unmarshal(entry.Value(), &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// load is what requests to engines have got.
type load struct{ admitted, answered atomic.Int64 }

// history is how many units an engine had answered when.
type history struct {
	mu    sync.Mutex
	times []time.Time
	units []int64
}

func (h *history) add(units int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.units); n > 0 {
		units += h.units[n-1]
	}
	h.times, h.units = append(h.times, time.Now()), append(h.units, units)
}

// since returns the units answered within a time before now.
func (h *history) since(d time.Duration) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.units)
	if n == 0 {
		return 0
	}

	from := time.Now().Add(-d)
	i := n - 1
	for i >= 0 && h.times[i].After(from) {
		i--
	}
	if i < 0 {
		return h.units[n-1]
	}
	return h.units[n-1] - h.units[i]
}

// spenders ask an engine at once, each with a pause between two requests.
const (
	spenders   = 2
	spendPause = time.Millisecond
)

// spend has an engine asked until it ends.
func (l *load) spend(e *engine, over *atomic.Bool) (answered *history) {
	answered = new(history)
	for range spenders {
		go l.spendOnce(e, over, answered)
	}
	return answered
}

func (l *load) spendOnce(e *engine, over *atomic.Bool, answered *history) {
	for e.ctx.Err() == nil && !over.Load() {
		ticket, v := e.ask("small", time.Second)

		switch v {
		case accounts.Granted:
			l.admitted.Add(10)
			if e.ctx.Err() != nil {
				return // killed before the answer
			}
			l.answered.Add(10)
			answered.add(10)
			e.answer(ticket)
			time.Sleep(spendPause)
		case accounts.OverQuota:
			time.Sleep(10 * time.Millisecond)
		}
	}
}
