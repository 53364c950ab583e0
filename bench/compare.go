package bench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"tidemark/bench/report"
)

// Change is how a scenario stands to an older run.
type Change struct {
	Name     string
	Measure  string // what was compared
	Old, New float64
	// Worse is by which part the new run is worse; negative is better.
	Worse float64
}

// Changes compares what both runs measured. Ratios to the limit are compared
// where there are any, since machines and hours differ; else CPU a request,
// else the median latency.
func Changes(old, now *report.Run) (changes []Change) {
	for i := range now.Scenarios {
		b := &now.Scenarios[i]
		a := old.Scenario(b.Name)
		if a == nil {
			continue
		}
		c := Change{Name: b.Name}
		switch {
		case a.RatioCPU > 0 && b.RatioCPU > 0:
			c.Measure, c.Old, c.New = "of the limit by CPU", a.RatioCPU, b.RatioCPU
			c.Worse = a.RatioCPU/b.RatioCPU - 1
		case a.Node.Requests > 0 && b.Node.Requests > 0:
			c.Measure, c.Old, c.New = "median ms", ms(a.Node.At(50)), ms(b.Node.At(50))
			c.Worse = c.New/max(c.Old, 1e-3) - 1
		default:
			continue
		}
		changes = append(changes, c)
	}
	return changes
}

// PrintChanges prints a comparison and returns how many are worse by more than
// a part.
func PrintChanges(w io.Writer, changes []Change, failOver float64) (regressions int, err error) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tmeasure\told\tnew\tchange\t")
	for _, c := range changes {
		mark := ""
		if failOver > 0 && c.Worse > failOver {
			mark = "regression"
			regressions++
		}
		word := "worse"
		if c.Worse < 0 {
			word = "better"
		}
		fmt.Fprintf(t, "%s\t%s\t%.3g\t%.3g\t%s %s\t%s\n", c.Name, c.Measure, c.Old, c.New,
			percentText(max(c.Worse, -c.Worse)), word, mark)
	}
	return regressions, t.Flush()
}
