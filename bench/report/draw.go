package report

import (
	"fmt"
	"html"
	"math"
)

// tail stretches percentiles so that each further nine takes as much room:
// 0 is 0, 90 is 1, 99 is 2, 99.9 is 3.
func tail(percent float64) float64 {
	return min(-math.Log10(max(1-percent/100, 1e-5)), deepestTail)
}

// deepestTail is where 100 % stands: a nine beyond the last that is drawn.
const deepestTail = 4.3

var tailMarks = []struct {
	percent float64
	label   string
}{{0, "0"}, {50, "50"}, {90, "90"}, {99, "99"}, {99.9, "99.9"}, {99.99, "99.99 %"}}

// appendLatency plots the percentiles of the node, its limit and its baseline.
func appendLatency(dst []byte, s, old *Scenario) []byte {
	x := scale{0, deepestTail, plotLeft, plotWidth - plotRight, false}
	sides := []struct {
		class, variable, word string
		m                     *Measure
	}{
		{"l-limit", "limit", beside(s), s.Limit},
		{"l-base", "base", "baseline", nil},
		{"l-node", "node", "node", &s.Node},
	}
	if old != nil {
		sides[1].m = &old.Node
	}
	least, most := math.Inf(1), 1.0
	for _, side := range sides {
		if side.m == nil {
			continue
		}
		for _, p := range side.m.Latency {
			least, most = min(least, max(float64(p.Micros), 1)), max(most, float64(p.Micros))
		}
	}
	y := upright(math.Pow(10, math.Floor(math.Log10(least))),
		math.Pow(10, math.Ceil(math.Log10(most*1.01))), true)
	dst = openPlot(dst, "latency by percentile of "+html.EscapeString(s.Name))
	for v := y.from; v <= y.to*1.01; v *= 10 {
		dst = rule(dst, y.of(v), spokenTime(v))
	}
	for _, m := range tailMarks {
		dst = pillar(dst, x.of(tail(m.percent)), m.label)
	}
	caption := "latency by percentile"
	for _, side := range sides {
		if side.m == nil || side.m.Requests == 0 {
			continue
		}
		var points [][2]float64
		for _, p := range side.m.Latency {
			points = append(points, [2]float64{x.of(tail(p.Percent)), y.of(float64(p.Micros))})
		}
		dst = line(dst, side.class, points)
		caption += key(side.variable, side.word)
	}
	return closePlot(dst, caption)
}

// beside is what a scenario's limit is, in a word.
func beside(s *Scenario) string {
	if s.Beside == "" {
		return "limit"
	}
	return html.EscapeString(s.Beside)
}

// appendThroughput plots a round over time, with a line where a chain published
// and the slowest answer of every tenth of a second.
func appendThroughput(dst []byte, s *Scenario) []byte {
	if len(s.Series) == 0 {
		return dst
	}
	var most, slowest float64
	for _, p := range s.Series {
		most, slowest = max(most, p.PerSecond), max(slowest, float64(p.Slowest))
	}
	end := s.Series[len(s.Series)-1].Seconds + s.Series[min(1, len(s.Series)-1)].Seconds
	x := scale{0, max(end, 0.1), plotLeft, plotWidth - plotRight, false}
	by := step(most)
	y := upright(0, by*math.Ceil(max(most, 1)/by), false)
	slow := upright(0, max(slowest, 1)*1.6, false) // below the throughput
	dst = openPlot(dst, "throughput over time of "+html.EscapeString(s.Name))
	for v := 0.0; v <= y.to*1.001; v += by {
		dst = rule(dst, y.of(v), spokenCount(v))
	}
	each := step(end)
	for v := 0.0; v <= end*1.001; v += each {
		dst = pillar(dst, x.of(v), fmt.Sprintf("%.4g s", v))
	}
	for _, r := range s.Refreshes {
		dst = fmt.Appendf(dst, "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\">"+
			"<title>chain %d published</title></line>\n",
			x.of(r.Seconds), x.of(r.Seconds), plotTop, plotHeight-plotBottom, r.Chain)
	}
	var rate, worst [][2]float64
	for _, p := range s.Series {
		rate = append(rate, [2]float64{x.of(p.Seconds), y.of(p.PerSecond)})
		worst = append(worst, [2]float64{x.of(p.Seconds), slow.of(float64(p.Slowest))})
	}
	dst = line(line(dst, "l-slow", worst), "l-node", rate)
	caption := "throughput over time" + key("node", "requests/s") +
		key("base", "slowest answer, at most "+spokenTime(math.Round(slowest)))
	if len(s.Refreshes) > 0 {
		caption += key("mark", "a chain published")
	}
	return closePlot(dst, caption)
}

// appendOverview draws how far every scenario is from its limit.
func appendOverview(dst []byte, run, base *Run) []byte {
	const row, left = 26, 92
	var shown []*Scenario
	most := 1.0
	for i := range run.Scenarios {
		if s := &run.Scenarios[i]; s.Limit != nil && s.Ratio > 0 && s.Beside == "" {
			shown = append(shown, s)
			most = max(most, s.Ratio)
		}
	}
	if len(shown) == 0 {
		return dst
	}
	x := scale{0, most, left, plotWidth - 44, false}
	height := row*len(shown) + 24
	dst = fmt.Appendf(dst, "<h2>Of the limit "+
		"<small>throughput beside a constant body of the same size</small></h2>\n"+
		"<figure class=\"one\">\n<svg viewBox=\"0 0 %d %d\" role=\"img\" "+
		"aria-label=\"scenarios beside their limits\">\n", plotWidth, height)
	for v := 0.0; v <= most*1.001; v += 0.25 {
		dst = fmt.Appendf(dst, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\"/>"+
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
			x.of(v), x.of(v), height-18, x.of(v), height-4, v)
	}
	for i, s := range shown {
		y, bar := i*row, x.of(s.Ratio)
		dst = fmt.Appendf(dst, "<text class=\"strong\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>"+
			"<rect class=\"b-node\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" rx=\"2\"/>\n",
			left-6, y+15, html.EscapeString(s.Name), left, y+4, bar-left)
		end := bar
		if old := baseOf(base, s.Name); old > 0 {
			mark := x.of(min(old, most))
			end = max(bar, mark+3)
			dst = fmt.Appendf(dst,
				"<rect class=\"b-base\" x=\"%.1f\" y=\"%d\" width=\"3\" height=\"20\"/>\n", mark, y+1)
		}
		dst = fmt.Appendf(dst, "<text class=\"strong\" x=\"%.1f\" y=\"%d\">%.2f</text>\n",
			end+5, y+15, s.Ratio)
	}
	caption := key("node", "this run")
	if base != nil {
		caption += key("base", "baseline")
	}
	return closePlot(dst, caption)
}

func baseOf(base *Run, name string) float64 {
	if base == nil {
		return 0
	}
	if s := base.Scenario(name); s != nil {
		return s.Ratio
	}
	return 0
}
