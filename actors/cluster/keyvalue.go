package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is a key-value bucket that all nodes share. Before this node has joined, its
// methods fail.
type Bucket struct {
	Node string // the name of this node
	name string
	kv   jetstream.KeyValue
	c    *Cluster
}

// Bucket opens a bucket, and makes it if there is none. It is kept as safely as the stream
// of cuts. If this node has not joined yet, the bucket is opened when it does.
func (c *Cluster) Bucket(ctx context.Context, name string) (*Bucket, error) {
	b := &Bucket{Node: c.cfg.Name, name: name, c: c}
	if c.await(b) {
		return b, nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	return b, b.open(ctx)
}

func (b *Bucket) open(ctx context.Context) error {
	c := b.c
	err := c.whileStarting(ctx, "open bucket "+b.name, func(ctx context.Context) (err error) {
		b.kv, err = c.openBucket(ctx, b.name, 0)
		return err
	})
	if err != nil || c.cfg.Insecure {
		return err
	}

	servers, err := c.checkStream(ctx, "KV_"+b.name)
	if err != nil {
		return err
	}
	return c.checkSynced("KV_"+b.name, servers)
}

// Get returns the last value of a key.
func (b *Bucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if err := b.c.Joined(); err != nil {
		return nil, err
	}
	return b.kv.Get(ctx, key)
}

// Create stores the first value of a key, and fails with ErrOutdated if it has one.
func (b *Bucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := b.c.Joined(); err != nil {
		return 0, err
	}
	return checkOutdated(b.kv.Create(ctx, key, value))
}

// Update stores a value of a key after a certain one, and fails with ErrOutdated if that is
// not the last.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, after uint64) (uint64, error) {
	if err := b.c.Joined(); err != nil {
		return 0, err
	}
	return checkOutdated(b.kv.Update(ctx, key, value, after))
}

// checkOutdated tells a value that another one came before from what is refused otherwise.
func checkOutdated(number uint64, err error) (uint64, error) {
	if isOutdated(err) {
		return 0, ErrOutdated
	}
	return number, err
}

// WatchAll follows all keys.
func (b *Bucket) WatchAll(ctx context.Context) (jetstream.KeyWatcher, error) {
	if err := b.c.Joined(); err != nil {
		return nil, err
	}
	return b.kv.WatchAll(ctx)
}

// ReadAll calls visit with the last value of every key, as a watch of all keys begins.
func ReadAll(ctx context.Context, w jetstream.KeyWatcher, visit func(jetstream.KeyValueEntry) error) error {
	for {
		select {
		case e, open := <-w.Updates():
			switch {
			case !open:
				return errWatchEnded
			case e == nil:
				return nil
			}

			if err := visit(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var errWatchEnded = errors.New("the watch has ended")

// outdatedPause is what the servers need to copy a change: the server that is read next
// may have it a little later.
const outdatedPause = 20 * time.Millisecond

// PutLast stores a value if the last change of the whole bucket is the one numbered after,
// and fails with ErrOutdated if it is not. It repeats an attempt without an answer until
// ctx ends: then the value may be stored or not.
func (b *Bucket) PutLast(ctx context.Context, key string, value []byte, after uint64) (uint64, error) {
	if err := b.c.Joined(); err != nil {
		return 0, err
	}
	m := &nats.Msg{Subject: "$KV." + b.name + "." + key, Data: value}
	number, err := b.c.publish(ctx, m, jetstream.WithMsgID(rand.Text()),
		jetstream.WithExpectStream("KV_"+b.name), jetstream.WithExpectLastSequence(after))
	if err == ErrOutdated {
		time.Sleep(outdatedPause)
	}
	return number, err
}
