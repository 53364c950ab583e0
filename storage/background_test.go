package storage

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
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

// TestRestOfALog: what passes between two writes of a table is work, after which it pauses, and
// what passes between two of a log is rest. Both pause while they are written all the time.
func TestRestOfALog(t *testing.T) {
	looks := 0
	fs := &pacedFS{vfs.NewMem(), func() uint64 { looks++; return 0 }}

	f := func(name string, afterRest int) {
		t.Helper()
		file, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		must(err)
		defer file.Close()
		write := func() int {
			looks = 0
			_, err := file.Write([]byte("block"))
			must(err)
			return looks
		}

		write()
		time.Sleep(2 * restAfter)
		if n := write(); n != afterRest {
			t.Errorf("%s: %d looks after a rest; want %d", name, n, afterRest)
		}
		paused := false
		for began := time.Now(); !paused && time.Since(began) < time.Second; {
			paused = write() > 1
		}
		if !paused {
			t.Errorf("%s: no pause in a second of writing", name)
		}
	}

	f("1.sst", 3) // one when a pause begins, and one after each of two that find nothing
	f("2.log", 1) // one when the work begins
}
