package corpus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/sim"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// growHistory plays the history of chain 1 of a Spec into a ledger. Prices of hours
// are left out: no shape depends on them.
func growHistory(t *testing.T, s *Spec) *market.State {
	t.Helper()
	genesis, err := time.Parse(time.RFC3339, s.Genesis)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{
		Chain: 1, Seed: uint64(s.Seed), Positions: s.firstChainPart(s.Positions), Pools: s.firstChainPart(s.Pools),
		Days: s.Days, Actions: actions * s.firstChainPart(s.Positions), Genesis: genesis.Unix(), StartBlock: 1,
		PositionManager: market.Address{1}, Stables: []market.Address{{2}, {3}, {4}},
		Wrapped: market.Address{5}, Frozen: true,
	}

	source, err := sim.NewWorkload(cfg, sim.Workload{Crowd: s.Crowd})
	if err != nil {
		t.Fatal(err)
	}

	l := ledger.New(ledger.Config{Chain: 1, PositionManager: cfg.PositionManager, Start: 1})
	for {
		step, err := source.Next(context.Background(),
			feed.Cursor{Anchors: l.Anchors(), State: l.Freeze()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Apply(step.Span); err != nil {
			t.Fatal(err)
		}
		if l.Head().Number == step.Head.Number {
			return l.Freeze()
		}
	}
}

// A corpus has the shape that the figures are about.
func TestShape(t *testing.T) {
	s := Spec{Positions: 10_000, Chains: 1, Seed: 1, Genesis: "2025-01-01T00:00:00Z"}
	if err := s.SetDefaults(); err != nil {
		t.Fatal(err)
	}
	c := shapeOf(growHistory(t, &s))

	between := func(what string, got, low, high float64) {
		t.Helper()
		if !(got >= low && got <= high) {
			t.Errorf("%s: %.3f; want %.3f to %.3f", what, got, low, high)
		}
	}
	between("positions", float64(c.Positions), 10_000, 10_000)
	between("pools", float64(c.Pools), 500, 500)
	between("open", float64(c.Open)/float64(c.Positions), 0.32, 0.38)
	between("out of range", float64(c.OutOfRange)/float64(c.Open), 0.25, 0.35)
	between("owners", float64(c.Owners)/float64(c.Positions), 0.37, 0.43)
	between("traded within a day", float64(c.Traded)/float64(c.Pools), 0.03, 0.08)
	between("power of sizes by rank", c.Zipf, 0.8, 1.4) // the cast has more than its share
	between("positions of a year", float64(c.Years), 10, 100)
	between("positions with 1,000 transactions", float64(c.Long), 6, 60)
}

// What no node could make is refused before anything is removed for it.
func TestSpecIsChecked(t *testing.T) {
	dir := t.TempDir()
	made := Spec{Positions: 3000, Chains: 3, Seed: 1, Genesis: "2025-01-01T00:00:00Z"}
	if err := made.SetDefaults(); err != nil {
		t.Fatal(err)
	}
	if err := (&Record{Spec: made}).Write(dir); err != nil {
		t.Fatal(err)
	}
	f := func(s Spec, want string) {
		t.Helper()
		s.Chains = cmp.Or(s.Chains, 3)
		why, err := Discard(dir, s)
		if err == nil || !strings.Contains(err.Error(), want) || why != "" {
			t.Errorf("%+v: %q, %v; want %q", s, why, err, want)
		}
		if _, err := Read(dir); err != nil {
			t.Errorf("%+v: the corpus that there was: %v", s, err)
		}
	}

	f(Spec{Positions: 1}, "cannot make a corpus of 1 positions on 3 chains; at least 3000")
	f(Spec{Positions: 3000, Pools: 1}, "chain 1: cannot simulate 1 pools; at least 5")
	f(Spec{Positions: 3000, Pools: 12}, "chain 42161: cannot simulate 4 pools; at least 5")
	f(Spec{Positions: 3000, Pools: -1}, "cannot simulate 0 pools")
	f(Spec{Positions: 3000, Pools: 2000}, "chain 1: cannot simulate 1305 positions in 870 pools; at least 1745")
	f(Spec{Positions: 3000, Days: -1}, "cannot simulate -1 days; at least 1, at most 3650")
	f(Spec{Positions: 3000, Days: 3651}, "cannot simulate 3651 days")
	f(Spec{Positions: 3000, Seed: -7}, "seed -7; at least 0")
	f(Spec{Positions: math.MaxInt}, "at most 100000000 and 1000000 a chain")
	f(Spec{Positions: 3000, Pools: math.MaxInt}, "at most 100000000 and 1000000 a chain")
}

// What is left of a corpus is removed, and no directory that only has the name of its data.
func TestRemoveUnfinished(t *testing.T) {
	f := func(config string, removed bool) {
		t.Helper()
		dir := t.TempDir()
		err := errors.Join(os.WriteFile(filepath.Join(dir, "node.toml"), []byte(config), 0o600),
			os.Mkdir(DataDir(dir), 0o700))
		if err != nil {
			t.Fatal(err)
		}
		err = RemoveUnfinished(dir)
		if _, gone := os.Stat(DataDir(dir)); (err == nil) != removed || (gone != nil) != removed {
			t.Errorf("beside %.30q: %v, %v; want it removed: %v", config, err, gone, removed)
		}
	}

	f((&Spec{Chains: 1}).Config(new(Node)), true)
	f("", false)
	f("listen = \":8080\"\n", false)
	if err := RemoveUnfinished(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// What no configuration has is on the command line of a node.
func TestArgs(t *testing.T) {
	s := Spec{Positions: 5000, Chains: 1, Genesis: "2025-01-01T00:00:00Z"}
	if err := s.SetDefaults(); err != nil {
		t.Fatal(err)
	}
	f := func(n Node, want sim.Workload, more ...string) {
		t.Helper()
		args, err := s.Args(&n)
		var got sim.Workload
		if err = errors.Join(err, json.Unmarshal([]byte(args[3]), &got)); err != nil || got != want ||
			!slices.Equal(args[4:], more) {
			t.Errorf("the command line is %q, %v; want %+v", args, err, want)
		}
	}

	since := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	f(Node{Market: sim.Workload{Calm: true}, Bare: true, Since: since},
		sim.Workload{Crowd: s.Crowd, Behind: 24 * 24 * time.Hour, Calm: true}, "--no-page-cache")
	f(Node{Since: since}, sim.Workload{Crowd: s.Crowd})
}
