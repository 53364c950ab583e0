package pages

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"
	"github.com/dgraph-io/ristretto/v2"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// leafCache reads leaves from the store and keeps them decoded. Leaves are
// immutable, so an entry never becomes invalid.
type leafCache struct {
	store        *storage.Store
	leaves       *ristretto.Cache[uint64, *leaf]
	hits, misses *metrics.Counter
}

type leaf struct {
	chain  market.ChainID
	number uint64
	ids    []uint32
}

var _ rankings.LeafReader = (*leafCache)(nil)

func newLeafCache(store *storage.Store, set *metrics.Set) (*leafCache, error) {
	c := &leafCache{
		store:  store,
		hits:   set.NewCounter(`tidemark_edge_leaf_cache_total{result="hit"}`),
		misses: set.NewCounter(`tidemark_edge_leaf_cache_total{result="miss"}`),
	}

	var err error
	c.leaves, err = ristretto.NewCache(&ristretto.Config[uint64, *leaf]{
		NumCounters: 10 * leafCacheBytes / (4 << 10),
		MaxCost:     leafCacheBytes,
		BufferItems: 64,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a leaf cache of %d bytes: %w", leafCacheBytes, err)
	}
	return c, nil
}

// Leaf returns the ids of a leaf. The slice is shared and must not be changed.
func (c *leafCache) Leaf(chain market.ChainID, number uint64) ([]uint32, error) {
	if ids := c.find(chain, number); ids != nil {
		c.hits.Inc()
		return ids, nil
	}

	c.misses.Inc()
	ids, err := c.store.LeafFrom(chain, number, func(base uint64) ([]uint32, error) {
		return c.base(chain, base)
	})
	if err != nil {
		return nil, err
	}
	c.keep(chain, number, ids)
	return ids, nil
}

// base returns the ids of a leaf that others were coded from. Neighbours have the same
// bases, so it is kept too.
func (c *leafCache) base(chain market.ChainID, number uint64) ([]uint32, error) {
	if ids := c.find(chain, number); ids != nil {
		return ids, nil
	}
	ids, err := c.store.WholeLeaf(chain, number)
	if err == nil {
		c.keep(chain, number, ids)
	}
	return ids, err
}

// find returns the ids of a leaf that is kept, or nil.
func (c *leafCache) find(chain market.ChainID, number uint64) []uint32 {
	if l, ok := c.leaves.Get(leafKey(chain, number)); ok && l.chain == chain && l.number == number {
		return l.ids
	}
	return nil
}

func (c *leafCache) keep(chain market.ChainID, number uint64, ids []uint32) {
	c.leaves.Set(leafKey(chain, number), &leaf{chain, number, ids}, int64(4*cap(ids)+128))
}

// leafKey hashes a chain and a leaf's number. A collision costs a read of the
// store but never a wrong answer: find compares chain and number on a hit.
func leafKey(chain market.ChainID, number uint64) uint64 {
	x := mixBits(number ^ uint64(chain)*0x9e3779b97f4a7c15)
	return x ^ x>>32
}

func (c *leafCache) close() { c.leaves.Close() }
