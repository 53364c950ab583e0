//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tidemark/bench"
	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/report"
)

// BenchCmd measures nodes.
type BenchCmd struct {
	Corpus   BenchCorpusCmd   `cmd:"" help:"Make a corpus to measure on."`
	Run      BenchRunCmd      `cmd:"" help:"Run scenarios, each in comparison with its limit."`
	Peers    BenchPeersCmd    `cmd:"" help:"Compare a node with databases that serve the same corpus."`
	Compare  BenchCompareCmd  `cmd:"" help:"Say what changed between two runs."`
	Report   BenchReportCmd   `cmd:"" help:"Draw a run as one HTML file, or print its table of goals."`
	Cluster  BenchClusterCmd  `cmd:"" help:"Run a cluster on this machine, to try things out."`
	Follow   BenchFollowCmd   `cmd:"" help:"Measure what a cluster costs beside a node alone."`
	Constant BenchConstantCmd `cmd:"" hidden:"" help:"Serve a constant body: the limit."`
	Node     BenchNodeCmd     `cmd:"" hidden:"" help:"Serve with what only the suite sets."`
}

// measureContext is interruptContext for a command that removes what it made when it ends: a
// pipe that nobody reads any more, such as that to head, does not end it before that.
func measureContext() (context.Context, context.CancelFunc) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // so a write fails, and no more
	return interruptContext()
}

// BenchCorpusCmd makes a corpus.
type BenchCorpusCmd struct {
	Positions int    `help:"Positions of all chains together, to within two." default:"3000000"`
	Pools     int    `help:"Pools of all chains together; 0: 5 for every 100 positions."`
	Chains    int    `help:"Chains, 1 to 3." default:"3"`
	Seed      int    `help:"The same seed gives the same corpus." default:"1"`
	Days      int    `help:"Length of the history." default:"400"`
	Out       string `help:"Directory to make it in." default:"./corpus" placeholder:"DIR"`
	Reuse     bool   `help:"Keep a corpus that was made just so; replace any other."`
}

// Run makes it.
func (c *BenchCorpusCmd) Run() error {
	ctx, stop := interruptContext()
	defer stop()
	spec := corpus.Spec{
		Positions: c.Positions, Pools: c.Pools, Chains: c.Chains, Seed: c.Seed, Days: c.Days,
	}

	if c.Reuse {
		if why, err := corpus.Discard(c.Out, spec); err != nil || why == "" {
			return err
		} else {
			fmt.Fprintln(os.Stderr, why)
		}
	}

	r, err := bench.BuildCorpus(ctx, c.Out, spec, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Printf("%d events in %.0f s, %.0f a second, %.0f s of CPU\n",
		r.Events, r.Seconds, float64(r.Events)/r.Seconds, r.CPU)
	for i := range r.Shape {
		fmt.Printf("chain %d: %s\n", r.Shape[i].ID, &r.Shape[i])
	}
	return nil
}

// BenchPeersCmd compares a node with databases.
type BenchPeersCmd struct {
	Corpus      string        `help:"Corpus to ask about." default:"./corpus" placeholder:"DIR"`
	Command     string        `help:"The program of bench/peers." required:"" type:"existingfile" placeholder:"FILE"`
	Only        []string      `help:"PostgreSQL, Redis, SQLite; all when none is named." placeholder:"NAME"`
	Connections int           `help:"Connections of the client." default:"64"`
	Rounds      int           `help:"Rounds in which both take turns; 0: only compare answers." default:"3"`
	Length      time.Duration `help:"Length of one measurement." default:"600ms"`
	Refreshes   int           `help:"Refreshes of the node to measure, of all chains together." default:"12"`
	Keys        int           `help:"API keys in use." default:"20000"`
	Out         string        `help:"Write what was measured, as NDJSON." placeholder:"FILE"`
}

// maxPeers bounds a comparison: three times what the largest corpus takes.
const maxPeers = 2 * time.Hour

// Run compares, prints and keeps.
func (c *BenchPeersCmd) Run() error {
	for _, name := range c.Only {
		if !slices.ContainsFunc(bench.PeerNames, func(s string) bool { return strings.EqualFold(s, name) }) {
			return fmt.Errorf("no peer %q; there are %s", name, strings.Join(bench.PeerNames, ", "))
		}
	}
	if err := checkOutputs([]string{c.Out}, nil); err != nil {
		return err
	}
	ctx, stop := measureContext()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, maxPeers)
	defer cancel()

	run, err := bench.ComparePeers(ctx, bench.Settings{
		Corpus: c.Corpus, Only: c.Only, Length: c.Length, Refresh: 5 * time.Second, Refreshes: c.Refreshes,
		Settings: report.Settings{
			Connections: c.Connections, Rounds: c.Rounds, Keys: c.Keys, Seed: 1, Command: ownCommand(os.Args),
		},
		Progress: os.Stderr,
	}, c.Command)
	if run == nil || len(run.Scenarios) == 0 {
		return err
	}
	describeBuild(&run.Machine)
	if c.Out != "" { // first, since a reader of what is printed may leave before its end
		err = errors.Join(err, writeTo(c.Out, func(w io.Writer) error { return bench.Write(w, run) }))
	}
	err = errors.Join(err, report.Table(os.Stdout, run))
	fmt.Printf("%d positions; %s; no page cache on any side\n", run.Corpus.Positions, run.Settings.Pinned)
	return err
}

