package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/bench/load"
	"tidemark/bench/process"
	"tidemark/bench/report"
)

// PeerNames are the databases that bench/peers knows.
var PeerNames = []string{"PostgreSQL", "Redis", "SQLite"}

// question is one kind of question, asked of a node and of a peer alike.
type question struct {
	name    string
	counted bool // a peer counts now, and looks nothing up
	alone   bool // by one connection
	mix     func(t *target, from uint64) load.Mix
}

var questions = []question{
	{"page 1, counted", true, false, func(t *target, _ uint64) load.Mix { return hotPage(t) }},
	{"page 1", false, false, func(t *target, _ uint64) load.Mix { return hotPage(t) }},
	{"any page", false, false, func(t *target, _ uint64) load.Mix { return uncachedPages(t) }},
	{"deep page", false, false, func(t *target, _ uint64) load.Mix {
		last := min(deepPage, t.all/pageRows)
		many := min(400, last)
		return pagesFrom("deep", last-many+1, many)
	}},
	{"new filter", true, true, func(_ *target, from uint64) load.Mix { return newFilters(from) }},
}

const (
	// refreshName ends the name of the scenario in which a peer loads everything.
	refreshName = ": refresh"
	// comparisons is how many answers to a kind of question are compared.
	comparisons = 60
	// attempts is how often a round is run until no answer fails: a node refuses
	// to serve what it cannot meter, as when others keep the disk busy.
	attempts = 3
	// Filters that are compared are not those that are timed, or another peer's.
	comparedFrom = 1 << 40
	peerNumbers  = 1 << 32
)

// ComparePeers compares a node without its page cache with databases that the
// command serves: a scenario for every question to every peer, which is its
// limit. Without rounds it only compares answers. It returns what it measured also with an
// error; when ctx ends, the run is cut short.
func ComparePeers(ctx context.Context, settings Settings, command string) (_ *report.Run, err error) {
	if err := settings.check(0); err != nil {
		return nil, err
	}
	if settings.Corpus, err = filepath.Abs(settings.Corpus); err != nil { // servers run elsewhere
		return nil, fmt.Errorf("cannot find the corpus: %w", err)
	}
	s := newSuite(settings)
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

	err = s.askPeers(ctx, command, keys)
	if ctx.Err() != nil {
		s.noteCut(ctx, err)
	}
	return &s.run, err
}

// askPeers compares the node with one peer after the other; one that fails leaves the others.
func (s *suite) askPeers(ctx context.Context, command, keys string) error {
	var faults []error
	for number, name := range PeerNames {
		same := func(only string) bool { return strings.EqualFold(only, name) }
		if len(s.Only) > 0 && !slices.ContainsFunc(s.Only, same) {
			continue
		}
		if err := s.ensureNode(ctx, bare); err != nil {
			s.noteCut(ctx, err)
			return errors.Join(append(faults, err)...)
		}

		c := contest{suite: s, number: uint64(number)}
		err := c.askAll(ctx, name, command, keys)
		if err == nil {
			continue
		}
		faults = append(faults, fmt.Errorf("%s: %w", name, err))
		if ctx.Err() != nil {
			return errors.Join(faults...)
		}
		s.say("%s: %v", name, err)
		s.run.Scenarios = append(s.run.Scenarios, report.Scenario{
			Name: name, Peer: name, Answers: report.Answers{Problems: []string{err.Error()}},
		})
	}

	if s.Rounds > 0 {
		faults = append(faults, s.refreshNode(ctx))
	}
	return errors.Join(faults...)
}

// contest is one peer in comparison with the node.
type contest struct {
	*suite
	number uint64
	front  *process.Child
	loaded report.Scenario // what loading took, and with the peer's version
}

