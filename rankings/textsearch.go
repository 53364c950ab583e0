package rankings

import (
	"bytes"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// filterSearch restricts f to pools that contain search as a literal substring
// of a symbol, a token address or the pool id, all lower-cased. If it is two symbols
// with a divider between them, the pools of that pair match too. If few pools can
// match, they are looked up. If many can, each pool is tested as it is read, so that a
// page or a count that stops early costs little.
func (f *filter) filterSearch(v *View, search string) {
	text := lowerText(search)
	if inEveryID(text) {
		return
	}

	c, st := v.columns, v.State
	if bytes.ContainsAny(text, dividers) {
		f.filterPair(c, text)
		return
	}

	// Matching pool ids and token addresses, by trigrams.
	tokens, found := c.symbols.findText(text), block.NewBitmap(f.n)
	switch {
	case !inSomeHex(string(text)):
	case len(text) == 1:
		digit := uint16(1) << letter(text[0])
		f.addTest(func(pool uint32) bool {
			a, b := c.sides.at(2*pool), c.sides.at(2*pool+1)
			digits := c.poolGrams.digits[pool] | c.tokenGrams.digits[a] | c.tokenGrams.digits[b]
			return digits&digit != 0 || tokens.Has(a) || tokens.Has(b)
		})
		return
	default:
		c.poolGrams.findText(text, poolIDs(st), found.Set)
		c.tokenGrams.findText(text, addresses(st), tokens.Set)
	}

	// Pools of the matching tokens.
	sides, few := c.byToken.candidatesOfGroups(tokens, int(f.n/fewPools))
	if !few {
		f.addTest(func(pool uint32) bool {
			return found.Has(pool) || tokens.Has(c.sides.at(2*pool)) || tokens.Has(c.sides.at(2*pool+1))
		})
		return
	}

	for _, side := range sides {
		if tokens.Has(c.sides.at(side)) {
			found.Set(side / 2)
		}
	}

	f.require(found)
}

// lowerText returns a text as searches compare it.
func lowerText(search string) (text []byte) {
	for _, r := range search {
		text = appendLower(text, r)
	}
	return text
}

// inEveryID reports whether every id contains a text.
func inEveryID(text []byte) bool {
	return string(text) == "0" || string(text) == "x" || string(text) == "0x"
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
