package value

import "tidemark/rankings/market"

// Ranker measures many positions of one State. Most of a row's cost is
// waiting for memory, so the little that a row needs of its tokens and its
// pool stands in two dense arrays, and the ticks of rows to come are read
// ahead. Making one costs a walk over pools and tokens; it is for one
// goroutine, and for any order of rows, of which ascending is the fast one.
type Ranker struct {
	st     *market.State
	tokens []tokenView
	pools  []poolView
	ahead  uint32 // first row that is not read ahead
	sink   uint64 // keeps the reads
}

// tokenView is what a row needs of a token, 32 bytes.
type tokenView struct {
	rawUsd       float64 // of a raw unit in this generation; Unknown
	unit         float64 // raw units of a whole token
	exitUsd      float64
	onlyPool     uint32
	anchor       bool
	derived      bool
	corroborated bool
	reason       market.Reason
}

// poolView is what every row needs of its pool.
type poolView struct {
	tokens [2]uint32
	tick   int32
}

// NewRanker returns a Ranker over st at st.Prices.
func NewRanker(st *market.State) *Ranker {
	r := &Ranker{st: st, tokens: make([]tokenView, st.Tokens.Len()), pools: make([]poolView, st.Pools.Len())}
	for i := range r.tokens {
		r.tokens[i] = viewToken(st, uint32(i))
	}
	for i := range r.pools {
		r.pools[i] = viewPool(st.Pools.At(uint32(i)))
	}
	return r
}

func viewToken(st *market.State, i uint32) tokenView {
	price, unit := st.Prices.At(i), whole(st.Tokens.At(i))
	return tokenView{
		rawUsd: price.Usd / unit, unit: unit, exitUsd: price.ExitUsd, onlyPool: price.OnlyPool,
		anchor: price.Anchor, derived: price.Source == market.SourceDerived,
		corroborated: price.Corroborated, reason: price.Reason,
	}
}

func viewPool(pool *market.Pool) poolView {
	return poolView{tokens: [2]uint32{pool.Currency0, pool.Currency1}, tick: pool.Tick}
}

// Rank fills f with the figures of position i, all of it, so f may be reused.
// It allocates nothing. A closed row's figures change with the tick of its
// pool and the risk of its tokens only.
func (k *Ranker) Rank(i uint32, f *Figures) {
	if i >= k.ahead || i+aheadLen < k.ahead {
		k.readAhead(i)
	}
	r := row{st: k.st, f: f, position: k.st.Positions.At(i)}
	r.at = k.pools[r.position.Pool]
	r.sides = [2]tokenView{k.tokens[r.at.tokens[0]], k.tokens[r.at.tokens[1]]}
	r.rank()
}

// aheadLen is how many rows are read ahead: enough for their cache misses to
// overlap, few enough for all of them to stay near.
const aheadLen = 32

// readAhead reads what the rows from i on need: all of a kind at a time.
func (k *Ranker) readAhead(i uint32) {
	st := k.st
	first := i
	k.ahead = min(i+aheadLen, st.Positions.Len())
	var sum uint64
	for ; i < k.ahead; i++ {
		if p := st.Positions.At(i); p.IsOpen() {
			pool := st.Pools.At(p.Pool)
			sum += pool.SqrtPriceX96[0] + pool.FeeGrowthGlobal1X128[3] +
				readTick(st.Ticks.At(p.LowerSlot)) + readTick(st.Ticks.At(p.UpperSlot))
		}
	}
	for i = first; i < k.ahead; i++ {
		at := &k.pools[st.Positions.At(i).Pool]
		sum += uint64(k.tokens[at.tokens[0]].onlyPool) + uint64(k.tokens[at.tokens[1]].onlyPool)
	}
	k.sink += sum
}

func readTick(t *market.Tick) uint64 { return t.SqrtPriceX96[0] + t.FeeGrowthOutside1X128[3] }
