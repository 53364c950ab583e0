//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"tidemark/bench"
	"tidemark/bench/report"
)

// BenchRunCmd runs scenarios.
type BenchRunCmd struct {
	Corpus      string        `help:"Corpus to measure on." default:"./corpus" placeholder:"DIR"`
	URL         string        `name:"url" help:"Measure a node that runs already." placeholder:"URL"`
	Key         string        `help:"Key for --url." env:"TIDEMARK_BENCH_KEY" placeholder:"KEY"`
	Own         bool          `name:"i-own-this-target" help:"Allow a --url that is not this machine."`
	Only        []string      `help:"Scenarios to run; all when none is named." placeholder:"NAME"`
	Paths       string        `help:"Ask for the paths in a file, a line each, instead." placeholder:"FILE"`
	Rate        []float64     `help:"Ask at these rates instead, one after the other: open loop." placeholder:"N"`
	FailIf      []string      `help:"Exit with 1 when it holds, as p99>20ms or refused>1%." placeholder:"LIMIT"`
	Figures     bool          `help:"Print the table of goals."`
	Connections int           `help:"Connections of the client." default:"64"`
	Rounds      int           `help:"Rounds in which a node and its limit take turns." default:"3"`
	Length      time.Duration `help:"Length of one measurement." default:"5s"`
	Refresh     time.Duration `help:"Pause between generations of a live node." default:"5s"`
	Refreshes   int           `help:"Refreshes to measure, of all chains together." default:"50"`
	Keys        int           `help:"API keys in use." default:"20000"`
	Accounts    int           `help:"Accounts that the keys belong to; 0: a tenth of the keys."`
	Seed        uint64        `help:"Seed of what is asked." default:"1"`
	Unpinned    bool          `help:"Do not give client and server cores of their own."`
	Profiles    string        `help:"Keep a CPU profile of every scenario." placeholder:"DIR"`
	Hgrm        string        `help:"Keep the latencies of every scenario as HdrHistogram files." placeholder:"DIR"`
	Pieces      string        `help:"Output of the Go benchmarks, for the table of goals." placeholder:"FILE"`
	Peers       string        `help:"What make bench-peers wrote about this corpus." placeholder:"FILE"`
	Out         string        `help:"Write the run as NDJSON." placeholder:"FILE"`
	Report      string        `help:"Write the report." placeholder:"FILE"`
	Compare     string        `help:"Compare with an older run." placeholder:"FILE"`
	FailOver    string        `help:"Exit with 1 when a scenario is worse by more." placeholder:"10%"`
}

// maxRate of an open loop is more than any client on one machine can send.
const maxRate = 1e9

// Run runs them.
func (c *BenchRunCmd) Run() error {
	if c.URL != "" {
		if err := bench.CheckURL(c.URL, c.Own); err != nil {
			return err
		}
	}
	failOver, err := parsePercent(c.FailOver)
	if err != nil {
		return err
	}
	if failOver > 0 && c.Compare == "" {
		return errors.New("--fail-over is about --compare, which is not given")
	}
	paths, thresholds, err := c.readOwnLoad()
	if err != nil {
		return err
	}
	var base *report.Run
	if c.Compare != "" {
		if base, err = readRun(c.Compare); err != nil {
			return err
		}
	}

	err = checkOutputs([]string{c.Out, c.Report}, []string{c.Profiles, c.Hgrm})
	if err != nil {
		return err
	}
	ctx, stop := measureContext()
	defer stop()
	run, err := bench.Run(ctx, bench.Settings{
		Corpus: c.Corpus, URL: c.URL, Key: c.Key, Only: c.Only, Paths: paths, Rates: c.Rate,
		Length: c.Length, Refresh: c.Refresh, Refreshes: c.Refreshes, Unpinned: c.Unpinned,
		Profiles: c.Profiles, Histograms: c.Hgrm, Pieces: c.Pieces, Peers: c.Peers, Progress: os.Stderr,
		Settings: report.Settings{
			Connections: c.Connections, Rounds: c.Rounds, Keys: c.Keys, Accounts: c.Accounts, Seed: c.Seed,
			Command: ownCommand(os.Args),
		},
	})
	if run == nil || len(run.Scenarios) == 0 {
		return err
	}
	describeBuild(&run.Machine)
	return errors.Join(err, c.show(run, base, failOver), bench.Faults(run), bench.Passed(run, thresholds))
}

// readOwnLoad reads what to ask for instead of the scenarios, and what fails a run.
func (c *BenchRunCmd) readOwnLoad() (paths []string, thresholds []bench.Threshold, err error) {
	if len(c.Only) > 0 && (c.Paths != "" || len(c.Rate) > 0) {
		return nil, nil, errors.New("--only names scenarios; with --paths or --rate there are none")
	}
	for i, rate := range c.Rate {
		if slices.Contains(c.Rate[:i], rate) { // they name scenarios
			return nil, nil, fmt.Errorf("bad --rate: %g is there twice", rate)
		}
		if !(rate > 0 && rate <= maxRate) {
			return nil, nil, fmt.Errorf("bad --rate %g; it is requests a second, more than 0 and at most %g",
				rate, float64(maxRate))
		}
	}

	for _, text := range c.FailIf {
		t, err := bench.ParseThreshold(text)
		if err != nil {
			return nil, nil, fmt.Errorf("bad --fail-if: %w", err)
		}
		thresholds = append(thresholds, t)
	}
	if c.Paths == "" {
		return nil, thresholds, nil
	}

	f, err := os.Open(c.Paths)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the paths: %w", err)
	}
	defer f.Close()
	if paths, err = bench.ReadPaths(f); err != nil {
		return nil, nil, fmt.Errorf("cannot read the paths in %s: %w", c.Paths, err)
	}
	return paths, thresholds, nil
}

// show keeps and prints what was measured: in this order, since a reader of what is printed
// may leave before its end.
func (c *BenchRunCmd) show(run, base *report.Run, failOver float64) error {
	if c.Out != "" {
		if err := writeTo(c.Out, func(w io.Writer) error { return bench.Write(w, run) }); err != nil {
			return err
		}
	}
	if c.Report != "" {
		if err := writeReport(c.Report, run, base); err != nil {
			return err
		}
	}

	if err := report.Table(os.Stdout, run); err != nil {
		return err
	}
	if c.Figures {
		if err := report.Goals(os.Stdout, run); err != nil {
			return err
		}
	}
	if c.Report != "" {
		fmt.Println("report:", c.Report)
	}
	if base == nil {
		return nil
	}
	return compareRuns(base, run, failOver)
}
