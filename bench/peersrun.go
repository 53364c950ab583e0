package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/bench/corpus"
	"tidemark/bench/load"
	"tidemark/bench/process"
	"tidemark/bench/report"
)

// PeerNames are the databases that bench/peers knows.
var PeerNames = []string{"PostgreSQL", "Redis", "SQLite"}

// question is one kind of question, asked of a node and of a peer alike.
type question struct {
	name    string
	row     int  // of the table of goals
	counted bool // a peer counts now, and looks nothing up
	alone   bool // by one connection
	mix     func(t *target, from uint64) load.Mix
}

var questions = []question{
	{"page 1, counted", 1, true, false, func(t *target, _ uint64) load.Mix { return hotPage(t) }},
	{"page 1", 1, false, false, func(t *target, _ uint64) load.Mix { return hotPage(t) }},
	{"any page", 3, false, false, func(t *target, _ uint64) load.Mix { return uncachedPages(t) }},
	{"deep page", 4, false, false, func(t *target, _ uint64) load.Mix {
		last := min(deepPage, t.all/pageRows)
		many := min(400, last)
		return pagesFrom("deep", last-many+1, many)
	}},
	{"new filter", 5, true, true, func(_ *target, from uint64) load.Mix { return newFilters(from) }},
}

const (
	refreshName = "refresh"
	refreshRow  = 7
	// comparisons is how many answers to a kind of question are compared.
	comparisons = 60
	// attempts is how often a round is run until no answer fails: a node refuses
	// to serve what it cannot meter, as when others keep the disk busy.
	attempts = 3
	// Filters that are compared are not those that are timed, and every peer's
	// are new to the node.
	comparedFrom = 1 << 40
	peerNumbers  = 1 << 32
)

