package accounts

import (
	"fmt"
	"time"
)

// Month is a UTC calendar month: year x 12 + month - 1.
type Month int32

// MonthAt is the month of a time in Unix nanoseconds.
func MonthAt(ns int64) Month {
	t := time.Unix(0, ns).UTC()
	return Month(t.Year()*12 + int(t.Month()) - 1)
}

// Start is when the month begins, UTC.
func (m Month) Start() time.Time {
	return time.Date(int(m)/12, time.Month(int(m)%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// End is when the next month begins.
func (m Month) End() time.Time { return (m + 1).Start() }

// Days is how many days the month has.
func (m Month) Days() int { return int(m.End().Sub(m.Start()) / (24 * time.Hour)) }

// String is the month as 2026-11.
func (m Month) String() string { return m.Start().Format("2006-01") }

// The years of months that people may name.
const firstYear, lastYear = 1970, 2261

// ParseMonth reads what String writes, from firstYear to lastYear.
func ParseMonth(s string) (Month, error) {
	t, err := time.Parse("2006-01", s)
	if err != nil {
		return 0, fmt.Errorf("bad month %q; write it as 2026-11", s)
	}
	// Times in nanoseconds end in 2262.
	if y := t.Year(); y < firstYear || y > lastYear {
		return 0, fmt.Errorf("bad month %q; allowed are the years %d to %d", s, firstYear, lastYear)
	}
	return MonthAt(t.UnixNano()), nil
}

// Day is a UTC day: days since 1970-01-01.
type Day int32

const dayNs = 86_400_000_000_000

// DayAt returns the day of a time, clamped to the month: a request settled just
// after the end of its month belongs to the last day.
func DayAt(ns int64, m Month) Day {
	first := Day(m.Start().Unix() / 86_400)
	last := Day(m.End().Unix()/86_400) - 1
	return min(max(Day(ns/dayNs), first), last)
}

// Month is the month of the day.
func (d Day) Month() Month { return MonthAt(int64(d) * dayNs) }

// String is the day as 2026-11-21.
func (d Day) String() string { return time.Unix(int64(d)*86_400, 0).UTC().Format(time.DateOnly) }

// Span is a month with the values that headers need, computed once.
type Span struct {
	Month Month
	Days  int
	EndNs int64  // on the quota clock
	Reset string // RFC 3339 with milliseconds
}

// SpanOf describes a month.
func SpanOf(m Month) Span {
	end := m.End()
	return Span{m, m.Days(), end.UnixNano(), end.Format("2006-01-02T15:04:05.000Z")}
}
