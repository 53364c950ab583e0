package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
)

//go:embed assets
var assets embed.FS

// page is what the template shows; the script draws the scenarios of both runs.
type page struct {
	Run, Base *Run
	Refused   error // why there is no comparison with Base
	Changes   []Change
	Style     template.CSS
	Script    template.JS
}

var layout = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"count":   spaceThousands,
	"mega":    func(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) },
	"known":   func(format string, v float64) string { return spellKnown(format, v, "") },
	"rate":    spellRate,
	"percent": func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
	"bar":     func(v float64) string { return fmt.Sprintf("%.1f%%", 100*min(v, 1)) },
}).ParseFS(assets, "assets/page.html"))

// HTML writes the report of a run; base is an older one to compare with, or nil.
func HTML(w io.Writer, run, base *Run) error {
	p := page{
		Run: run, Base: base,
		Style:  template.CSS(readAsset("uPlot.min.css") + readAsset("page.css")),
		Script: template.JS(readAsset("uPlot.iife.min.js") + readAsset("page.js")),
	}
	if base != nil {
		p.Changes, p.Refused = Changes(base, run)
	}
	if err := layout.Execute(w, &p); err != nil {
		return fmt.Errorf("cannot write a report: %w", err)
	}
	return nil
}

func readAsset(name string) string {
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

// ByCPU are the scenarios of which it is known how near to their limit the node is by CPU.
func (r *Run) ByCPU() (all []*Scenario) {
	for i := range r.Scenarios {
		if s := &r.Scenarios[i]; s.Limit != nil && s.Comparison == "" && s.RatioCPU > 0 {
			all = append(all, s)
		}
	}
	return all
}

// spaceThousands puts narrow spaces, at which no line breaks, between thousands.
func spaceThousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// Noise is how well ratios are known, and what else the machine did.
func (r *Run) Noise() string {
	var spread, other float64
	known := false
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		spread, other = max(spread, s.Spread), max(other, s.Other)
		known = known || s.repeated()
	}
	text := fmt.Sprintf("other processes used at most %.2f cores", other)
	if known {
		text = fmt.Sprintf("ratios are known to ±%.0f %% or better; %s", 100*spread, text)
	}
	return text
}

// Verdicts counts the figures by verdict.
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
