package query

import "slices"

// ChartRange is the length of time that a chart covers.
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

// String returns the range as the parameter and the answer spell it.
func (r ChartRange) String() string { return chartRanges[r] }

// Days returns how many UTC days the range has, today included; 0 for all.
func (r ChartRange) Days() uint32 { return [...]uint32{30, 60, 90, 180, 0}[r] }

var (
	chartShape = paramSet{names: []string{"range"}, repeats: true}
	emptyShape = paramSet{}
)

// Charts reads the query of a chart. A range that is not one of the names, or that
// is given twice, is Range30d.
func Charts(raw []byte) (ChartRange, error) {
	var buf valueBuffer
	r, times := 0, 0
	for p := chartShape.readPairs(raw); ; times++ {
		name, v, err := p.next(buf[:0])
		if err != nil {
			return Range30d, err
		}
		if name == noMorePairs && times == 1 {
			return ChartRange(r), nil
		}
		if name == noMorePairs {
			return Range30d, nil
		}

		// A value that is not a name has the index -1.
		r = max(0, slices.IndexFunc(chartRanges, func(s string) bool { return s == string(v) }))
	}
}

// None reads the query of a route that takes no parameters.
func None(raw []byte) error {
	p := emptyShape.readPairs(raw)
	_, _, err := p.next(nil)
	return err
}
