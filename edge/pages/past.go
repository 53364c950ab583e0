package pages

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/dgraph-io/ristretto/v2"

	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// pastCache keeps what charts read of days and hours that are over: how a pool stood at
// the end of each day, and what a token was worth at the end of each day or hour. That is
// final, so it serves all generations until blocks are replaced, and is only added to.
//
// It is far smaller than the store's blocks that it was read from, and needs no iterator.
type pastCache struct {
	kept *ristretto.Cache[uint64, *past]
}

// pastKey says whose past it is. Two pasts of the same key may differ in what they begin
// with and where they end, and in nothing else.
type pastKey struct {
	chain    market.ChainID
	unbroken uint64 // see rankings.Chain
	token    bool   // the row is that of a token, else of a pool
	row      uint32
	step     chart.Step
}

// past is what was read of the intervals from one on. The last one was running then. It is
// shared and does not change.
type past struct {
	pastKey
	from, running uint32
	quotes        []value.Quote // of a token: one an interval, also of the running one
	ends          []chart.End   // of a pool: those before running, led by the newest before from
}

func newPastCache() (*pastCache, error) {
	kept, err := ristretto.NewCache(&ristretto.Config[uint64, *past]{
		NumCounters: 10 * pastCacheBytes / (1 << 10),
		MaxCost:     pastCacheBytes,
		BufferItems: 64,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a cache of %d bytes for the past: %w",
			pastCacheBytes, err)
	}
	return &pastCache{kept}, nil
}

// hash is the key in the cache. A collision costs reads of the store but never a wrong
// answer: get compares keys.
func (k *pastKey) hash() uint64 {
	x := uint64(k.chain)<<32 ^ uint64(k.row) ^ k.unbroken*0x9e3779b97f4a7c15
	if x ^= uint64(k.step) << 8; k.token {
		x = ^x
	}
	x = mixBits(mixBits(x))
	return x ^ x>>32
}

// get returns what is kept of a past that begins with an interval or before it. Otherwise
// it returns one that has yet to be read.
func (c *pastCache) get(key *pastKey, from uint32) *past {
	if k, ok := c.kept.Get(key.hash()); ok && k.pastKey == *key && k.from <= from {
		return k
	}
	return &past{pastKey: *key, from: from, running: from}
}

// put offers a past to the cache, which may decline it.
func (c *pastCache) put(k *past) {
	const overhead = 128 // of the cache's own entry
	cost := overhead + unsafe.Sizeof(*k) + uintptr(cap(k.quotes))*unsafe.Sizeof(value.Quote{}) +
		uintptr(cap(k.ends))*unsafe.Sizeof(chart.End{})
	c.kept.Set(k.hash(), k, int64(cost))
}

func (c *pastCache) close() { c.kept.Close() }

// pastKeyOf identifies the past of a token or a pool. It is not final if blocks of the view
// were replaced meanwhile.
func (p *Pages) pastKeyOf(
	v *rankings.View, token bool, row uint32, step chart.Step,
) (key pastKey, final bool) {
	c, ok := p.cfg.Board.Load().Chain(v.State.Chain)
	if !ok || v.Generation < c.Unbroken || row == market.NoIndex {
		return key, false
	}
	return pastKey{v.State.Chain, c.Unbroken, token, row, step}, true
}

// quotes returns a token's price at the end of each interval from one on. The last one is
// running and has none yet. The caller must not change them.
func (p *Pages) quotes(
	v *rankings.View, token uint32, step chart.Step, from uint32,
) ([]value.Quote, error) {
	now := step.Of(v.State.Now())
	key, final := p.pastKeyOf(v, true, token, step)
	if !final {
		return p.readQuotes(v.State, token, step, from, now)
	}

	k := p.past.get(&key, from)
	if len(k.quotes) == 0 || k.running < now {
		// What was running may be over now.
		known := k.quotes[:max(len(k.quotes), 1)-1]
		more, err := p.readQuotes(v.State, token, step, k.running, now)
		if err != nil {
			return nil, err
		}
		k = &past{pastKey: key, from: k.from, running: now, quotes: slices.Concat(known, more)}
		p.past.put(k)
	}
	return k.quotes[from-k.from:][:now-from+1], nil
}

