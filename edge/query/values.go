package query

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tidemark/rankings/market"
)

// maxDigits keeps every integer below 2^63 with room for sums.
const maxDigits = 18

// integer reads digits alone, without a leading zero.
func integer(name string, v []byte) (n uint64, err error) {
	ok := len(v) > 0 && (v[0] != '0' || len(v) == 1) && len(digits(v)) == 0
	if !ok {
		return 0, fmt.Errorf("%s %s is not an integer; allowed are up to %d digits, "+
			"without sign or leading zero", name, quote(v), maxDigits)
	}
	if len(v) > maxDigits {
		return 0, fmt.Errorf("%s %s is too large; allowed are up to %d digits",
			name, quote(v), maxDigits)
	}

	for _, c := range v {
		n = n*10 + uint64(c-'0')
	}
	return n, nil
}

// between reads an integer from low to high.
func between(name string, v []byte, low, high uint64) (uint64, error) {
	n, err := integer(name, v)
	if err == nil && (n < low || n > high) {
		err = fmt.Errorf("%s %d is out of range; allowed are %d to %d", name, n, low, high)
	}
	return n, err
}

// floor reads a number below which rows are left out. A negative floor is the
// same as none, which is 0.
func floor(name string, v []byte) (float64, error) {
	if isNumber(v) {
		x, err := strconv.ParseFloat(string(v), 64)
		if err == nil && !math.IsInf(x, 0) {
			return max(x, 0) + 0, nil
		}
	}
	return 0, fmt.Errorf("%s %s is not a finite number; allowed are digits, optionally with "+
		"a leading minus, a fraction and an exponent: 1000, 0.5, 1e+3", name, quote(v))
}

// isNumber checks v against the grammar -?digits[.digits][(e or E)[+-]digits].
func isNumber(v []byte) bool {
	v = skip(v, "-")
	rest := digits(v)
	if len(rest) == len(v) {
		return false
	}

	if v = rest; len(v) > 0 && v[0] == '.' {
		if rest = digits(v[1:]); len(rest) == len(v)-1 {
			return false
		}
		v = rest
	}

	if len(v) > 0 && v[0]|0x20 == 'e' {
		v = skip(v[1:], "+-")
		if rest = digits(v); len(rest) == len(v) {
			return false
		}
		v = rest
	}
	return len(v) == 0
}

// skip drops one leading byte that is in set.
func skip(v []byte, set string) []byte {
	if len(v) > 0 && strings.IndexByte(set, v[0]) >= 0 {
		return v[1:]
	}
	return v
}

// digits drops the leading digits.
func digits(v []byte) []byte {
	for len(v) > 0 && '0' <= v[0] && v[0] <= '9' {
		v = v[1:]
	}
	return v
}

// flag reads a boolean.
func flag(name string, v []byte) (bool, error) {
	switch {
	case string(v) == "1" || spells(v, "true"):
		return true, nil
	case string(v) == "0" || spells(v, "false"):
		return false, nil
	}
	return false, notAllowed(name, v, "true, false, 1, 0")
}

// spells reports whether v is word in any case. Equal lengths leave out the
// letters beyond ASCII that fold to one within it.
func spells(v []byte, word string) bool {
	return len(v) == len(word) && strings.EqualFold(string(v), word)
}

// set reads one of the allowed names as its index.
func set[T ~uint8](to *T, name string, v []byte, allowed []string) error {
	for i := range allowed {
		if string(v) == allowed[i] {
			*to = T(i)
			return nil
		}
	}
	return notAllowed(name, v, strings.Join(allowed, ", "))
}

// page reads a page's number, from 1.
func page(name string, v []byte) (uint64, error) {
	n, err := integer(name, v)
	if err == nil && n == 0 {
		err = fmt.Errorf("%s 0 is out of range; pages count from 1", name)
	}
	return n, err
}

func notAllowed(name string, v []byte, allowed string) error {
	return fmt.Errorf("%s %s is not allowed; allowed are %s", name, quote(v), allowed)
}

// address reads an owner.
func address(name string, v []byte) (*market.Address, error) {
	if len(v) == 42 {
		if a, err := market.ParseAddress(string(v)); err == nil {
			return &a, nil
		}
	}
	return nil, fmt.Errorf("%s %s is not an address; the format is 0x and 40 hex digits",
		name, quote(v))
}

// tokenID reads a position's id, which to a client is opaque: ok is false for
// text that names no position whatever there is.
func tokenID(v []byte) (id uint64, ok bool) {
	if len(v) == 0 || len(v) > 20 || v[0] == '0' && len(v) > 1 || len(digits(v)) > 0 {
		return 0, false
	}
	id, err := strconv.ParseUint(string(v), 10, 64)
	return id, err == nil
}
