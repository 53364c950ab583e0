package rankings

import (
	"bytes"
	"sort"

	"tidemark/rankings/index"
	"tidemark/rankings/market"
)

// sameRows reports whether the first n rows of two snapshots of a table are
// equal. Chunks that the snapshots share are not compared.
func sameRows[T any](
	a, b *market.Frozen[T], n uint32, equal func(a, b *T) bool, pause func(),
) bool {
	if n > a.Len() || n > b.Len() {
		return false
	}

	for first := uint32(0); first < n; first += market.ChunkLen {
		if a.At(first) == b.At(first) {
			continue
		}
		pause()
		for i := first; i < min(first+market.ChunkLen, n); i++ {
			if !equal(a.At(i), b.At(i)) {
				return false
			}
		}
	}

	return true
}

// Position returns the index of the position with that id. Ids ascend, and nearly every one
// was minted, so that the search begins where the id stands if none is missing: two or three
// records are read instead of twenty.
func (v *View) Position(id uint64) (uint32, bool) {
	positions := &v.State.Positions
	n := int(positions.Len())
	if n == 0 {
		return 0, false
	}

	idAt := func(i int) uint64 { return positions.At(uint32(i)).ID }
	i := searchNear(n, nearest(n, idAt(0), idAt(n-1), id), func(i int) bool { return idAt(i) >= id })
	return uint32(i), i < n && idAt(i) == id
}

// nearest returns where of n ascending numbers one stands if they are evenly spread from
// the first to the last.
func nearest(n int, first, last, at uint64) int {
	if at <= first {
		return 0
	}
	if at >= last {
		return n - 1
	}
	return int(float64(n-1) * (float64(at-first) / float64(last-first)))
}

// searchNear is sort.Search for a place that is near a guess below n: it looks at places
// twice as far from it each time, and then between the last two.
func searchNear(n, guess int, reached func(i int) bool) int {
	low, high := guess+1, n // the place is in low..high

	if reached(guess) {
		low, high = 0, guess
		for far := 1; far <= high; far *= 2 {
			if !reached(high - far) {
				low = high - far + 1
				break
			}
			high -= far
		}
	} else {
		for far := 1; low+far < n; far *= 2 {
			if reached(low + far) {
				high = low + far
				break
			}
			low += far + 1
		}
	}

	return low + sort.Search(high-low, func(i int) bool { return reached(low + i) })
}

// Pool returns the index of the pool with that id. A view without columns
// compares every pool.
func (v *View) Pool(id market.PoolID) (uint32, bool) {
	var x index.IDs
	if v.columns != nil {
		x = v.columns.pools
	}
	return x.Find(v.State.Pools.Len(), func(row uint32) int {
		return bytes.Compare(v.State.Pools.At(row).ID[:], id[:])
	})
}

// Token returns the index of the token with that address. A view without columns
// compares every token.
func (v *View) Token(a market.Address) (uint32, bool) {
	var x index.IDs
	if v.columns != nil {
		x = v.columns.tokens
	}
	return x.Find(v.State.Tokens.Len(), func(row uint32) int {
		return bytes.Compare(v.State.Tokens.At(row).Address[:], a[:])
	})
}

// owner returns the index of an owner. The view must be warm.
func (v *View) owner(a *market.Address) (uint32, bool) {
	return v.columns.owners.Find(v.State.Owners.Len(), func(row uint32) int {
		return bytes.Compare(v.State.Owners.At(row)[:], a[:])
	})
}

// fillLookups fills the indexes, postings and grams, starting from prev's.
func (f *columnBuilder) fillLookups() {
	st := f.st
	old, before := new(columns), st
	if f.prev != nil {
		old, before = f.prev.columns, f.prev.State
	}

	// A reorg can give the index of a pool, owner or token to another one.
	samePools := sameRows(&before.Pools, &st.Pools, uint32(len(old.pools)),
		func(a, b *market.Pool) bool { return a.ID == b.ID }, f.pause)
	f.columns.pools = old.pools.Extend(st.Pools.Len(), 0, samePools, poolIDs(st), f.pause)
	f.pause()

	sameOwners := sameRows(&before.Owners, &st.Owners, uint32(len(old.owners)),
		func(a, b *market.Address) bool { return *a == *b }, f.pause)
	owner := func(row uint32) []byte { return st.Owners.At(row)[:] }
	f.owners = old.owners.Extend(st.Owners.Len(), index.IDSlack, sameOwners, owner, f.pause)
	f.pause()
	f.byPool = old.byPool.Extend(&f.pool, st.Pools.Len(), f.pause)
	f.byOwner = old.byOwner.Extend(&f.owner, st.Owners.Len(), f.pause)
	f.byToken = old.byToken.Extend(&f.sides, st.Tokens.Len(), f.pause)
	sameSymbols := sameRows(&before.Tokens, &st.Tokens, old.symbols.Len(), sameSymbol, f.pause)
	symbol := func(row uint32) string { return st.Tokens.At(row).Symbol.String() }
	f.symbols = old.symbols.Extend(st.Tokens.Len(), sameSymbols, symbol, f.pause)
	f.pause()
	f.poolGrams = old.poolGrams.Extend(st.Pools.Len(), samePools, poolIDs(st), f.pause)

	sameTokens := sameRows(&before.Tokens, &st.Tokens, old.tokenGrams.Rows,
		func(a, b *market.Token) bool { return a.Address == b.Address }, f.pause)
	f.tokenGrams = old.tokenGrams.Extend(st.Tokens.Len(), sameTokens, addresses(st), f.pause)
	f.tokens = old.tokens.Extend(st.Tokens.Len(), 0, sameTokens, addresses(st), f.pause)
}

func sameSymbol(a, b *market.Token) bool { return a.Symbol == b.Symbol }
