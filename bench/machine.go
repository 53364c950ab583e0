package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/bench/report"
)

// describe writes down what a reader of the figures has to know.
func (s *suite) describe() {
	s.run.Settings = report.Settings{
		Began: s.began.UTC().Format(time.RFC3339), Target: s.Corpus, Connections: s.Connections,
		Rounds: s.Rounds, Seconds: s.Length.Seconds(), Keys: len(s.keys), Accounts: s.Accounts,
		Seed: s.Seed, Pinned: s.cores.text,
	}
	if s.URL != "" {
		s.run.Settings.Target, s.run.Settings.Accounts = s.URL, 1
		s.run.Settings.Unknown = unknown
	}
	s.run.Machine = machine()
	if s.record != nil {
		shape := &s.record.Shape
		s.run.Corpus = report.Corpus{
			Positions: shape.Positions, Open: shape.Open, Pools: shape.Pools,
			Transactions: shape.Transactions,
		}
		for _, c := range shape.Chains {
			s.run.Corpus.Chains = append(s.run.Corpus.Chains, report.Chain{
				ID: c.Chain, Positions: c.Positions, Open: c.Open, Pools: c.Pools,
			})
		}
	}
}

// unknown is what nobody can tell of a node from outside.
var unknown = []string{
	"the CPU time and the memory of the node, so nothing is said by CPU",
	"whether pages came from its page cache, which cannot be switched off from here",
	"its machine: the one described is the client's, and the limit stands beside the client",
}

func machine() report.Machine {
	m := report.Machine{
		Cores: runtime.NumCPU(), Go: runtime.Version(), Version: "unknown", Commit: "unknown",
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, after, ok := bytes.Cut(b, []byte("model name")); ok {
			line, _, _ := bytes.Cut(after, []byte{'\n'})
			m.CPU = strings.TrimSpace(strings.TrimLeft(string(line), "\t :"))
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.Memory = kilobytes(b, "MemTotal:")
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				m.Commit = setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true":
				m.Commit += " and changes"
			}
		}
	}
	return m
}

// reach prepares for a node that somebody else started.
func (s *suite) reach() error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return fmt.Errorf("cannot ask %q; it is http://HOST:PORT", s.URL)
	}
	if s.Key == "" {
		return errors.New("a node that runs already is asked with --key")
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "80")
	}
	s.keys = []string{s.Key}
	s.node = &node{api: host, units: &s.run.Units}
	_, _, body, err := s.node.ask("/v1/stats", "")
	if err != nil {
		return err
	}
	var stats struct {
		Positions struct{ Total, Active int64 }
		Pools     struct{ Total int64 }
	}
	if err := json.Unmarshal(body, &stats); err != nil {
		return fmt.Errorf("cannot read the answer to /v1/stats: %w", err)
	}
	s.run.Corpus = report.Corpus{
		Positions: stats.Positions.Total, Open: stats.Positions.Active, Pools: stats.Pools.Total,
	}
	s.used, err = s.node.unitsUsed(s.Key)
	return err
}

// Loopback reports whether a URL's host is this machine, by its address: no
// name but localhost is looked up.
func Loopback(target string) bool {
	u, err := url.Parse(target)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// ownUse is the CPU time of this process, the node, and other children that
// have ended.
func ownUse(n *node) time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	if n != nil && n.child != nil {
		sum += n.child.CPU()
	}
	return sum
}
