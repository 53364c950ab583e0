package script

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Amount reads a whole number: 1000, 1_000, 1e3 or 1.5e18.
func Amount(text string) (v clmath.U256, err error) {
	digits, exponent, _ := strings.Cut(strings.ReplaceAll(text, "_", ""), "e")
	zeros := 0
	if exponent != "" {
		if zeros, err = strconv.Atoi(exponent); err != nil || zeros > 77 {
			return v, fmt.Errorf("%q is no amount", text)
		}
	}

	whole, part, _ := strings.Cut(digits, ".")
	if zeros -= len(part); zeros < 0 {
		return v, fmt.Errorf("%q is no whole amount", text)
	}

	v, err = clmath.ParseDecimal(whole + part + strings.Repeat("0", zeros))
	if err != nil {
		return v, fmt.Errorf("%q is no amount: %w", text, err)
	}

	return v, nil
}

// liquidity reads an amount below 2^127, with or without a sign.
func liquidity(text string) (delta clmath.I128, err error) {
	v, err := Amount(strings.TrimLeft(text, "+-"))
	if err != nil {
		return delta, err
	}

	narrow, fits := clmath.Narrow(&v)
	if !fits || narrow.Hi>>63 != 0 {
		return delta, fmt.Errorf("liquidity %s is not below 2^127", text)
	}

	delta = clmath.I128{Lo: narrow.Lo, Hi: int64(narrow.Hi)}
	if text[0] == '-' {
		delta = delta.Neg()
	}
	return delta, nil
}

func integer(text string) (int64, error) {
	return strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
}

// seconds reads +90, +90s, +5m, +2h or +3d.
func seconds(text string) (int64, error) {
	units := map[byte]int64{'s': 1, 'm': market.Minute, 'h': market.Hour, 'd': market.Day}
	digits := strings.TrimPrefix(text, "+")
	unit := int64(1)
	if n := len(digits); n > 0 && units[digits[n-1]] != 0 {
		unit, digits = units[digits[n-1]], digits[:n-1]
	}
	n, err := integer(digits)
	return n * unit, err
}

// sqrtPrice reads @PRICE of a pool whose tokens have these decimals.
func sqrtPrice(text string, decimals0, decimals1 uint8) (v clmath.U256, err error) {
	digits, ok := strings.CutPrefix(text, "@")
	price, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(price > 0) {
		return v, fmt.Errorf("%q is no @PRICE", text)
	}
	root := math.Sqrt(price * math.Pow10(int(decimals1)-int(decimals0)))
	exponent := max(math.Ilogb(root)-52, -96)
	v = clmath.U256{uint64(math.Ldexp(root, -exponent))}
	return *v.Lsh(&v, uint(96+exponent)), nil
}
