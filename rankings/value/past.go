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
		f: &f, nativeUsd: p.NativeUsd,
		deposits: floatLegs(&p.Deposited), withdrawals: floatLegs(&p.Withdrawn),
		collected: floatLegs(&p.Collected), gasWei: approx(&p.GasWei), costUsd: market.Unknown,
	}
	if p.GasUnknown {
		v.gasWei = market.Unknown
	}
	f.Claim = Claim{principal: floatLegs(&p.Principal), fees: floatLegs(&p.Uncollected)}
	if p.FeesUnknown {
		f.Claim.fees = legs{market.Unknown, market.Unknown}
	}

	at := st.Pools.At(pool)
	for leg, token := range [2]uint32{at.Currency0, at.Currency1} {
		q := &p.Legs[leg]
		v.rawUsd[leg] = q.Usd / whole(st.Tokens.At(token))
		if q.OnlyPool == pool {
			v.rawUsd[leg] = market.Unknown
		}
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

func floatLegs(amounts *[2]clmath.U256) legs { return legs{approx(&amounts[0]), approx(&amounts[1])} }
