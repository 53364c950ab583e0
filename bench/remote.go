package bench

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"tidemark/bench/process"
	"tidemark/bench/report"
	tidemark "tidemark/edge/client/go"
)

// connect prepares for a node that was started elsewhere.
func (s *suite) connect() error {
	u, err := parseTarget(s.URL)
	if err != nil {
		return err
	}
	if s.Key == "" {
		return errors.New("a node that runs already is asked with --key")
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "80")
	}
	s.keys, s.node = []string{s.Key}, &process.Node{API: host}

	if s.scratch, err = os.MkdirTemp("", "tidemark-bench-"); err != nil { // for logs
		return fmt.Errorf("cannot make a directory to work in: %w", err)
	}
	if s.run.Corpus, err = s.askStats(); err != nil {
		return err
	}
	used, err := s.unitsUsed()
	if err == nil {
		s.used = used
	}
	return err
}

// parseTarget reads the URL of a node: nothing but an address, since paths are its own.
func parseTarget(target string) (*url.URL, error) {
	u, err := url.Parse(target)
	bare := err == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.User == nil
	if !bare || u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("cannot ask %q; it is http://HOST:PORT", target)
	}
	return u, nil
}

// askStats asks what the node has.
func (s *suite) askStats() (c report.Corpus, err error) {
	stats, err := getUntil[tidemark.Stats](s, "/v1/stats")
	c.Positions, c.Open = stats.Positions.Total, stats.Positions.Active
	c.Pools, c.Transactions = stats.Pools.Total, stats.Transactions.Total
	for _, chain := range stats.Chains {
		c.Chains = append(c.Chains, report.Chain{
			ID: chain.ChainID, Positions: chain.Positions, Open: chain.ActivePositions, Pools: chain.Pools,
		})
	}
	return c, err
}

// unitsUsed asks what the account of the key has used this month.
func (s *suite) unitsUsed() (int64, error) {
	usage, err := getUntil[tidemark.Usage](s, "/v1/usage")
	return usage.UnitsUsed, err
}

// CheckURL returns an error unless a URL is that of a node on this machine, by its address:
// no name but localhost is looked up. Whoever owns the target may have it elsewhere.
func CheckURL(target string, own bool) error {
	u, err := parseTarget(target)
	if err != nil {
		return err
	}
	ip := net.ParseIP(u.Hostname())
	if own || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is not this machine; load is put on others only with --i-own-this-target", target)
}

// unknown is what cannot be learnt of a node that is not ours.
var unknown = []string{
	"the CPU time and the memory of the node, so nothing is said by CPU",
	"whether pages came from its page cache, which cannot be switched off from here",
	"its machine: the one described is the client's, on which the limit runs too",
}

// describeRun writes down what a reader of the figures has to know.
func (s *suite) describeRun() {
	said := &s.run.Settings
	*said = s.Settings.Settings
	said.Began, said.Target = s.began.UTC().Format(time.RFC3339), s.Corpus
	said.Seconds, said.Keys, said.Pinned = s.Length.Seconds(), len(s.keys), s.cores.Text
	if len(s.Rates) > 0 {
		said.Rounds = 1 // there is no other side to take turns with
	}
	if s.URL != "" {
		said.Target, said.Accounts, said.Unknown = s.URL, 1, unknown
	}

	s.run.Machine = process.ReadMachine().Machine
	if s.record != nil {
		s.run.Corpus = s.record.Corpus
		s.run.Corpus.Genesis = s.record.Spec.Genesis
	}
}
