package main

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
	f(32<<20, 200)
	f(128<<20, 50)
	f(512<<20, 12)
	f(800<<20, 8)
	f(2<<30, 8)
	if got := percentFor(1<<30, loadingGarbage); got != 15 {
		t.Errorf("1 GiB in use of a node that loads: %d %%; want 15", got)
	}
}

// The percentage follows the heap from one collection to the next, until that is stopped.
func TestGarbageIsLimited(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	var loaded atomic.Bool
	g := limitGarbage(loaded.Load)
	defer g.stop()

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

	used := make([]byte, 14*minGarbage)
	reaches(gcPercent+1, 2*gcPercent+2)
	loaded.Store(true)
	reaches(gcPercent, gcPercent)
	runtime.KeepAlive(used)
	reaches(gcPercent+1, 1000)

	g.stop()
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
