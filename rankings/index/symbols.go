package index

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"tidemark/rankings/block"
	"tidemark/rankings/texts"
)

// Symbols is the lower-cased symbols of all tokens in one buffer.
type Symbols struct {
	text []byte
	ends []uint32 // by token: where its symbol ends in text
}

// Len returns how many symbols there are.
func (s *Symbols) Len() uint32 { return uint32(len(s.ends)) }

// Extend returns the first n symbols, given s. same reports whether the symbols of s are
// unchanged.
func (s *Symbols) Extend(
	n uint32, same bool, symbol func(token uint32) string, pause func(),
) Symbols {
	if same && n == s.Len() {
		return *s
	}

	next := Symbols{}
	if same {
		next = Symbols{text: bytes.Clone(s.text), ends: append([]uint32(nil), s.ends...)}
	}

	for i := next.Len(); i < n; i++ {
		if i%StrideColdRows == 0 {
			pause()
		}
		next.text = appendShown(next.text, symbol(i))
		next.ends = append(next.ends, uint32(len(next.text)))
	}

	return next
}

// appendShown appends the characters of a symbol that rows show, lower-cased.
// That is the text which searches compare.
func appendShown(dst []byte, symbol string) []byte {
	for _, r := range symbol {
		if !texts.IsHidden(r) {
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

// FindText returns the tokens whose symbol contains text, which is not empty.
func (s *Symbols) FindText(text []byte) *block.Bitmap {
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

// LowerText returns a text as searches compare it.
func LowerText(search string) (text []byte) {
	for _, r := range search {
		text = appendLower(text, r)
	}
	return text
}