// describeBuild says which build measured: the commit is the one that version control
// knew, or that the linker was told.
func describeBuild(m *report.Machine) {
	m.Version, m.Commit = version, commit
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			m.Commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			m.Commit += " and changes"
		}
	}
}

// BenchCompareCmd compares two runs.
type BenchCompareCmd struct {
	Old      string `arg:"" help:"NDJSON of the older run."`
	New      string `arg:"" help:"NDJSON of the newer run."`
	FailOver string `help:"Exit with 1 when a scenario is worse by more." placeholder:"10%"`
}

// Run compares them.
func (c *BenchCompareCmd) Run() error {
	failOver, err := parsePercent(c.FailOver)
	if err != nil {
		return err
	}

	old, err := readRun(c.Old)
	if err != nil {
		return err
	}
	now, err := readRun(c.New)
	if err != nil {
		return err
	}
	return compareRuns(old, now, failOver)
}

func compareRuns(old, now *report.Run, failOver float64) error {
	worse, err := report.PrintChanges(os.Stdout, old, now, failOver)
	if err == nil && worse > 0 {
		err = fmt.Errorf("%d scenarios are worse by more than %.4g %%", worse, 100*failOver)
	}
	return err
}

// parsePercent reads "10%"; nothing is 0, which never fails.
func parsePercent(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("bad --fail-over %q; it is a percentage as 10%%", text)
	}
	return v / 100, nil
}

func readRun(path string) (*report.Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read a run: %w", err)
	}
	defer f.Close()
	return bench.Read(f)
}

// BenchReportCmd draws a run.
type BenchReportCmd struct {
	File     string `arg:"" help:"NDJSON of the run."`
	Baseline string `help:"NDJSON of a run to compare with." placeholder:"FILE"`
	Out      string `help:"The report." default:"bench.html" placeholder:"FILE"`
	Markdown bool   `help:"Print the table of goals as Markdown instead."`
}

// Run draws it.
func (c *BenchReportCmd) Run() error {
	run, err := readRun(c.File)
	if err != nil {
		return err
	}
	if c.Markdown {
		return report.Markdown(os.Stdout, run)
	}

	var base *report.Run
	if c.Baseline != "" {
		if base, err = readRun(c.Baseline); err != nil {
			return err
		}
	}

	if err := writeReport(c.Out, run, base); err != nil {
		return err
	}
	fmt.Println("report:", c.Out)
	return nil
}

func writeReport(path string, run, base *report.Run) error {
	return writeTo(path, func(w io.Writer) error { return report.HTML(w, run, base) })
}

// BenchNodeCmd is the process of a node that is measured: serve, with options
// that no configuration has.
type BenchNodeCmd struct {
	ServeCmd
	Workload    string `help:"Who lives in the simulated market, and how it goes on." placeholder:"JSON"`
	NoPageCache bool   `help:"Render every page for whoever asks."`
}

// Run serves.
func (c *BenchNodeCmd) Run(reload hangups) error {
	l, err := c.load()
	if err != nil {
		return err
	}
	if c.Workload != "" {
		if err := json.Unmarshal([]byte(c.Workload), &l.workload); err != nil {
			return fmt.Errorf("bad --workload %q: %w", c.Workload, err)
		}
	}
	l.noPageCache = c.NoPageCache
	return l.serve(reload)
}

// BenchConstantCmd serves a body that never changes. How fast that is on this machine is
// the limit that a node is compared with.
type BenchConstantCmd struct {
	Bytes  int    `help:"Size of the body." default:"200"`
	Listen string `help:"Where to listen." default:"127.0.0.1:8090" placeholder:"ADDR"`
}

// Run serves until the process is ended.
func (c *BenchConstantCmd) Run() error {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	return load.Constant(l, c.Bytes)
}
