package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/bench/process"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// measureRebuild compares a rebuild from an archive with one of the same events from
// memory, in turns.
func measureRebuild(history func() (*recording, error), turns int) ([]figure, error) {
	r, err := history()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "backfill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	kept, err := archiveOf(r, dir)
	if err != nil {
		return nil, err
	}
	defer kept.Close()

	p, err := takeTurns(turns,
		func() (*taken, error) { return rebuild(r, &endingFeed{memoryFeed{r}}) },
		func() (*taken, error) { return rebuild(r, archive.NewFeed(kept, nil)) })
	if err != nil {
		return nil, err
	}

	size := fmt.Sprintf("%.0f bytes an event", float64(kept.Status().Bytes)/float64(r.events))
	return p.figures("events by the ledger, from memory", "events by a rebuild from the archive",
		"the archive's rate beside memory's", size, r.events, leastRebuilt), nil
}

// archiveOf keeps a recording.
func archiveOf(r *recording, dir string) (*archive.Archive, error) {
	a, err := archive.Open(archive.Config{
		Identity: archive.Identity{Chain: 1, PoolManager: manager, PositionManager: positions, Start: 1},
		Dir:      dir,
	})
	if err != nil {
		return nil, err
	}

	before := market.Head{}
	for _, s := range r.spans {
		if err := a.Append(before, s); err != nil {
			return nil, err
		}
		before = s.Head()
	}
	a.NoteFinalized(before.Number)
	return a, a.Sync()
}

// rebuild has an empty chain take a feed to its end, as the command does.
func rebuild(r *recording, from feed.Feed) (*taken, error) {
	defer from.Close()
	dir, err := os.MkdirTemp("", "backfill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(filepath.Join(dir, "market"), storage.Options{Logger: quiet})
	if err != nil {
		return nil, err
	}
	defer store.Close()

	source := &watched{Feed: from}
	var board rankings.Board
	config := spec(source, metrics.NewSet(), quiet).Config
	config.Background = actors.Background
	c, err := chain.Open(config, store, &board)
	if err == nil {
		err = c.Load(func() bool { return false })
	}
	if err != nil {
		return nil, err
	}
	c.Complete(func() {})

	runtime.GC() // what was before is not this turn's
	t, meter := &taken{events: r.events}, startMeter(source, (*process.Child)(nil))
	if err := c.Replay(context.Background(), source, time.Now, func(feed.Step) {}); err != nil {
		return nil, err
	}
	meter.stop(t)
	shown, _ := board.Load().Chain(1)
	t.state = digest(shown.View.State)
	return t, nil
}
