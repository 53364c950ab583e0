package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/actors/cluster"
	"tidemark/actors/cluster/quota"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// The settings of a cluster are checked when there is one, and a mistake names the value
// and what is allowed.
func TestClusterSettings(t *testing.T) {
	f := func(want, text string, environ ...string) *loaded {
		t.Helper()
		l, err := loadText(t, text, environ...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s is answered %v; want %q", text, err, want)
		}
		return l
	}
	const head = "[cluster]\nnats = [\"nats://10.0.0.1:4222\"]\nname = \"a\"\n"

	if l := f("", "[cluster]\nname = \"not a name\""); l.clustered() {
		t.Error("a node without servers is in a cluster")
	}
	f("", head)
	f(`cluster.name is ""; allowed are 1 to 64 letters`, `cluster.nats = ["nats://10.0.0.1:4222"]`)
	f(`cluster.name is "a b"`, `cluster = {nats = ["nats://10.0.0.1:4222"], name = "a b"}`)
	f(`:1: cluster.nats has "10.0.0.1"; allowed are addresses such as nats://10.0.0.1:4222`,
		`cluster.nats = ["10.0.0.1"]`)
	f("cluster.nats has a wrong address 2, which is not shown since it may hold a password; allowed are",
		`cluster.nats = ["nats://10.0.0.1:4222", "natss://user:s3cret@10.0.0.2:4222"]`)
	f(`cluster.monitoring has "nats://x:1"; allowed are addresses such as http://10.0.0.1:8222`,
		head+`monitoring = ["nats://x:1"]`)
	f("cannot read cluster.credentials", head+`credentials = "`+filepath.Join(t.TempDir(), "none")+`"`)
	f("cluster.snapshot-every is", head+`snapshot-every = "1s"`)
	f("cannot read cluster.tls-ca", head+`tls-ca = "`+filepath.Join(t.TempDir(), "none")+`"`)
	f("cluster.tls-cert is set and cluster.tls-key is not; set both or none", head+`tls-cert = "x.pem"`)
	f("cluster.tls-key is set and cluster.tls-cert is not; set both or none", head+`tls-key = "x.pem"`)
	f(":5: cannot use cluster.tls-cert x.pem with cluster.tls-key y.pem: open x.pem",
		head+"# pair\ntls-cert = \"x.pem\"\ntls-key = \"y.pem\"")
	pair := TLSConfig{Cert: filepath.Join(t.TempDir(), "cert"), Key: filepath.Join(t.TempDir(), "key")}
	writePair(t, pair, "node.example")
	f("", head+fmt.Sprintf("tls-cert = %q\ntls-key = %q\ntls-ca = %q", pair.Cert, pair.Key, pair.Cert))
	f(`cluster.nats has "nats://"`, `cluster.nats = ["nats://10.0.0.1:4222", "nats://"]`)
	f(`cluster.writes has "7"; allowed are "auto", "none", or ids of registered chains: 1, `,
		head+`writes = [1, 7]`)
	f(`cluster.writes has "auto"`, head+`writes = ["auto", 1]`)

	writes := func(text string, first, second bool, environ ...string) {
		t.Helper()
		c := f("", head+text, environ...).Cluster
		if a, b := c.mayWrite(1), c.mayWrite(42161); a != first || b != second {
			t.Errorf("with %s %v chain 1 may be written: %t, chain 42161: %t", text, environ, a, b)
		}
	}
	writes("", true, true)
	writes(`writes = "auto"`, true, true)
	writes(`writes = [1]`, true, false)
	writes(`writes = ["42161"]`, false, true)
	writes(`writes = []`, false, false)
	writes(`writes = "none"`, false, false)
	writes("", false, true, "TIDEMARK_CLUSTER_WRITES=42161,43114")
}

// What is configured of a cluster is what this node joins it with.
func TestClusterConfig(t *testing.T) {
	n := emptyNode(t)
	n.insecureCluster = true
	n.Cluster = ClusterConfig{
		NATS: []string{"nats://a:1"}, Name: "a", Credentials: "creds", TLSCa: "ca", TLSCert: "cert", TLSKey: "key",
		Monitoring: []string{"http://a:2"},
	}
	want := cluster.Config{
		Servers: []string{"nats://a:1"}, Name: "a", Credentials: "creds", TLSCa: "ca", TLSCert: "cert", TLSKey: "key",
		Monitoring: []string{"http://a:2"}, Insecure: true, Metrics: n.set, Log: n.log,
	}
	if got := n.clusterConfig(); !reflect.DeepEqual(got, want) {
		t.Errorf("it joins with %+v; want %+v", got, want)
	}
}

