package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tidemark/rankings/market"
)

// maxDigits keeps integers below 10^18, so that sums of a few fit 64 bits.
const maxDigits = 18

// parseInteger reads a decimal integer without sign or leading zeros.
func parseInteger(name string, v []byte) (n uint64, err error) {
	ok := len(v) > 0 && (v[0] != '0' || len(v) == 1) && len(skipDigits(v)) == 0
	if !ok {
		return 0, fmt.Errorf("%s %s is not an integer; allowed are up to %d digits, "+
			"without sign or leading zero", name, quoteValue(v), maxDigits)
	}
	if len(v) > maxDigits {
		return 0, fmt.Errorf("%s %s is too large; allowed are up to %d digits",
			name, quoteValue(v), maxDigits)
	}

	for _, c := range v {
		n = n*10 + uint64(c-'0')
	}
	return n, nil
}

// parseBetween reads an integer from low to high, both included.
func parseBetween(name string, v []byte, low, high uint64) (uint64, error) {
	n, err := parseInteger(name, v)
	if err == nil && (n < low || n > high) {
		err = fmt.Errorf("%s %d is out of range; allowed are %d to %d", name, n, low, high)
	}
	return n, err
}

// parseFloor reads a minimum. A negative one is the same as 0, which is none.
func parseFloor(name string, v []byte) (float64, error) {
	if isNumber(v) {
		x, err := strconv.ParseFloat(string(v), 64)
		if err == nil {
			return max(x, 0) + 0, nil // -0 becomes 0
		}
	}
	return 0, fmt.Errorf("%s %s is not a finite number; allowed are digits, optionally with "+
		"a leading minus, a fraction and an exponent: 1000, 0.5, 1e3", name, quoteValue(v))
}

// isNumber reports whether v matches -?digits[.digits][(e|E)[+-]digits].
func isNumber(v []byte) bool {
	v = skipOne(v, "-")
	rest := skipDigits(v)
	if len(rest) == len(v) {
		return false
	}

	// A fraction and an exponent need digits after their mark.
	if v = rest; len(v) > 0 && v[0] == '.' {
		if rest = skipDigits(v[1:]); len(rest) == len(v)-1 {
			return false
		}
		v = rest
	}

	if len(v) > 0 && v[0]|0x20 == 'e' {
		v = skipOne(v[1:], "+-")
		if rest = skipDigits(v); len(rest) == len(v) {
			return false
		}
		v = rest
	}
	return len(v) == 0
}

// skipOne returns v without its first byte, if that is in set.
func skipOne(v []byte, set string) []byte {
	if len(v) > 0 && strings.IndexByte(set, v[0]) >= 0 {
		return v[1:]
	}
	return v
}

// skipDigits returns v without its leading digits.
func skipDigits(v []byte) []byte {
	for len(v) > 0 && '0' <= v[0] && v[0] <= '9' {
		v = v[1:]
	}
	return v
}

// parseFlag reads a boolean.
func parseFlag(name string, v []byte) (bool, error) {
	switch {
	case string(v) == "1" || equalFoldASCII(v, "true"):
		return true, nil
	case string(v) == "0" || equalFoldASCII(v, "false"):
		return false, nil
	}
	return false, notAllowed(name, v, "true, false, 1, 0")
}

// equalFoldASCII reports whether v is word in any case. The lengths are compared
// because some letters outside ASCII fold to one inside, and are longer.
func equalFoldASCII(v []byte, word string) bool {
	return len(v) == len(word) && strings.EqualFold(string(v), word)
}

// parseName reads one of the allowed names and sets to to its index.
func parseName[T ~uint8](to *T, name string, v []byte, allowed []string) error {
	for i := range allowed {
		if string(v) == allowed[i] {
			*to = T(i)
			return nil
		}
	}
	return notAllowed(name, v, strings.Join(allowed, ", "))
}

// parsePage reads a page number, which is at least 1.
func parsePage(name string, v []byte) (uint64, error) {
	n, err := parseInteger(name, v)
	if err == nil && n == 0 {
		err = fmt.Errorf("%s 0 is out of range; pages count from 1", name)
	}
	return n, err
}

// notAllowed is the error for a value that is not one of those allowed.
func notAllowed(name string, v []byte, allowed string) error {
	return fmt.Errorf("%s %s is not allowed; allowed are %s", name, quoteValue(v), allowed)
}

// parseAddress reads an address of 0x and 40 hex digits.
func parseAddress(name string, v []byte) (*market.Address, error) {
	if len(v) == 42 {
		if a, err := market.ParseAddress(string(v)); err == nil {
			return &a, nil
		}
	}
	return nil, fmt.Errorf("%s %s is not an address; the format is 0x and 40 hex digits",
		name, quoteValue(v))
}

// parseTokenID reads the id of a position. Ids are opaque to clients, so text that
// cannot be an id is not an error; ok is false then.
func parseTokenID(v []byte) (id uint64, ok bool) {
	if len(v) > 1 && v[0] == '0' {
		return 0, false
	}
	id, err := strconv.ParseUint(string(v), 10, 64)
	return id, err == nil
}

// errPool is the error for every malformed pool id. The contract has this text.
//
//lint:ignore ST1005 a client may compare it
var errPool = errors.New("Invalid poolId")

// parsePool reads a pool id of 0x and 64 hex digits.
func parsePool(v []byte) (market.PoolID, error) {
	if len(v) == 66 {
		if id, err := market.ParsePoolID(string(v)); err == nil {
			return id, nil
		}
	}
	return market.PoolID{}, errPool
}
