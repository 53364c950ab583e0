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
			return v, fmt.Errorf("%q is not an amount; the exponent must be 0 to 77", text)
		}
	}

	whole, part, _ := strings.Cut(digits, ".")
	if zeros -= len(part); zeros < 0 {
		return v, fmt.Errorf("%q is not a whole number", text)
	}

	v, err = clmath.ParseDecimal(whole + part + strings.Repeat("0", zeros))
	if err != nil {
		return v, fmt.Errorf("%q is not an amount: %w", text, err)
	}

	return v, nil
}

// parseLiquidity reads an amount below 2^127, with or without a sign.
func parseLiquidity(text string) (delta clmath.I128, err error) {
	v, err := Amount(strings.TrimLeft(text, "+-"))
	if err != nil {
		return delta, err
	}

	narrow, fits := clmath.Narrow(&v)
	if !fits || narrow.Hi>>63 != 0 {
		return delta, fmt.Errorf("liquidity %s is not below 2^127", text)
	}

	delta = narrow.I128()
	if text[0] == '-' {
		delta = delta.Neg()
	}
	return delta, nil
}

// parseInteger reads an integer, which may contain underscores.
func parseInteger(text string) (int64, error) {
	return strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
}

// parseDuration reads +90, +90s, +5m, +2h or +3d.
func parseDuration(text string) (int64, error) {
	units := map[byte]int64{'s': 1, 'm': market.Minute, 'h': market.Hour, 'd': market.Day}
	digits := strings.TrimPrefix(text, "+")
	unit := int64(1)
	if n := len(digits); n > 0 && units[digits[n-1]] != 0 {
		unit, digits = units[digits[n-1]], digits[:n-1]
	}
	n, err := parseInteger(digits)
	return n * unit, err
}

// parseSqrtPrice reads @PRICE for tokens with these decimals.
func parseSqrtPrice(text string, decimals0, decimals1 uint8) (v clmath.U256, err error) {
	digits, ok := strings.CutPrefix(text, "@")
	price, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(price > 0) {
		return v, fmt.Errorf("%q is not @PRICE with a price above 0", text)
	}
	root := math.Sqrt(price * math.Pow10(int(decimals1)-int(decimals0)))

	// The 53 bits of the root become an integer, and the exponent a shift.
	exponent := max(math.Ilogb(root)-52, -96)
	v = clmath.U256{uint64(math.Ldexp(root, -exponent))}
	return *v.Lsh(&v, uint(96+exponent)), nil
}
