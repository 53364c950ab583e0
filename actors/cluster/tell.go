package cluster

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Tell sends a message to all nodes that listen to its subject. It does not wait, and what
// it sends is not stored.
func (c *Cluster) Tell(subject, name, header string, body []byte) error {
	m := nats.NewMsg(subject)
	m.Header.Set(name, header)
	m.Data = body
	return c.nc.PublishMsg(m)
}

// Listen has hear called with every message that other nodes Tell, one at a time.
func (c *Cluster) Listen(subject, name string, hear func(header string, body []byte)) error {
	_, err := c.nc.Subscribe(subject, func(m *nats.Msg) { hear(m.Header.Get(name), m.Data) })
	return err
}

// Connected reports whether there is a connection to a server. What is told without one is
// sent later.
func (c *Cluster) Connected() bool { return c.nc.IsConnected() }

// Reaches reports whether the leader of the stream answers: whether this node is on the
// side of the majority.
func (c *Cluster) Reaches(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if c.Joined() != nil {
		return false
	}
	info, err := c.stream.Info(ctx)
	return err == nil && hasLeader(info)
}

// hasLeader reports whether it was the leader of a stream that told of it. A server that is
// cut off from the others tells what it knows, and that there is no leader.
func hasLeader(info *jetstream.StreamInfo) bool {
	return info.Cluster == nil || info.Cluster.Leader != ""
}

// Node returns the name of this node.
func (c *Cluster) Node() string { return c.cfg.Name }
