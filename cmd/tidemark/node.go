package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/actors/cluster"
	"tidemark/actors/cluster/burst"
	"tidemark/actors/cluster/quota"
	"tidemark/edge"
	"tidemark/edge/admin"
	"tidemark/edge/pages"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
	"tidemark/storage/pace"
	"tidemark/storage/registry"
)

// node is a running server: its parts in the order in which they started.
type node struct {
	*loaded
	log    *slog.Logger
	level  slog.LevelVar
	parts  []started
	failed chan error // a listener ended by itself, or the cluster refuses this node

	set     *metrics.Set
	cluster *cluster.Cluster // nil without one
	bursts  *burst.Limits    // nil without one
	quotas  *quota.Ledger    // nil without one
	// unreached is why this node was started without the others; nil: it was not.
	unreached *cluster.Unreached
	store     *storage.Store
	books     *accountstore.Store
	registry  *registry.Registry
	chains    *actors.Node
	answers   map[market.ChainID]func() []value.FeedPrice // of each chain's price feed
	watchdog  *actors.Watchdog                            // disk and clocks, for /health
	board     rankings.Board
	ready     readiness

	apiListener, opsListener net.Listener

	api         *edge.Server
	certificate *certificate // nil without TLS

	metrics   nodeMetrics
	screen    *screen
	catchUp   catchUp           // of the chains, for the line of progress
	printsKey bool              // the banner issues the first key
	url       string            // of the API
	inForce   map[string]string // values of the settings
	reloads   int               // of the configuration, so far
}

