package chart

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// What a position of some range and value would have earned in a past time follows from
// the fee growth between its ticks, per unit of liquidity:
//
//	fees = growth inside * L / 2^128
//
// L is what the value bought at the prices of the beginning. The growth is what the
// pool's real liquidity earned, and L was not part of it: the true fees would have been
// less, in the proportion of L to the liquidity in range. That is the dilution, which every
// estimate leaves out.
//
// Of a tick that stayed initialised the growth below it is kept exactly, as the
// contract counts it. That of any other tick is added up over the hours and days of the
// pool: in one in which the price stayed above it, nothing of the pool's fee growth was
// below; in one in which it stayed below, all was; and one in which the price passed it
// is split by the way of the price. The growth inside is that below the upper tick less
// that below the lower one.

// Question is what an estimate is asked for: a range, and what was deposited in it when
// the replay begins.
type Question struct {
	TickLower, TickUpper int32
	ValueUsd             float64
	Quotes               [2]value.Quote // of the pool's tokens when the replay begins
	Kept                 [2]KeptTick    // the ends of the range, the lower one first
}

// Basis is what the fees of an estimate follow from.
type Basis uint8

// The bases, as the answer spells them.
const (
	BasisTicks Basis = iota // what the contract counted at both ticks
	BasisHours              // the pool's hours
	BasisDays               // some of the pool's days
)

// Estimate is what a position would have earned. Numbers are in USD of now.
type Estimate struct {
	From, To      int64
	FeesUsd       float64
	FeeAPR        float64 // before the clamp
	DivergenceUsd float64 // V - D; negative is a loss
	TimeInRange   float64 // share of the time; Unknown before any has passed
	Basis         Basis
	// SplitFees and SplitTime: a part of the fees, or of the time in range, was split by
	// the way of the price.
	SplitFees, SplitTime bool
	// OwnPrice: a token had no independent price when the replay begins, and the deposit
	// was valued at the price of the pool.
	OwnPrice bool
}

// Estimate returns what a position would have earned from the beginning of the replay
// until now. ok is false if its liquidity does not fit 128 bits, which the contracts
// refuse.
func (r *Replay) Estimate(q *Question) (e Estimate, ok bool) {
	unknown := market.Unknown
	e = Estimate{
		From: r.from, To: r.st.Now(),
		FeesUsd: unknown, FeeAPR: unknown, DivergenceUsd: unknown, TimeInRange: unknown,
	}
	lower, upper := r.below(q.TickLower, &q.Kept[0]), r.below(q.TickUpper, &q.Kept[1])
	growth := e.measureGrowth(r, &lower, &upper)
	if r.st.Pools.At(r.pool).Quarantined {
		return e, true
	}

	if e.To > e.From {
		e.SplitTime = lower.splitTime || upper.splitTime
		inside := (upper.seconds - lower.seconds) / float64(e.To-e.From)
		e.TimeInRange = max(0, min(inside, 1))
	}

	usd, ownPrice := r.referenceUsd(q)
	if !market.Known(usd) || usd == 0 {
		return e, true
	}
	reference := referenceLiquidity.U256()
	liquidity := clmath.FromFloat(value.Float(&reference) * (q.ValueUsd / usd))
	l, fits := clmath.Narrow(&liquidity)
	if !fits {
		return e, false
	}
	e.setResults(r, q, l, growth)
	known := market.Known(e.FeesUsd)
	e.OwnPrice = known && ownPrice
	e.SplitFees = known && (lower.splitFees || upper.splitFees)
	return e, true
}

// measureGrowth returns the fee growth between the ticks, and notes what it is based on.
func (e *Estimate) measureGrowth(r *Replay, lower, upper *below) (growth [2]clmath.U256) {
	if lower.exact && upper.exact {
		e.Basis = BasisTicks
		for leg := range growth {
			growth[leg].Sub(&upper.grown[leg], &lower.grown[leg])
		}
		return growth
	}

	e.Basis = BasisHours
	if r.daily {
		e.Basis = BasisDays
	}
	for leg := range growth {
		// A range that was not entered earned nothing. If one end is exact and the other is
		// not, their difference is a rounding error, and far from the price a tiny value buys
		// so much liquidity that it would look like fees.
		if upper.summed[leg] != lower.summed[leg] {
			growth[leg] = clmath.FromFloat(upper.growth[leg] - lower.growth[leg])
		}
	}
	return growth
}

// referenceLiquidity is so large that rounding its amounts to raw units does not matter.
var referenceLiquidity = clmath.U128{Hi: 1 << 63}

// referenceUsd returns what the reference liquidity was worth when the replay began, and
// whether the pool's own price had to say so. That is where the market was on which the
// deposit would have been made, so one independent price is enough.
func (r *Replay) referenceUsd(q *Question) (usd float64, ownPrice bool) {
	amounts := principalAt(&r.begin, q, referenceLiquidity, false)
	if usd = value.PastUsd(r.st, r.pool, &amounts, &q.Quotes); market.Known(usd) {
		return usd, false
	}

	price := value.PriceAt(r.st, r.st.Pools.At(r.pool), &r.begin.Close)
	of := func(usd float64) value.Quote { return value.Quote{Usd: usd, OnlyPool: market.NoIndex} }
	for leg, factor := range [2]float64{price, 1 / price} {
		if other := &q.Quotes[1-leg]; other.OnlyPool != r.pool {
			quotes := q.Quotes
			quotes[leg] = of(other.Usd * factor)
			if usd = value.PastUsd(r.st, r.pool, &amounts, &quotes); market.Known(usd) {
				return usd, true
			}
		}
	}
	return market.Unknown, false
}

// setResults values what a position of a liquidity put in, has now and earned.
func (e *Estimate) setResults(r *Replay, q *Question, l clmath.U128, growth [2]clmath.U256) {
	p, now := r.st.Pools.At(r.pool), r.begin
	now.Tick, now.Close = p.Tick, p.SqrtPriceX96
	past := value.Past{
		Deposited: principalAt(&r.begin, q, l, true), Principal: principalAt(&now, q, l, false),
		AgeSeconds: e.To - e.From, NativeUsd: market.Unknown,
		Legs: [2]value.Quote{
			value.QuoteOf(r.st.Prices.At(p.Currency0)), value.QuoteOf(r.st.Prices.At(p.Currency1)),
		},
	}
	for leg := range growth {
		past.Uncollected[leg] = clmath.FeesOwed(&growth[leg], new(clmath.U256), l)
	}

	f := value.PastFigures(r.st, r.pool, &past)
	e.FeesUsd, e.FeeAPR, e.DivergenceUsd = f.FeesUsd, f.FeeAPR, f.DivergenceUsd
}

// principalAt returns the raw amounts of a liquidity over the range of a question.
func principalAt(at *End, q *Question, l clmath.U128, roundUp bool) (amounts [2]clmath.U256) {
	lower, upper := clmath.SqrtPriceAtTick(q.TickLower), clmath.SqrtPriceAtTick(q.TickUpper)
	amounts[0], amounts[1] = clmath.Principal(at.Tick, &at.Close, q.TickLower, q.TickUpper,
		&lower, &upper, l, roundUp)
	return amounts
}
