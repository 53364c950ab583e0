package bench

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"tidemark/bench/corpus"
	"tidemark/bench/report"
)

// goal is a row of goals.toml, which says what the fields mean.
type goal struct {
	Number, What, Yardstick string
	Sized                   bool
	Parts, Needs            []condition
}

// condition is a value, or its ratio to another one, and a bound.
type condition struct {
	Of, Metric, OverOf, Over string
	Least, Most              *float64 // one of them
	Unit                     string
}

// fullShare is which part of the full size, times the chains, passes for it.
const fullShare = 0.9

//go:embed goals.toml
var goalsText string

var goals = readGoals(goalsText)

func readGoals(text string) []goal {
	var table struct{ Goal []goal }
	meta, err := toml.Decode(text, &table)
	if unknown := meta.Undecoded(); err != nil || len(unknown) > 0 {
		panic(fmt.Sprintf("BUG: the table of goals cannot be read: %v, unknown %v", err, unknown))
	}
	return table.Goal
}

// valueOf finds a metric in a run, the most of any scenario where none is named;
// false when it was not measured to the end.
func valueOf(run *report.Run, scenario, metric string) (most float64, ok bool) {
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		if s.Cut || scenario != "" && scenario != s.Name {
			continue
		}
		if x, has := metricOf(s, metric); has {
			most, ok = max(most, x), true
		}
	}
	return most, ok
}

// metricOf finds a metric of a scenario: what every one under load has, or a value
// that it set. Of a load without a good answer there is none, nor a CPU time of a
// node that is not ours.
func metricOf(s *report.Scenario, metric string) (float64, bool) {
	loaded := s.Node.Requests > 0
	known := loaded && s.Node.ServerMicros > 0
	switch metric {
	case "of the limit by CPU":
		return s.RatioCPU, s.RatioCPU > 0
	case "server CPU an answer":
		return s.Node.ServerMicros, known
	case "p50":
		return s.Node.At(50), loaded
	case "p99":
		return s.Node.At(99), loaded
	case "p99.9":
		return s.Node.At(99.9), loaded
	case "share from the page cache":
		return s.CacheShare, known
	case "body":
		return float64(s.Node.BodyBytes), loaded
	}
	return s.Value(metric)
}

// value is what a run has of a condition.
func (c *condition) value(run *report.Run) (float64, bool) {
	x, ok := valueOf(run, c.Of, c.Metric)
	if !ok || c.Over == "" {
		return x, ok
	}
	y, ok := valueOf(run, cmp.Or(c.OverOf, c.Of), c.Over)
	return x / max(y, 1e-9), ok
}

// check spells what a run has of a condition, and says whether it is known and enough.
func (c *condition) check(run *report.Run, unknown string) (have string, known, holds bool) {
	x, known := c.value(run)
	if !known {
		return unknown, false, false
	}
	return c.spell(x), true, (c.Least == nil || x >= *c.Least) && (c.Most == nil || x <= *c.Most)
}

func (c *condition) spell(x float64) string {
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", x, c.Unit))
}

// bound spells the bound, with the words before it.
func (c *condition) bound() (words, number string) {
	if c.Least != nil {
		return "at least ", c.spell(*c.Least)
	}
	return "at most ", c.spell(*c.Most)
}

// text spells the bounds; parts that follow a like one leave out the words.
func (g *goal) text() (text string) {
	before := ""
	for i := range g.Parts {
		words, number := g.Parts[i].bound()
		if i > 0 {
			text += " / "
		}
		if words != before {
			text += words
		}
		text, before = text+number, words
	}
	return text
}

// verdict says what a run has of a goal, and whether that is enough. A part that
// fails is enough for a miss, whatever else was not measured.
func (g *goal) verdict(run *report.Run) (string, report.Verdict) {
	var texts []string
	met, missing := true, 0
	for i := range g.Parts {
		have, known, holds := g.Parts[i].check(run, "-")
		texts = append(texts, have)
		met = met && (holds || !known)
		if !known {
			missing++
		}
	}
	text := strings.Join(texts, " / ")
	if missing == len(g.Parts) {
		return "not in this run", report.NotMeasured
	}

	for i := range g.Needs {
		p := &g.Needs[i]
		have, _, holds := p.check(run, "not known")
		if holds {
			continue
		}
		words, number := p.bound()
		return fmt.Sprintf("%s, not comparable: %s of %s is %s, and has to be %s%s", text, p.Metric, p.Of,
			have, words, number), report.NotMeasured
	}

	switch {
	case !met:
		return text, report.Missed
	case missing > 0:
		return text, report.NotMeasured
	}
	return text, report.Met
}

// figures fills the table from a run.
func figures(run *report.Run) (rows []report.Figure) {
	full := float64(run.Corpus.Positions) >= fullShare*report.FullSize*float64(len(corpus.Chains))
	for i := range goals {
		g := &goals[i]
		f := report.Figure{Number: report.Row(g.Number), What: g.What, Yardstick: g.Yardstick, Goal: g.text()}
		f.Reached, f.Verdict = g.verdict(run)
		if f.Verdict == report.Met && g.Sized && !full {
			f.Verdict = report.MetOnLess
		}
		rows = append(rows, f)
	}
	return append(rows, peersFigure(run.Scenarios))
}

// peersFigure is the row of the peers: met by less CPU time than every peer's
// on every question that it can answer, with the key check and without.
func peersFigure(all []report.Scenario) report.Figure {
	f := report.Figure{
		Number: "17", What: "the peers, with the key check and without", Yardstick: "each of them, by CPU",
		Goal: "ahead on every question that it can answer", Reached: "not in this run",
		Verdict: report.NotMeasured,
	}
	ahead, missing := 0, 0
	var behind []string
	for i := range all {
		switch s := &all[i]; {
		case s.Peer == "" || slices.Contains(s.Problems, report.Cannot):
		case s.RatioCPU == 0:
			missing++
		case s.RatioCPU < 1:
			behind = append(behind, fmt.Sprintf("%s (%.2f x)", s.Name, s.RatioCPU))
		default:
			ahead++
		}
	}
	asked := ahead + len(behind)
	if asked+missing == 0 {
		return f
	}

	f.Reached = fmt.Sprintf("ahead on %d of %d", ahead, asked)
	if len(behind) > 0 {
		f.Reached += ", behind " + strings.Join(behind, ", ")
	}
	switch {
	case missing > 0:
		f.Reached += fmt.Sprintf("; %d not measured", missing)
	case len(behind) > 0:
		f.Verdict = report.Missed
	default:
		f.Verdict = report.Met
	}
	return f
}
