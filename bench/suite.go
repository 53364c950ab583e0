package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/process"
	"tidemark/bench/report"
)

// Settings are what a run is asked to do; the command line has the defaults.
type Settings struct {
	Corpus     string        // its directory
	URL, Key   string        // a node that runs already, instead of a corpus
	Only       []string      // scenarios by name; empty: all that can run
	Paths      []string      // to ask for, instead of what the scenarios ask
	Rates      []float64     // of an open loop, one after the other, instead of the scenarios
	Length     time.Duration // of one measurement
	Refresh    time.Duration // between the generations of a live node
	Refreshes  int           // that are measured of a market
	Unpinned   bool          // client and server share all cores
	Profiles   string        // directory for a CPU profile of every scenario; empty: none
	Histograms string        // directory for the latencies of every scenario; empty: none
	Pieces     string        // what the Go benchmarks printed; empty: nothing
	Peers      string        // what make bench-peers wrote; empty: nothing
	Progress   io.Writer     // a line for every scenario

	report.Settings // with connections, rounds, keys, accounts, the seed and the command line
}

const (
	keysPerAccount  = 10
	limitedAccounts = 20
	// warmPart of every measurement is asked and not measured.
	warmPart = 5
	// lastQuestion bounds the question what a node that is not ours has billed.
	lastQuestion = 10 * time.Second
)

// suite is a run under way.
type suite struct {
	Settings
	cores   *process.Cores
	scratch string // everything that is made meanwhile; removed at the end
	data    string // of the node
	record  *corpus.Record
	node    *process.Node
	mode    mode // of the node
	began   time.Time
	run     report.Run
	ctx     context.Context // questions outside of a load end with it

	since       map[sim.Workload]time.Time // when markets continued after the history
	generations map[int64]int64            // of the node that was stopped last

	keys    []string // of accounts that never run out
	limited []string // of accounts with a small quota
	asking  []string // the keys of the scenario under way
	used    int64    // units of the key at the start, of a node that is not ours; -1: not known
	target  *target
}

func newSuite(settings Settings) *suite {
	return &suite{
		Settings: settings, began: time.Now(), since: map[sim.Workload]time.Time{},
		ctx: context.Background(), used: -1,
	}
}

// check refuses what cannot be run before anything is started.
func (s *Settings) check(leastRounds int) error {
	switch {
	case s.Length <= 0:
		return fmt.Errorf("cannot measure for %s", s.Length)
	case s.Rounds < leastRounds:
		return fmt.Errorf("cannot measure in %d rounds; at least %d", s.Rounds, leastRounds)
	case s.Connections < 1 || s.Connections > load.MaxConnections:
		return fmt.Errorf("cannot run %d connections; at least 1, at most %d", s.Connections, load.MaxConnections)
	case s.Keys < 1 || s.Accounts < 0:
		return fmt.Errorf("cannot ask with %d keys of %d accounts", s.Keys, s.Accounts)
	case s.Profiles != "" && s.URL != "":
		return errors.New("cannot keep profiles of a node that runs already; they need one that the suite starts")
	case s.Refreshes < 1 || s.Refresh < process.LeastRefresh:
		return fmt.Errorf("cannot measure %d refreshes, one every %s; at least 1, every %s", s.Refreshes,
			s.Refresh, process.LeastRefresh)
	}
	return nil
}

// Run measures, and returns what it measured also when a scenario failed.
func Run(ctx context.Context, settings Settings) (*report.Run, error) {
	if err := errors.Join(settings.check(1), checkNames(settings.Only, settings.URL != "")); err != nil {
		return nil, err
	}

	s := newSuite(settings)
	err := s.prepare(ctx)
	if err == nil {
		err = s.runScenarios(ctx)
	}
	s.noteCut(ctx, err)
	err = errors.Join(err, s.finish(), s.addPeers())
	s.run.Figures = figures(&s.run)
	return &s.run, err
}

// noteCut writes down why a run ended before everything was measured, if it did.
func (s *suite) noteCut(ctx context.Context, err error) {
	if err == nil {
		return
	}
	s.run.Cut = err.Error()
	if why := context.Cause(ctx); why != nil {
		s.run.Cut = why.Error()
	}
}

// prepare starts the node and learns what it has.
func (s *suite) prepare(ctx context.Context) (err error) {
	s.ctx = ctx
	s.Accounts = cmp.Or(s.Accounts, max(1, s.Keys/keysPerAccount))
	if s.cores, err = process.Split(!s.Unpinned); err != nil {
		return err
	}
	if err := s.cores.TakeClient(); err != nil {
		return err
	}

	open := s.copyCorpus
	if s.URL != "" {
		open = s.connect
	}
	if err := open(); err != nil {
		return err
	}
	s.describeRun()

	if err := s.ensureNode(ctx, still); err != nil {
		return err
	}
	if len(s.Paths) > 0 { // they are all that is asked for
		return nil
	}
	s.target, err = s.discover()
	return err
}