// ComparePeers compares a node without its page cache with databases that the
// command serves, and returns what it measured also when a part of it failed.
func ComparePeers(ctx context.Context, settings Settings, command string) (_ *report.Peers, err error) {
	if settings.Corpus, err = filepath.Abs(settings.Corpus); err != nil { // servers run elsewhere
		return nil, fmt.Errorf("cannot find the corpus: %w", err)
	}
	s := &suite{Settings: settings, began: time.Now()}
	defer func() { err = errors.Join(err, s.finish()) }()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	keys := filepath.Join(s.scratch, "keys")
	err = errors.Join(os.WriteFile(keys, []byte(strings.Join(s.keys, "\n")), 0o600),
		os.Chmod(s.scratch, 0o755)) // PostgreSQL's user passes through it
	if err != nil {
		return nil, fmt.Errorf("cannot write the keys: %w", err)
	}

	out := &report.Peers{
		Began: s.began.UTC().Format(time.RFC3339), Positions: s.record.Corpus.Positions,
		Genesis: s.record.Spec.Genesis, CPU: s.run.Machine.CPU, Pinned: s.cores.Text,
	}
	var faults []error
	for number, name := range PeerNames {
		same := func(only string) bool { return strings.EqualFold(only, name) }
		if len(s.Only) > 0 && !slices.ContainsFunc(s.Only, same) {
			continue
		}
		if err := s.ensureNode(ctx, bare); err != nil {
			return out, errors.Join(append(faults, err)...)
		}
		p := contest{suite: s, out: out, peer: report.Peer{Peer: name}, number: uint64(number)}
		if err := p.run(ctx, command, keys); err != nil {
			s.say("%s: %v", name, err)
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	return out, errors.Join(append(faults, s.refreshNode(ctx, out))...)
}

// contest is one peer in comparison with the node.
type contest struct {
	*suite
	out    *report.Peers
	peer   report.Peer // with the name and the version
	number uint64
	front  *process.Child
}

// run starts a peer, which loads the corpus, and asks it everything.
func (c *contest) run(ctx context.Context, command, keys string) (err error) {
	dir := filepath.Join(c.scratch, strings.ToLower(c.peer.Peer))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cmd := exec.Command(command, "--peer", c.peer.Peer, "--corpus", c.Corpus, "--data", dir, "--keys", keys)
	c.say("%s: loading", c.peer.Peer)
	c.front, err = process.Launch(ctx, c.cores, cmd, filepath.Join(c.scratch, "peer.log"))
	if err == nil {
		defer func() { err = errors.Join(err, c.front.Stop()) }()
		err = c.readAbout()
	}
	if err != nil {
		for _, q := range append(questions, question{name: refreshName, row: refreshRow}) {
			c.peer.Question, c.peer.Row, c.peer.Why = q.name, q.row, err.Error()
			c.out.Results = append(c.out.Results, c.peer)
		}
		return err
	}

	var faults []error
	for i := range questions {
		for _, keyed := range []bool{false, true} {
			if err := c.ask(ctx, &questions[i], keyed); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return errors.Join(faults...)
}

// readAbout reads what loading took, which is the peer's refresh.
func (c *contest) readAbout() error {
	a, err := process.Ask(c.front.Address, "/about", "")
	if err == nil {
		err = json.Unmarshal(a.Body, &c.peer)
	}
	if err != nil {
		return fmt.Errorf("cannot read what the peer says of itself: %w", err)
	}
	p := c.peer
	p.Question, p.Row = refreshName, refreshRow
	c.out.Results = append(c.out.Results, p)
	c.say("%s %s: loaded with %.1f s of CPU", p.Peer, p.Version, p.Other.CPUMicros/1e6)
	return nil
}

// ask compares the answers to a question and then times both sides in turns.
func (c *contest) ask(ctx context.Context, q *question, keyed bool) (err error) {
	p := c.peer
	p.Question, p.Row, p.Other = q.name, q.row, report.PeerSide{}
	prefix, numbers, keys := "", c.number*peerNumbers, []string(nil) // of what the peer is asked
	if keyed {
		p.Question += ", keys checked"
		prefix, numbers, keys = "/keyed", numbers+peerNumbers/2, c.keys
	}
	if q.counted {
		prefix += "/counted"
	}
	defer func() {
		if err != nil {
			p.Why = err.Error()
			err = fmt.Errorf("%s: %w", p.Question, err)
		}
		c.out.Results = append(c.out.Results, p)
	}()
	if p.Equal, err = c.compareAnswers(q, prefix, keys); errors.Is(err, errCannot) {
		p.Why, err = report.Cannot, nil
		return nil
	}
	if err != nil {
		return err
	}

	side := func(address, prefix string, keys []string, cpu func() time.Duration) load.Side {
		return func(ctx context.Context) (*load.Result, error) {
			mix := q.mix(c.target, numbers)
			path := mix[0].Path
			mix[0].Path = func(dst []byte, r *rand.Rand) []byte { return path(append(dst, prefix...), r) }
			cfg := load.Config{Addr: address, Keys: keys, ServerCPU: cpu, Mix: mix}
			if q.alone { // and slow: it takes longer to see many of them
				cfg.Connections, cfg.Length = 1, 3*c.Length
			}
			return c.loadWhole(ctx, cfg)
		}
	}
	nodes, others, err := load.InTurns(ctx, c.Rounds, side(c.node.API, "", c.keys, c.node.CPU),
		side(c.front.Address, prefix, keys, c.front.CPU))
	if err != nil {
		return err
	}
	throughputs, cpus := load.Ratios(nodes, others)
	p.Node, p.Other = sideOf(load.Middle(nodes)), sideOf(load.Middle(others))
	p.Ratio, p.RatioCPU = load.Median(throughputs), load.Median(cpus)
	c.say("%s: %-28s %8.0f and %8.0f a second: %.2f x the CPU", p.Peer, p.Question, p.Node.PerSecond,
		p.Other.PerSecond, p.RatioCPU)
	return nil
}

// loadWhole runs a round in which answers came and none failed.
func (s *suite) loadWhole(ctx context.Context, cfg load.Config) (took *load.Result, err error) {
	for range attempts {
		if took, err = s.runLoad(ctx, cfg); err != nil {
			return nil, err
		}
		bad := took.Failures + took.Unanswered
		if bad == 0 && took.Requests > 0 {
			return took, nil
		}
		err = fmt.Errorf("%d answers of %s failed, %d were good: %v", bad, cfg.Addr, took.Requests, took.Problems)
	}
	return nil, err
}

func sideOf(r *load.Result) report.PeerSide {
	return report.PeerSide{
		PerSecond: r.PerSecond(), CPUMicros: r.ServerMicros(), Median: r.Quantile(50).Microseconds(),
		BodyBytes: r.MeanBody(),
	}
}

// errCannot is a peer's answer to a question that it has no means for.
var errCannot = errors.New(report.Cannot)

// compareAnswers asks both sides the same, and returns how many answers were
// equal. A peer that answers something else is not timed: ids, their order,
// ranks, every value of every row, and totals have to be equal to the byte.
func (c *contest) compareAnswers(q *question, prefix string, keys []string) (equal int, err error) {
	random, key := rand.New(rand.NewPCG(1, uint64(q.row))), ""
	if len(keys) > 0 {
		key = keys[0]
	}

	next := q.mix(c.target, comparedFrom)[0].Path
	for ; equal < comparisons; equal++ {
		path := string(next(nil, random))
		theirs, err := process.Ask(c.front.Address, prefix+path, key)
		if err != nil {
			return equal, err
		}
		if strings.TrimSpace(string(theirs.Body)) == report.Cannot {
			return equal, errCannot
		}

		var ours json.RawMessage
		if err := c.getUntil(path, &ours); err != nil {
			return equal, err
		}
		if !bytes.Equal(ours, theirs.Body) {
			at := 0
			for at < min(len(ours), len(theirs.Body)) && ours[at] == theirs.Body[at] {
				at++
			}
			from := max(0, at-40)
			return equal, fmt.Errorf("another answer than the node's: %s: at byte %d the node has %.80q; "+
				"the peer has %.80q", path, at, ours[from:], theirs.Body[from:])
		}
	}
	return equal, nil
}

// refreshNode measures the node's refresh of every chain, for all peers.
func (s *suite) refreshNode(ctx context.Context, out *report.Peers) error {
	s.say("measuring the node's refresh")
	if err := s.ensureNode(ctx, live); err != nil {
		return err
	}
	var r report.Scenario
	if err := runRefresh(ctx, s, &r); err != nil {
		return err
	}

	seconds, _ := r.Value(refreshCPU)
	for i := range out.Results {
		if p := &out.Results[i]; p.Question == refreshName && p.Why == "" {
			p.Node.CPUMicros = seconds * 1e6 * float64(len(s.target.chains))
			p.RatioCPU = p.Other.CPUMicros / p.Node.CPUMicros
		}
	}
	return nil
}

// readPeers reads what `make bench-peers` wrote about a corpus; nil when there
// is no file, or one about another corpus.
func readPeers(path string, record *corpus.Record) (*report.Peers, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}

	p := new(report.Peers)
	if err == nil {
		err = json.Unmarshal(b, p)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the peers in %s: %w", path, err)
	}
	if p.Positions != record.Corpus.Positions || p.Genesis != record.Spec.Genesis {
		return nil, nil
	}
	return p, nil
}

// PeersTable prints the node and each peer.
func PeersTable(w io.Writer, run *report.Peers) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\tquestion\tpeer\tnode/s\tpeer/s\tnode CPU µs\tpeer CPU µs\tpeer : node CPU\tbody\t")
	for i := range run.Results {
		p := &run.Results[i]
		fmt.Fprintf(t, "%d\t%s\t%s %s\t", p.Row, p.Question, p.Peer, p.Version)
		if p.Why != "" {
			fmt.Fprintf(t, "%.60s\t\t\t\t\t\t\n", process.LastLine([]byte(p.Why)))
			continue
		}
		fmt.Fprintf(t, "%.0f\t%.0f\t%.1f\t%.1f\t%.2f x\t%d\t\n", p.Node.PerSecond, p.Other.PerSecond,
			p.Node.CPUMicros, p.Other.CPUMicros, p.RatioCPU, p.Other.BodyBytes)
	}

	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print a table: %w", err)
	}
	_, err := fmt.Fprintf(w, "\n%d positions; %s; no page cache anywhere\n", run.Positions, run.Pinned)
	return err
}
