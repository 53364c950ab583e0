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

// Metrics is everything a row says of a position beyond its own record and
// its pool's. Percentages are percent: 12.5 means 12.5 %.
type Metrics struct {
	Current, Deposits, Withdrawals Amounts
	Collected, Uncollected         Amounts
	GasUsd                         float64 // Unknown when a receipt was missing

	UnderlyingValueUsd float64 // V
	PendingFeesUsd     float64 // the uncollected part of F
	DivergenceUsd      float64 // V + W - D
	FeesUsd            float64 // F
	PnlUsd, PnlCostUsd float64
	ROI, APR           float64
	FeeAPR             float64 // before the clamp
	AgeSeconds         int64

	// Price of each leg as the row uses it: of now when it is open, of its
	// closing block when it is closed; Unknown when not independent.
	Price     [2]market.Price
	NativeUsd float64

	Open, InRange, Risky, PriceUnavailable bool
	Unrealizable                           [2]bool // the leg counts 0 in Current and Uncollected
	Reason                                 market.Reason
}

// UnrealizableLeg reports whether a leg's claim exceeds its way out.
func (m *Metrics) UnrealizableLeg() bool { return m.Unrealizable[0] || m.Unrealizable[1] }

// Position fills m with the row of position i: all of it, so m may be reused.
// It uses st.Prices and allocates nothing.
func Position(st *market.State, i uint32, m *Metrics) {
	r := row{st: st, m: m, position: st.Positions.At(i)}
	r.pool = st.Pools.At(r.position.Pool)
	m.Open = r.position.IsOpen()
	m.InRange = r.position.TickLower <= r.pool.Tick && r.pool.Tick < r.position.TickUpper
	r.flows()
	r.holding()
	r.prices()
	r.usd()
	r.results()
	r.why()
}

// row is one position on its way to Metrics.
type row struct {
	st       *market.State
	m        *Metrics
	position *market.Position
	pool     *market.Pool
	rawUsd   [2]float64 // of a raw unit of each leg
}

// flows takes over what went in and out since the mint.
func (r *row) flows() {
	p, m := r.position, r.m
	if p.Wide != market.NoIndex {
		sums := r.st.Wides.At(p.Wide)
		m.Deposits.Raw = [2]clmath.U256{sums.Deposited0, sums.Deposited1}
		m.Withdrawals.Raw = [2]clmath.U256{sums.Withdrawn0, sums.Withdrawn1}
		m.Collected.Raw = [2]clmath.U256{sums.Collected0, sums.Collected1}
		return
	}
	m.Deposits.Raw = [2]clmath.U256{p.Deposited0.U256(), p.Deposited1.U256()}
	m.Withdrawals.Raw = [2]clmath.U256{p.Withdrawn0.U256(), p.Withdrawn1.U256()}
	m.Collected.Raw = [2]clmath.U256{p.Collected0.U256(), p.Collected1.U256()}
}

// holding computes what the contract would pay if the position were closed
// now: principal by the pool's price, rounded down, and
//
//	uncollected = floor((inside - insideLast mod 2^256) * L / 2^128)
//
// where inside is the fee growth between the position's ticks.
func (r *row) holding() {
	p, pool, m := r.position, r.pool, r.m
	if !m.Open {
		m.Current.Raw, m.Uncollected.Raw = [2]clmath.U256{}, [2]clmath.U256{}
		return
	}
	lower, upper := r.st.Ticks.At(p.LowerSlot), r.st.Ticks.At(p.UpperSlot)
	m.Current.Raw[0], m.Current.Raw[1] = clmath.Principal(pool.Tick, &pool.SqrtPriceX96,
		p.TickLower, p.TickUpper, &lower.SqrtPriceX96, &upper.SqrtPriceX96, p.Liquidity, false)
	inside := clmath.FeeGrowthInside(pool.Tick, p.TickLower, p.TickUpper,
		&pool.FeeGrowthGlobal0X128, &lower.FeeGrowthOutside0X128, &upper.FeeGrowthOutside0X128)
	m.Uncollected.Raw[0] = clmath.FeesOwed(&inside, &p.FeeGrowthInside0LastX128, p.Liquidity)
	inside = clmath.FeeGrowthInside(pool.Tick, p.TickLower, p.TickUpper,
		&pool.FeeGrowthGlobal1X128, &lower.FeeGrowthOutside1X128, &upper.FeeGrowthOutside1X128)
	m.Uncollected.Raw[1] = clmath.FeesOwed(&inside, &p.FeeGrowthInside1LastX128, p.Liquidity)
}

