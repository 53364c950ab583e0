package rankings

import (
	"bytes"

	"tidemark/rankings/block"
)

// dividers are the characters that may stand between the two symbols of a pair.
// Symbols may contain them too.
const dividers = "/- "

// filterPair restricts f to pools whose symbols are the two of text, in either
// order, and to those with text in one symbol. Ids and addresses do not contain a
// divider.
func (f *filter) filterPair(c *columns, text []byte) {
	whole := c.symbols.findText(text)
	first, last := c.symbols.findHalves(text)
	f.addTest(func(pool uint32) bool {
		a, b := c.sides.at(2*pool), c.sides.at(2*pool+1)
		return first.Has(a) && last.Has(b) && c.symbols.arePair(text, a, b) ||
			first.Has(b) && last.Has(a) && c.symbols.arePair(text, b, a) ||
			whole.Has(a) || whole.Has(b)
	})

	// A matching pool has a token in whole or in first, and one in whole or in last:
	// if few pools have the one or the other, only those are tested.
	for _, half := range []*block.Bitmap{first, last} {
		for w, word := range whole.Words() {
			half.Words()[w] |= word
		}
		sides, few := c.byToken.candidatesOfGroups(half, int(f.n/fewPools))
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

// findHalves returns the tokens whose symbols text begins with, up to a divider,
// and those whose symbols it ends with.
func (s *symbols) findHalves(text []byte) (first, last *block.Bitmap) {
	n := uint32(len(s.ends))
	first, last = block.NewBitmap(n), block.NewBitmap(n)
	for token := range n {
		symbol := s.of(token)
		rest := len(text) - len(symbol)
		if len(symbol) == 0 || rest < 1 {
			continue
		}

		if isDivider(text[len(symbol)]) && bytes.Equal(text[:len(symbol)], symbol) {
			first.Set(token)
		}
		if isDivider(text[rest-1]) && bytes.Equal(text[rest:], symbol) {
			last.Set(token)
		}
	}
	return first, last
}

// arePair reports whether text, which begins with the symbol of a and ends with
// that of b, has nothing but dividers between them.
func (s *symbols) arePair(text []byte, a, b uint32) bool {
	from, to := len(s.of(a)), len(text)-len(s.of(b))
	return from < to && len(bytes.Trim(text[from:to], dividers)) == 0
}

// of returns the symbol of a token as searches compare it.
func (s *symbols) of(token uint32) []byte {
	if token == 0 {
		return s.text[:s.ends[0]]
	}
	return s.text[s.ends[token-1]:s.ends[token]]
}

func isDivider(c byte) bool { return c == '/' || c == '-' || c == ' ' }