// askAll starts a peer, which loads the corpus, and asks it everything.
func (c *contest) askAll(ctx context.Context, name, command, keys string) (err error) {
	dir := filepath.Join(c.scratch, strings.ToLower(name))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	c.say("%s: loading", name)
	cmd := exec.Command(command, "--peer", name, "--corpus", c.Corpus, "--data", dir, "--keys", keys)
	c.front, err = process.Launch(ctx, c.cores, cmd, filepath.Join(c.scratch, "peer.log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.front.Stop()) }()
	about, err := process.Ask(c.front.Address, "/about", "")
	if err == nil {
		err = json.Unmarshal(about.Body, &c.loaded)
	}
	if err != nil {
		return fmt.Errorf("cannot read what the peer says of itself: %w", err)
	}
	c.say("%s: loaded with %.1f s of CPU", c.loaded.Comparison, c.loaded.Limit.ServerMicros/1e6)
	c.run.Scenarios = append(c.run.Scenarios, c.loaded)

	var faults []error
	for i := range questions {
		for _, keyed := range []bool{false, true} {
			if ctx.Err() == nil {
				faults = append(faults, c.timeQuestion(ctx, &questions[i], keyed))
			}
		}
	}
	return errors.Join(faults...)
}

// timeQuestion compares the answers to a question, and times both sides in turns.
func (c *contest) timeQuestion(ctx context.Context, q *question, keyed bool) (err error) {
	out := report.Scenario{
		Name: c.loaded.Peer + ": " + q.name, What: "the same question to a node and to " + c.loaded.Comparison,
		Peer: c.loaded.Peer, Comparison: c.loaded.Comparison, Connections: c.Connections,
	}
	prefix, numbers, keys := "", c.number*peerNumbers, []string(nil) // of what the peer is asked
	if keyed {
		out.Name += ", keys checked"
		prefix, numbers, keys = "/keyed", numbers+peerNumbers/2, c.keys
	}
	if q.counted {
		prefix += "/counted"
	}
	if q.alone {
		out.Connections = 1
	}

	equal, err := c.compareAnswers(q, prefix, keys)
	out.Set("equal answers", float64(equal), "")
	if err == nil && c.Rounds > 0 {
		node := c.side(q, c.ask, "", numbers, load.Config{Keys: c.keys})
		peer := c.side(q, c.runLoad, prefix, numbers,
			load.Config{Addr: c.front.Address, Keys: keys, ServerCPU: c.front.CPU})
		err = c.compare(ctx, &out, node, peer)
	}

	if out.Cut = ctx.Err() != nil; out.Cut && out.Limit == nil {
		return err
	}
	if err != nil {
		out.Note("%v", err)
	}
	c.run.Scenarios = append(c.run.Scenarios, out)
	c.say("%s: %s", out.Name, out.Summary())
	if errors.Is(err, errCannot) {
		return nil
	}
	return err
}

// side asks one of the two a question, with a prefix before its paths. Filters are new from a
// number on.
func (c *contest) side(q *question, ask asker, prefix string, from uint64, cfg load.Config) load.Side {
	return func(ctx context.Context) (*load.Result, error) {
		cfg.Mix = q.mix(c.target, from)
		path := cfg.Mix[0].Path
		cfg.Mix[0].Path = func(dst []byte, r *rand.Rand) []byte { return path(append(dst, prefix...), r) }
		if q.alone { // and slow: it takes longer to see many of them
			cfg.Connections, cfg.Length = 1, 3*c.Length
		}
		return ask.untilWhole(ctx, cfg)
	}
}

// asker runs a load.
type asker func(context.Context, load.Config) (*load.Result, error)

// untilWhole runs a round in which answers came and none failed.
func (ask asker) untilWhole(ctx context.Context, cfg load.Config) (took *load.Result, err error) {
	for range attempts {
		if took, err = ask(ctx, cfg); err != nil {
			return nil, err
		}
		bad := took.Failures + took.Unanswered
		if bad == 0 && took.Requests > 0 {
			return took, nil
		}
		err = fmt.Errorf("%d answers failed, %d were good: %v", bad, took.Requests, took.Problems)
	}
	return nil, err
}

// errCannot is a peer's answer to a question that it has no means for.
var errCannot = errors.New(report.Cannot)

// compareAnswers asks both sides the same, and returns how many answers were
// equal. A peer that answers something else is not timed: ids, their order,
// ranks, every value of every row, and totals have to be equal to the byte.
func (c *contest) compareAnswers(q *question, prefix string, keys []string) (equal int, err error) {
	random, key := rand.New(rand.NewPCG(1, uint64(len(q.name)))), ""
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

		ours, err := getUntil[json.RawMessage](c.suite, "%s", path)
		if err != nil {
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
func (s *suite) refreshNode(ctx context.Context) error {
	s.say("measuring the node's refresh")
	if err := s.ensureNode(ctx, live); err != nil {
		return err
	}
	var r report.Scenario
	if err := runRefresh(ctx, s, &r); err != nil {
		return err
	}

	seconds, _ := r.Value("CPU a refresh")
	for i := range s.run.Scenarios {
		if p := &s.run.Scenarios[i]; strings.HasSuffix(p.Name, refreshName) {
			p.Node.ServerMicros = seconds * 1e6 * float64(len(s.target.chains))
			p.RatioCPU = p.Limit.ServerMicros / p.Node.ServerMicros
		}
	}
	return nil
}

// addPeers adds what `make bench-peers` measured on the corpus of this run, if
// there is a file and it is about this corpus.
func (s *suite) addPeers() error {
	f, err := os.Open(s.Peers)
	if s.Peers == "" || s.record == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the peers: %w", err)
	}
	defer f.Close()

	peers, err := Read(f)
	if err != nil {
		return fmt.Errorf("cannot read the peers in %s: %w", s.Peers, err)
	}
	c := &peers.Corpus
	if peers.Cut == "" && c.Positions == s.record.Corpus.Positions && c.Genesis == s.record.Spec.Genesis {
		s.run.Scenarios = append(s.run.Scenarios, peers.Scenarios...)
	}
	return nil
}
