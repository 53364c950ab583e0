package storage

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// memTables is how many of them there are once a store has flushed: the one that is written,
// and the one that was flushed last, which Pebble keeps for the next.
const memTables = 2

// cacheRoom keeps the blocks in Pebble's cache to Options.CacheBytes. Pebble counts memtables
// as a part of its cache, so that one of their size keeps no block at all. It is made larger
// by what they grow to. What they have yet to take is held back: a start reads the whole
// store, and would leave there what nobody asks for again.
type cacheRoom struct {
	cache *pebble.Cache
	grown int // bytes of all memtables, once they have their full size

	mu      sync.Mutex
	held    int
	release func() // gives back what is held; nil: memtables have all of it
}

// newCacheRoom makes the cache of a store, which the caller owns.
func newCacheRoom(o *Options) *cacheRoom {
	r := &cacheRoom{grown: memTables * o.MemTableBytes}
	r.cache = pebble.NewCache(o.CacheBytes + int64(r.grown))
	r.held, r.release = r.grown, r.cache.Reserve(r.grown)
	return r
}

// adjust gives back what the memtables of the database have taken. It is called after what
// may make them grow.
func (r *cacheRoom) adjust(db *pebble.DB) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release == nil {
		return
	}

	m := &db.Metrics().MemTable
	taken := m.Size + m.ZombieSize // ZombieSize lacks what Size has of large batches
	held := max(r.grown-int(taken), 0)
	if held == r.held {
		return
	}
	before := r.release
	r.held, r.release = held, nil
	if held > 0 {
		r.release = r.cache.Reserve(held)
	}
	before()
}
