package actors

import (
	"context"
	"log/slog"
	"time"

	"tidemark/storage"
)

// spaceEvery is how often the disk is measured: a node writes a few megabytes
// in that time, far less than the guard keeps free.
const spaceEvery = 5 * time.Second

// WatchSpace keeps a store away from a full disk until ctx ends, and says so
// when that changes.
func WatchSpace(ctx context.Context, guard *storage.Guard, log *slog.Logger) {
	var last storage.Space
	for {
		space, err := guard.Check()
		if err != nil {
			log.Error("cannot measure the disk", "error", err)
		} else if space.ReadOnly != last.ReadOnly {
			log.Warn("disk space", "readOnly", space.ReadOnly, "freeBytes", space.FreeBytes)
		}
		last = space
		select {
		case <-time.After(spaceEvery):
		case <-ctx.Done():
			return
		}
	}
}
