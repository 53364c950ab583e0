package corpus

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// Spec is what a corpus is made from. The same Spec gives the same corpus.
type Spec struct {
	Positions int       `json:"positions"` // of all chains together, to within two: their parts are whole
	Pools     int       `json:"pools"`     // likewise; 0: 5 for every 100 positions
	Chains    int       `json:"chains"`    // 1 to 3: chain 1, then 42161, then 43114
	Seed      int       `json:"seed"`
	Days      int       `json:"days"`    // length of the history; 0: 400
	Genesis   string    `json:"genesis"` // RFC 3339; set when the corpus is built
	Crowd     sim.Crowd `json:"crowd"`   // zero: the one that gives the shape of the figures
}

// Defaults of a Spec. The history is more than a year, for charts that look
// back as far. Nearly all of it lies in its last ten days, which include the
// week of the longest window; that keeps the price records of the hours few.
const (
	defaultDays  = 400
	busyDays     = 10
	poolsPercent = 5
	actions      = 4 // of a position, the fewest there can be
)

// Chains are the ids in the order in which a Spec counts them, with the share
// of the first chain's size that the simulated market gives them, in percent.
var Chains = []struct {
	ID    int64
	Share int
}{{1, 100}, {42161, 80}, {43114, 50}}

// SetDefaults replaces what is left out, and checks the rest.
func (s *Spec) SetDefaults() error {
	s.Days = cmp.Or(s.Days, defaultDays)
	s.Pools = cmp.Or(s.Pools, s.Positions*poolsPercent/100)

	const fewest = 1000 // of a chain, below which the market keeps no promise
	switch {
	case s.Chains < 1 || s.Chains > len(Chains):
		return fmt.Errorf("cannot make a corpus of %d chains; at least 1, at most %d",
			s.Chains, len(Chains))
	case s.Positions < fewest*s.Chains:
		return fmt.Errorf("cannot make a corpus of %d positions on %d chains; at least %d",
			s.Positions, s.Chains, fewest*s.Chains)
	case s.Positions > s.Chains*sim.MaxPositions || s.Pools > s.Chains*sim.MaxPools:
		return fmt.Errorf("cannot make a corpus of %d positions in %d pools; at most %d and %d a chain",
			s.Positions, s.Pools, sim.MaxPositions, sim.MaxPools)
	case s.Seed < 0:
		return fmt.Errorf("cannot make a corpus with seed %d; at least 0", s.Seed)
	}

	s.Crowd = cmp.Or(s.Crowd, crowdFor(s.Days, s.firstChainPart(s.Pools)))
	return s.checkMarkets()
}

// checkMarkets makes the market of every chain, as a node does, which costs nothing yet: a
// corpus that is to be replaced is there until then.
func (s *Spec) checkMarkets() error {
	positions, pools := s.firstChainPart(s.Positions), s.firstChainPart(s.Pools)
	for _, c := range Chains[:s.Chains] {
		_, err := sim.NewWorkload(sim.Config{
			Chain: market.ChainID(c.ID), Positions: positions * c.Share / 100, Pools: pools * c.Share / 100,
			Days: s.Days, StartBlock: 1, Stables: make([]market.Address, 2),
		}, sim.Workload{Crowd: s.Crowd})
		if err != nil {
			return fmt.Errorf("cannot make a corpus of %d positions in %d pools over %d days: chain %d: %w",
				s.Positions, s.Pools, s.Days, c.ID, err)
		}
	}
	return nil
}

// crowdFor gives a market of so many pools on a chain the shape of the figures.
// The numbers were found by trying; TestShape holds the result.
func crowdFor(days, pools int) sim.Crowd {
	return sim.Crowd{
		Leave: 370, Width: 85, Wallets: 380, Awake: max(2, pools/150), Sleepy: 40, Zipf: true,
		BusyDays: min(busyDays, days-1), Early: 10,
	}
}

// firstChainPart returns chain 1's part of a number of all chains.
func (s *Spec) firstChainPart(all int) int {
	sum := 0
	for _, c := range Chains[:s.Chains] {
		sum += c.Share
	}
	return (all*100 + sum - 1) / sum
}

// Events estimates how many events the histories have, for a progress bar.
func (s *Spec) Events() int64 {
	const quietDay = 66 // events of three rounds through the core pools
	return int64(actions*s.Positions*7/5 + s.Chains*quietDay*(s.Days-s.Crowd.BusyDays))
}

// AppendFilter appends the query of the n-th filter of positions. No two are
// the same: they differ in two floors, the order and the range.
func AppendFilter(dst []byte, n uint64) []byte {
	ranges := [...]string{"", "&range=in", "&range=out"}
	mixed := n * 0x9e3779b97f4a7c15 // so that neighbours differ in everything
	dst = append(append(dst, "?sort="...), rankings.PositionSorts[mixed>>8%6]...)
	dst = append(dst, ranges[mixed>>16%3]...)

	value := math.Exp(float64(mixed>>40) / float64(1<<24) * math.Log(20_000))
	dst = strconv.AppendFloat(append(dst, "&minValueUsd="...), value, 'f', 3, 64)
	dst = strconv.AppendUint(append(dst, "&minPoolTvl="...), mixed>>20%50_000, 10)
	return strconv.AppendUint(append(dst, '.'), n, 10) // this digit string is never the same
}

// Node is how a node is to serve a corpus.
type Node struct {
	Market  sim.Workload  // after the history, calm or brisk; zero: nothing, the head stays where it ends
	Since   time.Time     // when the market continues
	Bare    bool          // without a page cache: every page is rendered for whoever asks
	Refresh time.Duration // 0: the node's default
}

// The plans of node.toml.
const (
	MeteredPlan  = "bench"
	LimitedPlan  = "bench-limited"
	LimitedUnits = 1000
)

//go:embed node.toml
var nodeText string

var nodeConfig = template.Must(template.New("").Parse(nodeText))

// Moves reports whether the market continues after the history.
func (n *Node) Moves() bool { return n.Market != sim.Workload{} }

// Config returns the configuration file of a node on the corpus.
func (s *Spec) Config(n *Node) string {
	var text strings.Builder
	positions := s.firstChainPart(s.Positions)
	err := nodeConfig.Execute(&text, map[string]any{
		"Spec": s, "Node": n, "Positions": positions, "Pools": s.firstChainPart(s.Pools),
		"Actions": actions * positions, "Disabled": Chains[s.Chains:],
	})
	if err != nil {
		panic("BUG: node.toml cannot be filled: " + err.Error())
	}
	return text.String()
}

// Args is the command line of a node on the corpus, before the flags of serve.
func (s *Spec) Args(n *Node) ([]string, error) {
	genesis, err := time.Parse(time.RFC3339, s.Genesis)
	if err != nil {
		return nil, fmt.Errorf("cannot read the genesis of a corpus: %w", err)
	}
	w := n.Market
	w.Crowd = s.Crowd
	if n.Moves() {
		w.Behind = n.Since.Sub(genesis.Add(time.Duration(s.Days) * 24 * time.Hour))
	}
	text, _ := json.Marshal(&w) // of numbers and flags alone

	args := []string{"bench", "node", "--workload", string(text)}
	if n.Bare {
		args = append(args, "--no-page-cache")
	}
	return args, nil
}
