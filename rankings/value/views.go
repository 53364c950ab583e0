package value

import "tidemark/rankings/market"

// tokenView is what an open row needs of a token.
type tokenView struct {
	rawUsd       float64 // of a raw unit in this generation; Unknown
	exitUsd      float64
	onlyPool     uint32
	anchor       bool
	derived      bool
	held         bool // no market gives the price now
	corroborated bool
	decimals     uint8
	reason       market.Reason
}

// pricedOnlyBy reports whether nothing but a pool gives the token its price, so that the
// price is not independent of the pool's positions.
func (t *tokenView) pricedOnlyBy(pool uint32) bool { return t.onlyPool == pool && !t.corroborated }

// rawUsdIn returns what a raw unit is worth in the rows of a pool's open positions.
func (t *tokenView) rawUsdIn(pool uint32) float64 {
	if t.pricedOnlyBy(pool) {
		return market.Unknown
	}
	return t.rawUsd
}

func viewToken(st *market.State, i uint32) tokenView {
	price, decimals := st.Prices.At(i), decimalsOf(st.Tokens.At(i))
	return tokenView{
		rawUsd: price.Usd / wholes[decimals], exitUsd: price.ExitUsd, onlyPool: price.OnlyPool,
		anchor: price.Anchor, derived: price.Source == market.SourceDerived, held: isHeld(price),
		corroborated: price.Corroborated, decimals: decimals, reason: price.Reason,
	}
}

// isHeld reports whether a price is kept for a while that nothing says any more. Tokens are
// held to it after all others are priced, so that it prices none of them, unless it is an
// anchor's.
func isHeld(p *market.Price) bool {
	switch p.Source {
	case market.SourcePool, market.SourceDerived:
		return p.Markets == 0
	case market.SourceFeed:
		return p.Reason == market.ReasonStalePrice && !p.Anchor
	}
	return false
}

// poolView is what every row needs of its pool, and all that a closed one does.
type poolView struct {
	tokens   [2]uint32
	tick     int32
	decimals [2]uint8
	risky    bool

	quarantined bool
}

func viewPool(pool *market.Pool, token0, token1 *tokenView) poolView {
	return poolView{
		tokens: [2]uint32{pool.Currency0, pool.Currency1}, tick: pool.Tick,
		decimals: [2]uint8{token0.decimals, token1.decimals},
		risky:    !(token0.corroborated && token1.corroborated),

		quarantined: pool.Quarantined,
	}
}

// surroundings are the records that an open row is computed from.
type surroundings struct {
	pool         *market.Pool
	lower, upper *market.Tick
}

func surroundingsOf(st *market.State, pool uint32, p *market.Position) surroundings {
	return surroundings{st.Pools.At(pool), st.Ticks.At(p.LowerSlot), st.Ticks.At(p.UpperSlot)}
}
