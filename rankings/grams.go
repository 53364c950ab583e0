package rankings

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"tidemark/rankings/market"
)

// grams finds the rows of a table by a piece of an identity, an address or a
// pool id, as people write it. It lists, for every three characters in a row,
// the rows that have them somewhere:
//
//	0xab12…ef$   is listed under   0xa xab ab1 b12 … ef$
//
// where $ stands for the end, so that every two characters begin a gram. A
// list has the rows ascending, as the rows left out before each, in varints:
// some 75 bytes a pool id and 45 an address in all. A piece of two characters
// is found in up to 18 lists, one of three in one, and a longer one by testing
// what stands in both of its shortest. Single digits nearly every row has; they
// are a set for each.
type grams struct {
	rows   uint32 // that are listed
	lists  []gramList
	digits []uint16 // of each row
}

// gramList is one gram's rows: all below next.
type gramList struct {
	next uint32
	gaps []byte
}

// The characters of a gram are hex digits and these.
const (
	letterX   = 16
	letterEnd = 17
	letters   = 18
	allGrams  = letters * letters * letters
)

// extend returns the grams of the first n rows, given g of rows of which same
// reports whether they are still the same. It shares the lists that stay.
func (g *grams) extend(n uint32, same bool, id func(row uint32) []byte, pause func()) grams {
	if same && n == g.rows && g.lists != nil {
		return *g
	}

	next := grams{rows: n, lists: make([]gramList, allGrams), digits: make([]uint16, n)}
	from := uint32(0)
	if same && n > g.rows && g.lists != nil {
		from = g.rows
		copy(next.lists, g.lists)
		copy(next.digits, g.digits)
	}

	var own [allGrams]bool // else appending would write into g's
	var room [maxHexText]byte
	for row := from; row < n; row++ {
		next.digits[row] = digitsOf(id(row))
		for gram := range gramsOf(append(appendText(room[:0], id(row)), '$')) {
			l := &next.lists[gram]
			if l.next == row+1 {
				continue
			}
			if !own[gram] {
				l.gaps, own[gram] = slices.Clip(l.gaps), true
			}
			l.gaps = binary.AppendUvarint(l.gaps, uint64(row-l.next))
			l.next = row + 1
		}
		if row%64 == 0 {
			pause()
		}
	}

	if from == 0 {
		for i := range next.lists {
			next.lists[i].gaps = slices.Clone(next.lists[i].gaps) // without room to grow
		}
	}

	return next
}

// maxHexText holds the text of a pool id and its end.
const maxHexText = 2 + 2*len(market.PoolID{}) + 1

// appendText appends an identity as people write it.
func appendText(dst, id []byte) []byte { return hex.AppendEncode(append(dst, "0x"...), id) }

// gramsOf yields the grams of a text.
func gramsOf(text []byte) func(yield func(gram int) bool) {
	return func(yield func(gram int) bool) {
		gram := 0
		for i, c := range text {
			gram = gram%(letters*letters)*letters + letter(c)
			if i >= 2 && !yield(gram) {
				return
			}
		}
	}
}

// digitsOf returns the set of the hex digits in the text of id.
func digitsOf(id []byte) (set uint16) {
	set = 1 // of 0x
	for _, b := range id {
		set |= 1<<(b>>4) | 1<<(b&15)
	}
	return set
}

func letter(c byte) int {
	switch {
	case c <= '$':
		return letterEnd
	case c <= '9':
		return int(c - '0')
	case c == 'x':
		return letterX
	}
	return int(c-'a') + 10
}

// mark finds the rows whose identity has text in it: two or more characters
// that inSomeHex admits.
func (g *grams) mark(text []byte, id func(row uint32) []byte, found func(row uint32)) {
	if len(text) == 2 {
		first := (letter(text[0])*letters + letter(text[1])) * letters
		for i := range g.lists[first : first+letters] {
			g.lists[first+i].each(found)
		}
		return
	}

	var first, second gramList
	for gram := range gramsOf(text) {
		switch l := g.lists[gram]; {
		case first.next == 0 || len(l.gaps) < len(first.gaps):
			first, second = l, first
		case second.next == 0 || len(l.gaps) < len(second.gaps):
			second = l
		}
	}

	if len(text) == 3 {
		first.each(found)
		return
	}

	rows := make([]uint32, 0, len(first.gaps))
	first.each(func(row uint32) { rows = append(rows, row) })
	second.each(func(row uint32) {
		for len(rows) > 0 && rows[0] < row {
			rows = rows[1:]
		}
		if len(rows) > 0 && rows[0] == row && inHex(id(row), text) {
			found(row)
		}
	})
}

func (l *gramList) each(f func(row uint32)) {
	row := uint32(0)
	for gaps := l.gaps; len(gaps) > 0; row++ {
		gap, n := binary.Uvarint(gaps)
		gaps, row = gaps[n:], row+uint32(gap)
		f(row)
	}
}

// inSomeHex reports whether there are identities that have text in them.
func inSomeHex(text string) bool {
	digits, _ := strings.CutPrefix(text, "0x")
	if len(digits) == len(text) {
		digits, _ = strings.CutPrefix(text, "x")
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}

func inHex(id, text []byte) bool {
	var room [maxHexText]byte
	return bytes.Contains(appendText(room[:0], id), text)
}
