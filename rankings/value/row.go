package value

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

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
