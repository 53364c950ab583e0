package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// keptSnapshots are kept of a chain, with all cuts after the oldest of them: if one
	// is damaged, there is another one.
	keptSnapshots = 2
	// orphanAge is how long after its last chunk an object without an end is taken for
	// one whose writer died. A writer gives a chunk up after appendTimeout.
	orphanAge = 10 * time.Minute
)

// Prune deletes all but the newest snapshots of the chain, the cuts that none of these
// needs, and what was stored of snapshots whose writers died. While fewer than
// keptSnapshots are whole, it deletes no snapshot and no cut.
func (ch *Chain) Prune(ctx context.Context) error {
	l, err := ch.c.listSnapshots(ctx)
	if err != nil {
		return err
	}

	var kept int
	var oldest *Snapshot
	for _, s := range l.all[ch.id] {
		if kept == keptSnapshots {
			if err := ch.c.deleteSnapshot(ctx, s); err != nil {
				return err
			}
			continue
		}
		if s.whole {
			kept, oldest = kept+1, s
		}
	}

	if kept == keptSnapshots && oldest.Place.Sequence > 0 {
		once, cancel := context.WithTimeout(ctx, purgeTimeout)
		defer cancel()
		err = ch.c.stream.Purge(once, jetstream.WithPurgeSubject(ch.subject),
			jetstream.WithPurgeSequence(oldest.Place.Sequence)) // that one stays
		if err != nil {
			return fmt.Errorf("cannot remove the cuts of chain %d before cut %d: %w",
				ch.id, oldest.Place.Number, err)
		}
	}
	return ch.c.deleteOrphans(ctx, l)
}

// purgeTimeout bounds the deletion of messages: of an hour of cuts it takes well below a
// second.
const purgeTimeout = 30 * time.Second

// deleteSnapshot deletes what an object is first, so that nobody begins to read it.
func (c *Cluster) deleteSnapshot(ctx context.Context, s *Snapshot) error {
	if err := c.purgeObjects(ctx, infoSubject(s.name)); err != nil {
		return err
	}
	return c.purgeObjects(ctx, chunkSubjects+s.nuid)
}

func (c *Cluster) purgeObjects(ctx context.Context, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	if err := c.objects.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		return fmt.Errorf("cannot delete a snapshot: %w", err)
	}
	return nil
}

// deleteOrphans deletes chunks whose writer died before the end.
func (c *Cluster) deleteOrphans(ctx context.Context, l *listing) error {
	for _, list := range l.all {
		for _, s := range list {
			delete(l.chunks, chunkSubjects+s.nuid)
		}
	}

	for subject := range l.chunks {
		once, cancel := context.WithTimeout(ctx, askTimeout)
		m, err := c.objects.GetLastMsgForSubject(once, subject)
		cancel()
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && l.at.Sub(m.Time) < orphanAge {
			continue
		}
		if err == nil {
			err = c.purgeObjects(ctx, subject)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
