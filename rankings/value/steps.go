package value

import (
	"math"
	"strconv"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// explainAmounts shows the exact integers of the row and how those that are
// not simply sums of its history come about.
func (e *Explanation) explainAmounts(r *row) {
	m := &e.Metrics
	if m.Open {
		e.explainPrincipal(r)
		e.explainFees(r)
	}
	e.amountStep("deposited", "sum over mints", &m.Deposits)
	e.amountStep("withdrawn", "sum over burns", &m.Withdrawals)
	e.amountStep("collected", "sum of the fees that changes paid out", &m.Collected)
}

// Formulas of the principal by where the price stands.
const (
	belowRange = "amount0 = L * 2^96 * (sqrtUpper - sqrtLower) / sqrtUpper / sqrtLower"
	aboveRange = "amount1 = L * (sqrtUpper - sqrtLower) / 2^96"
	insideOf   = "amount0 = L * 2^96 * (sqrtUpper - sqrtPrice) / sqrtUpper / sqrtPrice; " +
		"amount1 = L * (sqrtPrice - sqrtLower) / 2^96"
	feeFormula = "fees = (inside - insideLast mod 2^256) * L / 2^128"
	bounded    = ", at most 100000 either way"
	rawFormula = "amount / unit * priceUsd, both legs; an amount of 0 needs no price"
)

func (e *Explanation) explainPrincipal(r *row) {
	p, pool := r.position, r.pool
	lower, upper := r.st.Ticks.At(p.LowerSlot), r.st.Ticks.At(p.UpperSlot)
	formula := insideOf
	switch {
	case pool.Tick < p.TickLower:
		formula = belowRange
	case pool.Tick >= p.TickUpper:
		formula = aboveRange
	}

	liquidity := p.Liquidity().U256()
	e.Steps = append(e.Steps, Step{Name: "principal", Formula: formula, Value: market.Unknown,
		Terms: []Term{
			rawTerm("L", &liquidity), rawTerm("sqrtPrice", &pool.SqrtPriceX96),
			rawTerm("sqrtLower", &lower.SqrtPriceX96), rawTerm("sqrtUpper", &upper.SqrtPriceX96),
			rawTerm("amount0", &r.principal[0]), rawTerm("amount1", &r.principal[1]),
		}})
}

func (e *Explanation) explainFees(r *row) {
	p, pool := r.position, r.pool
	lower, upper := r.st.Ticks.At(p.LowerSlot), r.st.Ticks.At(p.UpperSlot)
	inside0 := clmath.FeeGrowthInside(pool.Tick, p.TickLower, p.TickUpper,
		&pool.FeeGrowthGlobal0X128, &lower.FeeGrowthOutside0X128, &upper.FeeGrowthOutside0X128)
	inside1 := clmath.FeeGrowthInside(pool.Tick, p.TickLower, p.TickUpper,
		&pool.FeeGrowthGlobal1X128, &lower.FeeGrowthOutside1X128, &upper.FeeGrowthOutside1X128)

	liquidity := p.Liquidity().U256()
	e.Steps = append(e.Steps, Step{Name: "uncollected", Formula: feeFormula, Value: market.Unknown,
		Terms: []Term{
			rawTerm("L", &liquidity),
			rawTerm("inside0", &inside0), rawTerm("insideLast0", &p.FeeGrowthInside0LastX128),
			rawTerm("inside1", &inside1), rawTerm("insideLast1", &p.FeeGrowthInside1LastX128),
			rawTerm("fees0", &r.fees[0]), rawTerm("fees1", &r.fees[1]),
		}})
}

func (e *Explanation) amountStep(name, formula string, a *Amounts) {
	e.Steps = append(e.Steps, Step{Name: name, Formula: formula, Value: market.Unknown,
		Terms: []Term{rawTerm("amount0", &a.Raw[0]), rawTerm("amount1", &a.Raw[1])}})
}

func rawTerm(name string, v *clmath.U256) Term {
	exact := *v
	return Term{Name: name, Value: approx(v), Raw: &exact}
}

// explainResults shows what the integers are worth, the rules that a leg has
// to pass, and the row's results.
func (e *Explanation) explainResults(r *row) {
	m := &e.Metrics
	for leg := range m.Price {
		e.explainLeg(r, leg)
	}

	e.worthStep(r, "V", &m.Current)
	e.worthStep(r, "uncollectedUsd", &m.Uncollected)
	e.worthStep(r, "collectedUsd", &m.Collected)
	e.worthStep(r, "W", &m.Withdrawals)
	e.worthStep(r, "D", &m.Deposits)
	e.addStep("G", "wei / 10^18 * nativePriceUsd", m.GasUsd, gasTerm(r.position),
		Term{Name: "nativePriceUsd", Value: m.NativeUsd})
	e.addStep("F", "uncollectedUsd + collectedUsd", m.FeesUsd,
		Term{Name: "uncollectedUsd", Value: m.PendingFeesUsd},
		Term{Name: "collectedUsd", Value: m.CollectedUsd})

	v, w := Term{Name: "V", Value: m.UnderlyingValueUsd}, Term{Name: "W", Value: m.WithdrawalsUsd}
	d, f := Term{Name: "D", Value: m.DepositsUsd}, Term{Name: "F", Value: m.FeesUsd}
	unless := ""
	if m.UnrealizableLeg() {
		unless = "; null with a leg that is unrealizable"
	}

	e.addStep("divergence", "V + W - D"+unless, m.DivergenceUsd, v, w, d)
	e.addStep("pnlUsd", "divergence + F - G"+unless, m.PnlUsd,
		Term{Name: "divergence", Value: m.DivergenceUsd}, f, Term{Name: "G", Value: m.GasUsd})
	e.addStep("pnlCostUsd", "V + uncollectedUsd + flows, each at its value when it happened"+unless,
		m.PnlCostUsd, v, Term{Name: "uncollectedUsd", Value: m.PendingFeesUsd},
		Term{Name: "flows", Value: r.position.CostUsd})

	days := Term{Name: "ageDays", Value: float64(max(m.AgeSeconds, ageFloor)) / market.Day}
	e.addStep("roi", "pnlUsd / D * 100"+bounded, ClampPercent(m.ROI),
		Term{Name: "pnlUsd", Value: m.PnlUsd}, d)
	e.addStep("apr", "pnlUsd / D * 100 * 365 / ageDays"+bounded, ClampPercent(m.APR),
		Term{Name: "pnlUsd", Value: m.PnlUsd}, d, days)
	e.addStep("feeApr", "F / D * 100 * 365 / ageDays"+bounded+unless,
		ClampPercent(m.FeeAPR), f, d, days)
}

// gasTerm is what the position's transactions paid, if every receipt was there.
func gasTerm(p *market.Position) Term {
	if p.GasUnknown {
		return Term{Name: "wei", Value: market.Unknown}
	}
	wei := p.GasWei.U256()
	return rawTerm("wei", &wei)
}

// explainLeg shows the price of a leg and what limits its claim.
func (e *Explanation) explainLeg(r *row, leg int) {
	m := &e.Metrics
	name := "leg" + strconv.Itoa(leg)
	e.addStep(name, "priceUsd, if it is independent of the position's own pool", m.Price[leg].Usd)
	side := r.sides[leg]
	if !m.Open || side.anchor || !market.Known(m.Price[leg].Usd) {
		return
	}

	claim := finite((r.f.Claim.principal[leg] + r.f.Claim.fees[leg]) * r.rawUsd[leg])
	counted := claim
	if m.Unrealizable[leg] {
		counted = 0
	}

	e.addStep(name+"Claim", "claim counts 0 when it exceeds exit - own", counted,
		Term{Name: "claim", Value: claim},
		Term{Name: "exit", Value: finite(side.exitUsd)},
		Term{Name: "own", Value: finite(r.ownExit(leg))})
}

func (e *Explanation) worthStep(r *row, name string, a *Amounts) {
	m := &e.Metrics
	price0, price1 := m.Price[0].Usd, m.Price[1].Usd
	if a == &m.Current || a == &m.Uncollected {
		if m.Unrealizable[0] {
			price0 = 0
		}
		if m.Unrealizable[1] {
			price1 = 0
		}
	}

	e.addStep(name, rawFormula, a.Usd, rawTerm("amount0", &a.Raw[0]),
		r.unitTerm(0),
		Term{Name: "price0Usd", Value: price0}, rawTerm("amount1", &a.Raw[1]),
		r.unitTerm(1),
		Term{Name: "price1Usd", Value: price1})
}

// unitTerm is how many raw units a whole token of a leg has, also where they are too many
// for a price.
func (r *row) unitTerm(leg int) Term {
	term := Term{Name: "unit" + strconv.Itoa(leg), Value: market.Unknown}
	if t := r.st.Tokens.At(r.at.tokens[leg]); t.DecimalsKnown() {
		term.Value = math.Pow10(int(t.Decimals))
	}
	return term
}

func (e *Explanation) addStep(name, formula string, value float64, terms ...Term) {
	if e.Metrics.Reason == market.ReasonQuarantined {
		formula += "; null in a quarantined pool"
	}
	e.Steps = append(e.Steps, Step{Name: name, Formula: formula, Terms: terms, Value: value})
}
