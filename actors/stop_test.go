package actors

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// closing is a feed that tells how it was closed.
type closing struct {
	feed.Feed
	asked, closed atomic.Int32 // calls under way; of Close
	late          atomic.Bool  // a call was under way when it was closed
}

func (c *closing) Next(ctx context.Context, at feed.Cursor) (feed.Step, error) {
	c.asked.Add(1)
	defer c.asked.Add(-1)
	return c.Feed.Next(ctx, at)
}

func (c *closing) Close() error {
	c.late.Store(c.asked.Load() > 0)
	c.closed.Add(1)
	return errors.Join(c.Feed.Close(), errors.New("the connection is stuck"))
}

// A stop ends every chain: no call of its feed is under way when that is closed, once, and
// its archive is closed too. What cannot be closed is told, with its chain.
func TestStopClosesFeeds(t *testing.T) {
	var log bytes.Buffer
	told := slog.New(slog.NewTextHandler(&log, nil))
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	set, source := metrics.NewSet(), &closing{}
	spec := frozenChain(t, 1, set, slog.New(slog.DiscardHandler), func(f feed.Feed) feed.Feed {
		source.Feed = f
		return source
	})
	dir := t.TempDir()
	kept, err := archive.Open(archive.Config{Identity: archive.Identity{Chain: 1}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	far := market.Span{From: 1 << 40, To: 1 << 40, Hash: market.Hash{1}} // opens a file
	if err := kept.Append(market.Head{Number: 1<<40 - 1}, &far); err != nil {
		t.Fatal(err)
	}
	spec.Config.Archive = kept

	th := &testNode{t: t, store: store, set: set}
	node, err := Start(Config{
		Store: store, Board: &th.board, Every: 20 * time.Millisecond,
		Clock: accounts.NewClock(time.Now()), Metrics: set, Log: told,
	}, []ChainSpec{spec})
	if err != nil {
		t.Fatal(err)
	}
	th.await(1, "indexed", func(c *rankings.Chain) bool { return c.Status.LastIndexed.Number > 0 })
	if err := node.Stop(t.Context()); err != nil {
		t.Errorf("Stop = %v", err)
	}
	if source.closed.Load() != 1 || source.late.Load() {
		t.Errorf("the feed was closed %d times, within a call: %t; want once, after all", source.closed.Load(), source.late.Load())
	}
	if !strings.Contains(log.String(), `msg="cannot close a feed" chain=1 error="the connection is stuck"`) {
		t.Errorf("the log has %s", &log)
	}
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if name, _ := os.Readlink(link); strings.HasPrefix(name, dir) {
			t.Errorf("%s is open after the stop", name)
		}
	}
}

// A stop waits for what is under way, but no longer than it is told to.
func TestStopGivesUp(t *testing.T) {
	release := make(chan struct{})
	stuck := func(f feed.Feed) feed.Feed { return stuckFeed{f, release} }
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	quiet, set := slog.New(slog.DiscardHandler), metrics.NewSet()
	spec := frozenChain(t, 1, set, quiet, stuck)
	node, err := Start(Config{
		Store: store, Board: new(rankings.Board), Every: time.Second,
		Clock: accounts.NewClock(time.Now()), Metrics: set, Log: quiet,
	}, []ChainSpec{spec})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := node.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) < 50*time.Millisecond {
		t.Errorf("Stop = %v after %s; want it to wait for 50 ms", err, time.Since(began))
	}
	close(release)
	node.chains[1].work.Wait()
}

// stuckFeed hears of no stop before it is released.
type stuckFeed struct {
	feed.Feed
	release chan struct{}
}

func (s stuckFeed) Next(context.Context, feed.Cursor) (feed.Step, error) {
	<-s.release
	return feed.Step{}, errors.New("released")
}
