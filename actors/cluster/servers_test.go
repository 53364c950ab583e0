package cluster

import (
	"log/slog"
	"testing"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/cluster/natstest"
	"tidemark/rankings/market"
)

// servers are NATS servers in this process.
type servers struct {
	*natstest.Servers
	t    *testing.T
	sync bool
}

func newServers(t *testing.T, n int, sync bool) *servers {
	t.Helper()
	return &servers{Servers: natstest.Start(t, n, sync), t: t, sync: sync}
}

func (s *servers) config(name string) Config {
	return Config{
		Servers: s.URLs(), Monitoring: s.Monitoring(), Name: name, Insecure: !s.sync,
		Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
	}
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
	return memberOn(t, c, id, mayWrite, func() bool { return true })
}

// memberOn is memberOf on a disk that may have no room.
func memberOn(t *testing.T, c *Cluster, id market.ChainID, mayWrite bool, hasRoom func() bool) *Chain {
	t.Helper()
	ch, err := c.Chain(id, mayWrite, hasRoom)
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Start(nil); err != nil {
		t.Fatal(err)
	}
	return ch
}
