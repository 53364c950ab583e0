package index

import (
	"bytes"

	"tidemark/rankings/block"
)

// Dividers are the characters that may stand between the two symbols of a pair.
// Symbols may contain them too.
const Dividers = "/- "

// FindHalves returns the tokens whose symbols text begins with, up to a divider,
// and those whose symbols it ends with.
func (s *Symbols) FindHalves(text []byte) (first, last *block.Bitmap) {
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

// ArePair reports whether text, which begins with the symbol of a and ends with
// that of b, has nothing but Dividers between them.
func (s *Symbols) ArePair(text []byte, a, b uint32) bool {
	from, to := len(s.of(a)), len(text)-len(s.of(b))
	return from < to && len(bytes.Trim(text[from:to], Dividers)) == 0
}

// of returns the symbol of a token as searches compare it.
func (s *Symbols) of(token uint32) []byte {
	if token == 0 {
		return s.text[:s.ends[0]]
	}
	return s.text[s.ends[token-1]:s.ends[token]]
}

func isDivider(c byte) bool { return c == '/' || c == '-' || c == ' ' }
