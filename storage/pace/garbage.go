package pace

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// gcPercent is how much garbage may stand beside a hundred parts in use. Most of what is
	// in use are records without pointers, which the collector passes over, and memory is what a
	// large market needs most. Yet beside requests on one processor a collection takes 100 ms:
	// with 7, three chains of a million positions had one in five seconds, and it was to blame
	// for much of the p99. 15 would take a tenth of a gigabyte more.
	gcPercent = 11
	// minGarbage is how much may stand beside a heap of any size. A node that starts has a
	// small one, and would be collected many times a second. One of a million positions makes
	// 40 MB with a refresh, and is collected with every third.
	minGarbage = 128 << 20
	// startingGarbage is how much may stand beside a heap of any size while a node starts. By
	// gcPercent the heap would be collected forty times while it grows. When chains catch up,
	// a node takes more memory than ever after: their records are those of the stored
	// generation and of the next one.
	startingGarbage = 96 << 20
	// The runtime itself collects beside so many times as much, or up to three tenths less.
	// By then work in the background has collected its own, so that this is for the garbage
	// of requests.
	lateParts, lateOf = 8, 5
	// lookEvery is the least time between two looks at how much garbage there may be. A look
	// takes some microseconds, and a refresh allocates half a megabyte between two.
	lookEvery = 5 * time.Millisecond
	// sweepStride is how long requests wait while the runtime sweeps.
	sweepStride = 300 * time.Microsecond
)

// Garbage bounds how much garbage there is, until it is stopped.
type Garbage struct {
	started func() bool // reports whether the node has; called by one goroutine at a time

	mu        sync.Mutex // held by a collection that background work began
	stopped   bool
	heap      [3]metrics.Sample
	percent   int
	room      uint64    // bytes that may be allocated between two collections
	allocated uint64    // bytes, from the start of the process to the last collection
	cycle     uint64    // the last collection
	looked    time.Time // when background work last looked
}

// What is read of the heap.
const (
	live = iota
	allocs
	cycles
)

// limit is the Garbage of the process; nil without one.
var limit atomic.Pointer[Garbage]

// LimitGarbage bounds the garbage of the process to gcPercent of what is in use, or
// minGarbage, and to startingGarbage until the node has started.
func LimitGarbage(started func() bool) *Garbage {
	g := &Garbage{started: started, heap: [...]metrics.Sample{
		live: {Name: "/gc/heap/live:bytes"}, allocs: {Name: "/gc/heap/allocs:bytes"},
		cycles: {Name: "/gc/cycles/total:gc-cycles"},
	}}
	g.adjust()
	limit.Store(g)
	return g
}

// Stop leaves the percentage of the collector as it is. It waits for a collection that
// background work began.
func (g *Garbage) Stop() {
	limit.CompareAndSwap(g, nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
}

// collected is an object that nobody uses. It is found by the next collection.
type collected struct{ _ [16]byte }

// adjust is called after every collection.
func (g *Garbage) adjust() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return
	}
	g.measure()
	runtime.AddCleanup(new(collected), (*Garbage).adjust, g)
}

// measure sets what may be allocated until the next collection, by what is in use.
func (g *Garbage) measure() {
	inUse := g.read(live)
	g.allocated, g.cycle = g.heap[allocs].Value.Uint64(), g.heap[cycles].Value.Uint64()
	percent := percentFor(inUse, startingGarbage)
	g.room = startingGarbage
	if g.started() {
		percent = percentFor(inUse, minGarbage) * lateParts / lateOf
		g.room = max(inUse/100*gcPercent, minGarbage)
	}
	if percent != g.percent {
		g.percent = percent
		debug.SetGCPercent(percent)
	}
}

// read reads the heap, and returns one of what was read.
func (g *Garbage) read(what int) uint64 {
	metrics.Read(g.heap[:])
	return g.heap[what].Value.Uint64()
}

// percentFor returns the percentage for so many bytes in use; least is how many bytes of
// garbage may stand beside any heap.
func percentFor(inUse, least uint64) int {
	const most = 1000 // nothing is in use before the first collection
	return min(max(gcPercent, int(least*100/max(inUse, 1))), most)
}

// collect runs a collection if it is time for one. While requests come, the work that
// calls it waits until the collection ends, whoever began it.
func (g *Garbage) collect(asked bool) {
	switch {
	case asked:
		g.mu.Lock()
	case !g.mu.TryLock():
		return
	}

	if !g.isDue() {
		g.mu.Unlock()
	} else if asked {
		g.run()
	} else {
		go g.run()
	}
}

// isDue reports whether there is as much garbage as may be, if it is time to look.
func (g *Garbage) isDue() bool {
	now := time.Now()
	if now.Sub(g.looked) < lookEvery || g.stopped {
		return false
	}

	g.looked = now
	if g.read(cycles) != g.cycle { // the runtime has collected meanwhile
		g.measure()
	}
	return g.heap[allocs].Value.Uint64()-g.allocated >= g.room
}

// run runs a collection, and gives g back.
func (g *Garbage) run() {
	defer g.mu.Unlock()
	done := make(chan struct{})
	go letIn(g.cycle, done)
	runtime.GC()
	close(done)
	g.measure()
}

// letIn lets requests in after the collection that follows a cycle, until done. The runtime
// then sweeps the heap, for 15 ms with millions of records, and all that time it can run: on
// one processor nobody looks at the network but the runtime's clock of 10 ms. When the world
// starts again after a stop, the network is looked at; to read the statistics of the heap is
// a stop of some ten microseconds.
func letIn(cycle uint64, done <-chan struct{}) {
	var stats runtime.MemStats
	now := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	strides := time.NewTicker(sweepStride)
	defer strides.Stop()

	for {
		select {
		case <-done:
			return
		case <-strides.C:
		}
		if metrics.Read(now); now[0].Value.Uint64() > cycle {
			runtime.ReadMemStats(&stats)
		}
	}
}
