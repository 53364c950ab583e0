package query

import (
	"fmt"
	"math"
	"strconv"

	"tidemark/rankings/clmath"
)

// Estimate asks what a position of a range and a value would have earned.
type Estimate struct {
	TickLower, TickUpper int32
	ValueUsd             float64 // when the range begins; finite and above 0
	Range                ChartRange
}

// The parameters of an estimate, as indexes into estimateShape.names.
const (
	estimateLower = iota
	estimateUpper
	estimateValue
	estimateRange
)

var estimateShape = paramSet{
	names: []string{
		estimateLower: "tickLower", estimateUpper: "tickUpper",
		estimateValue: "valueUsd", estimateRange: "range",
	},
	lenient: "range",
}

// ReadEstimate reads the query of an estimate. All but the range is required.
func ReadEstimate(raw []byte) (q Estimate, err error) {
	var buf valueBuffer
	ranges := 0
	for p := estimateShape.readPairs(raw); ; {
		name, v, err := p.next(buf[:0])
		if err != nil {
			return Estimate{}, err
		}

		switch name {
		case noMorePairs:
			return q, q.check(p.seen)
		case estimateLower:
			q.TickLower, err = parseTick(p.names[name], v)
		case estimateUpper:
			q.TickUpper, err = parseTick(p.names[name], v)
		case estimateValue:
			q.ValueUsd, err = parseAmountUsd(p.names[name], v)
		default:
			q.Range = parseChartRange(v, &ranges)
		}
		if err != nil {
			return Estimate{}, err
		}
	}
}

// check refuses what is missing and a range that holds no price. seen has a bit for
// each parameter that was given.
func (q *Estimate) check(seen uint32) error {
	for i, name := range estimateShape.names[:estimateRange] {
		if seen&(1<<i) == 0 {
			return fmt.Errorf("parameter %s is missing; tickLower, tickUpper and valueUsd "+
				"are required", name)
		}
	}
	if q.TickLower >= q.TickUpper {
		return fmt.Errorf("tickLower %d is not below tickUpper %d", q.TickLower, q.TickUpper)
	}
	return nil
}

// CheckSpacing refuses ticks at which a position of a pool cannot end.
func (q *Estimate) CheckSpacing(spacing int32) error {
	for i, tick := range [2]int32{q.TickLower, q.TickUpper} {
		if tick%spacing != 0 {
			return fmt.Errorf("%s %d is not allowed; allowed are multiples of the pool's "+
				"tickSpacing %d", estimateShape.names[estimateLower+i], tick, spacing)
		}
	}
	return nil
}

// Append appends the question in one form only.
func (q *Estimate) Append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, "tickLower="...), int64(q.TickLower), 10)
	dst = strconv.AppendInt(append(dst, "&tickUpper="...), int64(q.TickUpper), 10)
	dst = strconv.AppendFloat(append(dst, "&valueUsd="...), q.ValueUsd, 'e', -1, 64)
	return append(append(dst, "&range="...), q.Range.String()...)
}

// parseTick reads a tick: an integer, optionally negative.
func parseTick(name string, v []byte) (int32, error) {
	digits := skipOne(v, "-")
	negative := len(digits) < len(v)
	n, err := parseInteger(name, digits)
	if err != nil || negative && n == 0 || n > clmath.MaxTick {
		return 0, fmt.Errorf("%s %s is not a tick; allowed are integers from %d to %d",
			name, quoteValue(v), clmath.MinTick, clmath.MaxTick)
	}

	if negative {
		return -int32(n), nil
	}
	return int32(n), nil
}

// parseAmountUsd reads an amount of USD, which is above 0.
func parseAmountUsd(name string, v []byte) (float64, error) {
	if isNumber(v) {
		x, err := strconv.ParseFloat(string(v), 64)
		if err == nil && x > 0 && !math.IsInf(x, 0) {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%s %s is not a finite number above 0; allowed are digits, optionally "+
		"with a fraction and an exponent: 1000, 0.5, 1e3", name, quoteValue(v))
}
