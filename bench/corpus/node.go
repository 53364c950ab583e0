package corpus

import (
	"encoding/json"
	"fmt"
	"strings"
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

// Options are what the bench's own node has beside a configuration: what no
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

// Plans of the accounts that the bench makes: one that is rate-limited and
// metered and never runs out, and one whose quota ends at once.
const (
	MeteredPlan  = "bench"
	LimitedPlan  = "bench-limited"
	LimitedUnits = 1000

	plans = `
[[plans]]
id = "bench"
name = "Bench"
monthly-units = 70000000000000
requests-per-second = 1000000
burst = 1000000
max-api-keys = 1000000
public = false

[[plans]]
id = "bench-limited"
name = "Bench, limited"
monthly-units = 1000
max-api-keys = 1000000
public = false
`
)

// Config returns the configuration file of a node on the corpus.
func (s *Spec) Config(n Node) string {
	var b strings.Builder
	b.WriteString("feed = \"sim\"\n\n")
	if n.Refresh > 0 {
		fmt.Fprintf(&b, "[refresh]\nevery = %q\n\n", n.Refresh)
	}

	positions := s.first(s.Positions)
	fmt.Fprintf(&b, "[sim]\nseed = %d\npositions = %d\npools = %d\ndays = %d\nactions = %d\n"+
		"genesis = %s\nfrozen = %v\n\n", s.Seed, positions, s.first(s.Pools), s.Days,
		s.Actions*positions, s.Genesis, n.Market == Still)
	for _, c := range Chains[s.Chains:] {
		fmt.Fprintf(&b, "[[chains]]\nid = %d\nenabled = false\n\n", c.ID)
	}
	return b.String() + plans
}

// Args is the command line of a node on the corpus, before the flags of serve.
func (s *Spec) Args(n Node) ([]string, error) {
	o, err := s.options(n)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(&o)
	if err != nil {
		panic("BUG: options that cannot be encoded: " + err.Error())
	}
	return []string{"bench", "node", "--options", string(text)}, nil
}

func (s *Spec) options(n Node) (o Options, err error) {
	o.Crowd, o.Brisk, o.Calm, o.NoPageCache = s.Crowd, n.Market == Brisk, n.Market == Calm, n.Bare
	genesis, err := time.Parse(time.RFC3339, s.Genesis)
	if err != nil {
		return o, fmt.Errorf("cannot read the genesis of a corpus: %w", err)
	}

	if n.Market != Still {
		o.Behind = n.Since.Sub(genesis.Add(time.Duration(s.Days) * 24 * time.Hour))
	}
	return o, nil
}
