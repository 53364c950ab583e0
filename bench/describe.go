package bench

import (
	"runtime"
	"runtime/debug"
	"time"

	"tidemark/bench/process"
	"tidemark/bench/report"
)

// unknown is what cannot be learnt of a node that is not ours.
var unknown = []string{
	"the CPU time and the memory of the node, so nothing is said by CPU",
	"whether pages came from its page cache, which cannot be switched off from here",
	"its machine: the one described is the client's, on which the limit runs too",
}

// describe writes down what a reader of the figures has to know.
func (s *suite) describe() {
	s.run.Settings = report.Settings{
		Began: s.began.UTC().Format(time.RFC3339), Target: s.Corpus, Connections: s.Connections,
		Rounds: s.Rounds, Seconds: s.Length.Seconds(), Keys: len(s.keys), Accounts: s.Accounts,
		Seed: s.Seed, Pinned: s.cores.Text, Command: s.Command,
	}
	if s.URL != "" {
		s.run.Settings.Target, s.run.Settings.Accounts = s.URL, 1
		s.run.Settings.Unknown = unknown
	}

	m := process.ReadMachine()
	s.run.Machine = report.Machine{
		CPU: m.Model, Cores: runtime.NumCPU(), Memory: m.Memory, Kernel: m.Kernel, Go: runtime.Version(),
		Version: "unknown", Commit: "unknown",
	}
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			s.run.Machine.Commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			s.run.Machine.Commit += " and changes"
		}
	}

	if s.record != nil {
		s.run.Corpus = s.record.Corpus
	}
}
