package rankings_test

import (
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// randomPositionQuestion asks for something, of which some exists.
func randomPositionQuestion(t *table) rankings.PositionQuestion {
	q := rankings.DefaultPositionQuestion()
	q.Sort = rankings.PositionSort(t.IntN(8))
	q.Chain = []market.ChainID{0, 0, 0, 1, 42161}[t.IntN(5)]
	q.Status = rankings.Status(t.IntN(3))
	q.Page, q.Limit = randomPage(t, len(t.model.positions))
	switch t.IntN(4) {
	case 0:
		return q // the default filters
	case 1:
		q.MinPoolTVLUsd, q.IncludeRisky = -float64(t.IntN(2)), true
		return q // no filter
	}

	q.Range = rankings.Range(t.IntN(3))
	q.IncludeRisky = t.IntN(2) == 0
	q.MinPoolTVLUsd = []float64{-1, 0, 1000, 1000, 1000.01, 5000, 400_000}[t.IntN(7)]
	q.MinValueUsd = []float64{-5, 0, 0, 0, 1e-9, 0.001, 0.5, 100}[t.IntN(8)]
	if len(t.model.positions) == 0 {
		return q
	}

	some := t.model.positions[t.IntN(len(t.model.positions))]
	if t.IntN(4) == 0 && market.Known(some.m.UnderlyingValueUsd) {
		q.MinValueUsd = some.m.UnderlyingValueUsd
	}

	if t.IntN(3) == 0 {
		q.Key = randomKey(t, some.st, some.st.Pools.At(some.Pool))
	}
	switch t.IntN(8) {
	case 0:
		q.Owner = some.st.Owners.At(some.Owner)
	case 1:
		q.Pool = &some.st.Pools.At(some.Pool).ID
	case 2:
		q.ID = &some.ID
	case 3:
		q.Owner, q.Pool = some.st.Owners.At(some.Owner), &some.st.Pools.At(some.Pool).ID
	case 4:
		randomStranger(t, &q)
	}

	return q
}

// randomKey returns a filter that mostly admits pool p.
func randomKey(t *table, st *market.State, p *market.Pool) (f rankings.KeyFilter) {
	a, b := st.Tokens.At(p.Currency0).Address, st.Tokens.At(p.Currency1).Address
	f.Tokens = [][]market.Address{nil, {a}, {b}, {a, b}, {b, a}, {a, {9}}, {{9}}}[t.IntN(7)]
	if t.IntN(3) == 0 {
		fee := []uint32{p.Fee, p.LastFee, 3000, 77}[t.IntN(4)]
		f.Fee = &fee
	}
	switch t.IntN(5) {
	case 0:
		f.Hooks = &p.Hooks
	case 1:
		f.Hooks = &market.Address{19: 1}
	case 2:
		f.Hooked = true
	}
	return f
}

// randomStranger asks for what does not exist.
func randomStranger(t *table, q *rankings.PositionQuestion) {
	id := t.Uint64()
	switch t.IntN(4) {
	case 0:
		q.Owner = &market.Address{1}
	case 1:
		q.Pool = &market.PoolID{2}
	case 2:
		q.ID = &id
	case 3:
		q.NoSuchID = true
	}
}

func randomPage(t *table, rows int) (page, limit uint64) {
	limit = []uint64{1, 2, 7, 20, 100}[t.IntN(5)]
	switch t.IntN(5) {
	case 0:
		return 1, limit
	case 1:
		return 999_999_999_999_999_999, limit
	}
	return 1 + uint64(t.IntN(rows/int(limit)+2)), limit
}

func randomPoolQuestion(t *table) rankings.PoolQuestion {
	q := rankings.DefaultPoolQuestion()
	q.Sort = rankings.PoolSort(t.IntN(5))
	q.Chain = []market.ChainID{0, 0, 0, 1, 43114}[t.IntN(5)]
	q.Page, q.Limit = randomPage(t, len(t.model.pools))
	q.IncludeRisky = t.IntN(2) == 0
	if t.IntN(3) == 0 {
		return q
	}

	q.MinTVLUsd = []float64{-1, 0, 0, 1000, 4000, 400_000}[t.IntN(6)]
	some := t.model.pools[t.IntN(len(t.model.pools))]
	if t.IntN(3) == 0 {
		q.Key = randomKey(t, some.st, some.Pool)
	}
	token := some.st.Tokens.At(some.Currency1)
	id, address := some.ID.String(), token.Address.String()
	from := t.IntN(len(address) - 4)
	q.Search = []string{
		"", "", "%", "e", "T", "äpf", "ÄPFEL", "I", "i̇",
		"σας", "ΣΑΣ", "0X", "x", "xd", "dead", "cu", "zz",
		id, id[:10], id[from : from+3], address, address[from : from+2], "ethusdc",
		id[from : from+2], id[len(id)-2:], id[len(id)-1:], id[:3], id[1:6], address[from:],
		"İ", "SDİ", "BETA", "\u200b",
		"eth/usdc", "USDC ETH", "eth-usdc", "usdi̇/e", "e/e", "a-b/eth", "eth / a-b", "ETH - USDC",
		"a-b eth", "a-b-eth", "eth-a-b", "w%/a-b", "/", "eth/", " eth", "eth usdc w%", "b/", "a-b",
		"eth w% usdc", "usdc/w%/eth",
	}[t.IntN(53)]

	return q
}
