package rankings

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// symbols are the lower-cased symbols of all tokens in one piece.
type symbols struct {
	text []byte
	ends []uint32 // of each token's symbol in text
}

// extend returns the symbols of st, given s of before.
func (s *symbols) extend(before, st *market.State) symbols {
	n := st.Tokens.Len()
	same := sameRows(&before.Tokens, &st.Tokens, uint32(len(s.ends)), sameSymbol)
	if same && n == uint32(len(s.ends)) {
		return *s
	}
	next := symbols{}
	if same {
		next = symbols{text: bytes.Clone(s.text), ends: append([]uint32(nil), s.ends...)}
	}

	for i := uint32(len(next.ends)); i < n; i++ {
		if symbol := st.Tokens.At(i).Symbol; symbol != nil {
			next.text = appendShown(next.text, *symbol)
		}
		next.ends = append(next.ends, uint32(len(next.text)))
	}

	return next
}

// appendShown appends a symbol as searches compare it: what rows show of it,
// lower-cased.
func appendShown(dst []byte, symbol string) []byte {
	for _, r := range symbol {
		if !IsHidden(r) {
			dst = appendLower(dst, r)
		}
	}
	return dst
}

// appendLower appends a character in lower case. Of all of Unicode only İ has
// two characters for its lower case; its simple mapping, i, would match every
// symbol with an i in it.
func appendLower(dst []byte, r rune) []byte {
	if r == 'İ' {
		return append(dst, "i\u0307"...)
	}
	return utf8.AppendRune(dst, unicode.ToLower(r))
}

// IsHidden reports whether a character of a symbol or a name, which a contract
// on the chain chose, is left out wherever it is shown: control characters,
// which break a line, and those without a width or that reverse the text, with
// which one symbol can look like another.
func IsHidden(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\uFEFF':
		return true
	case r < '\u200B' || r > '\u2069':
		return false
	}
	return r <= '\u200F' || r >= '\u202A' && r <= '\u202E' || r >= '\u2060'
}

func sameSymbol(a, b *market.Token) bool {
	if a.Symbol == nil || b.Symbol == nil {
		return a.Symbol == b.Symbol
	}
	return *a.Symbol == *b.Symbol
}

// matching returns the tokens whose symbol has text, which is not empty, in it.
func (s *symbols) matching(text []byte) *block.Bitmap {
	found := block.NewBitmap(uint32(len(s.ends)))
	token, at := 0, 0
	for {
		hit := bytes.Index(s.text[at:], text)
		if hit < 0 {
			return found
		}
		for at += hit; int(s.ends[token]) <= at; token++ {
		}

		if end := int(s.ends[token]); at+len(text) <= end {
			found.Set(uint32(token))
			at = end
		} else {
			at++ // it reaches into the next symbol
		}
	}
}

// searched lets the pools match in which a text is found: a literal substring
// of a symbol, an address or the pool id, all lower-cased. What few pools have
// is looked up; what many have is tested as they come, so that a page and a
// count that stop early cost little.
func (f *filter) searched(v *View, search string) {
	var text []byte
	for _, r := range search {
		text = appendLower(text, r)
	}

	lower := string(text)
	if lower == "0" || lower == "x" || lower == "0x" {
		return // every id has it
	}
	c, st := v.columns, v.State
	tokens, found := c.symbols.matching(text), block.NewBitmap(f.n)
	switch {
	case !inSomeHex(lower):
	case len(text) == 1:
		digit := uint16(1) << letter(text[0])
		f.check(func(pool uint32) bool {
			a, b := c.sides[2*pool], c.sides[2*pool+1]
			digits := c.poolGrams.digits[pool] | c.tokenGrams.digits[a] | c.tokenGrams.digits[b]
			return digits&digit != 0 || tokens.Has(a) || tokens.Has(b)
		})
		return
	default:
		c.poolGrams.mark(text, poolIDs(st), found.Set)
		c.tokenGrams.mark(text, addresses(st), tokens.Set)
	}

	sides, few := c.byToken.ofGroups(tokens, int(f.n/fewPools))
	if !few {
		f.check(func(pool uint32) bool {
			return found.Has(pool) || tokens.Has(c.sides[2*pool]) || tokens.Has(c.sides[2*pool+1])
		})
		return
	}

	for _, side := range sides {
		if tokens.Has(c.sides[side]) {
			found.Set(side / 2)
		}
	}

	f.in(found)
}

// fewPools is the part of all pools up to which it is cheaper to look them up:
// then a test of each would pass over many before a page is full.
const fewPools = 16

func poolIDs(st *market.State) func(row uint32) []byte {
	return func(row uint32) []byte { return st.Pools.At(row).ID[:] }
}

func addresses(st *market.State) func(row uint32) []byte {
	return func(row uint32) []byte { return st.Tokens.At(row).Address[:] }
}
