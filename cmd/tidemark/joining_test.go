package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/actors"
	"tidemark/actors/cluster/natstest"
	"tidemark/bench/process"
	"tidemark/edge"
	"tidemark/edge/pages"
	"tidemark/storage"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

// memberNode is a node of a cluster over a data directory, of which nothing has started,
// and what it logs.
func memberNode(t *testing.T, servers *natstest.Servers, data string) (*node, *process.Output) {
	t.Helper()
	n, logs := emptyNode(t), new(process.Output)
	n.Data, n.log = data, slog.New(slog.NewTextHandler(logs, nil))
	n.Cluster.NATS, n.Cluster.Name, n.insecureCluster = servers.URLs(), filepath.Base(data), true
	return n, logs
}

// openAccounts starts a node up to its accounts. It ends with the test, or by the function.
func (n *node) openAccounts(t *testing.T) (end func(), err error) {
	t.Helper()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		if err := n.stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)

	for _, step := range []func(context.Context) error{n.joinCluster, n.openStores, n.openRegistry} {
		if err := step(t.Context()); err != nil {
			return end, err
		}
	}
	return end, nil
}

// names are those of the accounts of a node.
func (n *node) names() string {
	var list []string
	for _, a := range n.registry.AccountList() {
		list = append(list, a.Name)
	}
	return strings.Join(list, " ")
}

