package query

import (
	"fmt"
	"slices"

	"tidemark/rankings/chart"
)

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

// Interval is the length of a chart's intervals.
type Interval uint8

// The intervals, as the parameter spells them. Interval1d is the default.
const (
	Interval1d Interval = iota
	Interval1h
)

var intervals = []string{"1d", "1h"}

// String returns the interval as the parameter and the answer spell it.
func (i Interval) String() string { return intervals[i] }

// Step returns the interval as charts have it.
func (i Interval) Step() chart.Step { return [...]chart.Step{chart.Daily, chart.Hourly}[i] }

// Chart is what a chart shows.
type Chart struct {
	Range    ChartRange
	Interval Interval
}

var chartShape = paramSet{names: []string{"range", "interval"}, lenient: "range"}

// Charts reads the query of a chart. A range that is not one of the names, or that
// is given twice, is Range30d. Hours are kept for that range only.
func Charts(raw []byte) (c Chart, err error) {
	var buf valueBuffer
	times := 0

	for p := chartShape.readPairs(raw); ; {
		name, v, err := p.next(buf[:0])
		if err != nil {
			return Chart{}, err
		}

		switch name {
		case noMorePairs:
			return c, c.check()
		case 1:
			if err := parseName(&c.Interval, "interval", v, intervals); err != nil {
				return Chart{}, err
			}
		default:
			c.Range = parseChartRange(v, &times)
		}
	}
}

// parseChartRange reads a range and counts how often there was one. A value that is not
// one of the names, and any but the first, is Range30d.
func parseChartRange(v []byte, times *int) ChartRange {
	if *times++; *times > 1 {
		return Range30d
	}

	// A value that is not a name has the index -1.
	r := slices.IndexFunc(chartRanges, func(s string) bool { return s == string(v) })
	return ChartRange(max(0, r))
}

// check refuses a range for which hours are not kept.
func (c Chart) check() error {
	if c.Interval == Interval1h && c.Range != Range30d {
		return fmt.Errorf("interval 1h is not allowed with range %s; allowed is 30d", c.Range)
	}
	return nil
}
