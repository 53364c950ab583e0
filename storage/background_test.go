package storage

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// TestFlushesPause checks that writing tables in the background looks at how many
// requests come, which it does after every pause.
func TestFlushesPause(t *testing.T) {
	var looks atomic.Uint64
	s, err := Open(t.TempDir(), Options{
		Logger: slog.New(slog.DiscardHandler), BallastBytes: -1,
		Requests: func() uint64 { return looks.Add(1) },
	})
	must(err)
	defer func() { must(s.Close()) }()

	c, all := newBenchChain(20_000, 1000)
	must(s.Commit(all))
	must(s.Commit(c.refresh(1000, 100)))

	looks.Store(0)
	begun := time.Now()
	must(s.db.Flush())
	took := time.Since(begun)
	if n := looks.Load(); n < 10 {
		t.Errorf("a flush of %v paused %d times; want one for every 150 µs", took, n)
	}
}
