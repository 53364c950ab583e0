package value

import (
	"math"

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

// poolPrices is what the open rows of a pool are valued at.
type poolPrices struct {
	rawUsd      legs // Unknown where only the pool itself gives the price
	exitUsd     legs // what a claim may be without a closer look
	quarantined bool
}

func pricesOf(pool uint32, at *poolView, tokens []tokenView) poolPrices {
	p := poolPrices{quarantined: at.quarantined}
	for leg, token := range at.tokens {
		t := &tokens[token]
		p.rawUsd[leg], p.exitUsd[leg] = t.rawUsd, t.exitUsd
		if t.onlyPool == pool && !t.corroborated {
			p.rawUsd[leg] = market.Unknown
		}
		if t.anchor {
			p.exitUsd[leg] = math.Inf(1)
		}
	}
	return p
}

// Keep fills kept from the row that Rank ranked last, which is open.
func (k *Ranker) Keep(kept *Kept) { *kept = Kept{k.row.f.Claim, k.row.flows} }

// Reclaim computes the claims of rows of a chunk again, because their pools moved: of those
// that are open and marked, the first row of the chunk by the lowest bit. kept has one
// entry for each open row of the chunk, and open marks those.
func (k *Ranker) Reclaim(first uint32, rows, open uint64, kept []Kept) {
	if rows &= open; rows == 0 {
		return
	}

	k.readClaims(first, rows)
	var f Figures
	for n, at := 0, 0; open>>n != 0; n++ {
		if rows>>n&1 != 0 {
			k.selectRow(first+uint32(n), &f)
			k.row.computeClaim()
			kept[at].Claim = f.Claim
		}
		at += int(open >> n & 1)
	}
}

// Renew fills f with the figures of open position i of a pool as far as they depend on
// prices, to the bit as Rank does: what it holds, fees, results, but nothing that
// depends on the age. It reads no record.
func (k *Ranker) Renew(i, pool uint32, kept *Kept, f *Figures) {
	at := &k.prices[pool]
	f.Claim = kept.Claim
	f.Unrealizable = [2]bool{}
	if kept.Claim.exceeds(at) {
		k.limitClaims(i, pool, f)
	}
	if at.quarantined {
		f.voidUsd()
		return
	}

	v := &k.row.valuation
	v.f, v.rawUsd, v.nativeUsd, v.flows = f, at.rawUsd, k.native, kept.flows
	v.valueGroups()
	v.computeSums()
}

// exceeds reports whether a claim needs a closer look: most do not.
func (c *Claim) exceeds(at *poolPrices) bool {
	worth0, worth1 := float64(c.principal[0]*at.rawUsd[0]), float64(c.principal[1]*at.rawUsd[1])
	claim0 := (c.principal[0] + c.fees[0]) * at.rawUsd[0]
	claim1 := (c.principal[1] + c.fees[1]) * at.rawUsd[1]
	return claim0 > 0 && !(claim0+worth1 <= at.exitUsd[0]) ||
		claim1 > 0 && !(claim1+worth0 <= at.exitUsd[1])
}

// limitClaims is that of a row for Renew.
func (k *Ranker) limitClaims(i, pool uint32, f *Figures) {
	r := row{st: k.st, position: k.st.Positions.At(i), at: k.pools[pool]}
	r.sides = [2]*tokenView{&k.tokens[r.at.tokens[0]], &k.tokens[r.at.tokens[1]]}
	r.f, r.rawUsd = f, k.prices[pool].rawUsd
	r.limitClaims()
}

// MovedPrices returns, by token, whether it is worth something else than in an earlier
// State, or something else is known of its price; and whether the native currency is,
// by which all rows are valued. It calls pause as NewRanker does.
func (k *Ranker) MovedPrices(before *market.State, pause func()) (tokens []bool, native bool) {
	tokens = make([]bool, len(k.tokens))
	for i := range tokens {
		if i%strideViewed == 0 {
			pause()
		}
		i := uint32(i)
		if i >= min(before.Tokens.Len(), before.Prices.Len()) {
			tokens[i] = true
			continue
		}
		if before.Prices.At(i) != k.st.Prices.At(i) || before.Tokens.At(i) != k.st.Tokens.At(i) {
			was := viewToken(before, i)
			tokens[i] = !was.worthAs(&k.tokens[i])
		}
	}
	return tokens, math.Float64bits(nativeUsd(before)) != math.Float64bits(k.native)
}

// worthAs reports whether two views of a token value rows alike.
func (t *tokenView) worthAs(other *tokenView) bool {
	x, y := *t, *other
	x.reason, y.reason = 0, 0
	for _, f := range [...][2]*float64{{&x.rawUsd, &y.rawUsd}, {&x.exitUsd, &y.exitUsd}} {
		if math.Float64bits(*f[0]) != math.Float64bits(*f[1]) {
			return false
		}
		*f[0], *f[1] = 0, 0
	}
	return x == y
}
