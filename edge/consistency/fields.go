package consistency

import (
	"math"
	"strings"
)

// field returns what stands at a path of names with dots between; nil when something on
// the way is missing.
func field(m map[string]any, path string) any {
	for {
		name, rest, deeper := strings.Cut(path, ".")
		if !deeper {
			return m[name]
		}
		m, _ = m[name].(map[string]any)
		path = rest
	}
}

// number is the float at a path; NaN for null and for what is none.
func number(m map[string]any, path string) float64 {
	if x, ok := field(m, path).(float64); ok {
		return x
	}
	return math.NaN()
}

// text is the string at a path; empty for null and for what is none.
func text(m map[string]any, path string) string {
	s, _ := field(m, path).(string)
	return s
}

// flag is the boolean at a path.
func flag(m map[string]any, path string) bool {
	is, _ := field(m, path).(bool)
	return is
}

// group is the object at a path; nil when there is none.
func group(m map[string]any, path string) map[string]any {
	g, _ := field(m, path).(map[string]any)
	return g
}

// list is the array of objects at a path.
func list(m map[string]any, path string) (objects []map[string]any) {
	all, _ := field(m, path).([]any)
	for _, each := range all {
		object, _ := each.(map[string]any)
		objects = append(objects, object)
	}
	return objects
}

func known(x float64) bool { return !math.IsNaN(x) }

// kind is the type that a field has.
type kind uint8

const (
	isInteger  kind = iota // a JSON number without a fraction
	isNumber               // a finite one, or null
	isDigits               // an integer in a string
	isAmount               // a decimal in a string
	isText                 // a string
	isTextNull             // or null
	isBoolean
	isHex     // 0x and lower-case hex
	isHexNull // or null
	isGroup
	isList
	isIntegerNull // or null
	isAmountNull  // or null
	isDigitsNull  // or null
)

var tokenFields = map[string]kind{
	"address": isHex, "symbol": isTextNull, "name": isTextNull, "decimals": isIntegerNull,
	"isNative": isBoolean, "priceUsd": isNumber, "risky": isBoolean,
}

var amountsFields = map[string]kind{
	"amount0": isAmountNull, "amount1": isAmountNull, "amount0Raw": isDigits, "amount1Raw": isDigits,
	"valueUsd": isNumber,
}

var gasFields = map[string]kind{
	"native": isAmountNull, "nativeRaw": isDigitsNull, "valueUsd": isNumber,
}

var metricsFields = map[string]kind{
	"apr": isNumber, "feeApr": isNumber, "roi": isNumber, "pnlUsd": isNumber, "pnlCostUsd": isNumber,
	"underlyingValueUsd": isNumber, "pendingFeesUsd": isNumber, "ageSeconds": isInteger,
	"inRange": isBoolean, "priceUnavailable": isBoolean, "unrealizableLeg": isBoolean,
}

var poolMetricsFields = map[string]kind{
	"tvlUsd": isNumber, "volumeUsd24h": isNumber, "volumeUsd7d": isNumber, "feesUsd24h": isNumber,
	"feesUsd7d": isNumber, "feeApr": isNumber, "txCount": isInteger, "currentPrice": isNumber,
	"volumeUsd1h": isNumber, "volumeUsd30d": isNumber, "feesUsd1h": isNumber, "feesUsd30d": isNumber,
}

var priceFields = map[string]kind{
	"priceUsd": isNumber, "source": isText, "corroborated": isBoolean, "markets": isInteger,
	"asOf": isTextNull,
}

var positionFields = map[string]kind{
	"rank": isIntegerNull, "positionId": isDigits, "tokenId": isDigits, "chainId": isInteger,
	"protocol": isText, "owner": isHex, "poolId": isHex, "token0": isGroup, "token1": isGroup,
	"tickLower": isInteger, "tickUpper": isInteger, "currentTick": isInteger, "tickSpacing": isInteger,
	"priceLower": isNumber, "priceUpper": isNumber, "timeInRange": isNumber,
	"openedAtTimestamp": isInteger, "closedAtTimestamp": isIntegerNull,
	"fee": isIntegerNull, "liquidity": isDigits, "isActive": isBoolean, "amounts": isGroup,
	"metrics": isGroup, "poolStats": isGroup, "pricing": isGroup, "asOfBlock": isInteger,
}

