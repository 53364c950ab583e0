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

// legs are the two amounts of a group, raw, as floats.
type legs [2]float64

// row is one position on its way to its figures.
type row struct {
	st           *market.State
	position     *market.Position
	at           poolView
	sides        [2]*tokenView
	surroundings // of an open row
	valuation

	principal, fees [2]clmath.U256
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

func (r *row) rank() {
	f := r.f
	f.Open = r.position.IsOpen()
	f.Claim = Claim{}
	if f.Open {
		r.computeClaim()
	}

	f.InRange = r.position.TickLower <= r.at.tick && r.at.tick < r.position.TickUpper
	f.Unrealizable = [2]bool{}
	r.loadFlows()
	r.choosePrices()
	if f.Open {
		r.limitClaims()
	}

	r.setAge()
	if r.at.quarantined {
		r.f.voidUsd()
		return
	}

	r.valueGroups()
	r.computeResults()
	r.setReason()
}

// voidUsd leaves a row of a quarantined pool nothing that is worth anything,
// not even what it has none of: its sums are those of before.
func (f *Figures) voidUsd() {
	for _, usd := range []*float64{
		&f.UnderlyingValueUsd, &f.PendingFeesUsd, &f.CollectedUsd, &f.DepositsUsd,
		&f.WithdrawalsUsd, &f.GasUsd, &f.FeesUsd, &f.DivergenceUsd, &f.PnlUsd, &f.PnlCostUsd,
		&f.ROI, &f.APR, &f.FeePercent, &f.FeeAPR,
	} {
		*usd = market.Unknown
	}
	f.Unrealizable = [2]bool{}
	f.PriceUnavailable, f.Reason = true, market.ReasonQuarantined
}

// setAge counts from the first mint to the close, or to now.
func (r *row) setAge() {
	until := r.st.Now()
	if !r.f.Open {
		until = int64(r.position.ClosedAt) // a cache line that nothing else reads of an open row
	}
	r.f.AgeSeconds = max(until-int64(r.position.MintedAt), 0)
}

// loadFlows reads what went in and out since the mint.
func (r *row) loadFlows() {
	p := r.position
	r.gasWei, r.costUsd = approx128(p.GasWei), p.CostUsd
	if p.GasUnknown {
		r.gasWei = market.Unknown
	}

	if p.Overflow != market.NoIndex {
		sums := r.st.Overflow.At(p.Overflow)
		r.deposits = legs{approx(&sums.Deposited0), approx(&sums.Deposited1)}
		r.withdrawals = legs{approx(&sums.Withdrawn0), approx(&sums.Withdrawn1)}
		r.collected = legs{approx(&sums.Collected0), approx(&sums.Collected1)}
		return
	}
	r.deposits = legs{approx128(p.Deposited0), approx128(p.Deposited1)}
	r.withdrawals = legs{approx128(p.Withdrawn0), approx128(p.Withdrawn1)}
	r.collected = legs{approx128(p.Collected0), approx128(p.Collected1)}
}

// computeClaim computes what the contract would pay if the position were closed now.
func (r *row) computeClaim() {
	r.principal, r.fees = r.claimOf(r.position)
	r.f.Claim = approxClaim(&r.principal, &r.fees)
}

// claimOf computes what the contract would pay if an open position were closed now:
// principal by the pool's price, rounded down, and
//
//	uncollected = floor((inside - insideLast mod 2^256) * L / 2^128)
//
// where inside is the fee growth between the position's ticks.
func (s *surroundings) claimOf(p *market.Position) (principal, fees [2]clmath.U256) {
	pool, lower, upper := s.pool, s.lower, s.upper
	liquidity := p.OpenLiquidity()
	principal[0], principal[1] = clmath.Principal(pool.Tick, &pool.SqrtPriceX96,
		p.TickLower, p.TickUpper, &lower.SqrtPriceX96, &upper.SqrtPriceX96, liquidity, false)
	inside := clmath.FeeGrowthInside(pool.Tick, p.TickLower, p.TickUpper,
		&pool.FeeGrowthGlobal0X128, &lower.FeeGrowthOutside0X128, &upper.FeeGrowthOutside0X128)
	fees[0] = clmath.FeesOwed(&inside, &p.FeeGrowthInside0LastX128, liquidity)

	inside = clmath.FeeGrowthInside(pool.Tick, p.TickLower, p.TickUpper,
		&pool.FeeGrowthGlobal1X128, &lower.FeeGrowthOutside1X128, &upper.FeeGrowthOutside1X128)
	fees[1] = clmath.FeesOwed(&inside, &p.FeeGrowthInside1LastX128, liquidity)
	return principal, fees
}

func approxClaim(principal, fees *[2]clmath.U256) Claim {
	return Claim{
		principal: legs{approx(&principal[0]), approx(&principal[1])},
		fees:      legs{approx(&fees[0]), approx(&fees[1])},
	}
}

// choosePrices chooses the legs' prices: those of now, except what only the
// position's own pool says, or those frozen at the closing block. Risk is
// always that of now.
func (r *row) choosePrices() {
	p := r.position
	r.f.Risky = r.at.risky
	if !r.f.Open {
		r.rawUsd = legs{p.Close(0).Usd / r.unitOf(0), p.Close(1).Usd / r.unitOf(1)}
		r.nativeUsd = finite(p.CloseNativeUsd)
		return
	}

	for leg := range r.sides {
		r.rawUsd[leg] = r.sides[leg].rawUsdIn(p.Pool)
	}

	r.nativeUsd = nativeUsd(r.st)
}

// nativeUsd is what the native currency is worth now; Unknown where there is none.
func nativeUsd(st *market.State) float64 {
	if st.Native >= st.Prices.Len() {
		return market.Unknown
	}
	return st.Prices.At(st.Native).Usd
}

// unitOf returns how many raw units a whole token of a leg has.
func (r *row) unitOf(leg int) float64 { return wholes[r.at.decimals[leg]] }

// shownNative returns the price of the native currency as the row shows it.
func (r *row) shownNative() float64 {
	if r.at.quarantined {
		return market.Unknown
	}
	return r.nativeUsd
}

// legPrices returns the prices of both legs as the row uses and shows them.
func (r *row) legPrices() [2]market.Price {
	return [2]market.Price{r.legPrice(0), r.legPrice(1)}
}

func (r *row) legPrice(leg int) market.Price {
	if r.at.quarantined {
		return unpriced(market.ReasonQuarantined)
	}
	if r.f.Open {
		if !market.Known(r.rawUsd[leg]) {
			price := unpriced(r.legReason(leg))
			price.ExitUsd = r.sides[leg].exitUsd
			return price
		}
		return shownPrice(r.st.Prices.At(r.at.tokens[leg]))
	}

	c := r.position.Close(leg)
	price := market.Price{
		Usd: finite(c.Usd), AsOf: c.AsOf, ExitUsd: market.Unknown, OnlyPool: market.NoIndex,
		Markets: c.Markets, Source: c.Source, Corroborated: c.Corroborated,
		Anchor: c.Source == market.SourceAnchor,
	}

	if !market.Known(price.Usd) {
		price.Reason = r.legReason(leg)
	}
	return price
}
