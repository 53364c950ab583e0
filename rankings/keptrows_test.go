package rankings

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"tidemark/rankings/block"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// What is kept of a row stays what it is while others open and close, for as long as its
// chunk has the same ones; no two chunks share room, and there is always enough.
func TestKeptRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	open := block.NewBitmap(64 * 400)
	open.Seal()
	k := newKeptRows(open)
	filled := make([]value.Kept, len(open.Words())) // what each chunk has
	of := func(w int) []value.Kept { return k.of(uint32(w), bits.OnesCount64(open.Words()[w])) }
	moves := 0

	for round := range uint64(3000) {
		w := r.IntN(len(filled))
		open.Words()[w] = r.Uint64() >> r.IntN(64)
		open.Seal()
		if !k.resize(open.Words()) {
			k = k.moved(open, func() {})
			moves++
		}

		filled[w] = keptOf(round + 1)
		for i := range of(w) {
			of(w)[i] = filled[w]
		}
		if round%50 != 0 && moves == 0 {
			continue
		}
		for w := range filled {
			for i, kept := range of(w) {
				if kept != filled[w] {
					t.Fatalf("round %d: entry %d of chunk %d is %+v; want %+v", round, i, w, kept, filled[w])
				}
			}
		}
	}
	if moves == 0 {
		t.Fatal("there was always enough room")
	}
}

// keptOf returns what is kept of a position with a deposit.
func keptOf(deposit uint64) (kept value.Kept) {
	var (
		tokens    market.Table[market.Token]
		prices    market.Table[market.Price]
		pools     market.Table[market.Pool]
		ticks     market.Table[market.Tick]
		positions market.Table[market.Position]
	)
	tokens.Append(market.Token{})
	prices.Append(market.Price{OnlyPool: market.NoIndex})
	price := clmath.SqrtPriceAtTick(0)
	pools.Append(market.Pool{SqrtPriceX96: price})
	ticks.Append(market.Tick{SqrtPriceX96: price})
	p := market.Position{Overflow: market.NoIndex, Deposited0: clmath.U128{Lo: deposit}}
	p.SetLiquidity(clmath.U128{Lo: 1})
	positions.Append(p)

	ranker := value.NewRanker(&market.State{
		Tokens: tokens.Freeze(), Prices: prices.Freeze(), Pools: pools.Freeze(), Ticks: ticks.Freeze(),
		Positions: positions.Freeze(),
	})
	var f value.Figures
	ranker.Rank(0, &f)
	ranker.Keep(&kept)
	return kept
}
