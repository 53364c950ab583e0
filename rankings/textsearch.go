package rankings

import (
	"bytes"

	"tidemark/rankings/block"
	"tidemark/rankings/index"
	"tidemark/rankings/market"
)

// filterSearch restricts f to pools that contain search as a literal substring
// of a symbol, a token address or the pool id, all lower-cased. If it is two symbols
// with a divider between them, the pools of that pair match too. If few pools can
// match, they are looked up. If many can, each pool is tested as it is read, so that a
// page or a count that stops early costs little.
func (f *filter) filterSearch(v *View, search string) {
	text := index.LowerText(search)
	if index.InEveryID(text) {
		return
	}

	c, st := v.columns, v.State
	if bytes.ContainsAny(text, index.Dividers) {
		f.filterPair(c, text)
		return
	}

	// Matching pool ids and token addresses, by trigrams.
	tokens, found := c.symbols.FindText(text), block.NewBitmap(f.n)
	switch {
	case !index.InSomeHex(string(text)):
	case len(text) == 1:
		digit := index.Digit(text[0])
		f.addTest(func(pool uint32) bool {
			a, b := c.sides.At(2*pool), c.sides.At(2*pool+1)
			digits := c.poolGrams.Digits[pool] | c.tokenGrams.Digits[a] | c.tokenGrams.Digits[b]
			return digits&digit != 0 || tokens.Has(a) || tokens.Has(b)
		})
		return
	default:
		c.poolGrams.FindText(text, poolIDs(st), found.Set)
		c.tokenGrams.FindText(text, addresses(st), tokens.Set)
	}

	// Pools of the matching tokens.
	sides, few := c.byToken.CandidatesOf(tokens, int(f.n/fewPools))
	if !few {
		f.addTest(func(pool uint32) bool {
			return found.Has(pool) || tokens.Has(c.sides.At(2*pool)) || tokens.Has(c.sides.At(2*pool+1))
		})
		return
	}

	for _, side := range sides {
		if tokens.Has(c.sides.At(side)) {
			found.Set(side / 2)
		}
	}

	f.require(found)
}

// fewPools: up to 1/fewPools of all pools are looked up. With more, testing each
// pool as it is read fills a page sooner.
const fewPools = 16

func poolIDs(st *market.State) func(row uint32) []byte {
	return func(row uint32) []byte { return st.Pools.At(row).ID[:] }
}

func addresses(st *market.State) func(row uint32) []byte {
	return func(row uint32) []byte { return st.Tokens.At(row).Address[:] }
}
