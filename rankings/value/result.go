package value

import (
	"cmp"

	"tidemark/rankings/market"
)

// With V principal, F fees, W withdrawn, D deposited, G gas, all in USD at the
// row's prices, the results are
//
//	divergence = V + W - D                against having held what was put in
//	pnl        = divergence + F - G
//	roi        = pnl / D * 100
//	apr        = roi * 365 / ageDays
//	feeApr     = F / D * 100 * 365 / ageDays
//	pnlCost    = V + uncollected + (withdrawn + collected - deposited - gas,
//	             each at its value when it happened)
//
// A sum is Unknown when it needs an amount whose price is. With a leg that is
// not realizable, V says what could be got out and nothing of what the leg is
// worth, so that all results are Unknown. D = 0, which is a
// position that only ever held donated or dust amounts, has no roi and no apr.

// ageFloor keeps the first minutes of a position from being annualised into
// millions of percent.
const ageFloor = market.Hour

const year = 365 * market.Day

// weiPerNative is the native currency's raw units on every chain.
const weiPerNative = 1e18

// valuation is what the results of a row follow from: its Claim and flows in
// raw units, and the prices to value them at. A row of now and a day of its
// past differ in where these come from, and in nothing after that.
type valuation struct {
	f         *Figures
	rawUsd    legs // of a raw unit
	nativeUsd float64
	flows
	costUsd float64 // the flows at their values when they happened
}

// flows are what went in and out since the mint.
type flows struct {
	deposits    legs
	withdrawals legs
	collected   legs
	gasWei      float64 // Unknown when a receipt was missing
}

// valueGroups values every group. A leg that could not be sold for what is
// claimed of it counts 0 in what is still to come out: principal and
// uncollected fees.
func (v *valuation) valueGroups() {
	f, out := v.f, v.rawUsd
	for leg := range out {
		if f.Unrealizable[leg] {
			out[leg] = 0
		}
	}

	f.UnderlyingValueUsd = f.Claim.principal.usdAt(&out)
	f.PendingFeesUsd = f.Claim.fees.usdAt(&out)
	f.DepositsUsd = v.deposits.usdAt(&v.rawUsd)
	f.WithdrawalsUsd = v.withdrawals.usdAt(&v.rawUsd)
	f.CollectedUsd = v.collected.usdAt(&v.rawUsd)
	f.GasUsd = finite(worth(v.gasWei, v.nativeUsd/weiPerNative))
}

func (a *legs) usdAt(rawUsd *legs) float64 {
	return finite(worth(a[0], rawUsd[0]) + worth(a[1], rawUsd[1]))
}

// worth is what an amount is worth; an amount of 0 needs no price.
func worth(amount, rawUsd float64) float64 {
	if amount == 0 {
		return 0
	}
	return amount * rawUsd
}

// computeResults adds the groups up. The age has to be set before.
func (v *valuation) computeResults() {
	v.computeSums()
	perYear := PerYear(v.f.AgeSeconds)
	v.f.APR, v.f.FeeAPR = AnnualRate(v.f.ROI, perYear), AnnualRate(v.f.FeePercent, perYear)
}

// computeSums computes all results that do not depend on the age.
func (v *valuation) computeSums() {
	f := v.f
	f.FeesUsd = finite(f.PendingFeesUsd + f.CollectedUsd)
	f.DivergenceUsd = finite(f.UnderlyingValueUsd + f.WithdrawalsUsd - f.DepositsUsd)
	f.PnlUsd = finite(f.DivergenceUsd + f.FeesUsd - f.GasUsd)
	f.PnlCostUsd = finite(f.UnderlyingValueUsd + f.PendingFeesUsd + v.costUsd)

	f.ROI, f.FeePercent = market.Unknown, market.Unknown
	if f.UnrealizableLeg() {
		// What V lacks is an exit, not a value: to call it lost would be wrong.
		f.DivergenceUsd, f.PnlUsd, f.PnlCostUsd = market.Unknown, market.Unknown, market.Unknown
		return
	}

	// Without deposits these are not finite, and so unknown.
	percent := 100 / f.DepositsUsd
	f.ROI = finite(f.PnlUsd * percent)
	f.FeePercent = finite(f.FeesUsd * percent)
}

// PerYear is how many times as long as an age a year is. About 4 ns.
func PerYear(ageSeconds int64) float64 { return year / float64(max(ageSeconds, ageFloor)) }

// AnnualRate is what percent at an age come to in a year, which is so many times as long.
func AnnualRate(percent, perYear float64) float64 { return finite(percent * perYear) }

// setReason sets whether a leg that the row needs has no price, and why a number
// is missing.
func (r *row) setReason() {
	f := r.f
	f.PriceUnavailable, f.Reason = false, market.ReasonNone
	unneeded := market.ReasonNone // why a leg of which there never was anything has no price
	for leg := range r.rawUsd {
		switch {
		case market.Known(r.rawUsd[leg]):
		case r.needsLeg(leg):
			f.PriceUnavailable = true
			f.Reason = max(f.Reason, r.legReason(leg))
		default:
			unneeded = max(unneeded, r.legReason(leg))
		}
	}

	switch {
	case f.PriceUnavailable:
	case f.UnrealizableLeg():
		f.Reason = market.ReasonUnrealizable
	case !market.Known(f.GasUsd) && !market.Known(r.nativeUsd):
		f.Reason = r.nativeReason()
	case unneeded != market.ReasonNone:
		f.Reason = unneeded
	case !market.Known(f.PnlCostUsd) && !r.position.GasUnknown:
		f.Reason = market.ReasonNoMarket // when something was paid in or out
	}
}

// nativeReason says why the native currency has no price. Of a closed row's that is not
// kept.
func (r *row) nativeReason() market.Reason {
	native := r.st.Native
	if !r.f.Open || native >= r.st.Prices.Len() {
		return market.ReasonNoMarket
	}
	return r.st.Prices.At(native).Reason
}

// legReason says why a leg has no price.
func (r *row) legReason(leg int) market.Reason {
	switch {
	case !r.f.Open:
		return cmp.Or(r.position.Close(leg).Reason, market.ReasonNoMarket)
	case market.Known(r.sides[leg].rawUsd):
		return cmp.Or(r.sides[leg].reason, market.ReasonOwnPoolOnly)
	}
	return r.sides[leg].reason
}

// needsLeg reports whether any group has an amount of a leg.
func (r *row) needsLeg(leg int) bool {
	c := &r.f.Claim
	return c.principal[leg] != 0 || c.fees[leg] != 0 || r.deposits[leg] != 0 ||
		r.withdrawals[leg] != 0 || r.collected[leg] != 0
}

// MaxPercent bounds apr, feeApr and roi on output, either way. A value that
// stands on the bound is not to be trusted.
const MaxPercent = 100_000

// ClampPercent bounds an apr, feeApr or roi for output; orders go by the
// number before the clamp.
func ClampPercent(x float64) float64 { return max(-MaxPercent, min(x, MaxPercent)) }
