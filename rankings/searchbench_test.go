package rankings_test

import (
	"fmt"
	"runtime"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// BenchmarkPoolSearch is the first search for a text over 300,000 pools of
// 150,000 tokens in three chains: its count up to 25,000 and its first page.
func BenchmarkPoolSearch(b *testing.B) {
	const pools, tokens = 100_000, 50_000
	w := newWorld(1, 1, pools, 0, nil)
	for i := range uint32(tokens) {
		symbol := fmt.Sprintf("%c%c%c%d", 'A'+w.IntN(26), 'A'+w.IntN(26), 'A'+w.IntN(26), i)
		token := market.Token{Decimals: 18, Symbol: texts.New(symbol)}
		w.fill(token.Address[:])
		w.tokens.Append(token)
		w.prices.Append(market.Price{Usd: 1, OnlyPool: market.NoIndex})
	}

	for i := range uint32(pools) {
		w.pools.Mut(i).Currency1 = w.Uint32N(w.tokens.Len())
	}

	at := &decoded{map[market.ChainID]map[uint64][]uint32{}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	views := at.buildChains(w)

	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("three views of %d pools hold %d MB", pools, (after.HeapAlloc-before.HeapAlloc)>>20)

	id := w.pools.At(777).ID.String()
	address := w.tokens.At(777).Address.String()
	for _, text := range []string{
		"e", "a", "0x", "0xa", "us", "ab", "zz", "eth", "abc", "dead", "0xabc", "none such",
		id, address, "eth/usdc", "abc1 us-d 77",
	} {
		b.Run(text, func(b *testing.B) {
			loop(b, func() {
				q := rankings.DefaultPoolQuestion()
				q.Search = text
				s, err := rankings.SearchPools(views, &q)
				if err != nil {
					b.Fatal(err)
				}
				c := s.Count(25_000)
				for !c.Step(1 << 16) {
				}
				if _, err := c.Search().Page(at, 0, 20); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
