package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster"
	"tidemark/storage/registry"
)

// bucketName is where accounts, keys and plans are.
const bucketName = "TIDEMARK_ACCOUNTS"

const (
	// reloadEvery is how often everything is read again. A revocation must act within
	// 60 s, also if a watch was lost.
	reloadEvery = 30 * time.Second
	// readTimeout bounds one reading of everything.
	readTimeout = 5 * time.Second
	// publishTimeout bounds a change. An operator waits for it, and other changes do.
	publishTimeout = 5 * time.Second
)

// Directory is a node's end of the shared accounts. It is the Sharing of a registry.
type Directory struct {
	bucket *cluster.Bucket
	log    *slog.Logger

	changes  *metrics.Counter
	refused  *metrics.Counter
	failures *metrics.Counter

	watching func(jetstream.KeyWatcher) // tests look at the watches
}

// Open opens the bucket, and makes it if there is none.
func Open(ctx context.Context, c *cluster.Cluster, set *metrics.Set, log *slog.Logger) (*Directory, error) {
	bucket, err := c.Bucket(ctx, bucketName)
	if err != nil {
		return nil, err
	}
	return &Directory{
		bucket: bucket, log: log,
		changes:  set.NewCounter("tidemark_cluster_account_changes_total"),
		refused:  set.NewCounter("tidemark_cluster_account_conflicts_total"),
		failures: set.NewCounter("tidemark_cluster_account_reload_failures_total"),
	}, nil
}

// Publish stores a change after the last one of all.
func (d *Directory) Publish(c registry.Change, after uint64) (number uint64, err error) {
	value, err := encode(&c)
	if err != nil {
		return 0, err
	}

	ctx, cancel := context.WithTimeout(context.Background(), publishTimeout)
	defer cancel()
	number, err = d.bucket.PutLast(ctx, c.Name(), value, after)

	switch {
	case err == nil:
		d.changes.Inc()
		return number, nil
	case errors.Is(err, cluster.ErrOutdated):
		d.refused.Inc()
		return 0, registry.ErrOutdated
	case ctx.Err() != nil:
		return 0, fmt.Errorf("the NATS servers did not answer within %s; %s may be stored or not, "+
			"look at it again when they answer: %w", publishTimeout, c.Name(), err)
	}
	return 0, fmt.Errorf("cannot store %s for all nodes: %w", c.Name(), err)
}

// Read returns the last change of every record.
func (d *Directory) Read() (changes []registry.Change, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	w, err := d.bucket.WatchAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read the accounts of the cluster: %w", err)
	}
	defer w.Stop()
	return d.readAll(ctx, w)
}

// readAll reads everything that is in the bucket when a watch begins.
func (d *Directory) readAll(
	ctx context.Context, w jetstream.KeyWatcher,
) (changes []registry.Change, err error) {
	err = cluster.ReadAll(ctx, w, func(e jetstream.KeyValueEntry) error {
		if c, ok := d.changeOf(e); ok {
			changes = append(changes, c)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the accounts of the cluster: %w", err)
	}
	return changes, nil
}

// changeOf decodes an entry. What cannot be read is of another program or of a later one:
// it is named in the log, and the others are taken.
func (d *Directory) changeOf(e jetstream.KeyValueEntry) (c registry.Change, ok bool) {
	if e.Operation() != jetstream.KeyValuePut {
		d.log.Error("a record was deleted from the shared accounts; this node keeps its own", "key", e.Key())
		return c, false
	}
	c, err := decode(e.Key(), e.Revision(), e.Value())
	if err != nil {
		d.log.Error("a record of the shared accounts is left out", "error", err)
	}
	return c, err == nil
}

// Follow applies the changes of other nodes until ctx ends.
func (d *Directory) Follow(ctx context.Context, apply func([]registry.Change) error) {
	failed := false
	for ctx.Err() == nil {
		err := d.watchOnce(ctx, apply)

		switch {
		case ctx.Err() != nil:
		case err != nil:
			d.failures.Inc()
			if !failed {
				d.log.Warn("cannot follow the shared accounts; this node works on what it knows", "error", err)
			}
			cluster.Pause(ctx, time.Second)
		case failed:
			d.log.Info("following the shared accounts again")
		}
		failed = err != nil
	}
}

// watchOnce reads everything and then what changes, until it is time to read everything
// again.
func (d *Directory) watchOnce(ctx context.Context, apply func([]registry.Change) error) error {
	ctx, cancel := context.WithTimeout(ctx, reloadEvery)
	defer cancel()
	w, err := d.bucket.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer w.Stop()
	if d.watching != nil {
		d.watching(w)
	}

	first, done := context.WithTimeout(ctx, readTimeout)
	changes, err := d.readAll(first, w)
	done()
	for err == nil {
		if err = apply(changes); err != nil {
			return err
		}
		select {
		case e := <-w.Updates():
			if e == nil && ctx.Err() != nil { // which ends the watch too
				return nil
			}
			if e == nil {
				return errors.New("the watch of the accounts has ended")
			}
			changes = changes[:0]
			if c, ok := d.changeOf(e); ok {
				changes = append(changes, c)
			}
		case <-ctx.Done():
			return nil
		}
	}
	return err
}
