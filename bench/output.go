package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	out := json.NewEncoder(w)
	err := out.Encode(line{Kind: "run", Run: &head})
	for i := range run.Scenarios {
		err = errors.Join(err, out.Encode(line{Kind: "scenario", Scenario: &run.Scenarios[i]}))
	}
	for i := range run.Figures {
		err = errors.Join(err, out.Encode(line{Kind: "figure", Figure: &run.Figures[i]}))
	}

	if err != nil {
		return fmt.Errorf("cannot write a run: %w", err)
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
