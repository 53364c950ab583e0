package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/edge"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// node is a running server: its parts in the order in which they started.
type node struct {
	*loaded
	log    *slog.Logger
	parts  []started
	failed chan error // a listener ended by itself

	set    *metrics.Set
	store  *storage.Store
	books  *storage.Accounts
	admin  *actors.Admin
	chains *actors.Node
	extern *actors.PriceFeed
	board  rankings.Board

	key     string // of the demo account, on the first start only
	address string // of the API
}

// start starts every part. What it has started stays in parts, also when a
// later one fails.
func (n *node) start() error {
	n.set, n.failed = metrics.NewSet(), make(chan error, 2)
	for _, step := range []func() error{n.openStores, n.startMetering, n.startChains, n.startServers} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) openStores() error {
	if err := os.MkdirAll(n.Data, 0o755); err != nil {
		return fmt.Errorf("cannot make the data directory: %w", err)
	}
	var err error
	n.store, err = storage.Open(n.path(marketDir), storage.Options{Metrics: n.set, Logger: n.log})
	if err != nil {
		return err
	}
	n.began("market store", func(context.Context) error { return n.store.Close() })
	if err := n.settleIdentity(n.store, time.Now()); err != nil {
		return err
	}
	n.books, err = storage.OpenAccounts(n.path(accountsDir), storage.AccountsOptions{Logger: n.log})
	if err != nil {
		return err
	}
	n.began("accounts store", func(context.Context) error { return n.books.Close() })
	n.background("disk watch", func(ctx context.Context) { actors.WatchSpace(ctx, n.store.Guard(), n.log) })
	return nil
}

// background runs a part that ends with its context.
func (n *node) background(name string, run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	n.began(name, func(context.Context) error {
		cancel()
		<-done
		return nil
	})
}

func (n *node) startMetering() error {
	var err error
	if n.admin, err = actors.OpenAdmin(n.books, n.Plans, time.Now()); err != nil {
		return err
	}
	if n.key, _, err = n.admin.Demo(); err != nil {
		return fmt.Errorf("cannot create the demo account: %w", err)
	}
	metering, err := actors.StartMetering(
		actors.NewMeter(n.admin, n.Metering.Flush, n.set), n.admin, n.Metering.Flush, n.set, n.log)
	if err != nil {
		return err
	}
	n.began("metering", metering.Stop)
	return nil
}

func (n *node) startChains() error {
	external := &actors.PriceFeed{
		File: n.Prices.File, URL: n.Prices.URL, Every: n.Prices.Every, Log: n.log,
	}
	n.extern = external
	if external.File != "" || external.URL != "" {
		n.background("price feed", external.Run)
	}
	specs, err := n.specs(external, n.set, n.log)
	if err != nil {
		return err
	}
	n.chains, err = actors.Start(specs, n.store, &n.board, n.Refresh.Every, n.set, n.log)
	if err != nil {
		return err
	}
	n.began("chains", n.chains.Stop)
	return nil
}

func (n *node) startServers() error {
	api, err := edge.New(edge.Config{
		Board: &n.board, Store: n.store, Book: n.admin.Book(), Clock: n.admin.Clock(),
		Chains: n.listed(), Plans: n.Plans, Limits: n.Limits, Version: version,
		Prices: n.prices, Metrics: n.set, Log: n.log, NoPageCache: n.bench.NoPageCache,
	})
	if err != nil {
		return err
	}
	apiListener, opsListener, err := n.listen()
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	n.address = apiListener.Addr().String()
	ops := opsServer(n.set)
	n.serve("ops server", opsListener, ops.Serve, ops.Shutdown)
	n.serve("API", apiListener, api.Serve, api.Shutdown)
	socket := actors.NewAdminSocket(n.admin, n.log)
	n.handleChains(socket)
	n.handleBackup(socket)
	if err := socket.Listen(n.Data); err != nil {
		return err
	}
	n.began("administration", socket.Stop)
	return nil
}

func (n *node) serve(name string, l net.Listener, serve func(net.Listener) error, stop func(context.Context) error) {
	go func() {
		if err := serve(l); err != nil && err != http.ErrServerClosed {
			n.failed <- fmt.Errorf("%s: %w", name, err)
		}
	}()
	n.began(name, stop)
}

// prices are the thresholds and answers that a chain's prices are solved with.
func (n *node) prices(id market.ChainID) (*value.Params, []value.FeedPrice) {
	for i := range n.Chains {
		if c := &n.Chains[i]; c.ID == id {
			params := n.params(c)
			return &params, n.extern.Of(id)
		}
	}
	panic("BUG: prices of a chain that is not registered")
}

// listed are the chains as the API lists them.
func (l *loaded) listed() []render.Chain {
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

// welcome says where to ask; on the first start also with which key, which is
// shown this once.
func (n *node) welcome(w io.Writer) {
	dir, err := filepath.Abs(n.Data)
	if err != nil {
		dir = n.Data
	}
	text := fmt.Sprintf("tidemark %s serves http://%s (feed %s, data %s)\n", version, n.address, n.Feed, dir)
	if n.key != "" {
		text += fmt.Sprintf("\nAPI key of the account demo, shown this once: %s\n\n"+
			"  curl -H \"KC-APIKey: %s\" \"http://%s/v1/positions?limit=1\"\n\n", n.key, n.key, n.address)
	}
	io.WriteString(w, text)
}