// copyCorpus makes the data directory that the node works on.
func (s *suite) copyCorpus() (err error) {
	if s.record, err = corpus.Read(s.Corpus); err != nil {
		return err
	}
	// Within the corpus, so that the copy is hard links.
	if s.scratch, err = os.MkdirTemp(s.Corpus, "run-"); err != nil {
		return fmt.Errorf("cannot make a directory to work in: %w", err)
	}
	s.data = filepath.Join(s.scratch, "data")
	if err := corpus.Copy(s.Corpus, s.data); err != nil {
		return err
	}

	issued, err := corpus.AddKeys(s.data, []corpus.Grant{
		{Plan: corpus.MeteredPlan, Accounts: s.Accounts, Keys: s.Keys},
		{Plan: corpus.LimitedPlan, Accounts: limitedAccounts, Keys: limitedAccounts * keysPerAccount},
	})
	if err != nil {
		return err
	}
	s.keys, s.limited = issued[0], issued[1]
	s.say("starting a node on a copy of %s", s.Corpus)
	return nil
}

// runScenarios runs those that were asked for, in their order.
func (s *suite) runScenarios(ctx context.Context) error {
	all := table
	if len(s.Paths) > 0 || len(s.Rates) > 0 {
		all = s.ownLoad()
	}

	for i := range all {
		sc := &all[i]
		if sc.Own && s.URL != "" || len(s.Only) > 0 && !slices.Contains(s.Only, sc.Name) {
			continue
		}

		s.say("%-14s %s", sc.Name, sc.What)
		// An account that is idle for a second gives its lease back: of many keys
		// hardly one would ask twice in that time where answers are slow.
		s.asking = s.keys[:min(len(s.keys), s.Connections)]
		if sc.Everybody {
			s.asking = s.keys
		}
		if err := s.ensureNode(ctx, sc.Mode); err != nil {
			return err
		}

		out, err := s.measureScenario(ctx, sc)
		if err == nil || out.Cut {
			s.run.Scenarios = append(s.run.Scenarios, *out)
			s.say("%-14s %s", "", out.Summary())
		}
		if err != nil {
			return fmt.Errorf("scenario %s: %w", sc.Name, err)
		}
	}
	return nil
}

// measureScenario runs one scenario, and notes what the node held and what other
// processes used of the machine meanwhile. With an error the scenario is cut short if it has
// answers, and has nothing to show if not.
func (s *suite) measureScenario(ctx context.Context, sc *scenario) (*report.Scenario, error) {
	ownUse := func() time.Duration {
		sum := process.Own()
		if s.node != nil {
			sum += s.node.Child.CPU()
		}
		return sum
	}

	out := &report.Scenario{Name: sc.Name, What: sc.What, List: sc.List, Connections: s.Connections, Rounds: 1}
	if of := s.run.Scenario(sc.RateOf); of != nil {
		out.Rate = of.Rate
	}
	busy, own, from := process.ReadMachine().Busy, ownUse(), time.Now()
	run := sc.Run
	if sc.Mix != nil {
		run = func(ctx context.Context, s *suite, out *report.Scenario) error { return s.measureMix(ctx, sc, out) }
	}
	err := run(ctx, s, out)
	out.Cut = err != nil && out.Asked()

	// Of a node that the scenario replaced, the use is not known.
	if used := ownUse() - own; used > 0 {
		others := process.ReadMachine().Busy - busy - used
		out.Other = max(0, others.Seconds()/time.Since(from).Seconds())
	}
	if s.node != nil && s.node.Child != nil {
		memory := process.Read(s.node.Pid())
		out.Set("resident", float64(memory.Resident)/(1<<30), "GiB")
		out.Set("resident at most", float64(memory.Peak)/(1<<30), "GiB")
	}
	return out, err
}

// askOnce asks the node once, outside of a load, and counts what that cost.
func (s *suite) askOnce(path string) (*process.Answer, error) {
	a, err := process.AskWithin(s.ctx, s.node.API, path, s.keys[0])
	if err != nil {
		return nil, err
	}
	if charged, err := strconv.ParseInt(a.Header.Get("X-Units-Charged"), 10, 64); err == nil {
		s.countUnits(charged, charged)
	}
	return a, nil
}

func (s *suite) countUnits(answered, expected int64) {
	s.run.Units.Answered += answered
	s.run.Units.Expected += expected
}

// finish stops the node, compares units, and removes what the run made.
func (s *suite) finish() (err error) {
	units := &s.run.Units
	units.Billed = -1
	if s.URL == "" {
		if err = s.stopNode(); err == nil && s.keys != nil {
			units.Billed, err = corpus.Billed(s.data, s.began)
		}
	} else if s.used >= 0 {
		ctx, cancel := context.WithTimeout(context.Background(), lastQuestion)
		defer cancel()
		s.ctx = ctx // that of the run may be over
		var now int64
		if now, err = s.unitsUsed(); err == nil {
			units.Billed = now - s.used
		}
	}

	if s.scratch != "" {
		err = errors.Join(err, os.RemoveAll(s.scratch))
	}
	return err
}

// Faults returns what a run found wrong besides its speed, as an error: answers
// that failed or were wrong, and units that were not charged as they should.
func Faults(run *report.Run) error {
	var errs []error
	for i := range run.Scenarios {
		if s := &run.Scenarios[i]; s.Bad() > 0 {
			errs = append(errs, fmt.Errorf("scenario %s: %d answers failed, %d requests were not answered, "+
				"%d answers were wrong: %v", s.Name, s.Failures, s.Unanswered, s.Wrong, s.Problems))
		}
	}
	if u := &run.Units; u.Answered != u.Expected || u.Billed >= 0 && u.Billed != u.Expected {
		errs = append(errs, errors.New("units: "+u.Text()))
	}
	return errors.Join(errs...)
}

func (s *suite) say(format string, args ...any) { fmt.Fprintf(s.Progress, format+"\n", args...) }
