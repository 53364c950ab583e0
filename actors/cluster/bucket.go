package cluster

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is a key-value bucket that this node opened, and what its keys are written by.
type Bucket struct {
	jetstream.KeyValue
	JetStream jetstream.JetStream
	Node      string // the name of this node
}

// Bucket opens a bucket that all nodes share, and makes it if there is none. It is kept as
// safely as the stream of cuts. ttl is how long a key stays; 0: for good.
func (c *Cluster) Bucket(ctx context.Context, name string, ttl time.Duration) (*Bucket, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	b := &Bucket{JetStream: c.js, Node: c.cfg.Name}
	err := c.whileStarting(ctx, "open bucket "+name, func(ctx context.Context) (err error) {
		b.KeyValue, err = c.openBucket(ctx, name, ttl)
		return err
	})
	if err != nil || c.cfg.Insecure {
		return b, err
	}

	servers, err := c.checkStream(ctx, "KV_"+name)
	if err != nil {
		return nil, err
	}
	return b, c.checkSynced("KV_"+name, servers)
}
