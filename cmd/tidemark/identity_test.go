package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tidemark/storage"
)

// Data is continued only by the configuration that it was made with: the first start
// writes down what matters, a later one with another value is refused by its name, and
// only chains may be added.
func TestIdentity(t *testing.T) {
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	start := time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC)
	settle := func(after time.Duration, change func(c *Config)) (*loaded, error) {
		l := &loaded{Config: defaultConfig()}
		l.Data, l.Sim.Days = "DIR", 90
		for i := range l.Chains {
			l.Chains[i].Enabled = i == 0
		}
		change(&l.Config)
		return l, l.settleIdentity(store, nil, start.Add(after))
	}
	same := func(*Config) {}
	refused := func(change func(c *Config), name, have, want string) {
		t.Helper()
		before := fmt.Sprint(store.Identity())
		says := fmt.Sprintf("the data in DIR was made with %s %s; the configuration says %s: ", name, have, want)
		if _, err := settle(time.Hour, change); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v; want %s", err, says)
		}
		if after := fmt.Sprint(store.Identity()); after != before {
			t.Errorf("a start that was refused changed the identity to %s; it was %s", after, before)
		}
	}

	first, err := settle(0, same)
	genesis := time.Date(2026, 8, 23, 8, 0, 0, 0, time.UTC)
	if err != nil || !first.Sim.Genesis.Equal(genesis) {
		t.Fatalf("the first start: genesis %s, %v; want %s, 90 days before it, to the hour", first.Sim.Genesis, err, genesis)
	}
	chain := first.Chains[0]
	want := fmt.Sprintf("[{chain %d pool-manager %s} {chain %d position-manager %s} {feed sim} {sim.days 90} "+
		"{sim.genesis 2026-08-23T08:00:00Z} {sim.pools %d} {sim.positions %d} {sim.seed %d}]", chain.ID, chain.PoolManager,
		chain.ID, chain.PositionManager, first.Sim.Pools, first.Sim.Positions, first.Sim.Seed)
	if got := fmt.Sprint(store.Identity()); got != want {
		t.Errorf("the identity is\n%s; want\n%s", got, want)
	}
	later, err := settle(100*time.Hour, same)
	if err != nil || !later.Sim.Genesis.Equal(genesis) || fmt.Sprint(store.Identity()) != want {
		t.Errorf("a later start: genesis %s, %v, identity %s", later.Sim.Genesis, err, store.Identity())
	}

	refused(func(c *Config) { c.Sim.Seed = 77 }, "sim.seed", fmt.Sprint(first.Sim.Seed), "77")
	refused(func(c *Config) { c.Sim.Positions++ }, "sim.positions", fmt.Sprint(first.Sim.Positions), fmt.Sprint(first.Sim.Positions+1))
	refused(func(c *Config) { c.Sim.Genesis = genesis.Add(time.Hour) }, "sim.genesis", "2026-08-23T08:00:00Z", "2026-08-23T09:00:00Z")
	refused(func(c *Config) { c.Sim.Actions = 5 }, "sim.actions", "unset", "5")
	refused(func(c *Config) { c.Feed = "rpc" }, "feed", "sim", "rpc")
	other := chain.PoolManager
	other[0]++
	refused(func(c *Config) { c.Chains[0].PoolManager = other }, fmt.Sprintf("chain %d pool-manager", chain.ID),
		chain.PoolManager.String(), other.String())

	// A chain may be added, and switched off again.
	if _, err := settle(time.Hour, func(c *Config) { c.Chains[1].Enabled = true }); err != nil {
		t.Errorf("another chain: %v", err)
	}
	if n := len(store.Identity()); n != 10 {
		t.Errorf("%d pairs with another chain; want 10: %v", n, store.Identity())
	}
	if _, err := settle(time.Hour, same); err != nil || len(store.Identity()) != 10 {
		t.Errorf("without it again: %v, %v", err, store.Identity())
	}

	if err := store.SetIdentity([]storage.Pair{{Name: "feed", Value: "sim"}, {Name: "sim.genesis", Value: "soon"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := settle(time.Hour, same); err == nil || !strings.Contains(err.Error(), `has the sim.genesis "soon"`) {
		t.Errorf("a genesis that is no time: %v", err)
	}
	pairs := []storage.Pair{{Name: "feed", Value: "rpc"}, {Name: "sim.seed", Value: "9"}}
	if err := store.SetIdentity(pairs); err != nil {
		t.Fatal(err)
	}
	refused(func(c *Config) { c.Feed = "rpc" }, "sim.seed", "9", "unset")

	// Data that lacks a name is refused by it, however short it is.
	if err := store.SetIdentity([]storage.Pair{{Name: "sim.genesis", Value: "2026-08-23T08:00:00Z"}}); err != nil {
		t.Fatal(err)
	}
	refused(same, "feed", "unset", "sim")
}
