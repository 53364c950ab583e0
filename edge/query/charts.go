package query

import "slices"

// ChartRange is how far back a chart goes.
type ChartRange uint8

// The ranges, as the parameter spells them. Range30d is the default.
const (
	Range30d ChartRange = iota
	Range60d
	Range90d
	Range180d
	RangeAll
)

var chartRanges = []string{"30d", "60d", "90d", "180d", "all"}

// String is the range as the parameter and the answer spell it.
func (r ChartRange) String() string { return chartRanges[r] }

// Days returns how many UTC days the range has, today included; 0 for all.
func (r ChartRange) Days() uint32 { return [...]uint32{30, 60, 90, 180, 0}[r] }

var (
	chartShape = shape{names: []string{"range"}, repeats: true}
	emptyShape = shape{}
)

// Charts reads the query of a chart. Whatever is not one of the ranges,
// repetition too, is Range30d.
func Charts(raw []byte) (ChartRange, error) {
	var buf scratch
	r, times := 0, 0
	for p := chartShape.pairs(raw); ; times++ {
		name, v, err := p.next(buf[:0])
		if err != nil {
			return Range30d, err
		}
		if name == end && times == 1 {
			return ChartRange(r), nil
		}
		if name == end {
			return Range30d, nil
		}

		r = max(0, slices.IndexFunc(chartRanges, func(s string) bool { return s == string(v) }))
	}
}

// None reads the query of a route that takes no parameters.
func None(raw []byte) error {
	p := emptyShape.pairs(raw)
	_, _, err := p.next(nil)
	return err
}
