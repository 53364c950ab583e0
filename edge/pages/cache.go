package pages

import (
	"fmt"
	"sync"

	"github.com/VictoriaMetrics/metrics"
	"github.com/dgraph-io/ristretto/v2"
)

// pageCache keeps finished pages under their canonical question and the
// generations that it was asked of, so that nothing is ever invalidated: an
// older page is only never asked for again. Ristretto compares hashes, so the
// key stands in the page too and is compared on a hit.
type pageCache struct {
	kept         *ristretto.Cache[[]byte, *Page] // nil: keeps nothing
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
	c.kept, err = ristretto.NewCache(&ristretto.Config[[]byte, *Page]{
		NumCounters: 10 * pageCacheBytes / (32 << 10),
		MaxCost:     pageCacheBytes,
		BufferItems: 64,
	})

	if err != nil {
		return nil, fmt.Errorf("cannot make a page cache of %d bytes: %w", pageCacheBytes, err)
	}
	return c, nil
}

// get returns the page of a key; the key may be reused.
func (c *pageCache) get(key []byte) (*Page, bool) {
	if c.kept != nil {
		if p, ok := c.kept.Get(key); ok && p.key == string(key) {
			c.hits.Inc()
			return p, true
		}
	}
	c.misses.Inc()
	return nil, false
}

// pageOverhead is what a page costs beside its body: its key, its record and
// the cache's own; and its packed bodies, a fifth of it each.
const pageOverhead = 512

// put keeps a page, or not: the cache decides.
func (c *pageCache) put(p *Page) {
	if c.kept != nil {
		cost := int64(len(p.Body) + len(p.Body)*2/5 + pageOverhead)
		c.kept.SetWithTTL([]byte(p.key), p, cost, pageTTL)
	}
}

func (c *pageCache) close() {
	if c.kept != nil {
		c.kept.Close()
	}
}

// lastCopies keep deep pages as they were last served, under their question and
// chains: they outlive generations.
type lastCopies struct {
	mu   sync.Mutex
	kept *recent[Reply]
}

func newLastCopies() *lastCopies { return &lastCopies{kept: newRecent[Reply](maxCopies)} }

func (c *lastCopies) get(key string) (Reply, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.get(key)
}

func (c *lastCopies) put(key string, r Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.put(key, r, func(Reply) bool { return true })
}
