package value

import (
	"math"
	"math/bits"

	"tidemark/rankings/ahead"
	"tidemark/rankings/market"
)

// Kept is all that the figures of an open position follow from but prices: its claim and
// what went in and out. It is one line and a half of the cache, where the records that it
// was made from are up to twelve in five places, and so most of what a row costs is saved
// when nothing but prices moved.
type Kept struct {
	Claim
	flows
}

// poolPrices is what the open rows of a pool are valued at. It has half a line of the cache,
// because reading it is most of what a row costs whose pool has few.
type poolPrices struct {
	rawUsd  legs // Unknown where only the pool itself gives the price
	exitUsd legs // what a claim may be; less than any if the pool is quarantined
}

// exitFlags say of a pool that no part of the exit of a leg is a position's own liquidity, a
// bit for each leg, and that the pool is quarantined.
type exitFlags uint8

const (
	noOwnExit     exitFlags = 1
	isQuarantined exitFlags = 1 << 2
)

func pricesOf(
	index uint32, pool *market.Pool, sides [2]*tokenView,
) (p poolPrices, flags exitFlags) {
	for leg, t := range sides {
		p.rawUsd[leg], p.exitUsd[leg] = t.rawUsdIn(index), t.exitUsd
		if t.anchor {
			p.exitUsd[leg] = math.Inf(1)
		}

		if !hasOwnExit(index, pool, leg, t, sides[1-leg]) {
			flags |= noOwnExit << leg
		}
	}

	if pool.Quarantined {
		p.exitUsd[0], flags = math.Inf(-1), isQuarantined
	}
	return p, flags
}

// Keep fills kept from the row that Rank ranked last, which is open.
func (k *Ranker) Keep(kept *Kept) { *kept = Kept{k.row.f.Claim, k.row.flows} }

// Reclaim computes the claims of rows of a chunk again, because their pools moved: of those
// that are open and marked, the first row of the chunk by the lowest bit. kept has one
// entry for each open row of the chunk, and open marks those; pools has the pool of each row
// of the chunk. It reads what the rows need all of a kind at a time, so that their cache
// misses overlap.
func (k *Ranker) Reclaim(first uint32, pools []uint32, rows, open uint64, kept []Kept) {
	rows &= open
	if rows == 0 {
		return
	}

	chunk := k.st.Positions.Chunk(first)
	k.chunk = nil // its surroundings are written over
	for rest := rows; rest != 0; rest &= rest - 1 {
		p := &chunk[bits.TrailingZeros64(rest)]
		k.sink += uint64(p.LowerSlot) + p.FeeGrowthInside1LastX128[3]
	}
	for rest := rows; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		s := &k.around[n]
		*s = surroundingsOf(k.st, pools[n], &chunk[n])
		k.sink += readPool(s.pool) + readTick(s.lower) + readTick(s.upper)
	}

	for rest := rows; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		principal, fees := k.around[n].claimOf(&chunk[n])
		kept[bits.OnesCount64(open&(rest&-rest-1))].Claim = approxClaim(&principal, &fees)
	}
}

// AskPrices asks for the memory of what Renew reads of a pool.
func (k *Ranker) AskPrices(pool uint32) { ahead.Line(&k.prices[pool]) }

// Results are the figures of an open position by which rows are sorted and filtered and that
// follow from prices: not what depends on its age.
type Results struct {
	ROI, FeePercent, PnlUsd            float64
	UnderlyingValueUsd, PendingFeesUsd float64
}

// Results returns the figures that Results has.
func (f *Figures) Results() Results {
	return Results{f.ROI, f.FeePercent, f.PnlUsd, f.UnderlyingValueUsd, f.PendingFeesUsd}
}

// Renew fills r with the results of open position i of a pool that is prepared, to the bit as
// Rank does. It reads no record. It takes about 20 ns for nearly all rows. It does not return
// r, since to copy it would have to wait until it is written.
func (k *Ranker) Renew(i, pool uint32, kept *Kept, r *Results) {
	at := &k.prices[pool]
	if !kept.withinExits(at) {
		flags := k.exits[pool]
		if flags&isQuarantined != 0 || kept.limitBy(at, flags, 0) != within || kept.limitBy(at, flags, 1) != within {
			*r = k.renew(i, pool, kept)
			return
		}
	}
	kept.valueAt(&at.rawUsd, k.weiUsd, r)
}

