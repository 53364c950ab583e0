package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"tidemark/edge/consistency"
)

// checkURL checks the answers of a running node against each other.
func (c *CheckCmd) checkURL() error {
	ctx, stop := interruptContext()
	defer stop()
	cfg := consistency.Config{
		URL: c.URL, Key: c.Key, Sample: c.Sample, Requests: c.Requests, TotalCap: c.TotalCap,
		Timeout: c.Timeout,
	}
	if !c.JSON {
		cfg.Progress = func(what string) { fmt.Fprintln(os.Stderr, what) }
	}
	report, err := consistency.Check(ctx, cfg)
	if c.JSON {
		if err := printJSON(os.Stdout, report); err != nil {
			return err
		}
	} else {
		printReport(os.Stdout, report)
	}

	if err != nil {
		return err
	}
	if report.Different > 0 {
		return fmt.Errorf("%d of %d values differ", report.Different, report.Values)
	}
	return nil
}

// printReport prints every difference as a line, then what was compared.
func printReport(w io.Writer, r *consistency.Report) {
	for i := range r.Listed {
		fmt.Fprintln(w, &r.Listed[i])
	}
	if more := r.Different - int64(len(r.Listed)); more > 0 {
		fmt.Fprintf(w, "and %d more differences\n", more)
	}

	for _, rule := range slices.Sorted(maps.Keys(r.Rules)) {
		fmt.Fprintf(w, "%10d values, %6d different: %s\n", r.Rules[rule], r.Broken[rule], rule)
	}
	for _, why := range r.Skipped {
		fmt.Fprintln(w, "not checked:", why)
	}
	fmt.Fprintf(w, "%d positions, %d pools, %d requests, %d values, %d different\n",
		r.Positions, r.Pools, r.Requests, r.Values, r.Different)
}
