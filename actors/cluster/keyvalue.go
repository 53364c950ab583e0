package cluster

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is a key-value bucket that all nodes share.
type Bucket struct {
	jetstream.KeyValue
	Node string // the name of this node
	c    *Cluster
}

// Bucket opens a bucket, and makes it if there is none. It is kept as safely as the stream
// of cuts.
func (c *Cluster) Bucket(ctx context.Context, name string) (*Bucket, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	b := &Bucket{Node: c.cfg.Name, c: c}
	err := c.whileStarting(ctx, "open bucket "+name, func(ctx context.Context) (err error) {
		b.KeyValue, err = c.openBucket(ctx, name, 0)
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

// outdatedPause is what the servers need to copy a change: the server that is read next
// may have it a little later.
const outdatedPause = 20 * time.Millisecond

// PutLast stores a value if the last change of the whole bucket is the one numbered after,
// and fails with ErrOutdated if it is not. It repeats an attempt without an answer until
// ctx ends: then the value may be stored or not.
func (b *Bucket) PutLast(ctx context.Context, key string, value []byte, after uint64) (uint64, error) {
	m := &nats.Msg{Subject: "$KV." + b.KeyValue.Bucket() + "." + key, Data: value}
	number, err := b.c.publish(ctx, m, jetstream.WithMsgID(rand.Text()),
		jetstream.WithExpectStream("KV_"+b.KeyValue.Bucket()), jetstream.WithExpectLastSequence(after))
	if err == ErrOutdated {
		time.Sleep(outdatedPause)
	}
	return number, err
}
