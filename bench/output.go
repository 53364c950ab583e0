package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tidemark/bench/report"
)

// A run is kept as NDJSON: one object a line, the kind of each beside it, so
// that runs of different times can be put into one file and searched.
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

// maxLine bounds a line of NDJSON: an hour of series is 5 MB.
const maxLine = 64 << 20

// Read reads what Write wrote; of several runs the last.
func Read(r io.Reader) (*report.Run, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	var run *report.Run
	for n := 1; in.Scan(); n++ {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("cannot read a run: line %d: %w", n, err)
		}
		switch {
		case l.Run != nil:
			run = l.Run
		case run == nil:
			return nil, fmt.Errorf("cannot read a run: line %d is a %s before any run", n, l.Kind)
		case l.Scenario != nil:
			run.Scenarios = append(run.Scenarios, *l.Scenario)
		case l.Figure != nil:
			run.Figures = append(run.Figures, *l.Figure)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("cannot read a run: %w", err)
	}
	if run == nil {
		return nil, fmt.Errorf("cannot read a run: there is none")
	}
	return run, nil
}

// Table prints the scenarios of a run.
func Table(w io.Writer, run *report.Run) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tof limit\tby CPU\t±\trequests/s\tserver µs\tclient µs\tbody\t"+
		"p50 ms\tp99 ms\tp99.9 ms\tfailed\t")
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		if s.Node.Requests == 0 {
			continue
		}
		limit, cpu, spread := "-", "-", "-"
		if s.Limit != nil {
			limit, cpu = fmt.Sprintf("%.2f", s.Ratio), known("%.2f", s.RatioCPU)
			spread = percentText(s.Spread)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.0f\t%s\t%.1f\t%.1f KB\t%.2f\t%.2f\t%.2f\t%d\t\n",
			s.Name, limit, cpu, spread, s.Node.PerSecond, known("%.1f", s.Node.ServerMicros),
			s.Node.ClientMicros, float64(s.Node.BodyBytes)/1e3,
			ms(s.Node.At(50)), ms(s.Node.At(99)), ms(s.Node.At(99.9)),
			s.Failures+s.Unanswered+s.Wrong)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print a table: %w", err)
	}
	return values(w, run)
}

// values prints what scenarios measured besides, and what went wrong.
func values(w io.Writer, run *report.Run) error {
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		for _, v := range s.Values {
			fmt.Fprintf(w, "%-12s %s: %.4g %s\n", s.Name, v.Name, v.Value, v.Unit)
		}
		for _, p := range s.Problems {
			fmt.Fprintf(w, "%-12s problem: %s\n", s.Name, p)
		}
	}
	for _, what := range run.Settings.Unknown {
		fmt.Fprintf(w, "not known of %s: %s\n", run.Settings.Target, what)
	}
	u := run.Units
	if u.Billed < 0 {
		_, err := fmt.Fprintf(w, "units: %d expected, %d answered, billed is not known\n",
			u.Expected, u.Answered)
		return err
	}
	_, err := fmt.Fprintf(w, "units: %d expected, %d answered, %d billed: difference %d\n",
		u.Expected, u.Answered, u.Billed, u.Billed-u.Expected)
	return err
}

// Figures prints the table of goals.
func Figures(w io.Writer, run *report.Run) error {
	fmt.Fprintln(w, aboutFigures(run))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "#\twhat\tgoal\treached\t")
	for _, f := range run.Figures {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", f.Number, f.What, f.Goal, f.Reached, f.Verdict)
	}
	return t.Flush()
}

// aboutFigures says what the figures are of.
func aboutFigures(run *report.Run) string {
	return fmt.Sprintf(
		"corpus: %d positions in %d pools; the goals are for %d positions a chain, on three",
		run.Corpus.Positions, run.Corpus.Pools, fullSize)
}

// Markdown prints the table of goals as it stands in a README.
func Markdown(w io.Writer, run *report.Run) error {
	m := &run.Machine
	fmt.Fprintf(w, "| # | what | goal | reached | |\n|---|---|---|---|---|\n")
	for _, f := range run.Figures {
		cells := []string{f.What, f.Goal, f.Reached, string(f.Verdict)}
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", "\\|")
		}
		fmt.Fprintf(w, "| %d | %s |\n", f.Number, strings.Join(cells, " | "))
	}
	_, err := fmt.Fprintf(w, "\n%s. %s, %d cores, %s; Tidemark %s, %s.\n", aboutFigures(run),
		m.CPU, m.Cores, m.Kernel, m.Version, run.Settings.Began)
	return err
}

// known prints a figure that is 0 when it is not known.
func known(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func ms(micros int64) float64 { return float64(micros) / 1e3 }

func percentText(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// brief is a scenario in a line, for whoever waits.
func brief(s *report.Scenario) string {
	switch {
	case s.Node.Requests == 0 && len(s.Values) > 0:
		v := s.Values[len(s.Values)-1]
		return fmt.Sprintf("%s: %.4g %s", v.Name, v.Value, v.Unit)
	case s.Node.Requests == 0:
		return "nothing was measured"
	}
	text := fmt.Sprintf("%.0f/s, %s µs of CPU each, p50 %.2f ms, p99 %.2f ms",
		s.Node.PerSecond, known("%.1f", s.Node.ServerMicros), ms(s.Node.At(50)), ms(s.Node.At(99)))
	if s.Limit != nil {
		text = fmt.Sprintf("%.2f of the limit (by CPU %s): %s", s.Ratio, known("%.2f", s.RatioCPU), text)
	}
	if bad := s.Failures + s.Unanswered + s.Wrong; bad > 0 {
		text += fmt.Sprintf("; %d answers were bad: %v", bad, s.Problems)
	}
	return text
}
