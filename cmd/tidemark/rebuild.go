package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/edge/admin"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// ChainsRebuildCmd builds a chain from its archive.
type ChainsRebuildCmd struct {
	Config string `help:"Configuration file, when no node is running." type:"path" placeholder:"FILE"`
	Data   string `help:"Directory of the node (that of the configuration)." placeholder:"DIR"`
	JSON   bool   `name:"json" help:"Print JSON."`
	ID     uint64 `arg:"" help:"Chain id."`
}

// rebuilt is what `chains rebuild --json` prints of a stopped node's chain.
type rebuilt struct {
	ChainID         uint64  `json:"chainId"`
	FromBlock       uint64  `json:"fromBlock"`
	ToBlock         uint64  `json:"toBlock"`
	Events          uint64  `json:"events"`
	Seconds         float64 `json:"seconds"`
	EventsPerSecond float64 `json:"eventsPerSecond"`
}

// Run has a running node do it, or does it where none is running.
func (c *ChainsRebuildCmd) Run() error {
	ctx, stop := interruptContext()
	defer stop()
	l, err := loadConfig(c.Config, os.Environ(), map[string]string{"data": c.Data})
	if err != nil {
		return err
	}
	if isRunning(ctx, l.Data) {
		node := AdminFlags{Data: l.Data, JSON: c.JSON}
		return node.orderChain(c.ID, "rebuild")
	}

	narrowFiles()
	result, err := l.rebuild(ctx, market.ChainID(c.ID), newScreen(os.Stderr))
	if err != nil {
		return fmt.Errorf("cannot rebuild chain %d: %w", c.ID, err)
	}
	if c.JSON {
		return printJSON(os.Stdout, result)
	}
	_, err = fmt.Printf("chain %d: %d events of blocks %d to %d in %.1f s: %.0f events a second\n", c.ID,
		result.Events, result.FromBlock, result.ToBlock, result.Seconds, result.EventsPerSecond)
	return err
}

// isRunning reports whether a node is running on a data directory.
func isRunning(ctx context.Context, data string) bool {
	conn, err := admin.Dial(ctx, data)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// openStopped opens the market store of a stopped node, and compares its identity.
func (l *loaded) openStopped(log *slog.Logger) (*storage.Store, error) {
	if err := makePrivate(l.Data); err != nil {
		return nil, err
	}
	store, err := storage.Open(l.dataPath(marketDir), storage.Options{Logger: log, Rebuild: l.hasArchives})
	if err != nil {
		return nil, adviseMarket(l.Data, err)
	}
	if err := l.settleIdentity(store, nil, time.Now()); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// rebuild builds a chain of a stopped node from its archive.
func (l *loaded) rebuild(ctx context.Context, id market.ChainID, out io.Writer) (r rebuilt, err error) {
	c, err := l.chainOf(id)
	if err != nil {
		return r, err
	}
	if !l.keepsArchives() {
		return r, errors.New(`it has no archive: archive is false, or the feed is sim, whose market is computed again`)
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := l.openStopped(log) // locks the directory, and with it the archive
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	kept, err := l.openArchive(c, nil, nil, log)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	st := kept.Status()
	if err := describeGaps(&st, c.StartBlock); err != nil {
		return r, err
	}
	if err := store.DropChain(id); err != nil {
		return r, err
	}

	r = rebuilt{ChainID: uint64(id), FromBlock: st.Base.Number + 1, ToBlock: st.Head.Number, Events: st.Events}
	started := time.Now()
	if err := l.replay(ctx, c, store, kept, log, out); err != nil {
		return r, err
	}
	r.Seconds = time.Since(started).Seconds()
	r.EventsPerSecond = float64(r.Events) / r.Seconds
	return r, nil
}

// describeGaps is the error of an archive that a chain cannot be built from.
func describeGaps(st *archive.Status, start uint64) error {
	start = max(start, 1)
	switch {
	case st.Head.Number == 0:
		return errors.New("its archive is empty; start the node, which fills it, or import one with " +
			"`tidemark archive import`")
	case st.Base.Number >= start:
		return fmt.Errorf("its archive lacks blocks %d to %d; a running node fetches them: "+
			"`tidemark chains rebuild` while it runs", start, st.Base.Number)
	case len(st.Holes) > 0:
		return fmt.Errorf("its archive lacks blocks %s; a running node fetches them again", st.Holes[0])
	}

	return nil
}

// replay applies an archive to an empty chain, telling how far it is once a second.
func (l *loaded) replay(
	ctx context.Context, c *ChainConfig, store *storage.Store, kept *archive.Archive, log *slog.Logger, out io.Writer,
) error {
	none := func() []value.FeedPrice { return nil }
	config := l.chainConfig(c, none, metrics.NewSet(), log)
	config.Archive, config.Background = kept, actors.Background
	built, err := chain.Open(config, store, new(rankings.Board))
	if err != nil {
		return err
	}
	if err := built.Load(func() bool { return false }); err != nil {
		return err
	}
	built.Complete(func() {})

	source := archive.NewFeed(kept, nil)
	told := time.Now()
	err = built.Replay(ctx, source, time.Now, func(step feed.Step) {
		if time.Since(told) >= time.Second {
			told = time.Now()
			fmt.Fprintf(out, "block %d of %d\n", step.Span.To, step.Head.Number)
		}
	})
	return errors.Join(err, source.Close())
}
