package consistency

import "fmt"

// hourly is the query of a chart by the hour.
const hourly = "30d&interval=1h"

// step returns the seconds of an interval.
func (ch *chart) step() float64 {
	if ch.byHour {
		return secondsPerHour
	}
	return secondsPerDay
}

// makeDays checks that the hours of every whole day make what the daily chart says of
// it: its candle, its sums and its end.
func (ch *chart) makeDays(daily row) {
	j := ch.by("hours in days")
	hours, days := list(ch.body, "poolPrice"), list(daily, "poolPrice")
	if len(hours) == 0 || len(days) == 0 {
		return
	}

	start := number(hours[0], "timestamp")
	for d, day := range days {
		from := number(day, "timestamp")
		first := int((from - start) / secondsPerHour)
		end := min(first+secondsPerDay/secondsPerHour, len(hours))
		if from < start {
			continue
		}

		high, low := number(hours[first], "high"), number(hours[first], "low")
		for _, h := range hours[first:end] {
			high, low = max(high, number(h, "high")), min(low, number(h, "low"))
		}
		at := fmt.Sprintf("poolPrice of day %.0f: ", from)
		j.near(at+"open", number(hours[first], "open"), number(day, "open"), 0)
		j.near(at+"high", high, number(day, "high"), 0)
		j.near(at+"low", low, number(day, "low"), 0)
		j.near(at+"close", number(hours[end-1], "close"), number(day, "close"), 0)

		for _, name := range []string{"volumeUsd", "feesUsd"} {
			sum := 0.0
			for _, h := range list(ch.body, "poolOverview."+name)[first:end] {
				sum += number(h, "value")
			}
			want := number(list(daily, "poolOverview."+name)[d], "value")
			j.near(fmt.Sprintf("%s of day %.0f", name, from), sum, want, 0)
		}

		tvl := number(list(ch.body, "poolOverview.tvlUsd")[end-1], "value")
		want := number(list(daily, "poolOverview.tvlUsd")[d], "value")
		j.near(fmt.Sprintf("tvlUsd of day %.0f", from), tvl, want, 0)
		ch.endsDay(j, daily, from, number(hours[end-1], "timestamp"))
	}
}

// endsDay checks that the last hour of a day is that day in a position's series.
func (ch *chart) endsDay(j judge, daily row, day, last float64) {
	for name := range group(ch.body, "positionSeries") {
		points := list(ch.body, "positionSeries."+name)
		if len(points) == 0 {
			continue
		}

		end := min(last, number(points[len(points)-1], "timestamp"))
		at := int((end - number(points[0], "timestamp")) / secondsPerHour)
		for _, of := range list(daily, "positionSeries."+name) {
			if number(of, "timestamp") == day && at >= 0 {
				what := fmt.Sprintf("positionSeries.%s of day %.0f", name, day)
				j.near(what, number(points[at], "value"), number(of, "value"), ch.scale())
			}
		}
	}
}

// scale is what rounding errors of a position's figures are relative to.
func (ch *chart) scale() float64 {
	if ch.position == nil {
		return 0
	}
	p := partsOf(ch.position)
	return p.scale()
}