// serveAPI starts the API of a node whose accounts are open, and returns its URL.
func (n *node) serveAPI(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.api, err = edge.New(edge.Config{
		Config: pages.Config{Board: &n.board, Store: n.store, Limits: n.Limits.Limits, Metrics: n.set},
		Book:   n.registry.Book(), Clock: n.registry.Clock(), Log: n.log, Connections: n.Limits.Connections,
	})
	if err != nil {
		t.Fatal(err)
	}

	served := make(chan error, 1)
	go func() { served <- n.api.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(n.api.Shutdown(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// A node whose market store has no room for writes is not elected.
func TestFullNodeIsNoCandidate(t *testing.T) {
	servers := natstest.Start(t, 1, false)
	f := func(minFree uint64, want bool) {
		t.Helper()
		n, _ := memberNode(t, servers, t.TempDir())
		if err := n.joinCluster(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer n.stop()
		var err error
		n.store, err = storage.Open(n.dataPath(marketDir), storage.Options{MinFreeBytes: minFree, Logger: n.log})
		if err != nil {
			t.Fatal(err)
		}
		defer n.store.Close()
		if _, err := n.store.Guard().Check(); err != nil {
			t.Fatal(err)
		}

		specs := make([]actors.ChainSpec, 1)
		specs[0].Config.Ledger.Chain = 1
		if err := n.shareChains(specs); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		e, err := specs[0].Member.Next(ctx)
		if e.Elect != want {
			t.Errorf("of a disk that needs %d bytes free: elected %t, %v; want %t", minFree, e.Elect, err, want)
		}
	}

	f(1<<60, false)
	f(1, true)
}

// The first node of a cluster shares its accounts, and a later one has them. What that had
// itself is set apart, and the log says so, and whose plans are in force.
func TestAccountsOfACluster(t *testing.T) {
	servers, dir := natstest.Start(t, 1, false), t.TempDir()
	f := func(name, names string, change func(*node), want ...string) *node {
		t.Helper()
		n, logs := memberNode(t, servers, filepath.Join(dir, name))
		change(n)
		if _, err := n.openAccounts(t); err != nil {
			t.Fatal(err)
		}
		if got := n.names(); got != names {
			t.Errorf("%s has the accounts %q; want %q", name, got, names)
		}
		said := logs.String()
		for _, line := range want {
			if !strings.Contains(said, line) {
				t.Errorf("%s logs no %q: %s", name, line, said)
			}
		}
		for _, line := range []string{"are not served", "the plans of the cluster differ", "no NATS servers answer"} {
			if strings.Contains(said, line) && !strings.Contains(strings.Join(want, ""), line) {
				t.Errorf("%s logs %q: %s", name, line, said)
			}
		}
		return n
	}
	owning := func(account string) func(*node) {
		return func(n *node) {
			books, err := accountstore.Open(n.dataPath(accountsDir), accountstore.Options{Logger: n.log})
			if err != nil {
				t.Fatal(err)
			}
			defer books.Close()
			r, err := registry.Open(books, n.Plans, time.Now())
			if err == nil {
				_, err = r.CreateAccount(account, "free")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}

	a := f("a", "acme", owning("acme"), `msg="this node is the first to share its accounts with the cluster" accounts=1`)
	const taken = `msg="this node has the accounts of the cluster" accounts=1`
	b := f("b", "acme", func(*node) {}, taken)
	f("c", "acme", owning("mine"), taken, "are not served", "names=mine copy="+filepath.Join(dir, "c", accountsDir))
	f("d", "acme", func(n *node) {
		n.Plans = slices.Clone(n.Plans)
		n.Plans[0].MonthlyUnits++
	}, taken, "the plans of the cluster differ")

	if _, err := a.registry.CreateAccount("late", "free"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "an account that another node has made", func() bool { return b.names() == "acme late" })

	// Plans that one node replaces are listed by the others.
	url := b.serveAPI(t)
	listed := func(name string) bool {
		code, text, err := request(url+"/v1/plans", "")
		if err != nil || code != 200 {
			t.Fatal(code, err)
		}
		return strings.Contains(text, name)
	}
	b.showPlans()
	plans := slices.Clone(a.registry.Plans())
	if !listed(plans[0].Name) {
		t.Errorf("the plan %s is not listed", plans[0].Name)
	}
	plans[0].Name = "A new name"
	if err := a.registry.ReplacePlans(plans); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the plans of another node", func() bool { return listed(plans[0].Name) })
}

// A node whose servers do not answer serves the accounts that it had, and joins the others
// when they do, unless its data is of another stream. One that has never reached them is
// refused.
func TestAccountsWithoutServers(t *testing.T) {
	servers, dir := natstest.Start(t, 1, false), t.TempDir()
	start := func(name string) (n *node, logs *process.Output, end func()) {
		t.Helper()
		n, logs = memberNode(t, servers, filepath.Join(dir, name))
		end, err := n.openAccounts(t)
		if err != nil {
			t.Fatal(err)
		}
		return n, logs, end
	}
	n, _, end := start("a")
	if _, err := n.registry.CreateAccount("acme", "free"); err != nil {
		t.Fatal(err)
	}
	had := n.historyOf()
	end()
	servers.Stop(0)

	first, _ := memberNode(t, servers, filepath.Join(dir, "first"))
	if _, err := first.openAccounts(t); err == nil || !strings.HasSuffix(err.Error(), "; the node must reach them at its first start") {
		t.Errorf("a first start without the servers: %v", err)
	}

	n, logs, end := start("a")
	if !strings.Contains(logs.String(), "no NATS servers answer; this node serves what its data has") || n.names() != "acme" {
		t.Errorf("it has the accounts %q, and logs %s", n.names(), logs)
	}
	if _, err := n.registry.CreateAccount("late", "free"); err == nil {
		t.Error("an account was made without the servers")
	}
	servers.Again(t, 0)
	waitFor(t, "that it joins", func() bool { return strings.Contains(logs.String(), "this node has joined the cluster") })
	waitFor(t, "another account", func() bool {
		_, err := n.registry.CreateAccount("late", "free")
		return err == nil
	})
	if len(n.failed) > 0 {
		t.Errorf("it fails: %v", <-n.failed)
	}

	pairs := n.store.Identity()
	pairs[slices.Index(pairs, storage.Pair{Name: historyName, Value: had})].Value = "another"
	if err := n.store.SetIdentity(pairs); err != nil {
		t.Fatal(err)
	}
	end()
	servers.Stop(0)
	n, _, _ = start("a")
	servers.Again(t, 0)
	want := "cannot join the cluster: the NATS servers have another stream, of " + had + "; the data of this node is of the one of another; "
	waitFor(t, "that it fails", func() bool { return len(n.failed) > 0 })
	if err := <-n.failed; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("with the data of another stream: %v; want %s", err, want)
	}
}

// A node that is started again without the others divides burst limits by as many nodes as
// the cluster had.
func TestKnownNodes(t *testing.T) {
	servers, dir := natstest.Start(t, 1, false), t.TempDir()
	f := func(kept string, nodes float64, warns bool) {
		t.Helper()
		n, logs := memberNode(t, servers, filepath.Join(dir, "a"+kept))
		if _, err := n.openAccounts(t); err != nil {
			t.Fatal(err)
		}
		if kept != "" {
			pairs := append(n.store.Identity(), storage.Pair{Name: nodesName, Value: kept})
			if err := n.store.SetIdentity(pairs); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.shareBursts(); err != nil {
			t.Fatal(err)
		}

		if got := n.set.GetOrCreateGauge("tidemark_cluster_nodes", nil).Get(); got != nodes {
			t.Errorf("with %q kept there are %g nodes; want %g", kept, got, nodes)
		}
		if warned := strings.Contains(logs.String(), "does not say how many nodes"); warned != warns {
			t.Errorf("with %q kept it warns: %t", kept, warned)
		}
	}

	f("", 1, false)
	f("3", 3, false)
	f("some", 1, true)
}
