package rankings

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// symbols is the lower-cased symbols of all tokens in one buffer.
type symbols struct {
	text []byte
	ends []uint32 // by token: where its symbol ends in text
}

// extend returns the symbols of st, given s, the symbols of before.
func (s *symbols) extend(before, st *market.State, pause func()) symbols {
	n := st.Tokens.Len()
	same := sameRows(&before.Tokens, &st.Tokens, uint32(len(s.ends)), sameSymbol, pause)
	if same && n == uint32(len(s.ends)) {
		return *s
	}

	next := symbols{}
	if same {
		next = symbols{text: bytes.Clone(s.text), ends: append([]uint32(nil), s.ends...)}
	}

	for i := uint32(len(next.ends)); i < n; i++ {
		if i%strideColdRows == 0 {
			pause()
		}
		next.text = appendShown(next.text, st.Tokens.At(i).Symbol.String())
		next.ends = append(next.ends, uint32(len(next.text)))
	}

	return next
}

// appendShown appends the characters of a symbol that rows show, lower-cased.
// That is the text which searches compare.
func appendShown(dst []byte, symbol string) []byte {
	for _, r := range symbol {
		if !IsHidden(r) {
			dst = appendLower(dst, r)
		}
	}
	return dst
}

// appendLower appends a character in lower case. İ is the only character in
// Unicode whose full lower case has two characters. Its simple mapping would be
// i, which occurs in many symbols.
func appendLower(dst []byte, r rune) []byte {
	if r == 'İ' {
		return append(dst, "i\u0307"...)
	}
	return utf8.AppendRune(dst, unicode.ToLower(r))
}

// IsHidden reports whether a character is left out of token symbols and names,
// which contracts choose freely: control characters, and characters without
// width or that change the direction of text, which can make one symbol look
// like another.
func IsHidden(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\uFEFF':
		return true
	case r < '\u200B' || r > '\u2069':
		return false
	}
	return r <= '\u200F' || r >= '\u202A' && r <= '\u202E' || r >= '\u2060'
}

func sameSymbol(a, b *market.Token) bool { return a.Symbol == b.Symbol }

// findText returns the tokens whose symbol contains text, which is not empty.
func (s *symbols) findText(text []byte) *block.Bitmap {
	found := block.NewBitmap(uint32(len(s.ends)))
	token, at := 0, 0
	for {
		hit := bytes.Index(s.text[at:], text)
		if hit < 0 {
			return found
		}

		// The token whose symbol starts the match.
		for at += hit; int(s.ends[token]) <= at; token++ {
		}
		if end := int(s.ends[token]); at+len(text) <= end {
			found.Set(uint32(token))
			at = end
		} else {
			at++ // the match extends into the next symbol
		}
	}
}
