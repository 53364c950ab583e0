package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/report"
)

// Settings are what a run is asked to do. Zero values are the documented
// defaults of Fill.
type Settings struct {
	Exe         string        // of the node; empty: our own
	Corpus      string        // its directory
	URL, Key    string        // a node that runs already, instead of a corpus
	Only        []string      // scenarios by name; empty: all that can run
	Connections int           // 0: 64
	Rounds      int           // 0: 3
	Length      time.Duration // of one measurement; 0: 5 s
	Refresh     time.Duration // between the generations of a live node; 0: 5 s
	Keys        int           // 0: 20,000
	Accounts    int           // that the keys belong to; 0: a tenth of them
	Seed        uint64        // of what is asked
	Unpinned    bool          // client and server share all cores
	Profiles    string        // directory for a CPU profile of every scenario; empty: none
	Peers       string        // what make bench-peers wrote, for the table of goals; empty: nothing
	Progress    io.Writer     // a line for every scenario; nil: none
}

const (
	defaultConnections = 64
	defaultRounds      = 3
	defaultLength      = 5 * time.Second
	defaultRefresh     = 5 * time.Second
	defaultKeys        = 20_000
	keysAnAccount      = 10
	// warmPart of every measurement is asked and not measured.
	warmPart = 5
)

func (s *Settings) fill() (err error) {
	set := func(field *int, otherwise int) {
		if *field == 0 {
			*field = otherwise
		}
	}
	set(&s.Connections, defaultConnections)
	set(&s.Rounds, defaultRounds)
	set(&s.Keys, defaultKeys)
	set(&s.Accounts, max(1, s.Keys/keysAnAccount))
	for _, name := range s.Only {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("no scenario %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	if s.Length == 0 {
		s.Length = defaultLength
	}
	if s.Refresh == 0 {
		s.Refresh = defaultRefresh
	}
	if s.Progress == nil {
		s.Progress = io.Discard
	}
	if s.Exe == "" {
		if s.Exe, err = os.Executable(); err != nil {
			return fmt.Errorf("cannot find our own executable: %w", err)
		}
	}
	return nil
}

// suite is a run under way.
type suite struct {
	Settings
	cores   cores
	scratch string // everything that is made meanwhile; removed at the end
	data    string // of the node
	record  *corpus.Record
	node    *node
	mode    mode      // of the node
	calmed  time.Time // when the market of the corpus went on calmly, if it did
	goesOn  time.Time // when it went on briskly

	generations map[int64]uint64 // of the node that was stopped last
	keys        []string
	asking      []string // keys of the scenario under way
	poor        []string // keys of accounts with a small quota
	site        *site
	began       time.Time
	used        int64 // units of the key at the start, of a node that is not ours
	run         report.Run
}

// Run measures, and returns what it measured also when a scenario failed.
func Run(ctx context.Context, settings Settings) (*report.Run, error) {
	if err := settings.fill(); err != nil {
		return nil, err
	}
	s := &suite{Settings: settings, began: time.Now()}
	err := s.prepare(ctx)
	if err == nil {
		err = s.scenarios(ctx)
	}
	err = errors.Join(err, s.finish())
	var bad error
	s.run.Peers, bad = peersOf(s.Peers, s.record)
	err = errors.Join(err, bad)
	s.run.Figures = figures(&s.run, s.record)
	return &s.run, err
}

// prepare starts the node and learns what it has.
func (s *suite) prepare(ctx context.Context) (err error) {
	if s.cores, err = splitCores(!s.Unpinned); err != nil {
		return err
	}
	if err := s.cores.settle(); err != nil {
		return err
	}
	if s.URL == "" {
		err = s.copyCorpus()
	} else {
		err = s.reach()
	}
	if err != nil {
		return err
	}
	s.describe()
	if s.run.Settings.Checked, err = s.compareWithWrk(ctx); err != nil {
		return err
	}
	s.say("generator compared with %s", s.run.Settings.Checked)
	if s.URL == "" {
		s.say("starting a node on a copy of %s", s.Corpus)
		if err := s.serve(ctx, still); err != nil {
			return err
		}
	}
	s.site, err = discover(s.node, s.keys[0])
	return err
}

// copyCorpus makes the data directory that the node works on.
func (s *suite) copyCorpus() (err error) {
	if s.record, err = corpus.Read(s.Corpus); err != nil {
		return err
	}
	// Beside the corpus, so that the copy is hard links.
	if s.scratch, err = os.MkdirTemp(s.Corpus, "run-"); err != nil {
		return fmt.Errorf("cannot make a directory to work in: %w", err)
	}
	s.data = filepath.Join(s.scratch, "data")
	if err := corpus.Copy(s.Corpus, s.data); err != nil {
		return err
	}
	issued, err := corpus.AddKeys(s.data, []corpus.Grant{
		{Plan: richPlan, Accounts: s.Accounts, Keys: s.Keys},
		{Plan: poorPlan, Accounts: poorAccounts, Keys: poorAccounts * keysAnAccount},
	})
	if err != nil {
		return err
	}
	s.keys, s.poor = issued[0], issued[1]
	return nil
}

// The plans of the accounts that the bench makes: one that is limited and
// metered and never runs out, and one that does at once.
const (
	richPlan     = "bench"
	poorPlan     = "bench-poor"
	poorAccounts = 20
	poorUnits    = 1000
	plans        = `
[[plans]]
id = "bench"
name = "Bench"
monthly-units = 70000000000000
requests-per-second = 1000000
burst = 1000000
max-api-keys = 1000000
public = false

[[plans]]
id = "bench-poor"
name = "Bench, poor"
monthly-units = 1000
max-api-keys = 1000000
public = false
`
)

// scenarios runs those that were asked for, in the order of the table.
func (s *suite) scenarios(ctx context.Context) error {
	for i := range table {
		sc := &table[i]
		if !s.wanted(sc) {
			continue
		}
		s.say("%-12s %s", sc.Name, sc.What)
		// An account that is idle for a second gives its lease back: of many keys
		// hardly one would ask twice in that time where answers are slow.
		s.asking = s.keys[:min(len(s.keys), s.Connections)]
		if sc.Everybody {
			s.asking = s.keys
		}
		if err := s.serve(ctx, sc.Mode); err != nil {
			return err
		}
		started := machineCPU()
		from := time.Now()
		result := report.Scenario{Name: sc.Name, What: sc.What, Connections: s.Connections}
		own := ownUse(s.node)
		if err := sc.Run(ctx, s, &result); err != nil {
			return fmt.Errorf("scenario %s: %w", sc.Name, err)
		}
		if mine := ownUse(s.node) - own; mine > 0 && result.Other == 0 {
			result.Other = max(0, (machineCPU()-started-mine).Seconds()/time.Since(from).Seconds())
		}
		s.run.Scenarios = append(s.run.Scenarios, result)
		s.say("%-12s %s", "", brief(&result))
	}
	return nil
}

// finish stops the node and compares units.
func (s *suite) finish() error {
	s.run.Units.Billed = -1
	if s.URL != "" {
		if s.node == nil {
			return nil
		}
		now, err := s.node.unitsUsed(s.keys[0])
		if err == nil {
			s.run.Units.Billed = now - s.used
		}
		return err
	}
	err := s.stopNode()
	if err == nil && s.keys != nil {
		s.run.Units.Billed, err = corpus.Billed(s.data, s.began)
	}
	if s.scratch != "" {
		err = errors.Join(err, os.RemoveAll(s.scratch))
	}
	return err
}

// Faults returns what a run found wrong beside its speed, as an error: answers
// that failed or were wrong, and units that were not charged as they should.
func Faults(run *report.Run) error {
	var errs []error
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		if bad := s.Failures + s.Unanswered + s.Wrong; bad > 0 {
			errs = append(errs, fmt.Errorf("scenario %s: %d answers failed, %d requests were not answered, "+
				"%d answers were wrong: %v", s.Name, s.Failures, s.Unanswered, s.Wrong, s.Problems))
		}
	}
	u := run.Units
	if u.Answered != u.Expected || u.Billed >= 0 && u.Billed != u.Expected {
		errs = append(errs, fmt.Errorf("units: %d expected, %d answered, %d billed",
			u.Expected, u.Answered, u.Billed))
	}
	return errors.Join(errs...)
}

