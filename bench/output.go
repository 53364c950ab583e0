package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tidemark/bench/report"
)

// A run is kept as NDJSON: one object a line with its kind, so that runs of
// different times can be put into one file and searched.
type line struct {
	Kind     string           `json:"kind"` // run, scenario or figure
	Run      *report.Run      `json:"run,omitempty"`
	Scenario *report.Scenario `json:"scenario,omitempty"`
	Figure   *report.Figure   `json:"figure,omitempty"`
}

// Write writes a run as NDJSON.
func Write(w io.Writer, run *report.Run) error {
	head := *run
	head.Scenarios, head.Figures = nil, nil
	lines := []line{{Kind: "run", Run: &head}}
	for i := range run.Scenarios {
		lines = append(lines, line{Kind: "scenario", Scenario: &run.Scenarios[i]})
	}
	for i := range run.Figures {
		lines = append(lines, line{Kind: "figure", Figure: &run.Figures[i]})
	}

	out := json.NewEncoder(w)
	for i := range lines {
		if err := out.Encode(&lines[i]); err != nil {
			return fmt.Errorf("cannot write a run: %w", err)
		}
	}
	return nil
}

// Read reads what Write wrote; of several runs the last.
func Read(r io.Reader) (run *report.Run, err error) {
	in := json.NewDecoder(bufio.NewReader(r))
	for n := 1; ; n++ {
		var l line

		err := in.Decode(&l)
		switch {
		case errors.Is(err, io.EOF) && run != nil:
			return run, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read a run: object %d: %w", n, err)
		case l.Run != nil:
			run = l.Run
		case run == nil:
			return nil, fmt.Errorf("cannot read a run: object %d is a %s before any run", n, l.Kind)
		case l.Scenario != nil:
			run.Scenarios = append(run.Scenarios, *l.Scenario)
		case l.Figure != nil:
			run.Figures = append(run.Figures, *l.Figure)
		}
	}
}

// Table prints the scenarios of a run, with what else they measured, what to
// keep in mind, and what went wrong.
func Table(w io.Writer, run *report.Run) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tof limit\tby CPU\t±\trequests/s\tMB/s\tserver µs\tclient µs\tbody\t"+
		"p50 ms\tp99 ms\tp99.9 ms\tfailed\t")
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		m := &s.Node
		if m.Requests+m.Refused == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.0f\t%.1f\t%s\t%.1f\t%d\t%.2f\t%.2f\t%.2f\t%d\t\n",
			s.Name, known("%.2f", s.Ratio), known("%.2f", s.RatioCPU), s.PlusMinus(), m.PerSecond,
			m.MBPerSecond, known("%.1f", m.ServerMicros), m.ClientMicros, m.BodyBytes,
			m.At(50), m.At(99), m.At(99.9), s.Bad())
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print a table: %w", err)
	}

	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		for _, flag := range s.Flags() {
			fmt.Fprintf(w, "%-14s note: %s\n", s.Name, flag)
		}
		for _, v := range s.Values {
			fmt.Fprintf(w, "%-14s %s: %.4g %s\n", s.Name, v.Name, v.Value, v.Unit)
		}
		for _, p := range s.Problems {
			fmt.Fprintf(w, "%-14s problem: %s\n", s.Name, p)
		}
	}
	for _, what := range run.Settings.Unknown {
		fmt.Fprintf(w, "not known of %s: %s\n", run.Settings.Target, what)
	}
	_, err := fmt.Fprintln(w, "units:", run.Units.Text())
	return err
}

// known prints a figure that is 0 when it is not known.
func known(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// summary is a scenario in a line, for whoever waits.
func summary(s *report.Scenario) string {
	m := &s.Node
	switch {
	case m.Requests+m.Refused == 0 && len(s.Values) > 0:
		return fmt.Sprintf("%s: %.4g %s", s.Values[0].Name, s.Values[0].Value, s.Values[0].Unit)
	case m.Requests+m.Refused == 0:
		return "nothing was measured"
	}

	text := fmt.Sprintf("%.0f/s, %s µs of CPU each, p50 %.2f ms, p99 %.2f ms",
		m.PerSecond, known("%.1f", m.ServerMicros), m.At(50), m.At(99))
	if s.Limit != nil {
		text = fmt.Sprintf("%.2f of the limit (by CPU %s): %s", s.Ratio, known("%.2f", s.RatioCPU), text)
	}
	if s.Bad() > 0 {
		text += fmt.Sprintf("; %d answers were bad: %v", s.Bad(), s.Problems)
	}
	return text
}

// cells are a row of the table of goals.
func cells(f *report.Figure) []string {
	return []string{f.Number, f.What, f.Yardstick, f.Goal, f.Reached, string(f.Verdict)}
}

// Figures prints the table of goals.
func Figures(w io.Writer, run *report.Run) error {
	fmt.Fprintln(w, aboutFigures(run))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "#\twhat\tyardstick\tgoal\treached\t")
	for i := range run.Figures {
		fmt.Fprintln(t, strings.Join(cells(&run.Figures[i]), "\t"))
	}
	return t.Flush()
}

// aboutFigures says what the figures are of.
func aboutFigures(run *report.Run) string {
	return fmt.Sprintf(
		"corpus: %d positions in %d pools; the goals are for %d positions a chain, on three",
		run.Corpus.Positions, run.Corpus.Pools, fullSize)
}

// Markdown prints the table of goals as a README has it.
func Markdown(w io.Writer, run *report.Run) error {
	fmt.Fprint(w, "| # | what | yardstick | goal | reached | |\n|---|---|---|---|---|---|\n")
	for i := range run.Figures {
		row := cells(&run.Figures[i])
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "|", "\\|")
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}

	m := &run.Machine
	_, err := fmt.Fprintf(w, "\n%s. %s, %d cores, %s; Tidemark %s, %s.\n", aboutFigures(run),
		m.CPU, m.Cores, m.Kernel, m.Version, run.Settings.Began)
	return err
}

// PrintChanges compares a run with an older one, prints what changed, and
// returns how many scenarios are worse by more than a part.
func PrintChanges(w io.Writer, old, now *report.Run, failOver float64) (regressions int, err error) {
	changes, err := report.Changes(old, now)
	if err != nil {
		return 0, err
	}

	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tmeasure\told\tnew\tchange\t")
	for _, c := range changes {
		mark := ""
		if failOver > 0 && c.Worse > failOver {
			mark = "regression"
			regressions++
		}
		fmt.Fprintf(t, "%s\t%s\t%.3g\t%.3g\t%s\t%s\n", c.Name, c.Measure, c.Old, c.New, c.Text(), mark)
	}
	return regressions, t.Flush()
}
