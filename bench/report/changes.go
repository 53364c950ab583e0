package report

import (
	"fmt"
	"slices"
)

// Change is how a scenario compares with an older run.
type Change struct {
	Name     string
	Measure  string // what was compared
	Old, New float64
	Worse    float64 // by which part; negative is better

	Regression bool // it is worse by more than is wanted
}

// Text is the change in words.
func (c *Change) Text() string {
	if c.Worse < 0 {
		return fmt.Sprintf("%.0f %% better", -100*c.Worse)
	}
	return fmt.Sprintf("%.0f %% worse", 100*c.Worse)
}

// Changes compares what both runs measured, or refuses runs of unlike corpora.
// Ratios to the limit are compared where there are any, since machines and
// hours differ; else median latencies.
func Changes(old, now *Run) (changes []Change, err error) {
	if err := alike(&old.Corpus, &now.Corpus); err != nil {
		return nil, err
	}

	for i := range now.Scenarios {
		b := &now.Scenarios[i]
		a := old.Scenario(b.Name)
		switch {
		case a == nil:
		case a.RatioCPU > 0 && b.RatioCPU > 0:
			changes = append(changes, Change{Name: b.Name, Measure: "of the limit by CPU",
				Old: a.RatioCPU, New: b.RatioCPU, Worse: a.RatioCPU/b.RatioCPU - 1})
		case a.Node.Requests > 0 && b.Node.Requests > 0:
			was, is := a.Node.At(50), b.Node.At(50)
			changes = append(changes, Change{Name: b.Name, Measure: "median ms",
				Old: was, New: is, Worse: is/max(was, 1e-3) - 1})
		}
	}
	return changes, nil
}

// alike refuses corpora of other sizes. What is open, and how many transactions
// there are, depends on the hour at which a corpus was made.
func alike(a, b *Corpus) error {
	chains := func(c *Corpus) (sizes []Chain) {
		for _, chain := range c.Chains {
			sizes = append(sizes, Chain{ID: chain.ID, Positions: chain.Positions, Pools: chain.Pools})
		}
		return sizes
	}

	if a.Positions == b.Positions && a.Pools == b.Pools && slices.Equal(chains(a), chains(b)) {
		return nil
	}
	return fmt.Errorf("cannot compare runs of unlike corpora: %d positions in %d pools on %d chains, "+
		"and %d in %d on %d", a.Positions, a.Pools, len(a.Chains), b.Positions, b.Pools, len(b.Chains))
}