// What accounts may spend while the servers are out is what is configured.
func TestQuotaConfig(t *testing.T) {
	n := nodeWithAccounts(t)
	n.Cluster.QuotaOnOutage = 70
	want := quota.Config{Book: n.registry.Book(), OnOutage: 70, Metrics: n.set, Log: n.log}
	if got := n.quotaConfig(); got != want {
		t.Errorf("quotas are shared by %+v; want %+v", got, want)
	}
}

// A node alone puts the plans of every reload in force, one of a cluster those that were
// changed since its file was read.
func TestReplacedPlans(t *testing.T) {
	const head = "[[plans]]\nid = \"free\"\nmonthly-units = "
	n := emptyNode(t)
	f := func(text string, alone, clustered bool) {
		t.Helper()
		fresh, err := loadText(t, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			of   *cluster.Cluster
			want bool
		}{{nil, alone}, {new(cluster.Cluster), clustered}} {
			if n.cluster = c.of; n.replacesPlans(fresh) != c.want {
				t.Errorf("%q, in a cluster %t: plans are replaced %t", text, c.of != nil, !c.want)
			}
		}
	}

	n.inForce = n.values()
	f("", true, false)
	f("[limits]\ntotal-cap = 5\n", true, false)
	f(head+"7\n", true, true)
}

// Nodes agree on the market that they share: the first one says it, and one with another
// configuration is refused before it writes anything down.
func TestClusterAgrees(t *testing.T) {
	said := map[string]string{}
	agree := func(name, value string) (string, error) {
		if was, ok := said[name]; ok {
			return was, nil
		}
		said[name] = value
		return value, nil
	}
	first, err := settleNew(t, agree, 0, func(*Config) {})
	if err != nil {
		t.Fatal(err)
	}
	second, err := settleNew(t, agree, 50*market.Hour, func(*Config) {})
	if err != nil || !second.Sim.Genesis.Equal(first.Sim.Genesis) {
		t.Errorf("the second node has the genesis %s, %v; the first %s", second.Sim.Genesis, err, first.Sim.Genesis)
	}

	_, err = settleNew(t, agree, 0, func(c *Config) { c.Sim.Seed = 7 })
	if err == nil || !strings.Contains(err.Error(), "with sim.seed 1; the configuration of this node says 7") {
		t.Errorf("another seed is answered %v", err)
	}

	_, err = settleNew(t, agree, 0, func(c *Config) { c.Chains[0].PoolManager[0]++ })
	if err == nil || !strings.Contains(err.Error(), "with chain 1 pool-manager") {
		t.Errorf("another contract is answered %v", err)
	}
	if _, err := settleNew(t, agree, 0, func(c *Config) { c.Chains[0].Enabled = false }); err != nil {
		t.Errorf("a node without a chain is refused: %v", err)
	}

	gone := errors.New("the servers are gone")
	for _, lost := range []string{"sim.seed", "sim.genesis"} {
		_, err := settleNew(t, func(name, value string) (string, error) {
			if name == lost {
				return "", gone
			}
			return agree(name, value)
		}, 0, func(*Config) {})
		if !errors.Is(err, gone) {
			t.Errorf("without an answer about %s: %v", lost, err)
		}
	}
}

// Data of another cluster, or of a stream that is gone, is data of no cluster.
func TestClusterHistory(t *testing.T) {
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	f := func(history string, moved bool) {
		t.Helper()
		if err := store.SetPlace(1, []byte("place")); err != nil {
			t.Fatal(err)
		}
		l := &loaded{Config: defaultConfig(), history: history}
		err := l.settleIdentity(store, nil, time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC))
		if err != nil || l.moved != moved {
			t.Errorf("history %q is answered %v; it has moved: %t", history, err, l.moved)
		}
		if place, err := store.Place(1); (place == nil) != moved || err != nil {
			t.Errorf("with history %q the place is %q, %v", history, place, err)
		}
	}

	f("", false)
	f("monday", false)
	f("monday", false)
	f("", false)
	f("tuesday", true)
	f("tuesday", false)
}
