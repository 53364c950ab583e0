package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

//go:embed assets
var assets embed.FS

// page is what the template shows.
type page struct {
	Run, Base *Run
	Refused   error // why there is no comparison with Base
	Changes   []Change

	Style  template.CSS
	Script template.JS
	Plots  []plots
}

// plots are the two plots of a scenario, as the script draws them.
type plots struct {
	Latency    [][]*float64 // percentiles as tail has them, then ms: node, limit, baseline
	Throughput [][]*float64 // seconds, then requests/s and the slowest answer in ms
	Refreshes  []Moment
	Words      [3]string // what the lines of Latency are; empty: none
}

var layout = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"count": count,
	"mega":  func(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) },
	"known": func(format string, v float64) string {
		if v == 0 {
			return ""
		}
		return fmt.Sprintf(format, v)
	},
	"percent": func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
	"bar":     func(v float64) string { return fmt.Sprintf("%.1f%%", 100*min(v, 1)) },
	"met":     func(v Verdict) bool { return v == Met },
	"missed":  func(v Verdict) bool { return v == Missed },
}).ParseFS(assets, "assets/page.html"))

// HTML writes the report of a run; base is an older run to compare with, or
// nil.
func HTML(w io.Writer, run, base *Run) error {
	p := page{Run: run, Base: base}
	if base != nil {
		p.Changes, p.Refused = Changes(base, run)
	}
	for i := range run.Scenarios {
		p.Plots = append(p.Plots, plotsOf(&run.Scenarios[i], base))
	}

	p.Style = template.CSS(asset("uPlot.min.css") + asset("page.css"))
	p.Script = template.JS(asset("uPlot.iife.min.js") + asset("page.js"))
	if err := layout.Execute(w, &p); err != nil {
		return fmt.Errorf("cannot write a report: %w", err)
	}
	return nil
}

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("BUG: an asset is not embedded: " + err.Error())
	}
	return string(b)
}

// Was returns the scenario of an older run; nil when there is none.
func (p *page) Was(name string) *Scenario {
	if p.Base == nil || p.Refused != nil {
		return nil
	}
	return p.Base.Scenario(name)
}

// plotsOf makes the columns of a scenario's plots.
func plotsOf(s *Scenario, base *Run) plots {
	p := plots{Refreshes: s.Refreshes, Words: [3]string{"node"}}
	sides := [3]*Measure{&s.Node, s.Limit}
	if s.Limit != nil {
		if p.Words[1] = s.Comparison; s.Comparison == "" {
			p.Words[1] = "limit"
		}
	}
	if base != nil {
		if old := base.Scenario(s.Name); old != nil {
			p.Words[2], sides[2] = "baseline", &old.Node
		}
	}

	p.Latency = make([][]*float64, 4)
	for i, point := range s.Node.Latency {
		p.Latency[0] = append(p.Latency[0], number(tail(point.Percent)))
		for side, m := range sides {
			var y *float64 // null: no point
			if m != nil && i < len(m.Latency) {
				y = number(max(float64(m.Latency[i].Micros), 1) / 1e3)
			}
			p.Latency[side+1] = append(p.Latency[side+1], y)
		}
	}

	p.Throughput = make([][]*float64, 3)
	for _, point := range s.Series {
		for column, v := range []float64{point.Seconds, point.PerSecond, float64(point.Slowest) / 1e3} {
			p.Throughput[column] = append(p.Throughput[column], number(v))
		}
	}
	return p
}

// number is a pointer to a value, for columns in which some are missing.
func number(v float64) *float64 { return &v }

// tail stretches percentiles so that each further nine takes as much room: 0 is
// 0, 90 is 1, 99 is 2, 99.9 is 3. What is behind the last nine stands at 4.3.
func tail(percent float64) float64 {
	return min(-math.Log10(max(1-percent/100, 1e-5)), 4.3)
}

// narrowSpace stands between thousands and does not break a line.
const narrowSpace = '\u202f'

// count spells a number with spaces between thousands.
func count(n int64) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteRune(narrowSpace)
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Noise is how far the rounds of a scenario were apart at most, and what else
// the machine did.
func (r *Run) Noise() string {
	var spread, other float64
	for i := range r.Scenarios {
		spread, other = max(spread, r.Scenarios[i].Spread), max(other, r.Scenarios[i].Other)
	}
	text := fmt.Sprintf("other processes used at most %.2f cores", other)
	if r.Settings.Rounds > 1 {
		text = fmt.Sprintf("rounds of a scenario are at most %.0f %% apart; %s", 100*spread, text)
	}
	return text
}

// Verdicts counts the figures: met, met on a smaller corpus, missed, and not
// measured.
func (r *Run) Verdicts() string {
	n := map[Verdict]int{}
	for _, f := range r.Figures {
		n[f.Verdict]++
	}
	return fmt.Sprintf("%d met, %d met on a smaller corpus, %d missed, %d not measured",
		n[Met], n[MetOnLess], n[Missed], n[NotMeasured])
}

// Text compares what was charged.
func (u *Units) Text() string {
	text := fmt.Sprintf("%d expected, %d answered", u.Expected, u.Answered)
	if u.Billed < 0 {
		return text + ", billed is not known"
	}
	return fmt.Sprintf("%s, %d billed: difference %d", text, u.Billed, u.Billed-u.Expected)
}
