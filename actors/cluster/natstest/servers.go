package natstest

import (
	"fmt"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/bench/process"
)

// startTimeout is what servers get to find each other on a busy machine.
const startTimeout = 20 * time.Second

// Servers are NATS servers with JetStream, each with a store of its own.
type Servers struct {
	All     []*server.Server
	options []*server.Options
}

// sparePort returns a port that stays with the server when it stops: none that the system
// gives to a client that looks for it meanwhile.
func sparePort(t testing.TB) int {
	t.Helper()
	address, err := process.SparePort()
	if err != nil {
		t.Fatal(err)
	}
	return int(netip.MustParseAddrPort(address).Port())
}

// Start starts n servers on loopback, on spare ports. They end with the test. sync says that
// they sync all that they acknowledge.
func Start(t testing.TB, n int, sync bool) *Servers {
	t.Helper()
	s := &Servers{}
	var ports []int // for each other, named before any of them listens
	var routes []*url.URL
	for i := range n {
		ports = append(ports, sparePort(t))
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", ports[i])})
	}

	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: sparePort(t), HTTPHost: "127.0.0.1", HTTPPort: -1,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: sync, NoLog: true, NoSigs: true,
		}
		if n > 1 {
			o.Cluster, o.Routes = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i]}, routes
		}
		s.start(t, o)
	}

	for _, one := range s.All {
		if !one.ReadyForConnections(startTimeout) {
			t.Fatalf("the NATS server %s does not start", one.Name())
		}
	}
	return s
}

func (s *Servers) start(t testing.TB, o *server.Options) {
	t.Helper()
	one, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go one.Start()
	t.Cleanup(func() {
		one.Shutdown()
		one.WaitForShutdown()
	})
	s.All, s.options = append(s.All, one), append(s.options, o)
}

// StartLocked starts a server that lets nobody in without a password.
func StartLocked(t testing.TB) *Servers {
	t.Helper()
	s := &Servers{}
	s.start(t, &server.Options{
		ServerName: "locked", Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, Username: "u", Password: "p",
	})
	if !s.All[0].ReadyForConnections(startTimeout) {
		t.Fatal("the NATS server does not start")
	}
	return s
}

// Stop stops a server.
func (s *Servers) Stop(i int) {
	s.All[i].Shutdown()
	s.All[i].WaitForShutdown()
}

// Again starts a server again that was stopped, on its port and with what it had stored.
func (s *Servers) Again(t testing.TB, i int) {
	t.Helper()
	again := &Servers{}
	again.start(t, s.options[i])
	s.All[i] = again.All[0]
	if !s.All[i].ReadyForConnections(startTimeout) {
		t.Fatalf("the NATS server %s does not start again", s.All[i].Name())
	}
}

// JetStream connects to a server beside the nodes of a test, until its end.
func JetStream(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// URLs returns the addresses for clients.
func (s *Servers) URLs() (urls []string) {
	for _, one := range s.All {
		urls = append(urls, one.ClientURL())
	}
	return urls
}

// Monitoring returns the addresses of the servers' monitoring.
func (s *Servers) Monitoring() (urls []string) {
	for _, one := range s.All {
		urls = append(urls, "http://"+one.MonitorAddr().String())
	}
	return urls
}
