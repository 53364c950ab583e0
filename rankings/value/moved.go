package value

import (
	"math"

	"tidemark/rankings/market"
)

// strideMoved is how many tokens are compared between two pauses. Each takes a few records,
// which are hardly ever in the processor's cache.
const strideMoved = 256

// MovedPrices returns, by token, whether it is worth something else than in an earlier
// State, or something else is known of its price; and whether the native currency is,
// by which all rows are valued. It calls pause every 100 µs or so of work.
func (k *Ranker) MovedPrices(before *market.State, pause func()) (tokens []bool, native bool) {
	tokens = make([]bool, len(k.tokens))
	known := min(before.Tokens.Len(), before.Prices.Len())
	for i := range uint32(len(tokens)) {
		if i%strideMoved == 0 {
			pause()
		}
		if tokens[i] = i >= known; tokens[i] {
			continue
		}

		// Rows that were not written since stand where they stood.
		if before.Prices.At(i) != k.st.Prices.At(i) || before.Tokens.At(i) != k.st.Tokens.At(i) {
			was := viewToken(before, i)
			tokens[i] = !was.worthAs(k.viewToken(i))
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
