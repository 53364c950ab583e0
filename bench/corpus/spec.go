package corpus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/storage"
)

// Spec is what a corpus is made from. The same Spec gives the same corpus.
type Spec struct {
	Positions int       `json:"positions"` // of all chains together
	Pools     int       `json:"pools"`     // likewise; 0: 5 for every 100 positions
	Chains    int       `json:"chains"`    // 1 to 3: chain 1, then 42161, then 43114
	Seed      int       `json:"seed"`
	Days      int       `json:"days"`    // length of the history; 0: 400
	Actions   int       `json:"actions"` // a position; 0: 4, the fewest there can be
	Genesis   string    `json:"genesis"` // RFC 3339; set when the corpus is built
	Crowd     sim.Crowd `json:"crowd"`   // zero: the one that gives the shape of the figures
}

// Defaults of a Spec. The history is more than a year, for charts that look
// back as far, but all of it lies in its last ten days, which hold the week
// that the longest window looks back, and keep an hour's price records few.
const (
	defaultDays    = 400
	busyDays       = 10
	defaultActions = 4
	poolsPercent   = 5
)

// crowd gives a market of so many pools on a chain the shape of the figures:
// found by trying, and held by TestShape.
func crowd(days, pools int) sim.Crowd {
	return sim.Crowd{
		Leave: 370, Width: 85, Wallets: 380, Awake: max(2, pools/150), Sleepy: 40, Zipf: true,
		BusyDays: min(busyDays, days-1), Early: 10,
	}
}

// Chains are the ids in the order in which a Spec counts them, with the share
// of the first chain's size that the simulated market gives them, in percent.
var Chains = []struct {
	ID    int64
	Share int
}{{1, 100}, {42161, 80}, {43114, 50}}

// Fill replaces what is left out, and checks the rest.
func (s *Spec) Fill() error {
	if s.Days == 0 {
		s.Days = defaultDays
	}
	if s.Actions == 0 {
		s.Actions = defaultActions
	}
	if s.Pools == 0 {
		s.Pools = s.Positions * poolsPercent / 100
	}
	if s.Chains < 1 || s.Chains > len(Chains) {
		return fmt.Errorf("cannot make a corpus of %d chains; at least 1, at most %d",
			s.Chains, len(Chains))
	}
	const fewest = 1000 // of a chain, below which the market keeps no promise
	if s.Positions < fewest*s.Chains {
		return fmt.Errorf("cannot make a corpus of %d positions on %d chains; at least %d",
			s.Positions, s.Chains, fewest*s.Chains)
	}
	if s.Crowd == (sim.Crowd{}) {
		s.Crowd = crowd(s.Days, s.first(s.Pools))
	}
	return nil
}

// first returns chain 1's part of a number of all chains.
func (s *Spec) first(all int) int {
	sum := 0
	for _, c := range Chains[:s.Chains] {
		sum += c.Share
	}
	return (all*100 + sum - 1) / sum
}

// Events returns about how many events the history of a chain has, for those
// who wait; which is the chain's place in Chains.
func (s *Spec) Events(which int) int64 {
	const quietDay = 66 // events of three rounds through the core pools
	actions := s.Actions * s.first(s.Positions) * Chains[which].Share / 100
	return int64(actions)*7/5 + int64(quietDay*(s.Days-s.Crowd.BusyDays))
}

// Node is how a node is to serve a corpus.
type Node struct {
	Live     bool          // the market goes on, and briskly; else it stays where the history ends
	Calm     bool          // it goes on, and no price that others depend on moves
	Uncached bool          // every page is rendered for whoever asks
	Refresh  time.Duration // 0: the node's default
	Extra    string        // more tables of the configuration
}

// Config returns the configuration file of a node on the corpus.
func (s *Spec) Config(n Node) string {
	var b strings.Builder
	b.WriteString("feed = \"sim\"\n\n")
	if n.Refresh > 0 {
		fmt.Fprintf(&b, "[refresh]\nevery = %q\n\n", n.Refresh)
	}
	positions := s.first(s.Positions)
	live := n.Live || n.Calm
	fmt.Fprintf(&b, "[sim]\nseed = %d\npositions = %d\npools = %d\ndays = %d\nactions = %d\n"+
		"genesis = %s\nfrozen = %v\n\n",
		s.Seed, positions, s.first(s.Pools), s.Days, s.Actions*positions, s.Genesis, !live)
	for _, c := range Chains[s.Chains:] {
		fmt.Fprintf(&b, "[[chains]]\nid = %d\nenabled = false\n\n", c.ID)
	}
	b.WriteString(n.Extra)
	return b.String()
}

// Engine returns what a node on the corpus gets beside its configuration. Now
// is when its market goes on, if it does.
func (s *Spec) Engine(n Node, now time.Time) (Engine, error) {
	e := Engine{Crowd: s.Crowd, Brisk: n.Live, Calm: n.Calm, NoPageCache: n.Uncached}
	genesis, err := time.Parse(time.RFC3339, s.Genesis)
	if err != nil {
		return e, fmt.Errorf("cannot read the genesis of a corpus: %w", err)
	}
	if n.Live || n.Calm {
		e.Behind = now.Sub(genesis.Add(time.Duration(s.Days) * 24 * time.Hour))
	}
	return e, nil
}

// Record is what stands in corpus.json.
type Record struct {
	Format  int     `json:"format"`
	Store   int     `json:"storeFormat"`
	Spec    Spec    `json:"spec"`
	Seconds float64 `json:"seconds"` // from the node's start until all was published
	Events  int64   `json:"events"`
	CPU     float64 `json:"cpuSeconds"` // of the node meanwhile
	Shape   Shape   `json:"shape"`
}

const recordName = "corpus.json"

// recordFormat is raised when corpora become others: 2 has long histories.
const recordFormat = 2

// Errors of a directory without a corpus, and of one whose corpus another
// build made, in another format.
var (
	ErrNone = errors.New("no corpus")
	ErrOld  = errors.New("out-of-date corpus")
)

// DataDir is where the node of a corpus keeps its data.
func DataDir(dir string) string { return filepath.Join(dir, "node") }

// Read reads the record of a corpus; of one that is ErrOld, as much as there is.
func Read(dir string) (*Record, error) {
	b, err := os.ReadFile(filepath.Join(dir, recordName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s; tidemark bench corpus --out %s makes one", ErrNone, dir, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read a corpus: %w", err)
	}
	r := new(Record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", filepath.Join(dir, recordName), err)
	}
	if r.Format != recordFormat || r.Store != storage.Format {
		return r, fmt.Errorf("%w in %s: its format is %d on a store of format %d, "+
			"this build reads %d on %d; tidemark bench corpus --reuse --positions %d --out %s makes it anew",
			ErrOld, dir, r.Format, r.Store, recordFormat, storage.Format, r.Spec.Positions, dir)
	}
	return r, nil
}

// Write writes the record: the last thing of a corpus that is complete.
func (r *Record) Write(dir string) error {
	r.Format, r.Store = recordFormat, storage.Format
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic("BUG: a record that cannot be encoded: " + err.Error())
	}
	if err := os.WriteFile(filepath.Join(dir, recordName), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("cannot write the record of a corpus: %w", err)
	}
	return nil
}
