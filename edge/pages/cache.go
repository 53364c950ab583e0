package pages

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"
	"github.com/dgraph-io/ristretto/v2"
)

// pageCache keeps finished pages by canonical question and generations. Nothing
// is invalidated: when a new generation is published, requests no longer ask for
// the keys of the old one. Ristretto compares only hashes of keys, so each page
// has its key too, which is compared on a hit.
type pageCache struct {
	pages        *ristretto.Cache[[]byte, *Page] // nil when the cache is off
	hits, misses *metrics.Counter
}

func newPageCache(set *metrics.Set, off bool) (*pageCache, error) {
	c := &pageCache{
		hits:   set.NewCounter(`tidemark_edge_page_cache_total{result="hit"}`),
		misses: set.NewCounter(`tidemark_edge_page_cache_total{result="miss"}`),
	}
	if off {
		return c, nil
	}

	var err error
	c.pages, err = ristretto.NewCache(&ristretto.Config[[]byte, *Page]{
		NumCounters: 10 * pageCacheBytes / (32 << 10),
		MaxCost:     pageCacheBytes,
		BufferItems: 64,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a page cache of %d bytes: %w", pageCacheBytes, err)
	}
	return c, nil
}

// get returns the page of a key. It does not keep the key.
func (c *pageCache) get(key []byte) (*Page, bool) {
	if c.pages != nil {
		if p, ok := c.pages.Get(key); ok && p.key == string(key) {
			c.hits.Inc()
			return p, true
		}
	}
	c.misses.Inc()
	return nil, false
}

// pageOverhead is the memory of a page beside its bodies: its key, its record
// and the cache's entry.
const pageOverhead = 512

// keeps reports whether put would offer a page to the cache.
func (c *pageCache) keeps(p *Page) bool { return c.pages != nil && len(p.Body) <= maxKept }

// put offers a page to the cache, which may decline it, or tells it that a page costs more.
func (c *pageCache) put(p *Page) {
	if c.keeps(p) {
		c.pages.SetWithTTL([]byte(p.key), p, p.cost(), pageTTL)
	}
}

// cost is the memory of a page and its stale form. What is long takes whole pages of the heap.
func (p *Page) cost() int64 {
	n := inHeap(len(p.Body)) + pageOverhead
	for i := range p.packed {
		if body := p.packed[i].Load(); body != nil {
			n += inHeap(cap(*body))
		}
	}
	if stale := p.stale.Load(); stale != nil {
		return int64(n) + stale.cost()
	}
	return int64(n)
}

// mixBits is a step of the hashes of cache keys. Keys that collide all the same are told
// apart on a hit, where the whole keys are compared.
func mixBits(x uint64) uint64 { return (x ^ x>>32) * 0xd6e8feb86659fd93 }

// inHeap returns how much memory so many bytes take.
func inHeap(n int) int {
	const long, page = 32 << 10, 8 << 10 // of Go's heap
	if n <= long {
		return n
	}
	return (n + page - 1) / page * page
}

func (c *pageCache) close() { c.pages.Close() } // does nothing when the cache is off
