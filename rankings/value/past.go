package value

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Quote is what an amount of a token was worth at some time: now, or in an
// hour of which there is a record.
type Quote struct {
	Usd     float64 // per whole token; Unknown
	ExitUsd float64 // as market.Price.ExitUsd
	// OnlyPool prices the token alone and does not corroborate it: positions
	// of that pool have no independent price. NoIndex when there is none.
	OnlyPool uint32
}

// QuoteOf is what a Price says.
func QuoteOf(p *market.Price) Quote {
	q := Quote{Usd: p.Usd, ExitUsd: p.ExitUsd, OnlyPool: market.NoIndex}
	if !p.Corroborated {
		q.OnlyPool = p.OnlyPool
	}
	return q
}

// Past is a position at the end of a day that is over, as its history tells.
type Past struct {
	Principal, Uncollected [2]clmath.U256
	// FeesUnknown: nothing tells what was uncollected then.
	FeesUnknown bool

	Deposited, Withdrawn, Collected [2]clmath.U256
	GasWei                          clmath.U256
	GasUnknown                      bool // a receipt was missing

	AgeSeconds int64
	Legs       [2]Quote // of the pool's tokens
	NativeUsd  float64
}

// PastFigures returns the results of a position in pool at a past day's end.
// They are computed as those of a row, but for what only the State of that
// time could tell: the position's own liquidity is part of the exit that its
// claim is held against, and Claim is all that is filled in beside the USD,
// the percentages and Unrealizable.
func PastFigures(st *market.State, pool uint32, p *Past) (f Figures) {
	f.AgeSeconds = p.AgeSeconds
	v := valuation{
		f: &f, nativeUsd: p.NativeUsd, costUsd: market.Unknown,
		flows: flows{
			deposits: floatLegs(&p.Deposited), withdrawals: floatLegs(&p.Withdrawn),
			collected: floatLegs(&p.Collected), gasWei: approx(&p.GasWei),
		},
	}
	if p.GasUnknown {
		v.gasWei = market.Unknown
	}
	f.Claim = Claim{principal: floatLegs(&p.Principal), fees: floatLegs(&p.Uncollected)}
	if p.FeesUnknown {
		f.Claim.fees = legs{market.Unknown, market.Unknown}
	}

	at := st.Pools.At(pool)
	v.rawUsd = pastPrices(st, pool, &p.Legs)
	for leg := range v.rawUsd {
		q := &p.Legs[leg]
		claimed := approx(&p.Principal[leg])
		if !p.FeesUnknown {
			claimed += f.Claim.fees[leg]
		}
		f.Unrealizable[leg] = claimed*v.rawUsd[leg] > q.ExitUsd
	}

	if at.Quarantined {
		f.voidUsd()
		return f
	}
	v.valueGroups()
	v.computeResults()
	return f
}

// PastUsd returns what amounts of a pool's tokens were worth to a position in it;
// Unknown if a leg that has an amount had no independent price.
func PastUsd(st *market.State, pool uint32, amounts *[2]clmath.U256, quotes *[2]Quote) float64 {
	if st.Pools.At(pool).Quarantined {
		return market.Unknown
	}
	raw, rawUsd := floatLegs(amounts), pastPrices(st, pool, quotes)
	return raw.usdAt(&rawUsd)
}

// pastPrices returns what quotes say of a raw unit of a pool's tokens.
func pastPrices(st *market.State, pool uint32, quotes *[2]Quote) (rawUsd legs) {
	at := st.Pools.At(pool)
	for leg, token := range [2]uint32{at.Currency0, at.Currency1} {
		rawUsd[leg] = quotes[leg].Usd / whole(st.Tokens.At(token))
		if quotes[leg].OnlyPool == pool {
			rawUsd[leg] = market.Unknown
		}
	}
	return rawUsd
}

func floatLegs(amounts *[2]clmath.U256) legs { return legs{approx(&amounts[0]), approx(&amounts[1])} }
