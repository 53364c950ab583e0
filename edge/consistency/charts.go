package consistency

import (
	"fmt"
	"math"
)

const secondsPerDay, secondsPerHour = 86_400, 3_600

// chartRange is a range that charts are asked for.
type chartRange struct {
	name string
	days int // 0: all
}

// chartRanges are the ranges of a pool. The first is all, which has the others; a
// position is asked for the first positionRanges of them.
var chartRanges = []chartRange{
	{"all", 0}, {"30d", 30}, {hourly, 30}, {"60d", 60}, {"90d", 90}, {"180d", 180},
}

const positionRanges = 3

// poolCharts asks for the charts of a pool in every range.
func (c *checker) poolCharts(chain int64, id, path string) error {
	rows := func(s *snapshot) (pool, position row) { return s.pool[id], nil }
	own := func(ch *chart) { ch.samePoints("poolSeries", "poolOverview") }
	return c.charts(chain, path, chartRanges, rows, own, "poolSeries")
}

// positionCharts asks for the charts of a position.
func (c *checker) positionCharts(chain int64, id, path string) error {
	rows := func(s *snapshot) (pool, position row) {
		position = s.position[id]
		return s.pool[text(position, "poolId")], position
	}
	return c.charts(chain, path, chartRanges[:positionRanges], rows, (*chart).positionEnd, "positionSeries")
}