// nativeQuotes returns what quotes does of the native currency, by its wrapped form where it
// has no price of its own: as long as no pool had it, gas was valued by that.
func (p *Pages) nativeQuotes(
	v *rankings.View, step chart.Step, from uint32,
) ([]value.Quote, error) {
	st := v.State
	quotes, err := p.quotes(v, st.Native, step, from)
	unknown := func(q value.Quote) bool { return !market.Known(q.Usd) }
	over := quotes[:max(len(quotes), 1)-1] // the last one is running
	if err != nil || st.Native == market.NoIndex || !slices.ContainsFunc(over, unknown) {
		return quotes, err
	}

	params, _ := p.cfg.Prices(st.Chain)
	wrapped, ok := v.Token(params.WrappedNative)
	if !ok || wrapped == st.Native {
		return quotes, nil
	}
	others, err := p.quotes(v, wrapped, step, from)
	if err != nil {
		return nil, err
	}

	quotes = slices.Clone(quotes) // others may read them
	for n := range over {
		if unknown(quotes[n]) {
			quotes[n] = others[n]
		}
	}
	return quotes, nil
}

// readQuotes reads a token's price at the end of each interval from one to another.
func (p *Pages) readQuotes(
	st *market.State, token uint32, step chart.Step, from, to uint32,
) ([]value.Quote, error) {
	quotes := make([]value.Quote, to-from+1)
	if token == market.NoIndex {
		for n := range quotes {
			quotes[n] = value.Quote{Usd: market.Unknown, OnlyPool: market.NoIndex}
		}
		return quotes, nil
	}

	read := p.cfg.Store.DayPrices
	if step == chart.Hourly {
		read = p.cfg.Store.PricesByHour
	}
	records, err := read(st.Chain, token, from, to)
	if err != nil {
		return nil, err
	}
	for n := range records {
		r := &records[n]
		quotes[n] = value.QuoteOf(&market.Price{
			Usd: r.Usd, ExitUsd: r.ExitUsd, OnlyPool: r.OnlyPool, Corroborated: r.Corroborated,
		})
	}
	return quotes, nil
}

// dayEnds returns how a pool stood at the end of the days from one on that are over, led by
// the newest before them. The caller must not change them.
func (p *Pages) dayEnds(v *rankings.View, pool, from uint32) ([]chart.End, error) {
	now := chart.Daily.Of(v.State.Now())
	key, final := p.pastKeyOf(v, false, pool, chart.Daily)
	if !final || from >= now {
		return p.readDayEnds(v.State, pool, from, now)
	}

	k := p.past.get(&key, from)
	if k.running < now {
		more, err := p.readDayEnds(v.State, pool, k.running, now-1)
		if err != nil {
			return nil, err
		}
		if n := len(k.ends); n > 0 && len(more) > 0 && more[0].At <= k.ends[n-1].At {
			more = more[1:] // the newest before them is known
		}
		k = &past{pastKey: key, from: k.from, running: now, ends: slices.Concat(k.ends, more)}
		p.past.put(k)
	}

	first, _ := slices.BinarySearchFunc(k.ends, from, func(e chart.End, day uint32) int {
		return cmp.Compare(e.At, day)
	})
	return k.ends[max(first, 1)-1:], nil
}

// readDayEnds reads how a pool stood at the end of the days from one to another, led by the
// newest before them.
func (p *Pages) readDayEnds(st *market.State, pool, from, to uint32) ([]chart.End, error) {
	store := p.cfg.Store
	if from <= market.DayOf(st.Pools.At(pool).CreatedAt) { // nothing leads them
		days := store.PoolDays(st.Chain, pool, from, to, storage.OldestFirst)
		return readSeries(days, chart.EndOfDay)
	}
	return readSeries(store.PoolDaysFrom(st.Chain, pool, from, to), chart.EndOfDay)
}
