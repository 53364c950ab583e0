package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// PositionFields are the paths of the values in a position's row, in its order.
var PositionFields = []string{
	"rank", "positionId", "tokenId", "chainId", "protocol", "owner", "poolId",
	"token0.address", "token0.symbol", "token0.name", "token0.decimals", "token0.isNative",
	"token0.priceUsd", "token0.risky", "token1.address", "token1.symbol", "token1.name",
	"token1.decimals", "token1.isNative", "token1.priceUsd", "token1.risky", "tickLower",
	"tickUpper", "priceLower", "priceUpper", "currentTick", "tickSpacing", "fee", "liquidity",
	"isActive", "openedAtTimestamp", "closedAtTimestamp", "timeInRange",
	"amounts.current.amount0", "amounts.current.amount1", "amounts.current.amount0Raw",
	"amounts.current.amount1Raw", "amounts.current.valueUsd", "amounts.deposits.amount0",
	"amounts.deposits.amount1", "amounts.deposits.amount0Raw", "amounts.deposits.amount1Raw",
	"amounts.deposits.valueUsd", "amounts.withdrawals.amount0", "amounts.withdrawals.amount1",
	"amounts.withdrawals.amount0Raw", "amounts.withdrawals.amount1Raw",
	"amounts.withdrawals.valueUsd", "amounts.collectedFees.amount0",
	"amounts.collectedFees.amount1", "amounts.collectedFees.amount0Raw",
	"amounts.collectedFees.amount1Raw", "amounts.collectedFees.valueUsd",
	"amounts.uncollectedFees.amount0", "amounts.uncollectedFees.amount1",
	"amounts.uncollectedFees.amount0Raw", "amounts.uncollectedFees.amount1Raw",
	"amounts.uncollectedFees.valueUsd", "amounts.gas.native", "amounts.gas.nativeRaw",
	"amounts.gas.valueUsd", "metrics.apr", "metrics.feeApr", "metrics.roi", "metrics.pnlUsd",
	"metrics.pnlCostUsd", "metrics.underlyingValueUsd", "metrics.pendingFeesUsd",
	"metrics.ageSeconds", "metrics.inRange", "metrics.priceUnavailable",
	"metrics.unrealizableLeg", "poolStats.tvlUsd", "poolStats.volumeUsd1h",
	"poolStats.volumeUsd24h", "poolStats.volumeUsd7d", "poolStats.volumeUsd30d",
	"poolStats.feesUsd1h", "poolStats.feesUsd24h", "poolStats.feesUsd7d",
	"poolStats.feesUsd30d", "poolStats.feeApr", "poolStats.txCount", "poolStats.currentPrice",
	"pricing.token0.priceUsd", "pricing.token0.source", "pricing.token0.corroborated",
	"pricing.token0.markets", "pricing.token0.asOf", "pricing.token1.priceUsd",
	"pricing.token1.source", "pricing.token1.corroborated", "pricing.token1.markets",
	"pricing.token1.asOf", "pricing.nativePriceUsd", "pricing.pnlBasis", "pricing.reason",
	"asOfBlock",
}

// PoolFields are the paths of the values in a pool's row, in its order.
var PoolFields = []string{
	"rank", "poolId", "chainId", "protocol", "token0.address", "token0.symbol", "token0.name",
	"token0.decimals", "token0.isNative", "token0.priceUsd", "token0.risky", "token1.address",
	"token1.symbol", "token1.name", "token1.decimals", "token1.isNative", "token1.priceUsd",
	"token1.risky", "fee", "isDynamicFee", "tickSpacing", "currentTick", "sqrtPriceX96",
	"liquidity", "hooks", "createdAtTimestamp", "metrics.tvlUsd", "metrics.volumeUsd1h",
	"metrics.volumeUsd24h", "metrics.volumeUsd7d", "metrics.volumeUsd30d", "metrics.feesUsd1h",
	"metrics.feesUsd24h", "metrics.feesUsd7d", "metrics.feesUsd30d", "metrics.feeApr",
	"metrics.txCount", "metrics.currentPrice", "pricing.token0.priceUsd",
	"pricing.token0.source", "pricing.token0.corroborated", "pricing.token0.markets",
	"pricing.token0.asOf", "pricing.token1.priceUsd", "pricing.token1.source",
	"pricing.token1.corroborated", "pricing.token1.markets", "pricing.token1.asOf",
	"pricing.nativePriceUsd", "pricing.reason", "pricing.priceUnavailable",
	"pricing.unrealizable", "positionsCount", "holdersCount", "asOfBlock",
}

// Fields is a selection of the values of rows. The rows of a list have the same
// values in the same order, so a value is known by its place.
type Fields struct {
	paths []string // all of them
	kept  []bool   // by place
	text  []bool   // by place: a name or symbol, which anyone may choose

	// A selected row as JSON: what stands before each value that is kept, and behind
	// the last one.
	before [][]byte
	behind []byte
}