// charts asks for the charts below a path, and holds each range against the longest.
// rows returns the rows that they are about; own checks what only these charts have, of
// which series is a group.
func (c *checker) charts(
	chain int64, path string, ranges []chartRange,
	rows func(*snapshot) (pool, position row), own func(*chart), series string,
) error {
	var all *answer

	for _, r := range ranges {
		path := path + "/charts?range=" + r.name
		err := c.with(chain, path, func(s *snapshot, a *answer) {
			ch := chart{judge: c.judge("chart", path), body: a.object(), s: s, byHour: r.name == hourly}
			ch.pool, ch.position = rows(s)

			ch.checkAll(r.name, r.days)
			own(&ch)
			switch {
			case r.days == 0:
				all = a
			case all == nil || all.generation != a.generation:
			case ch.byHour:
				ch.makeDays(all.object())
			default:
				ch.partOf(all.object(), "poolPrice", "poolOverview", series)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chart is one answer of a charts route, with the rows that it is about.
type chart struct {
	judge
	body           row
	s              *snapshot
	pool, position row
	byHour         bool // the points are hours
}

func (ch *chart) checkAll(name string, days int) {
	if ch.pool == nil {
		return
	}
	if ch.byHour {
		ch.equal("interval", ch.body["interval"], "1h")
		name = "30d"
	}
	ch.equal("range", ch.body["range"], name)
	ch.checkCurrent()
	ch.daysOf("poolPrice", list(ch.body, "poolPrice"), days)
	for _, series := range []string{
		"tvlUsd", "volumeUsd", "feesUsd", "feesTvlRatio", "token0PriceUsd", "token1PriceUsd",
	} {
		ch.daysOf("poolOverview."+series, list(ch.body, "poolOverview."+series), days)
	}

	ch.checkPrices()
	ch.checkOverview()
	ch.checkDistribution()
}

// checkCurrent checks what the charts say of now against the pool's row.
func (ch *chart) checkCurrent() {
	now := group(ch.body, "poolOverviewCurrent")
	if now == nil {
		ch.by("chart now").holds("poolOverviewCurrent", false, ch.body["poolOverviewCurrent"],
			"an object, as every listed pool has a day")
		return
	}
	ch.s.learnNow(ch.judge, "poolOverviewCurrent.timestamp", number(now, "timestamp"))

	j := ch.by("chart now")
	for name, of := range map[string]string{
		"tvlUsd": "metrics.tvlUsd", "volumeUsd24h": "metrics.volumeUsd24h",
		"feesUsd24h":     "metrics.feesUsd24h",
		"token0PriceUsd": "token0.priceUsd", "token1PriceUsd": "token1.priceUsd",
	} {
		j.near("poolOverviewCurrent."+name, number(now, name), number(ch.pool, of), 0)
	}
	ratio := ch.feesOfTVL(number(now, "feesUsd24h"), number(now, "tvlUsd"), true)
	j.near("poolOverviewCurrent.feesTvlRatio", number(now, "feesTvlRatio"), ratio, 0)
}

// feesOfTVL is fees in percent of what a pool holds. Today a TVL may be that of
// one leg alone, of which no rate is made.
func (ch *chart) feesOfTVL(fees, tvl float64, today bool) float64 {
	if !(tvl > 0) || today && flag(ch.pool, "pricing.priceUnavailable") {
		return math.NaN()
	}
	return fees / tvl * 100
}

// daysOf checks that points follow each other day by day or hour by hour up to now,
// from the range's first day or the pool's. The hours of a node that was upgraded may
// begin later, with a day.
func (ch *chart) daysOf(name string, points []map[string]any, days int) {
	if ch.s.now == 0 {
		return
	}

	j, step := ch.by("chart days"), ch.step()
	last := math.Floor(ch.s.now / step)
	first := math.Floor(number(ch.pool, "createdAtTimestamp") / step)
	if days > 0 {
		today := math.Floor(ch.s.now / secondsPerDay)
		first = max(first, (today-float64(days-1))*secondsPerDay/step)
	}
	if later := last - float64(len(points)) + 1; ch.byHour && later > first &&
		(len(points) == 0 || math.Mod(later*step, secondsPerDay) == 0) {
		first = later
	}
	j.equal(name+" length", float64(len(points)), last-first+1)

	for i, p := range points {
		at := (last - float64(len(points)-1-i)) * step
		j.equal(fmt.Sprintf("%s[%d].timestamp", name, i), p["timestamp"], at)
	}
}

// checkPrices checks the candles, and that the last one is now.
func (ch *chart) checkPrices() {
	points := list(ch.body, "poolPrice")
	if len(points) == 0 {
		return
	}
	j := ch.by("candles")
	for i, p := range points {
		at := fmt.Sprintf("poolPrice[%d].", i)
		low, high := number(p, "low"), number(p, "high")
		for _, name := range []string{"open", "close"} {
			x := number(p, name)
			j.holds(at+name, !(x < low*(1-roundingError)) && isAtMost(x, high), x, "between low and high")
		}
	}

	last, j := points[len(points)-1], ch.by("chart now")
	j.near("poolPrice close of today", number(last, "close"), number(ch.pool, "metrics.currentPrice"), 0)
	for _, leg := range legs {
		name := "token" + leg + "PriceUsd"
		want := number(ch.pool, "token"+leg+".priceUsd")
		j.near("poolPrice "+name+" of today", number(last, name), want, 0)
		overview := list(ch.body, "poolOverview."+name)
		for i := range min(len(points), len(overview)) {
			ch.by("chart parts").equal(fmt.Sprintf("poolOverview.%s[%d]", name, i),
				overview[i]["value"], points[i][name])
		}
	}
}

// checkOverview checks the rates of every day, and that the last TVL is now's.
func (ch *chart) checkOverview() {
	tvl, fees := list(ch.body, "poolOverview.tvlUsd"), list(ch.body, "poolOverview.feesUsd")
	volume, ratio := list(ch.body, "poolOverview.volumeUsd"), list(ch.body, "poolOverview.feesTvlRatio")
	rates := list(ch.body, "poolSeries.feeApr")
	if n := len(tvl); n == 0 || len(fees) != n || len(ratio) != n || len(volume) != n {
		return
	}
	last := len(tvl) - 1
	ch.by("chart now").near("poolOverview.tvlUsd of today", number(tvl[last], "value"),
		number(ch.pool, "metrics.tvlUsd"), 0)

	j := ch.by("chart rates")
	for i := range tvl {
		want := ch.feesOfTVL(number(fees[i], "value"), number(tvl[i], "value"), i == last)
		j.near(fmt.Sprintf("poolOverview.feesTvlRatio[%d]", i), number(ratio[i], "value"), want, 0)
		paid, most := number(fees[i], "value"), number(volume[i], "value")
		j.holds(fmt.Sprintf("poolOverview.feesUsd[%d]", i), isAtMost(paid, most), paid,
			"at most the volume")
		if i < len(rates) {
			aYear := 365 * secondsPerDay / ch.step()
			rate := number(rates[i], "value")
			j.near(fmt.Sprintf("poolSeries.feeApr[%d]", i), rate, clamped(want*aYear), 0)
		}
	}
	ch.daysInWindows(volume, fees)
	ch.noDaysUsd(map[string][]map[string]any{"tvlUsd": tvl, "volumeUsd": volume, "feesUsd": fees})
}

// noDaysUsd checks that no day of a quarantined pool is worth anything.
func (ch *chart) noDaysUsd(series map[string][]map[string]any) {
	if !isQuarantined(ch.pool) {
		return
	}
	j := ch.by("quarantine")
	for name, points := range series {
		for i := range points {
			j.near(fmt.Sprintf("poolOverview.%s[%d]", name, i), number(points[i], "value"), math.NaN(), 0)
		}
	}
}

// daysInWindows checks days or hours that lie within a rolling window against it: the
// last day against 24 hours, the last seven against 7 days, thirty against 30.
func (ch *chart) daysInWindows(volume, fees []map[string]any) {
	j := ch.by("days in windows")
	for _, of := range []struct {
		name   string
		points []map[string]any
	}{{"volumeUsd", volume}, {"feesUsd", fees}} {
		windows := map[int]string{0: "24h", 6: "7d", 29: "30d"}
		if ch.byHour {
			windows = map[int]string{0: "1h", 23: "24h", 167: "7d"}
		}

		sum := 0.0
		for back := range of.points {
			sum += number(of.points[len(of.points)-1-back], "value")
			if window, ok := windows[back]; ok {
				most := number(ch.pool, "metrics."+of.name+window)
				j.holds(fmt.Sprintf("%s of %d points", of.name, back+1), isAtMost(sum, most), sum,
					"at most "+show(most)+" of "+window)
			}
		}
		if !ch.byHour {
			ch.daysOfMonth(of.name, of.points)
		}
	}
}

// monthDays are the days of the longest window.
const monthDays = 30

// daysOfMonth adds up the window of 30 days: today, the 29 days before it, and of
// the day before those what the window still has of it, in steps of five minutes.
// A node that was upgraded may not know the window yet.
func (ch *chart) daysOfMonth(name string, points []map[string]any) {
	at := name + "30d"
	window := number(ch.pool, "metrics."+at)
	first := math.Floor(number(ch.pool, "createdAtTimestamp") / secondsPerDay)
	today := math.Floor(ch.s.now / secondsPerDay)
	short := len(points) <= monthDays && first < today-monthDays+1
	if ch.s.now == 0 || short || !known(window) || isQuarantined(ch.pool) {
		return
	}

	sum := 0.0
	for back := range min(len(points), monthDays) {
		sum += number(points[len(points)-1-back], "value")
	}
	if len(points) > monthDays {
		passed := math.Floor(math.Mod(ch.s.now, secondsPerDay)/300) * 300 / secondsPerDay
		sum += (1 - passed) * number(points[len(points)-1-monthDays], "value")
	}
	ch.by("days in windows").near("metrics."+at, window, sum, 0)
}

// isAtMost is x <= most but for rounding, and for what is not known.
func isAtMost(x, most float64) bool { return !(x > most*(1+roundingError)) }

// samePoints checks that series of one name are the same in two groups.
func (ch *chart) samePoints(name, other string) {
	j := ch.by("chart parts")
	for _, series := range []string{"volumeUsd", "tvlUsd", "feesUsd"} {
		j.leaves(name+"."+series, field(ch.body, name+"."+series), field(ch.body, other+"."+series))
	}
}

// partOf checks that the days of a range say what they say in the longest one.
func (ch *chart) partOf(all row, groups ...string) {
	j := ch.by("chart ranges")
	for _, name := range groups {
		ch.checkTail(j, name, ch.body[name], all[name])
	}
}

func (ch *chart) checkTail(j judge, at string, got, all any) {
	switch got := got.(type) {
	case map[string]any:
		whole, _ := all.(map[string]any)
		for name, v := range got {
			ch.checkTail(j, at+"."+name, v, whole[name])
		}

	case []any:
		whole, _ := all.([]any)
		if len(got) > len(whole) {
			j.holds(at, false, len(got), fmt.Sprintf("at most %d points", len(whole)))
			return
		}
		j.leaves(at, got, whole[len(whole)-len(got):])
	default:
		j.equal(at, got, all)
	}
}

// positionEnd checks that the last day of a position is its row.
func (ch *chart) positionEnd() {
	series := group(ch.body, "positionSeries")
	if series == nil || ch.position == nil {
		return
	}
	r, p := ch.position, partsOf(ch.position)
	divergence := p.divergence()
	if flag(r, "metrics.unrealizableLeg") {
		divergence = math.NaN()
	}

	j := ch.by("position series")
	for name, want := range map[string]float64{
		"pnlUsd":        number(r, "metrics.pnlUsd"),
		"assetValueUsd": number(r, "metrics.underlyingValueUsd"),
		"apr":           number(r, "metrics.apr"), "feeApr": number(r, "metrics.feeApr"),
		"divergenceLossUsd": divergence,
	} {
		points := list(series, name)
		if len(points) == 0 {
			// Nothing of a position that was closed before the range began.
			j.holds(name, !flag(r, "isActive"), "empty", "points, as the position is open")
			continue
		}

		scale := 0.0
		if name == "divergenceLossUsd" || name == "pnlUsd" {
			scale = p.scale()
		}
		if p.d > 0 && (name == "apr" || name == "feeApr") {
			scale = p.scale() / p.d * 100 * 365 / max(number(r, "metrics.ageSeconds"), 3600) * secondsPerDay
		}
		j.near("positionSeries."+name+" at its end", number(points[len(points)-1], "value"), want, scale)
	}
}
