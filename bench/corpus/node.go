package corpus

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"tidemark/actors/feed/sim"
)

// Market says what happens after the history of a corpus.
type Market uint8

// The markets.
const (
	Still Market = iota // nothing: the head stays where the history ends
	Calm                // no price that others depend on moves, and few pools are traded
	Brisk               // minutes pass in every refresh, and every native price moves
)

// Node is how a node is to serve a corpus.
type Node struct {
	Market  Market
	Since   time.Time     // when the market continues after the history, unless it is Still
	Bare    bool          // without a page cache: every page is rendered for whoever asks
	Refresh time.Duration // 0: the node's default
}

// Options are what the bench's own node has besides a configuration: what no
// operator sets. The zero value is any node.
type Options struct {
	sim.Workload
	NoPageCache bool `json:"noPageCache,omitempty"`
}

// ParseOptions reads the JSON of Options; nothing is the zero value.
func ParseOptions(text string) (o Options, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &o)
	}
	return o, err
}

// The plans of plans.toml.
const (
	MeteredPlan  = "bench"
	LimitedPlan  = "bench-limited"
	LimitedUnits = 1000
)

//go:embed plans.toml
var plans string

// Config returns the configuration file of a node on the corpus.
func (s *Spec) Config(n Node) string {
	positions := s.first(s.Positions)
	text := fmt.Sprintf("feed = \"sim\"\n\n[sim]\nseed = %d\npositions = %d\npools = %d\ndays = %d\n"+
		"actions = %d\ngenesis = %s\nfrozen = %v\n\n", s.Seed, positions, s.first(s.Pools), s.Days,
		s.Actions*positions, s.Genesis, n.Market == Still)
	if n.Refresh > 0 {
		text += fmt.Sprintf("[refresh]\nevery = %q\n\n", n.Refresh)
	}
	for _, c := range Chains[s.Chains:] {
		text += fmt.Sprintf("[[chains]]\nid = %d\nenabled = false\n\n", c.ID)
	}
	return text + plans
}

// Args is the command line of a node on the corpus, before the flags of serve.
func (s *Spec) Args(n Node) ([]string, error) {
	genesis, err := time.Parse(time.RFC3339, s.Genesis)
	if err != nil {
		return nil, fmt.Errorf("cannot read the genesis of a corpus: %w", err)
	}
	o := Options{sim.Workload{Crowd: s.Crowd, Brisk: n.Market == Brisk, Calm: n.Market == Calm}, n.Bare}
	if n.Market != Still {
		o.Behind = n.Since.Sub(genesis.Add(time.Duration(s.Days) * 24 * time.Hour))
	}

	text, err := json.Marshal(&o)
	if err != nil {
		panic("BUG: options that cannot be encoded: " + err.Error())
	}
	return []string{"bench", "node", "--options", string(text)}, nil
}