// SelectFields returns the selection of the names, in paths: each is a path or the
// beginning of some, as amounts.gas. No names are all values.
func SelectFields(paths, names []string) (*Fields, error) {
	f := &Fields{paths: paths, kept: make([]bool, len(paths)), text: make([]bool, len(paths))}
	for i, path := range paths {
		f.kept[i] = len(names) == 0
		f.text[i] = strings.HasSuffix(path, ".symbol") || strings.HasSuffix(path, ".name")
	}

	for _, name := range names {
		known := false
		for i, path := range paths {
			rest, ok := strings.CutPrefix(path, name)
			if ok && (rest == "" || rest[0] == '.') {
				f.kept[i], known = true, true
			}
		}
		if !known {
			return nil, fmt.Errorf("fields: a row has no %q; allowed are %s, and the fields in them "+
				"by their paths, as %s", name, strings.Join(groups(paths), ", "), paths[len(paths)/2])
		}
	}

	f.arrange()
	return f, nil
}

// groups returns the fields of a row, without those inside them.
func groups(paths []string) (names []string) {
	for _, path := range paths {
		name, _, _ := strings.Cut(path, ".")
		names = append(names, name)
	}
	return slices.Compact(names)
}

// arrange prepares what stands between the values of a selected row.
func (f *Fields) arrange() {
	f.before = make([][]byte, len(f.paths))
	var open []string // the groups around the last value
	text, first := []byte{'{'}, true
	for i, path := range f.paths {
		if !f.kept[i] {
			continue
		}
		parts := strings.Split(path, ".")
		into := parts[:len(parts)-1]
		same := 0
		for same < min(len(open), len(into)) && open[same] == into[same] {
			same++
		}

		text = append(text, strings.Repeat("}", len(open)-same)...)
		if !first {
			text = append(text, ',')
		}
		for _, group := range into[same:] {
			text = append(text, `"`+group+`":{`...)
		}
		text = append(text, `"`+parts[len(parts)-1]+`":`...)
		f.before[i], text, open, first = text, nil, into, false
	}
	f.behind = append(text, strings.Repeat("}", len(open)+1)...)
}

// AppendJSON appends the selected values of a row as an object.
func (f *Fields) AppendJSON(dst, row []byte) []byte {
	for i := range f.paths {
		var v []byte
		v, row = nextValue(row)
		if f.kept[i] {
			dst = append(append(dst, f.before[i]...), v...)
		}
	}
	return append(dst, f.behind...)
}

// AppendCSVHeader appends the paths of the selected values as a line of CSV.
func (f *Fields) AppendCSVHeader(dst []byte) []byte {
	first := true
	for i, path := range f.paths {
		if f.kept[i] {
			dst = append(appendComma(dst, &first), path...)
		}
	}
	return append(dst, "\r\n"...)
}

// AppendCSV appends the selected values of a row as a line of CSV (RFC 4180). null is
// an empty cell, and an empty text is a quoted one. So is a null that is alone on its line,
// since readers skip blank lines.
func (f *Fields) AppendCSV(dst, row []byte) []byte {
	start, first := len(dst), true
	for i := range f.paths {
		var v []byte
		if v, row = nextValue(row); f.kept[i] {
			dst = f.appendCell(appendComma(dst, &first), v, i)
		}
	}

	if len(dst) == start {
		dst = append(dst, `""`...)
	}
	return append(dst, "\r\n"...)
}

// appendComma appends a comma, unless it is the first time.
func appendComma(dst []byte, first *bool) []byte {
	if *first {
		*first = false
		return dst
	}
	return append(dst, ',')
}

// appendCell appends the value at a place.
func (f *Fields) appendCell(dst, v []byte, place int) []byte {
	switch {
	case string(v) == null:
		return dst
	case v[0] != '"':
		return append(dst, v...)
	case !f.text[place]:
		return append(dst, v[1:len(v)-1]...) // numbers, addresses and words
	}

	var buf [4 * maxName]byte
	return appendText(dst, unescape(buf[:0], v[1:len(v)-1]))
}

// appendText appends a text that anyone may choose. A spreadsheet must not take it
// for a formula.
func appendText(dst, s []byte) []byte {
	guarded := len(s) > 0 && strings.IndexByte("=+-@", s[0]) >= 0
	if len(s) > 0 && !guarded && !bytes.ContainsAny(s, "\",\r\n") {
		return append(dst, s...)
	}

	dst = append(dst, '"')
	if guarded {
		dst = append(dst, '\'')
	}
	for _, c := range s {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// nextValue returns the next value in the rest of a rendered row that is not an
// object, and what is behind it.
func nextValue(row []byte) (v, rest []byte) {
	for {
		// Commas and braces, then a name, which has nothing escaped.
		for row[0] != '"' {
			row = row[1:]
		}
		row = row[1:]
		for row[0] != '"' {
			row = row[1:]
		}
		if row = row[len(`":`):]; row[0] != '{' {
			break
		}
	}

	end := 0
	if row[0] == '"' {
		for end = 1; row[end] != '"'; end++ {
			if row[end] == '\\' {
				end++
			}
		}
		end++
	}
	for row[end] != ',' && row[end] != '}' {
		end++
	}
	return row[:end], row[end:]
}
