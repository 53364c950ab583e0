package rankings

import (
	"bytes"
	"encoding/hex"
	"strings"

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
			next.text = append(next.text, strings.ToLower(*symbol)...)
		}
		next.ends = append(next.ends, uint32(len(next.text)))
	}
	return next
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

// finder answers which pools of a view a search text finds: a literal
// substring of the symbols, the addresses or the pool id, all lower-cased.
type finder struct {
	view   *View
	text   []byte
	hex    bool // the text can stand in an address or id
	tokens *block.Bitmap
}

func newFinder(v *View, text string) *finder {
	lower := strings.ToLower(text)
	f := &finder{
		view: v, text: []byte(lower), hex: inSomeHex(lower),
		tokens: v.columns.symbols.matching([]byte(lower)),
	}
	if f.hex {
		for i := range v.State.Tokens.Len() {
			if f.inHex(v.State.Tokens.At(i).Address[:]) {
				f.tokens.Set(i)
			}
		}
	}
	return f
}

// inSomeHex reports whether there are addresses that have text in them.
func inSomeHex(text string) bool {
	digits, _ := strings.CutPrefix(text, "0x")
	if len(digits) == len(text) {
		digits, _ = strings.CutPrefix(text, "x")
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}

func (f *finder) finds(pool uint32) bool {
	currency := f.view.columns.currency[pool]
	return f.tokens.Has(currency[0]) || f.tokens.Has(currency[1]) ||
		f.hex && f.inHex(f.view.State.Pools.At(pool).ID[:])
}

func (f *finder) inHex(id []byte) bool {
	var text [2 + 2*len(market.PoolID{})]byte
	return bytes.Contains(hex.AppendEncode(append(text[:0], "0x"...), id), f.text)
}
