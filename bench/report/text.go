package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"
)

var texts = template.Must(template.New("").Funcs(template.FuncMap{
	"cell":  func(text string) string { return strings.ReplaceAll(text, "|", `\|`) },
	"known": func(format string, v float64) string { return spellKnown(format, v, "-") },
	"rate":  spellRate,
}).ParseFS(assets, "assets/*.txt", "assets/*.md"))

// spellKnown spells a figure that is 0 when it is not known.
func spellKnown(format string, v float64, unknown string) string {
	if v == 0 {
		return unknown
	}
	return fmt.Sprintf(format, v)
}

// spellRate spells how many a second there are; of few it matters what is behind the point.
func spellRate(perSecond float64) string {
	if perSecond < 100 {
		return fmt.Sprintf("%.3g", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// printColumns renders a template whose lines are columns between tabs.
func printColumns(w io.Writer, name string, data any, flags uint) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', flags)
	if err := texts.ExecuteTemplate(t, name, data); err != nil {
		return fmt.Errorf("cannot print %s: %w", name, err)
	}
	return t.Flush()
}

// Table prints the scenarios of a run, with what else they measured, what to
// keep in mind, and what went wrong.
func Table(w io.Writer, run *Run) error {
	if err := printColumns(w, "table.txt", run, tabwriter.AlignRight); err != nil {
		return err
	}
	return texts.ExecuteTemplate(w, "notes.txt", run)
}

// Goals prints the table of goals.
func Goals(w io.Writer, run *Run) error {
	fmt.Fprintln(w, run.Corpus.Text())
	return printColumns(w, "figures.txt", run, 0)
}

// Markdown prints the table of goals as a README has it.
func Markdown(w io.Writer, run *Run) error { return texts.ExecuteTemplate(w, "figures.md", run) }

// PrintChanges compares a run with an older one, prints what changed, and
// returns how many scenarios are worse by more than a part.
func PrintChanges(w io.Writer, old, now *Run, failOver float64) (regressions int, err error) {
	changes, err := Changes(old, now)
	if err != nil {
		return 0, err
	}
	for i := range changes {
		if c := &changes[i]; failOver > 0 && c.Worse > failOver {
			c.Regression = true
			regressions++
		}
	}
	return regressions, printColumns(w, "changes.txt", changes, 0)
}

// Text says of what figures are.
func (c *Corpus) Text() string {
	return fmt.Sprintf("corpus: %d positions in %d pools; the goals are for %d positions a chain, on three",
		c.Positions, c.Pools, FullSize)
}

// Summary is a scenario in a line, for whoever waits.
func (s *Scenario) Summary() string {
	m := &s.Node
	switch {
	case !s.Asked() && len(s.Values) > 0:
		return fmt.Sprintf("%s: %.4g %s", s.Values[0].Name, s.Values[0].Value, s.Values[0].Unit)
	case !s.Asked():
		return "nothing was measured"
	}

	text := fmt.Sprintf("%s/s, %s µs of CPU each, p50 %s ms, p99 %s ms", spellRate(m.PerSecond),
		spellKnown("%.1f", m.ServerMicros, "-"), spellKnown("%.2f", m.At(50), "-"), spellKnown("%.2f", m.At(99), "-"))
	if s.Limit != nil {
		text = fmt.Sprintf("%.2f of %s (by CPU %s): %s", s.Ratio, cmp.Or(s.Comparison, "the limit"),
			spellKnown("%.2f", s.RatioCPU, "-"), text)
	}
	if s.Bad() > 0 {
		text += fmt.Sprintf("; %d answers were bad: %v", s.Bad(), s.Problems)
	}
	return text
}

// Change is how a scenario compares with an older run.
type Change struct {
	Name     string
	Measure  string // what was compared
	Old, New float64
	Worse    float64 // by which part; negative is better

	Unlike     string // why it says nothing; empty: the loads were alike, and both figures are known
	Regression bool   // it is worse by more than is wanted
}

// Text is the change in words.
func (c *Change) Text() string {
	if c.Unlike != "" {
		return "not comparable: " + c.Unlike
	}
	if math.IsInf(c.Worse, 1) {
		return "no good answer"
	}
	if c.Worse < 0 {
		return fmt.Sprintf("%.0f %% better", -100*c.Worse)
	}
	return fmt.Sprintf("%.0f %% worse", 100*c.Worse)
}

// Changes compares what both runs measured, or refuses runs of unlike corpora.
// Ratios to the limit are compared where there are any, since machines and
// hours differ; else median latencies.
func Changes(old, now *Run) (changes []Change, err error) {
	if err := checkAlike(&old.Corpus, &now.Corpus); err != nil {
		return nil, err
	}

	for i := range now.Scenarios {
		b := &now.Scenarios[i]
		a := old.Scenario(b.Name)
		switch {
		case a == nil:
		case unlikeLoads(a, b) != "":
			changes = append(changes, Change{Name: b.Name, Measure: "-", Unlike: unlikeLoads(a, b)})
		case a.Node.Requests > 0 && b.Node.Requests == 0 && b.Asked():
			changes = append(changes, Change{Name: b.Name, Measure: "good answers a second",
				Old: a.Node.PerSecond, Worse: math.Inf(1)})
		case a.RatioCPU > 0 && b.RatioCPU > 0:
			changes = append(changes, Change{Name: b.Name, Measure: "of the limit by CPU",
				Old: a.RatioCPU, New: b.RatioCPU, Worse: a.RatioCPU/b.RatioCPU - 1})
		case a.Node.Requests > 0 && b.Node.Requests > 0:
			c := Change{Name: b.Name, Measure: "median ms", Old: a.Node.At(50), New: b.Node.At(50)}
			if min(c.Old, c.New) > 0 {
				c.Worse = c.New/c.Old - 1
			} else { // an older build may not have kept it
				c.Unlike = "a median is not known"
			}
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		return nil, errors.New("cannot compare the runs: no scenario has good answers in both")
	}
	return changes, nil
}

// unlikeLoads says how a scenario's load differs from that of an older run, as far as both say it.
// What a list of paths or a rate asks for is in its description, and the list has a digest.
func unlikeLoads(a, b *Scenario) string {
	own := b.Name == "own" || strings.HasPrefix(b.Name, "rate-")
	switch {
	case a.Connections != b.Connections && min(a.Connections, b.Connections) > 0:
		return fmt.Sprintf("%d connections, and %d", a.Connections, b.Connections)
	case own && a.What != b.What:
		return fmt.Sprintf("%s, and %s", a.What, b.What)
	case a.List != b.List && min(a.List, b.List) != "":
		return "the lists have other paths"
	}
	return ""
}

// grown is by which part the sizes of a node that runs elsewhere may differ between two runs:
// its chains go on meanwhile.
const grown = 0.1

// checkAlike refuses corpora of other sizes. What is open, and how many transactions
// there are, depends on the hour at which a corpus was made.
func checkAlike(a, b *Corpus) error {
	near := 0.0
	if a.Genesis == "" && b.Genesis == "" { // no corpora that were made
		near = grown
	}

	same := func(x, y int64) bool { return math.Abs(float64(x-y)) <= near*float64(max(x, y)) }
	alike := func(x, y Chain) bool {
		return x.ID == y.ID && same(x.Positions, y.Positions) && same(x.Pools, y.Pools)
	}
	if same(a.Positions, b.Positions) && same(a.Pools, b.Pools) && slices.EqualFunc(a.Chains, b.Chains, alike) {
		return nil
	}
	return fmt.Errorf("cannot compare runs of unlike corpora: %d positions in %d pools on %d chains, "+
		"and %d in %d on %d", a.Positions, a.Pools, len(a.Chains), b.Positions, b.Pools, len(b.Chains))
}
