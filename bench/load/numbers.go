package load

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Number is a number of a body, as strconv spells it: a float, or a decimal of
// any length as whole numbers of at most wordDigits digits.
type Number struct {
	words []uint64 // nil: a float
	float float64
}

const wordDigits = 19

// Append appends the digits as a yardstick of rendering, of decimals without sign and point.
func (n *Number) Append(dst []byte) []byte {
	if n.words == nil {
		return strconv.AppendFloat(dst, n.float, 'f', -1, 64)
	}
	for _, w := range n.words {
		dst = strconv.AppendUint(dst, w, 10)
	}
	return dst
}

// A value of compact JSON that is a number, or a string that is a decimal.
var numeric = regexp.MustCompile(`[:,[](?:-?([0-9][0-9.eE+-]*)|"-?([0-9][0-9.]*)")`)

// NumbersOf finds the numbers of a body of compact JSON. Floats are those with
// a point or an exponent outside of a string; strings are exact decimals.
func NumbersOf(body []byte) (all []Number) {
	for _, m := range numeric.FindAllSubmatch(body, -1) {
		if text := string(m[1]); strings.ContainsAny(text, ".eE") {
			if f, err := strconv.ParseFloat(text, 64); err == nil {
				all = append(all, Number{float: f})
			}
			continue
		}

		digits := slices.DeleteFunc(slices.Concat(m[1], m[2]), func(c byte) bool { return c == '.' })
		var n Number
		for piece := range slices.Chunk(digits, wordDigits) {
			w, _ := strconv.ParseUint(string(piece), 10, 64) // 19 digits always fit
			n.words = append(n.words, w)
		}
		all = append(all, n)
	}
	return all
}
