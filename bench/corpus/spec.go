package corpus

import (
	"fmt"

	"tidemark/actors/feed/sim"
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
// back as far. Nearly all of it lies in its last ten days, which include the
// week of the longest window; that keeps the price records of the hours few.
const (
	defaultDays    = 400
	busyDays       = 10
	defaultActions = 4
	poolsPercent   = 5
)

// Chains are the ids in the order in which a Spec counts them, with the share
// of the first chain's size that the simulated market gives them, in percent.
var Chains = []struct {
	ID    int64
	Share int
}{{1, 100}, {42161, 80}, {43114, 50}}

// SetDefaults replaces what is left out, and checks the rest.
func (s *Spec) SetDefaults() error {
	if s.Days == 0 {
		s.Days = defaultDays
	}
	if s.Actions == 0 {
		s.Actions = defaultActions
	}
	if s.Pools == 0 {
		s.Pools = s.Positions * poolsPercent / 100
	}

	const fewest = 1000 // of a chain, below which the market keeps no promise
	switch {
	case s.Chains < 1 || s.Chains > len(Chains):
		return fmt.Errorf("cannot make a corpus of %d chains; at least 1, at most %d",
			s.Chains, len(Chains))
	case s.Positions < fewest*s.Chains:
		return fmt.Errorf("cannot make a corpus of %d positions on %d chains; at least %d",
			s.Positions, s.Chains, fewest*s.Chains)
	}

	if s.Crowd == (sim.Crowd{}) {
		s.Crowd = crowd(s.Days, s.first(s.Pools))
	}
	return nil
}

// crowd gives a market of so many pools on a chain the shape of the figures.
// The numbers were found by trying; TestShape holds the result.
func crowd(days, pools int) sim.Crowd {
	return sim.Crowd{
		Leave: 370, Width: 85, Wallets: 380, Awake: max(2, pools/150), Sleepy: 40, Zipf: true,
		BusyDays: min(busyDays, days-1), Early: 10,
	}
}

// first returns chain 1's part of a number of all chains.
func (s *Spec) first(all int) int {
	sum := 0
	for _, c := range Chains[:s.Chains] {
		sum += c.Share
	}
	return (all*100 + sum - 1) / sum
}

// Events estimates how many events the history of a chain has, for a progress
// bar. The chain is given by its index in Chains.
func (s *Spec) Events(chain int) int64 {
	const quietDay = 66 // events of three rounds through the core pools
	actions := s.Actions * s.first(s.Positions) * Chains[chain].Share / 100
	return int64(actions)*7/5 + int64(quietDay*(s.Days-s.Crowd.BusyDays))
}
