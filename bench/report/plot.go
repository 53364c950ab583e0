package report

import (
	"fmt"
	"math"
)

// A plot is drawn in a box of its own units; the page scales it. It is small,
// so that letters stay readable where the page is narrow.
const (
	plotWidth  = 440
	plotHeight = 250
	plotLeft   = 54
	plotRight  = 10
	plotTop    = 12
	plotBottom = 26
)

// scale maps values to the plot's units.
type scale struct {
	from, to float64 // values
	at, end  float64 // units
	log      bool
}

func (s *scale) of(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log10(max(v, s.from)), math.Log10(from), math.Log10(to)
	}
	return s.at + (v-from)/(to-from)*(s.end-s.at)
}

// upright maps values to heights, which grow downwards.
func upright(from, to float64, log bool) scale {
	return scale{from, to, plotHeight - plotBottom, plotTop, log}
}

func openPlot(dst []byte, label string) []byte {
	return fmt.Appendf(dst, "<figure>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
		plotWidth, plotHeight, label)
}

// closePlot ends a plot with its caption, which is HTML.
func closePlot(dst []byte, caption string) []byte {
	return fmt.Appendf(dst, "</svg>\n<figcaption>%s</figcaption>\n</figure>\n", caption)
}

// key is a coloured square before a word of a caption.
func key(variable, word string) string {
	return fmt.Sprintf(" <span class=\"keyed\">"+
		"<span class=\"key\" style=\"background:var(--%s)\"></span>%s</span>", variable, word)
}

// rule draws a horizontal line with its value.
func rule(dst []byte, y float64, label string) []byte {
	return fmt.Appendf(dst, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"+
		"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		plotLeft, plotWidth-plotRight, y, y, plotLeft-5, y+4, label)
}

// pillar draws a vertical line with its value below.
func pillar(dst []byte, x float64, label string) []byte {
	return fmt.Appendf(dst, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"+
		"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		x, x, plotTop, plotHeight-plotBottom, x, plotHeight-8, label)
}

// line draws points as one line.
func line(dst []byte, class string, points [][2]float64) []byte {
	if len(points) == 0 {
		return dst
	}
	dst = fmt.Appendf(dst, "<polyline class=\"%s\" points=\"", class)
	for i, p := range points {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = fmt.Appendf(dst, "%.1f,%.1f", p[0], p[1])
	}
	return append(dst, "\"/>\n"...)
}

// spokenTime is a duration in microseconds as an axis has it.
func spokenTime(micros float64) string {
	switch {
	case micros >= 1e6:
		return fmt.Sprintf("%.4g s", micros/1e6)
	case micros >= 1e3:
		return fmt.Sprintf("%.4g ms", micros/1e3)
	}
	return fmt.Sprintf("%.4g µs", micros)
}

// step returns a round distance that cuts the way to most into about five.
func step(most float64) float64 {
	if most <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, m := range []float64{1, 2, 5} {
		if most/(m*power) <= 5 {
			return m * power
		}
	}
	return 10 * power
}

// spokenCount is a number as an axis has it.
func spokenCount(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.4gk", v/1000)
	}
	return fmt.Sprintf("%.4g", v)
}