// start starts every part, until ctx ends. What it has started stays in parts, also when a
// later one fails.
func (n *node) start(ctx context.Context) error {
	n.set, n.failed = metrics.NewSet(), make(chan error, 3)
	n.metrics = newNodeMetrics(n.set)

	for _, step := range []func(context.Context) error{
		n.joinCluster, n.openStores, n.listenAll, n.startMetering, n.startChains, n.startServers,
	} {
		if err := step(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (n *node) openStores(ctx context.Context) error {
	if err := makePrivate(n.Data); err != nil {
		return err
	}

	var err error
	n.store, err = storage.Open(n.dataPath(marketDir), n.storeOptions())
	if err != nil {
		return adviseMarket(n.Data, err)
	}
	n.addPart("market store", func(context.Context) error { return n.store.Close() })
	if err := n.settleIdentity(n.store, n.agreement(ctx), time.Now()); err != nil {
		return err
	}
	if err := n.startsAlone(); err != nil {
		return err
	}
	if n.moved {
		n.log.Warn("the data is of another cluster, or its NATS servers have lost everything; "+
			"what other nodes of this cluster have replaces it", "data", n.Data)
	}

	n.books, err = accountstore.Open(n.dataPath(accountsDir), accountstore.Options{
		AcceptLost: n.acceptLost, Logger: n.log,
	})
	if err != nil {
		return adviseAccounts(n.Data, err)
	}
	n.addPart("accounts store", func(context.Context) error { return n.books.Close() })
	return nil
}

func (n *node) storeOptions() storage.Options {
	options := storage.Options{
		Metrics: n.set, Logger: n.log, Rebuild: n.hasArchives, Requests: n.board.Requests,
	}
	if n.cluster != nil {
		options.Tee = n.cluster.Tee
	}
	return options
}

// listenAll binds the listeners before an account or a key is made: a start on
// an address that is taken leaves nothing behind.
func (n *node) listenAll(context.Context) (err error) {
	if n.apiListener, n.opsListener, err = n.openListeners(); err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	n.url = urlOf(n.apiListener, n.TLS.Cert != "")
	n.log.Info("listening", "api", n.url, "operations", urlOf(n.opsListener, false))
	n.addPart("listeners", func(context.Context) error {
		// The servers that use them have closed them already.
		n.apiListener.Close()
		n.opsListener.Close()
		return nil
	})
	return nil
}

// endClients lets requests under way end, but waits for no client that does not
// read its answer: what it was charged for is settled.
func (n *node) endClients(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	err := n.api.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		n.log.Warn("some clients have not read their answers; they are cut off", "waited", clientTimeout)
		return nil
	}
	return err
}

// background runs a part that ends with its context.
func (n *node) background(name string, run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	n.addPart(name, func(context.Context) error {
		cancel()
		<-done
		return nil
	})
}

func (n *node) startMetering(ctx context.Context) error {
	var err error
	if err = n.openRegistry(ctx); err != nil {
		return adviseAccounts(n.Data, err)
	}
	if err := n.makeFirstAccount(); err != nil {
		return err
	}

	n.registry.Book().SetWhenFull(accounts.WhenFull(n.Metering.OnFullDisk))
	meter := actors.NewMeter(n.registry, n.books, n.Metering.Flush, n.set)
	meter.NewPause = func() func() { return pace.New(n.board.Requests).Pause }
	if err := n.shareBursts(); err != nil {
		return err
	}
	if err := n.shareQuotas(ctx, meter); err != nil {
		return err
	}
	metering, err := actors.StartMetering(meter, n.set, n.log)
	if err != nil {
		return err
	}
	n.addPart("metering", metering.Stop)

	n.watchdog = actors.NewWatchdog(n.store, n.books, metering, &n.board, n.set, n.log)
	n.background("watchdog", n.watchdog.Run)
	return nil
}

func (n *node) startChains(context.Context) error {
	external := &actors.PriceFeed{
		File: n.Prices.File, URL: n.Prices.URL, Every: n.Prices.Every, Log: n.log,
	}
	if external.File != "" || external.URL != "" {
		n.background("price feed", external.Run)
	}

	// Steps of the wall clock must not make a head too old, nor the simulated market leap.
	clock := n.registry.Clock()
	n.feedClock = func() time.Time { return clock.Time(time.Now()) }

	newPause := func() func() { return pace.Background(n.board.Requests).Pause }
	specs, err := n.chainSpecs(external, n.store.Guard().ReadOnly, newPause, n.set, n.log)
	if err != nil {
		return err
	}
	if err := n.shareChains(specs); err != nil {
		return err
	}
	n.answers = map[market.ChainID]func() []value.FeedPrice{}
	for i := range specs {
		n.answers[specs[i].Config.Ledger.Chain] = specs[i].Config.External
	}

	n.chains, err = actors.Start(actors.Config{
		Store: n.store, Board: &n.board, Every: n.Refresh.Every, Clock: clock,
		Metrics: n.set, Log: n.log,
	}, specs)
	if err != nil {
		return err
	}
	n.addPart("chains", n.chains.Stop)
	return nil
}

// startServers starts to answer. The administration comes last: who asks it finds all of the node.
func (n *node) startServers(context.Context) error {
	if err := n.makeAPI(); err != nil {
		return err
	}
	apiListener := n.apiListener
	if n.TLS.Cert != "" {
		var err error
		if n.certificate, err = readCertificate(n.TLS, n.log); err != nil {
			return err
		}
		apiListener = n.certificate.listener(apiListener)
		n.background("certificate", n.certificate.watch)
	}

	n.prepareReadiness()
	ops := opsServer(n.set, n.ready.check, n.log)
	n.serveListener("ops server", n.opsListener, ops.Serve, ops.Shutdown)
	n.serveListener("API", apiListener, n.api.Serve, n.endClients)
	if err := n.startAdministration(); err != nil {
		return err
	}

	n.background("service manager", n.notifyManager)
	n.background("welcome", n.welcomeUser)
	return nil
}

// makeAPI makes the server of the API, which knows the plans and the walks of other nodes.
func (n *node) makeAPI() (err error) {
	n.api, err = edge.New(edge.Config{
		Config: pages.Config{
			Board: &n.board, Store: n.store, Chains: n.listedChains(), Limits: n.Limits.Limits,
			Version: version, Prices: n.chainPrices, Metrics: n.set, NoPageCache: n.noPageCache,
			Disk: n.watchdog.Disk, WallClock: n.watchdog.Clock, Membership: n.membership(),
			TellWalk: n.tellWalk(),
		},
		Preview: n.Feed == "sim" || n.UI.Preview,
		Book:    n.registry.Book(), Clock: n.registry.Clock(), Log: n.log,
		Connections: n.Limits.Connections, Slow: n.Log.Slow,
	})
	if err != nil {
		return err
	}

	if err := n.hearWalks(); err != nil {
		return err
	}
	n.showPlans()
	return nil
}

// prepareReadiness gives the check of readiness the parts that it asks.
func (n *node) prepareReadiness() {
	n.ready.board, n.ready.bursts = &n.board, n.bursts
	n.ready.health, n.ready.disk = n.api.ChainHealth, n.watchdog.Disk
	n.ready.tell = sync.OnceFunc(n.tellStart)
	for _, c := range n.enabledChains() {
		n.ready.chains = append(n.ready.chains, c.ID)
	}
}

// startAdministration opens the socket for the administering commands.
func (n *node) startAdministration() error {
	administration := admin.New(admin.Config{
		Registry: n.registry, Control: control{n.chains, n.Data, n.store, n.books, n.log},
		Board: &n.board, Chains: n.enabledChains(), Health: n.api.ChainHealth,
		Ready: n.ready.check, Membership: n.membership(), Sharing: n.sharing(), Log: n.log,
	})
	if err := administration.Listen(n.Data); err != nil {
		return err
	}
	n.addPart("administration", administration.Stop)
	return nil
}

// enabledChains are the chains that operators may switch.
func (l *loaded) enabledChains() (list []admin.Chain) {
	for i := range l.Chains {
		if c := &l.Chains[i]; c.Enabled {
			list = append(list, admin.Chain{ID: c.ID, Name: c.Name})
		}
	}
	return list
}

func (n *node) serveListener(
	name string, l net.Listener, serve func(net.Listener) error, stop func(context.Context) error,
) {
	go func() {
		if err := serve(l); err != nil && err != http.ErrServerClosed {
			n.failed <- fmt.Errorf("%s: %w", name, err)
		}
	}()
	n.addPart(name, stop)
}

// chainPrices are the thresholds and answers that a chain's prices are solved with.
func (n *node) chainPrices(id market.ChainID) (*value.Params, []value.FeedPrice) {
	for i := range n.Chains {
		if c := &n.Chains[i]; c.ID == id {
			params := n.priceParams(c)
			return &params, n.answers[id]()
		}
	}
	panic("BUG: prices of a chain that is not registered")
}

// listedChains are the chains as the API lists them.
func (l *loaded) listedChains() []render.Chain {
	var list []render.Chain
	for i := range l.Chains {
		c := &l.Chains[i]
		list = append(list, render.Chain{
			ID: c.ID, Slug: c.Slug, Name: c.Name, ShortName: c.ShortName, ExplorerURL: c.ExplorerURL,
			NativeSymbol: c.NativeSymbol, WrappedSymbol: c.WrappedSymbol, WrappedNative: c.WrappedNative,
			Enabled: c.Enabled,
		})
	}
	return list
}