var positionPricingFields = map[string]kind{
	"token0": isGroup, "token1": isGroup, "nativePriceUsd": isNumber, "pnlBasis": isText,
	"reason": isTextNull,
}

var poolFields = map[string]kind{
	"poolId": isHex, "chainId": isInteger, "protocol": isText, "token0": isGroup, "token1": isGroup,
	"fee": isIntegerNull, "isDynamicFee": isBoolean, "tickSpacing": isInteger, "currentTick": isInteger,
	"sqrtPriceX96": isDigits, "liquidity": isDigits, "hooks": isHex, "createdAtTimestamp": isInteger,
	"metrics": isGroup, "pricing": isGroup, "positionsCount": isIntegerNull,
	"holdersCount": isIntegerNull, "asOfBlock": isInteger,
}

var poolPricingFields = map[string]kind{
	"token0": isGroup, "token1": isGroup, "nativePriceUsd": isNumber, "reason": isTextNull,
	"priceUnavailable": isBoolean, "unrealizable": isBoolean,
}

var transactionFields = map[string]kind{
	"type": isText, "txHash": isHex, "logIndex": isInteger, "blockNumber": isInteger,
	"timestamp": isInteger, "amount0": isAmountNull, "amount1": isAmountNull, "amount0Raw": isDigits,
	"amount1Raw": isDigits, "fees0": isAmountNull, "fees1": isAmountNull, "fees0Raw": isDigits,
	"fees1Raw": isDigits, "liquidityDelta": isDigits, "from": isHexNull, "to": isHexNull,
	"gasUsed": isDigitsNull, "gasPrice": isDigitsNull, "gasNative": isAmountNull, "gasUsd": isNumber,
	"token0PriceUsd": isNumber, "token1PriceUsd": isNumber, "valueUsd": isNumber,
}

// fieldsOf checks that an object has every field, of its type. It may have
// others, so that the API can grow.
func (j judge) fieldsOf(at string, m map[string]any, fields map[string]kind) {
	if at != "" {
		at += "."
	}
	for name, want := range fields {
		v, ok := m[name]
		if !ok {
			j.holds(at+name, false, "missing", "a field, null where it is not known")
			continue
		}
		j.holds(at+name, want.fits(v), v, kindNames[want])
	}
}

var kindNames = [...]string{
	isInteger: "an integer", isNumber: "a number or null", isDigits: "an integer as a string",
	isAmount: "a decimal as a string", isText: "a string", isTextNull: "a string or null",
	isBoolean: "a boolean", isHex: "0x and lower-case hex", isHexNull: "0x and lower-case hex, or null",
	isGroup: "an object", isList: "an array", isIntegerNull: "an integer or null",
	isAmountNull: "a decimal as a string, or null", isDigitsNull: "an integer as a string, or null",
}

func (k kind) fits(v any) bool {
	switch k {
	case isInteger:
		x, ok := v.(float64)
		return ok && x == math.Trunc(x)
	case isNumber:
		_, ok := v.(float64)
		return ok || v == nil
	case isDigits:
		s, _ := v.(string)
		return integerOf(strings.TrimPrefix(s, "-")) != nil && s != "-0"
	case isAmount:
		return isDecimal(v)
	case isText:
		_, ok := v.(string)
		return ok
	case isBoolean:
		_, ok := v.(bool)
		return ok
	case isHex:
		s, _ := v.(string)
		return strings.HasPrefix(s, "0x") && strings.Trim(s[2:], "0123456789abcdef") == ""
	case isGroup:
		_, ok := v.(map[string]any)
		return ok
	case isList:
		_, ok := v.([]any)
		return ok
	}

	// The others are one of these or null.
	plain := map[kind]kind{
		isTextNull: isText, isHexNull: isHex, isIntegerNull: isInteger,
		isAmountNull: isAmount, isDigitsNull: isDigits,
	}
	return v == nil || plain[k].fits(v)
}

// isDecimal reports whether v is an exact decimal: digits, and after a point
// digits that do not end in 0.
func isDecimal(v any) bool {
	s, _ := v.(string)
	whole, fraction, point := strings.Cut(s, ".")
	if integerOf(whole) == nil || strings.HasPrefix(whole, "-") {
		return false
	}
	return !point || fraction != "" && strings.Trim(fraction, "0123456789") == "" &&
		!strings.HasSuffix(fraction, "0")
}