// withinExits reports whether both claims are within their exits, whatever part of these is
// the position's own liquidity: it is at most what the position holds of the other leg.
func (k *Kept) withinExits(at *poolPrices) bool {
	usd0, usd1 := at.rawUsd[0], at.rawUsd[1]
	claim0, claim1 := (k.principal[0]+k.fees[0])*usd0, (k.principal[1]+k.fees[1])*usd1
	return claim0+float64(k.principal[1]*usd1) <= at.exitUsd[0] &&
		claim1+float64(k.principal[0]*usd0) <= at.exitUsd[1]
}

// valueAt fills r with the results of a row whose claims are within their exits, as valueGroups
// and computeSums do.
func (k *Kept) valueAt(usd *legs, weiUsd float64, r *Results) {
	value, pending := k.principal.steadyUsdAt(usd), k.fees.steadyUsdAt(usd)
	deposits, withdrawals := k.deposits.steadyUsdAt(usd), k.withdrawals.steadyUsdAt(usd)
	fees := steadyFinite(pending + k.collected.steadyUsdAt(usd))
	divergence := steadyFinite(value + withdrawals - deposits)
	percent := 100 / deposits

	pnl := steadyFinite(divergence + fees - steadyFinite(steadyWorth(k.gasWei, weiUsd)))
	r.UnderlyingValueUsd, r.PendingFeesUsd, r.PnlUsd = value, pending, pnl
	r.ROI, r.FeePercent = steadyFinite(pnl*percent), steadyFinite(fees*percent)
}

// These are usdAt, worth and finite without branches. Which amounts are 0 and which prices
// are known cannot be predicted over rows of many pools; over those of one they can, and
// then a branch is faster.

func (a *legs) steadyUsdAt(usd *legs) float64 {
	return steadyFinite(steadyWorth(a[0], usd[0]) + steadyWorth(a[1], usd[1]))
}

func steadyWorth(amount, usd float64) float64 {
	worth := math.Float64bits(amount * usd)
	if math.Float64bits(amount) == 0 {
		worth = 0
	}
	return math.Float64frombits(worth)
}

func steadyFinite(x float64) float64 {
	const exponent = 0x7ff << 52
	b := math.Float64bits(x)
	if b&exponent == exponent {
		b = unknownBits
	}
	return math.Float64frombits(b)
}

var unknownBits = math.Float64bits(market.Unknown)

// renew is Renew of any row.
func (k *Ranker) renew(i, pool uint32, kept *Kept) Results {
	at, flags, f := &k.prices[pool], k.exits[pool], &k.figures
	f.Claim = kept.Claim
	if flags&isQuarantined != 0 {
		f.voidUsd()
		return f.Results()
	}

	f.Unrealizable = [2]bool{}
	for leg := range f.Unrealizable {
		switch f.Claim.limitBy(at, flags, leg) {
		case exceeds:
			f.Unrealizable[leg] = true
		case unsure:
			k.limitClaims(i, pool, f)
		}
	}

	v := &k.row.valuation
	v.f, v.rawUsd, v.nativeUsd, v.flows = f, at.rawUsd, k.native, kept.flows
	v.valueGroups()
	v.computeSums()
	return f.Results()
}

// limit says whether a claim is within its exit.
type limit uint8

const (
	within limit = iota
	exceeds
	unsure // the exit has to be looked at without the position's own liquidity
)

// limitBy decides what it can without the records: hardly any row needs more.
func (c *Claim) limitBy(at *poolPrices, flags exitFlags, leg int) limit {
	claim := (c.principal[leg] + c.fees[leg]) * at.rawUsd[leg]
	switch {
	case !(claim > 0):
		return within
	case claim > at.exitUsd[leg]:
		return exceeds
	case flags>>leg&noOwnExit != 0 || claim+float64(c.principal[1-leg]*at.rawUsd[1-leg]) <= at.exitUsd[leg]:
		return within
	}
	return unsure
}

// limitClaims is limitClaims of a row.
func (k *Ranker) limitClaims(i, pool uint32, f *Figures) {
	r := row{st: k.st, position: k.st.Positions.At(i), at: k.pools[pool]}
	r.sides = [2]*tokenView{&k.tokens[r.at.tokens[0]], &k.tokens[r.at.tokens[1]]}
	r.f, r.rawUsd = f, k.prices[pool].rawUsd
	r.limitClaims()
}