func (s *suite) say(format string, args ...any) {
	fmt.Fprintf(s.Progress, format+"\n", args...)
}

// yardstick starts the constant handler for bodies of a size.
func (s *suite) yardstick(ctx context.Context, size int) (*child, error) {
	cmd := exec.Command(s.Exe, "bench", "constant", "--bytes", fmt.Sprint(size))
	return spawn(ctx, &s.cores, cmd, filepath.Join(s.workDir(), "yardstick.log"))
}

// workDir is where logs go.
func (s *suite) workDir() string {
	if s.scratch == "" {
		dir, err := os.MkdirTemp("", "tidemark-bench-")
		if err != nil {
			return os.TempDir()
		}
		s.scratch = dir
	}
	return s.scratch
}

// ask runs a load against the node and keeps its units.
func (s *suite) ask(ctx context.Context, cfg load.Config) (*load.Result, error) {
	cfg.Addr, cfg.Check, cfg.Free = s.node.api, checkAnswer, isFree
	if cfg.Keys == nil {
		cfg.Keys = s.asking
	}
	if s.node.child != nil {
		cfg.ServerCPU = s.node.CPU
	}
	r, err := s.load(ctx, cfg)
	if r != nil {
		s.run.Units.Answered += r.Charged
		s.run.Units.Expected += r.Expected
		if r.Charged != r.Expected {
			r.Problems = append(r.Problems,
				fmt.Sprintf("%d units were answered; %d expected", r.Charged, r.Expected))
		}
	}
	return r, err
}

// load runs a load with the suite's settings where cfg has none.
func (s *suite) load(ctx context.Context, cfg load.Config) (*load.Result, error) {
	if cfg.Connections == 0 {
		cfg.Connections = s.Connections
	}
	cfg.Workers = min(s.cores.workers(), cfg.Connections)
	if cfg.Length == 0 {
		cfg.Length = s.Length
	}
	cfg.Warmup, cfg.Seed = s.Length/warmPart, s.Seed
	return load.Run(ctx, cfg)
}
