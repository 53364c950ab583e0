package rankings

import (
	"tidemark/rankings/block"
)

// filterPair restricts f to pools whose symbols are the two of text, in either
// order, and to those with text in one symbol. Ids and addresses do not contain a
// divider.
func (f *filter) filterPair(c *columns, text []byte) {
	whole := c.symbols.FindText(text)
	first, last := c.symbols.FindHalves(text)
	f.addTest(func(pool uint32) bool {
		a, b := c.sides.At(2*pool), c.sides.At(2*pool+1)
		return first.Has(a) && last.Has(b) && c.symbols.ArePair(text, a, b) ||
			first.Has(b) && last.Has(a) && c.symbols.ArePair(text, b, a) ||
			whole.Has(a) || whole.Has(b)
	})

	// A matching pool has a token in whole or in first, and one in whole or in last:
	// if few pools have the one or the other, only those are tested.
	for _, half := range []*block.Bitmap{first, last} {
		for w, word := range whole.Words() {
			half.Words()[w] |= word
		}
		sides, few := c.byToken.CandidatesOf(half, int(f.n/fewPools))
		if !few {
			continue
		}

		pools := block.NewBitmap(f.n)
		for _, side := range sides {
			pools.Set(side / 2)
		}
		f.require(pools)
		return
	}
}
