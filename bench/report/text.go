package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"
)

var texts = template.Must(template.New("").Funcs(template.FuncMap{
	"cell":  func(text string) string { return strings.ReplaceAll(text, "|", `\|`) },
	"known": func(format string, v float64) string { return known(format, v, "-") },
	"lastLine": func(text string) string {
		text = strings.TrimSpace(text)
		return text[strings.LastIndexByte(text, '\n')+1:]
	},
}).ParseFS(assets, "assets/*.txt", "assets/*.md"))

// known spells a figure that is 0 when it is not known.
func known(format string, v float64, unknown string) string {
	if v == 0 {
		return unknown
	}
	return fmt.Sprintf(format, v)
}

// print renders a template whose lines are columns between tabs.
func print(w io.Writer, name string, data any, flags uint) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', flags)
	if err := texts.ExecuteTemplate(t, name, data); err != nil {
		return fmt.Errorf("cannot print %s: %w", name, err)
	}
	return t.Flush()
}

// Table prints the scenarios of a run, with what else they measured, what to
// keep in mind, and what went wrong.
func Table(w io.Writer, run *Run) error {
	if err := print(w, "table.txt", run, tabwriter.AlignRight); err != nil {
		return err
	}
	return texts.ExecuteTemplate(w, "notes.txt", run)
}

// Goals prints the table of goals.
func Goals(w io.Writer, run *Run) error {
	fmt.Fprintln(w, run.Corpus.Text())
	return print(w, "figures.txt", run, 0)
}

// Markdown prints the table of goals as a README has it.
func Markdown(w io.Writer, run *Run) error { return texts.ExecuteTemplate(w, "figures.md", run) }

// PeersTable prints the node and each peer.
func PeersTable(w io.Writer, run *Peers) error {
	if err := print(w, "peers.txt", run, tabwriter.AlignRight); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d positions; %s; no page cache anywhere\n", run.Positions, run.Pinned)
	return err
}

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
	return regressions, print(w, "changes.txt", changes, 0)
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
	case m.Requests+m.Refused == 0 && len(s.Values) > 0:
		return fmt.Sprintf("%s: %.4g %s", s.Values[0].Name, s.Values[0].Value, s.Values[0].Unit)
	case m.Requests+m.Refused == 0:
		return "nothing was measured"
	}

	text := fmt.Sprintf("%.0f/s, %s µs of CPU each, p50 %.2f ms, p99 %.2f ms",
		m.PerSecond, known("%.1f", m.ServerMicros, "-"), m.At(50), m.At(99))
	if s.Limit != nil {
		text = fmt.Sprintf("%.2f of the limit (by CPU %s): %s", s.Ratio, known("%.2f", s.RatioCPU, "-"), text)
	}
	if s.Bad() > 0 {
		text += fmt.Sprintf("; %d answers were bad: %v", s.Bad(), s.Problems)
	}
	return text
}
