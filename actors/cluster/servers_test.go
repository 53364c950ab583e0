package cluster

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats-server/v2/server"

	"tidemark/rankings/market"
)

// servers are NATS servers in this process.
type servers struct {
	t    *testing.T
	all  []*server.Server
	sync bool
}

// newServers starts n servers, on ports that the system chooses.
func newServers(t *testing.T, n int, sync bool) *servers {
	t.Helper()
	s := &servers{t: t, sync: sync}
	ports := freePorts(t, n)
	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: -1, HTTPHost: "127.0.0.1", HTTPPort: -1,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: sync, NoLog: true, NoSigs: true,
		}
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i]}
			for _, port := range ports {
				o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
			}
		}
		s.start(o)
	}

	for _, one := range s.all {
		if !one.ReadyForConnections(10 * time.Second) {
			t.Fatalf("the NATS server %s does not start", one.Name())
		}
	}
	return s
}

// freePorts returns ports that nobody listens on. Servers of a cluster name each other's
// before any of them listens.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func (s *servers) start(o *server.Options) {
	s.t.Helper()
	one, err := server.NewServer(o)
	if err != nil {
		s.t.Fatal(err)
	}
	go one.Start()
	s.t.Cleanup(func() {
		one.Shutdown()
		one.WaitForShutdown()
	})
	s.all = append(s.all, one)
}

func (s *servers) config(name string) Config {
	cfg := Config{
		Name: name, Insecure: !s.sync, Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
	}
	for _, one := range s.all {
		cfg.Servers = append(cfg.Servers, one.ClientURL())
		cfg.Monitoring = append(cfg.Monitoring, "http://"+one.MonitorAddr().String())
	}
	return cfg
}

// join connects a node.
func (s *servers) join(name string) *Cluster {
	s.t.Helper()
	c, err := Open(s.t.Context(), s.config(name))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// member is a node that joined, and its chain 1 from the first cut on.
func (s *servers) member(name string, mayWrite bool) *Chain {
	s.t.Helper()
	return memberOf(s.t, s.join(name), 1, mayWrite)
}

func memberOf(t *testing.T, c *Cluster, id market.ChainID, mayWrite bool) *Chain {
	t.Helper()
	ch, err := c.Chain(id, mayWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Start(nil); err != nil {
		t.Fatal(err)
	}
	return ch
}
