package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// gcPercent is how much garbage may stand beside a hundred parts in use. Most of what is
// in use are records without pointers, which the collector passes over: to run it often
// costs little, and memory is what a large market needs most.
const gcPercent = 8

// minGarbage is how much may stand beside a heap of any size. A node that starts has a
// small one, and would be collected many times a second.
const minGarbage = 64 << 20

// loadingGarbage is minGarbage of a node whose records are not all loaded yet: by gcPercent
// its heap would be collected sixty times while it grows.
const loadingGarbage = 160 << 20

// garbageLimit sets the percentage of the collector after every collection, until it is
// stopped.
type garbageLimit struct {
	live    [1]metrics.Sample
	loaded  func() bool // reports whether all records are; called by one goroutine at a time
	percent int
	stopped atomic.Bool
}

// limitGarbage bounds the garbage to gcPercent of what is in use, or minGarbage, or
// loadingGarbage until all records are loaded.
func limitGarbage(loaded func() bool) *garbageLimit {
	g := &garbageLimit{live: [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}, loaded: loaded}
	g.adjust()
	return g
}

// collected is an object that nobody uses. It is found by the next collection.
type collected struct{ _ [16]byte }

func (g *garbageLimit) adjust() {
	if g.stopped.Load() {
		return
	}
	least := uint64(loadingGarbage)
	if g.loaded() {
		least = minGarbage
	}

	metrics.Read(g.live[:])
	if percent := percentFor(g.live[0].Value.Uint64(), least); percent != g.percent {
		g.percent = percent
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new(collected), (*garbageLimit).adjust, g)
}

func (g *garbageLimit) stop() { g.stopped.Store(true) }

// percentFor returns the percentage for so many bytes in use; least is how many bytes of
// garbage may stand beside any heap.
func percentFor(live, least uint64) int {
	const most = 1000 // nothing is in use before the first collection
	return min(max(gcPercent, int(least*100/max(live, 1))), most)
}
