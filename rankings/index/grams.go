package index

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"tidemark/rankings/market"
)

// Grams is a trigram index: it finds the rows of a table by a substring of an
// address or a pool id in hex. For every three consecutive characters it lists
// the rows that contain them:
//
//	0xab12…ef$   is listed under   0xa xab ab1 b12 … ef$
//
// The $ marks the end, so that every two characters begin a gram. A list holds
// ascending rows as varints, each the number of rows left out before it: some 75
// bytes for a pool id and 45 for an address, all grams together. A text of two
// characters is looked up in up to 18 lists and one of three in one list. For a
// longer text the rows in both of its two shortest lists are tested. Nearly
// every row has any one digit, so those are kept as a set for each row instead.
type Grams struct {
	Rows   uint32     // number of rows in the index
	lists  []gramList // by gram
	Digits []uint16   // by row: the set of its hex digits
}

// gramList is the rows of one gram, all of them below next.
type gramList struct {
	next uint32
	gaps []byte
}

// The characters of a gram are the 16 hex digits and these two.
const (
	letterX   = 16
	letterEnd = 17
	letters   = 18
	allGrams  = letters * letters * letters

	// strideLists is how many lists are copied between two pauses.
	strideLists = 64
)

// Extend returns the index of the first n rows, given g. same reports whether
// the rows of g are unchanged; if so, the new index shares the lists of g that
// did not grow. g itself stays valid.
func (g *Grams) Extend(n uint32, same bool, id func(row uint32) []byte, pause func()) Grams {
	if same && n == g.Rows && g.lists != nil {
		return *g
	}

	// A copy of the lists, which share their gaps with g until they grow.
	next := Grams{Rows: n, lists: make([]gramList, allGrams), Digits: make([]uint16, n)}
	from := uint32(0)
	if same && n > g.Rows && g.lists != nil {
		from = g.Rows
		copy(next.lists, g.lists)
		copy(next.Digits, g.Digits)
	}

	var own [allGrams]bool // lists that do not share their capacity with g
	var room [maxHexText]byte
	for row := from; row < n; row++ {
		next.Digits[row] = digitsOf(id(row))
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
		next.pack(pause)
	}
	return next
}

// pack moves the gaps of all lists into one allocation, which has no spare capacity and
// which the garbage collector passes at once.
func (g *Grams) pack(pause func()) {
	total := 0
	for i := range g.lists {
		total += len(g.lists[i].gaps)
	}

	all := make([]byte, 0, total)
	for i := range g.lists {
		if i%strideLists == 0 {
			pause()
		}
		from := len(all)
		all = append(all, g.lists[i].gaps...)
		g.lists[i].gaps = all[from:len(all):len(all)]
	}
}

// maxHexText is the length of a pool id as text with its end mark.
const maxHexText = 2 + 2*len(market.PoolID{}) + 1

// appendText appends an id as text: 0x and hex digits.
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
	set = 1 // the 0 of 0x
	for _, b := range id {
		set |= 1<<(b>>4) | 1<<(b&15)
	}
	return set
}

// Digit returns the set of one hex digit.
func Digit(c byte) uint16 { return 1 << letter(c) }

// letter returns the number of a character of a gram.
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

// FindText calls found for every row whose id contains text, which must have at
// least two characters and pass InSomeHex. A row may be found more than once.
func (g *Grams) FindText(text []byte, id func(row uint32) []byte, found func(row uint32)) {
	if len(text) == 2 {
		first := (letter(text[0])*letters + letter(text[1])) * letters
		for i := range g.lists[first : first+letters] {
			g.lists[first+i].each(found)
		}
		return
	}

	// The two shortest lists.
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

	// Both lists ascend: the rows of the first are dropped as the second passes.
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

// each calls f for every row of the list.
func (l *gramList) each(f func(row uint32)) {
	row := uint32(0)
	for gaps := l.gaps; len(gaps) > 0; row++ {
		gap, n := binary.Uvarint(gaps)
		gaps, row = gaps[n:], row+uint32(gap)
		f(row)
	}
}

// InSomeHex reports whether text can occur in an id: hex digits, with a 0x, or
// the x of one, at most at the start.
func InSomeHex(text string) bool {
	digits, _ := strings.CutPrefix(text, "0x")
	if len(digits) == len(text) {
		digits, _ = strings.CutPrefix(text, "x")
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}

// inHex reports whether an id as text contains text.
func inHex(id, text []byte) bool {
	var room [maxHexText]byte
	return bytes.Contains(appendText(room[:0], id), text)
}

// InEveryID reports whether every id contains a text.
func InEveryID(text []byte) bool {
	return string(text) == "0" || string(text) == "x" || string(text) == "0x"
}
