package value

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Amounts is one group of a row: raw integers and what they are worth.
type Amounts struct {
	Raw [2]clmath.U256
	Usd float64 // at the row's prices; Unknown when a leg that it needs has none
}

// Claim is what an open position would pay now, in raw units. It changes only
// with its own record and with its pool's price and fee growth.
type Claim struct {
	principal, fees legs
}

// Figures are the numbers and flags by which a row is sorted and filtered.
// Percentages are percent: 12.5 means 12.5 %. A float is finite or Unknown.
type Figures struct {
	UnderlyingValueUsd float64 // V: principal
	PendingFeesUsd     float64 // the uncollected part of F
	CollectedUsd       float64 // the collected part of F
	DepositsUsd        float64 // D
	WithdrawalsUsd     float64 // W
	GasUsd             float64 // G; Unknown when a receipt was missing

	FeesUsd            float64 // F
	DivergenceUsd      float64 // V + W - D
	PnlUsd, PnlCostUsd float64
	ROI, APR           float64
	FeePercent         float64 // F in percent of D
	FeeAPR             float64 // before the clamp
	AgeSeconds         int64

	Open, InRange    bool
	Risky            bool // a token without a corroborated market
	PriceUnavailable bool // a leg that a sum needs has no independent price
	Unrealizable     [2]bool
	Reason           market.Reason // why a number is missing

	Claim Claim // nothing when it is closed
}

// UnrealizableLeg reports whether a leg's claim exceeds its way out: it counts
// 0 in the principal and the uncollected fees.
func (f *Figures) UnrealizableLeg() bool { return f.Unrealizable[0] || f.Unrealizable[1] }

// Metrics is everything a row says of a position beyond its own record and
// its pool's.
type Metrics struct {
	Figures
	Current, Deposits, Withdrawals Amounts
	Collected, Uncollected         Amounts

	// Price of each leg as the row uses it: of now when it is open, of its
	// closing block when it is closed; Unknown when not independent.
	Price     [2]market.Price
	NativeUsd float64

	// TimeInRange is the share, 0 to 1, of its open time in which the tick of its
	// pool was in its range; Unknown before any time has passed.
	TimeInRange float64
	// PriceLower and PriceUpper are token1 per token0 in whole units at the ends of
	// the range; Unknown if the decimals of a token are bad.
	PriceLower, PriceUpper float64
}

// Position fills m with the row of position i, all of it, so m may be reused.
// Its Figures are those of a Ranker to the bit. It allocates nothing.
func Position(st *market.State, i uint32, m *Metrics) {
	p := st.Positions.At(i)
	values := ValuesOf(st, p.Pool)
	r := values.rowOf(st, p, &m.Figures)
	if r.measure(m, values.badDecimals); m.Open {
		m.Price, m.NativeUsd = r.legPrices(), r.shownNative()
	}
}

// PoolValues is what the rows of a pool's positions are valued by in one generation. It
// has in two cache lines what is in six of the pool's tokens and their prices. Immutable.
type PoolValues struct {
	sides       [2]tokenView
	at          poolView
	badDecimals bool // of a token
}

// ValuesOf returns the values of a pool.
func ValuesOf(st *market.State, pool uint32) (v PoolValues) {
	p := st.Pools.At(pool)
	v.sides = [2]tokenView{viewToken(st, p.Currency0), viewToken(st, p.Currency1)}
	v.at = viewPool(p, &v.sides[0], &v.sides[1])
	v.badDecimals = st.Tokens.At(p.Currency0).BadDecimals || st.Tokens.At(p.Currency1).BadDecimals
	return v
}

// Position fills m as the function of that name does, but for the prices of an open
// position, which all of the pool have in common: see OpenPrices. p is one of the pool's.
func (v *PoolValues) Position(st *market.State, p *market.Position, m *Metrics) {
	r := v.rowOf(st, p, &m.Figures)
	r.measure(m, v.badDecimals)
}

// OpenPrices returns the prices that the rows of a pool's open positions have, those of
// its legs and of the native currency.
func (v *PoolValues) OpenPrices(
	st *market.State, pool uint32,
) (legs [2]market.Price, nativeUsd float64) {
	r := v.rowOf(st, &market.Position{Pool: pool}, &Figures{Open: true})
	r.choosePrices()
	return r.legPrices(), r.shownNative()
}

// rowOf returns the row of a position of the pool, which will have its figures in f.
func (v *PoolValues) rowOf(st *market.State, p *market.Position, f *Figures) row {
	r := row{
		st: st, position: p, at: v.at, sides: [2]*tokenView{&v.sides[0], &v.sides[1]},
		valuation: valuation{f: f},
	}
	if p.IsOpen() {
		r.surroundings = surroundingsOf(st, p.Pool, p)
	}
	return r
}

// measure fills m, whose Figures are those of r, as PoolValues.Position does.
func (r *row) measure(m *Metrics, badDecimals bool) {
	r.rank()

	sums := r.st.Sums(r.position)
	m.Current = Amounts{r.principal, m.UnderlyingValueUsd}
	m.Uncollected = Amounts{r.fees, m.PendingFeesUsd}
	m.Deposits = Amounts{[2]clmath.U256{sums.Deposited0, sums.Deposited1}, m.DepositsUsd}
	m.Withdrawals = Amounts{[2]clmath.U256{sums.Withdrawn0, sums.Withdrawn1}, m.WithdrawalsUsd}
	m.Collected = Amounts{[2]clmath.U256{sums.Collected0, sums.Collected1}, m.CollectedUsd}

	if !m.Open {
		m.Price, m.NativeUsd = r.legPrices(), r.shownNative()
	}
	r.setRange(m, badDecimals)
}

// setRange sets what a row says of its range.
func (r *row) setRange(m *Metrics, badDecimals bool) {
	m.TimeInRange = market.Unknown
	if inRange, open, ok := r.secondsInRange(); ok && open > 0 {
		m.TimeInRange = float64(inRange) / float64(open)
	}

	m.PriceLower, m.PriceUpper = market.Unknown, market.Unknown
	switch p := r.position; {
	case badDecimals:
	case r.f.Open:
		m.PriceLower = r.priceAt(&r.lower.SqrtPriceX96)
		m.PriceUpper = r.priceAt(&r.upper.SqrtPriceX96)
	default:
		// A closed position has no ticks to read the prices from.
		lower, upper := clmath.SqrtPriceAtTick(p.TickLower), clmath.SqrtPriceAtTick(p.TickUpper)
		m.PriceLower, m.PriceUpper = r.priceAt(&lower), r.priceAt(&upper)
	}
}

// secondsInRange is SecondsInRange of the State.
func (r *row) secondsInRange() (inRange, open uint32, ok bool) {
	switch {
	case r.at.quarantined:
		return 0, 0, false
	case !r.f.Open:
		return r.position.SecondsInRange(r.at.tick, 0, 0, 0)
	}
	return r.position.SecondsInRange(r.at.tick, uint32(r.st.Now()), r.lower.SecondsOutside,
		r.upper.SecondsOutside)
}

// priceAt is PriceAt of tokens whose decimals are known.
func (r *row) priceAt(sqrtPriceX96 *clmath.U256) float64 {
	return priceOf(approx(sqrtPriceX96), r.unitOf(0), r.unitOf(1))
}
