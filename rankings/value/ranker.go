package value

import (
	"math/bits"
	"slices"

	"tidemark/rankings/market"
)

// Ranker measures many positions of one State. Most of a row's cost is
// waiting for memory, so the little that a row needs of its tokens and its
// pool stands in two dense arrays, and what the other rows of its chunk need
// is read with it. It is for one goroutine, and for any order of rows, of which
// ascending is the fast one.
type Ranker struct {
	st       *market.State
	tokens   []tokenView // of those that are viewed
	pools    []poolView  // of those that are prepared, as the next two
	prices   []poolPrices
	exits    []exitFlags
	viewed   []bool            // by token
	prepared []bool            // by pool
	native   float64           // what the native currency is worth; Unknown
	weiUsd   float64           // what a wei is
	first    uint32            // row of the chunk at hand
	chunk    []market.Position // its rows
	around   [market.ChunkLen]surroundings
	row      row
	figures  Figures // of renew
	sink     uint64  // keeps the reads
}

// NewRanker returns a Ranker over st at st.Prices.
func NewRanker(st *market.State) *Ranker {
	r := new(Ranker)
	r.Restart(st)
	return r
}

// Restart makes r a Ranker over another State, as NewRanker does, in the memory that it has.
func (k *Ranker) Restart(st *market.State) {
	tokens, pools := int(st.Tokens.Len()), int(st.Pools.Len())
	*k = Ranker{
		st: st, row: row{st: st}, native: nativeUsd(st),
		tokens: slices.Grow(k.tokens[:0], tokens)[:tokens], pools: slices.Grow(k.pools[:0], pools)[:pools],
		prices: slices.Grow(k.prices[:0], pools)[:pools], exits: slices.Grow(k.exits[:0], pools)[:pools],
		viewed: zeros(k.viewed, tokens), prepared: zeros(k.prepared, pools),
	}
	k.weiUsd = k.native / weiPerNative
}

// Prepare makes what rows need of a pool, which Renew asks for. In a calm market few pools
// have to be prepared, each of which reads a few records that are hardly ever in the
// processor's cache.
func (k *Ranker) Prepare(pool uint32) {
	if k.prepared[pool] {
		return
	}
	k.prepared[pool] = true

	p := k.st.Pools.At(pool)
	sides := [2]*tokenView{k.viewToken(p.Currency0), k.viewToken(p.Currency1)}
	k.pools[pool] = viewPool(p, sides[0], sides[1])
	k.prices[pool], k.exits[pool] = pricesOf(pool, p, sides)
}

// viewToken returns what rows need of a token.
func (k *Ranker) viewToken(i uint32) *tokenView {
	if !k.viewed[i] {
		k.viewed[i], k.tokens[i] = true, viewToken(k.st, i)
	}
	return &k.tokens[i]
}

// Release forgets the State and keeps the memory for a Restart.
func (k *Ranker) Release() {
	*k = Ranker{
		tokens: k.tokens, pools: k.pools, prices: k.prices, exits: k.exits,
		viewed: k.viewed, prepared: k.prepared,
	}
}

// Rank fills f with the figures of position i, all of it, so f may be reused.
// It allocates nothing. A closed row's figures change with the tick of its
// pool and the risk of its tokens only.
func (k *Ranker) Rank(i uint32, f *Figures) {
	k.selectRow(i, f)
	k.row.rank()
}

// selectRow makes row i the current one.
func (k *Ranker) selectRow(i uint32, f *Figures) {
	if i-k.first >= uint32(len(k.chunk)) {
		k.ReadAhead(i, market.AllRows)
	}
	i -= k.first
	r := &k.row
	r.f, r.position, r.surroundings = f, &k.chunk[i], k.around[i]
	r.at = k.pools[r.position.Pool]
	r.sides = [2]*tokenView{&k.tokens[r.at.tokens[0]], &k.tokens[r.at.tokens[1]]}
}

// ReadAhead makes the chunk of row i the one at hand and reads what some of its rows need,
// the first one by the lowest bit, all of a kind at a time, so that their cache misses
// overlap. No others of the chunk may be ranked then. Rank does it, for all rows, when the
// row's chunk is not at hand.
func (k *Ranker) ReadAhead(i uint32, rows uint64) {
	k.first, k.chunk = i&^(market.ChunkLen-1), k.st.Positions.Chunk(i)
	for rest := rows & (1<<len(k.chunk) - 1); rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		s, p := &k.around[n], &k.chunk[n]
		*s = surroundings{}
		k.Prepare(p.Pool)
		at := &k.pools[p.Pool]
		if !p.IsOpen() {
			k.sink += uint64(at.tick)
			continue
		}

		k.sink += uint64(k.tokens[at.tokens[0]].onlyPool) + uint64(k.tokens[at.tokens[1]].onlyPool)
		*s = surroundingsOf(k.st, p.Pool, p)
		k.sink += readFlows(p) + readPool(s.pool) + readTick(s.lower) + readTick(s.upper)
	}
}

// readFlows reads every cache line of what an open row needs of its position. Every other
// record begins in the middle of a line, and its sums then take one more.
func readFlows(p *market.Position) uint64 {
	return uint64(p.MintedAt) + p.FeeGrowthInside0LastX128[1] + p.Deposited0.Lo + p.Withdrawn0.Lo +
		p.GasWei.Lo
}

// readPool and readTick read every cache line of what a row needs of them.
func readPool(p *market.Pool) uint64 {
	return uint64(p.Tick) + p.FeeGrowthGlobal0X128[2] + p.FeeGrowthGlobal1X128[3]
}

func readTick(t *market.Tick) uint64 {
	return t.SqrtPriceX96[0] + t.FeeGrowthOutside0X128[1] + t.FeeGrowthOutside1X128[3]
}