// prices chooses the legs' prices: of now, less those that are the pool's own
// word, or those frozen at the closing block. Risk is always now's.
func (r *row) prices() {
	m := r.m
	tokens := [2]uint32{r.pool.Currency0, r.pool.Currency1}
	m.Risky = false
	for leg, token := range tokens {
		now := r.st.Prices.At(token)
		m.Risky = m.Risky || !now.Corroborated
		if m.Open {
			m.Price[leg] = legPrice(now, r.position.Pool)
		} else {
			m.Price[leg] = closedPrice(&r.position.Close[leg])
		}
		r.rawUsd[leg] = m.Price[leg].Usd / whole(r.st.Tokens.At(token))
	}
	m.NativeUsd = r.position.CloseNativeUsd
	if m.Open {
		m.NativeUsd = market.Unknown
		if r.st.Native != market.NoIndex {
			m.NativeUsd = r.st.Prices.At(r.st.Native).Usd
		}
	}
}

func closedPrice(c *market.ClosePrice) market.Price {
	price := market.Price{
		Usd: finite(c.Usd), AsOf: c.AsOf, OnlyPool: market.NoIndex,
		Markets: c.Markets, Source: c.Source, Corroborated: c.Corroborated,
	}
	if !market.Known(price.Usd) {
		price.Reason = market.ReasonNoMarket
	}
	return price
}

// usd values every group. A leg that could not be sold for what is claimed of
// it counts 0 in what is still to come out: principal and uncollected fees.
func (r *row) usd() {
	m := r.m
	held := r.rawUsd
	for leg := range held {
		m.Unrealizable[leg] = m.Open && r.unrealizable(leg)
		if m.Unrealizable[leg] {
			held[leg] = 0
		}
	}
	value(&m.Current, &held)
	value(&m.Uncollected, &held)
	value(&m.Deposits, &r.rawUsd)
	value(&m.Withdrawals, &r.rawUsd)
	value(&m.Collected, &r.rawUsd)
	m.GasUsd = market.Unknown
	if !r.position.GasUnknown {
		m.GasUsd = worth(approx128(r.position.GasWei), m.NativeUsd/weiPerNative)
	}
}

// weiPerNative is the native currency's raw units on every chain.
const weiPerNative = 1e18

func value(a *Amounts, rawUsd *[2]float64) {
	usd0 := worth(approx(&a.Raw[0]), rawUsd[0])
	usd1 := worth(approx(&a.Raw[1]), rawUsd[1])
	a.Usd = finite(usd0 + usd1)
}

// ageFloor keeps the first minutes of a position from being annualised into
// millions of percent.
const ageFloor = market.Hour

// results computes, with V principal, F fees, W withdrawn, D deposited, G gas
//
//	divergence = V + W - D
//	pnl        = divergence + F - G
//	roi        = pnl / D * 100
//	apr        = roi * 365 / ageDays
//	feeApr     = F / D * 100 * 365 / ageDays
func (r *row) results() {
	p, m := r.position, r.m
	m.UnderlyingValueUsd = m.Current.Usd
	m.PendingFeesUsd = m.Uncollected.Usd
	m.FeesUsd = finite(m.Uncollected.Usd + m.Collected.Usd)
	m.DivergenceUsd = finite(m.Current.Usd + m.Withdrawals.Usd - m.Deposits.Usd)
	m.PnlUsd = finite(m.DivergenceUsd + m.FeesUsd - m.GasUsd)
	m.PnlCostUsd = finite(m.Current.Usd + m.Uncollected.Usd + p.CostUsd)
	until := p.ClosedAt
	if m.Open {
		until = r.st.Now()
	}
	m.AgeSeconds = max(until-p.MintedAt, 0)
	m.ROI, m.APR, m.FeeAPR = market.Unknown, market.Unknown, market.Unknown
	if m.Deposits.Usd > 0 {
		years := float64(max(m.AgeSeconds, ageFloor)) / (365 * market.Day)
		m.ROI = finite(m.PnlUsd / m.Deposits.Usd * 100)
		m.APR = finite(m.ROI / years)
		m.FeeAPR = finite(m.FeesUsd / m.Deposits.Usd * 100 / years)
	}
}

// why says whether a leg that the row needs has no price, and what a number
// that is missing lacks.
func (r *row) why() {
	m := r.m
	m.PriceUnavailable, m.Reason = false, market.ReasonNone
	for leg := range m.Price {
		if !market.Known(m.Price[leg].Usd) && r.needs(leg) {
			m.PriceUnavailable = true
			m.Reason = max(m.Reason, m.Price[leg].Reason)
		}
	}
	native := r.st.Native
	if !m.PriceUnavailable && !market.Known(m.GasUsd) && native != market.NoIndex {
		m.Reason = r.st.Prices.At(native).Reason
	}
}

// needs reports whether any group has an amount of a leg.
func (r *row) needs(leg int) bool {
	m := r.m
	return !(m.Current.Raw[leg].IsZero() && m.Uncollected.Raw[leg].IsZero() &&
		m.Deposits.Raw[leg].IsZero() && m.Withdrawals.Raw[leg].IsZero() &&
		m.Collected.Raw[leg].IsZero())
}

// ClampFeeAPR bounds a field named feeApr on output; one on the bound is not
// to be trusted.
func ClampFeeAPR(x float64) float64 {
	const limit = 100_000
	if !market.Known(x) {
		return x
	}
	return min(max(x, -limit), limit)
}
