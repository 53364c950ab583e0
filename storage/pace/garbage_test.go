package pace

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	f := func(live uint64, want int) {
		t.Helper()
		if got := percentFor(live, minGarbage); got != want {
			t.Errorf("%d bytes in use: %d %%; want %d", live, got, want)
		}
	}

	f(0, 1000)
	f(1<<20, 1000)
	f(32<<20, 400)
	f(128<<20, 100)
	f(512<<20, 25)
	f(1600<<20, 11)
	f(2<<30, 11)
	if got := percentFor(512<<20, startingGarbage); got != 18 {
		t.Errorf("512 MiB in use of a node that starts: %d %%; want 18", got)
	}
}

// The percentage follows the heap from one collection to the next, until that is stopped.
func TestGarbageIsLimited(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	var started atomic.Bool
	g := LimitGarbage(started.Load)
	defer g.Stop()

	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	reaches := func(least, most uint64) {
		t.Helper()
		for range 500 {
			runtime.GC()
			metrics.Read(percent)
			if p := percent[0].Value.Uint64(); least <= p && p <= most {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Errorf("the percentage is %d; want %d to %d", percent[0].Value.Uint64(), least, most)
	}

	used := make([]byte, 10*minGarbage)
	reaches(gcPercent, gcPercent)
	started.Store(true)
	reaches(gcPercent*lateParts/lateOf, gcPercent*lateParts/lateOf)
	runtime.KeepAlive(used)
	reaches(gcPercent+1, 1000*lateParts/lateOf)

	g.Stop()
	runtime.GC()
	time.Sleep(10 * time.Millisecond) // what a collection before the stop had begun
	debug.SetGCPercent(77)
	used = make([]byte, 6*minGarbage)
	for range 10 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	reaches(77, 77)
	runtime.KeepAlive(used)
}

// Background work collects garbage in its pauses, before the runtime would, and other work
// does not.
func TestBackgroundCollects(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	used := make([]byte, 12*minGarbage) // so that the runtime waits for more than room
	g := LimitGarbage(func() bool { return true })
	defer g.Stop()

	forced := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	work := func(p *Pacer) (collections uint64) {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // in which it is found to have ended
		g.mu.Lock()
		room := g.room
		g.mu.Unlock()
		metrics.Read(forced)
		was := forced[0].Value.Uint64()

		for allocated := uint64(0); allocated < room+room/4; allocated += uint64(len(garbage)) {
			garbage = make([]byte, 1<<20)
			g.mu.Lock()
			g.looked = time.Time{}
			g.mu.Unlock()
			p.last = time.Now().Add(-p.stride)
			p.Pause()
		}

		time.Sleep(10 * time.Millisecond)
		g.mu.Lock() // after a collection that goes on
		defer g.mu.Unlock()
		metrics.Read(forced)
		return forced[0].Value.Uint64() - was
	}

	requests := uint64(0)
	none, some := func() uint64 { return 0 }, func() uint64 { requests++; return requests / 8 }
	if n := work(New(some)); n != 0 {
		t.Errorf("work that somebody waits for collected %d times", n)
	}
	if n := work(Background(some)); n != 1 {
		t.Errorf("work in the background collected %d times while requests came; want 1", n)
	}
	if n := work(Background(none)); n != 1 {
		t.Errorf("work in the background collected %d times while none came; want 1", n)
	}
	runtime.KeepAlive(used)
}

// garbage keeps what a test allocates from being left out.
var garbage []byte
