package corpus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/sim"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

func TestSpec(t *testing.T) {
	s := Spec{Positions: 23_000, Chains: 3, Seed: 7, Genesis: "2026-01-01T00:00:00Z"}
	if err := s.SetDefaults(); err != nil {
		t.Fatal(err)
	}
	got := s.Config(Node{Market: Brisk, Refresh: 5 * time.Second})
	for _, want := range []string{
		"positions = 10000\n", "pools = 500\n", "actions = 40000\n", "days = 400\n", "frozen = false\n",
		"every = \"5s\"", "genesis = 2026-01-01T00:00:00Z\n", "id = \"bench-limited\"\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the configuration has no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "enabled = false") {
		t.Errorf("a chain is off:\n%s", got)
	}

	one := Spec{Positions: 5000, Chains: 1}
	if err := one.SetDefaults(); err != nil || strings.Count(one.Config(Node{}), "enabled = false") != 2 {
		t.Errorf("one chain is %v:\n%s", err, one.Config(Node{}))
	}

	for _, bad := range []Spec{
		{Positions: 5000, Chains: 4}, {Positions: 5000}, {Positions: 2999, Chains: 3},
	} {
		if err := bad.SetDefaults(); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestRecord(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, ErrNone) {
		t.Errorf("an empty directory is %v", err)
	}

	r := &Record{Spec: Spec{Positions: 5000, Chains: 1}, Events: 9}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	if back, err := Read(dir); err != nil || back.Events != 9 || back.Spec != r.Spec {
		t.Errorf("read again it is %+v, %v", back, err)
	}

	if err := os.WriteFile(filepath.Join(dir, recordName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("a damaged record is %v", err)
	}
}

// Keys are well-formed, all different, and nothing is billed to them yet.
func TestAddKeys(t *testing.T) {
	dir := t.TempDir()
	issued, err := AddKeys(dir, []Grant{{"scale", 3, 2500}, {"free", 2, 4}})
	if err != nil {
		t.Fatal(err)
	}
	if len(issued) != 2 || len(issued[0]) != 2500 || len(issued[1]) != 4 {
		t.Fatalf("issued %d grants", len(issued))
	}

	seen := map[string]bool{}
	for _, keys := range issued {
		for _, k := range keys {
			if kind, ok := accounts.ParseKey([]byte(k)); !ok || kind != accounts.Server || seen[k] {
				t.Fatalf("key %q is malformed, or issued twice", k)
			}
			seen[k] = true
		}
	}
	if units, err := Billed(dir, time.Now()); err != nil || units != 0 {
		t.Errorf("%d units are billed: %v", units, err)
	}
}

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
		Days: s.Days, Actions: s.Actions * s.firstChainPart(s.Positions), Genesis: genesis.Unix(), StartBlock: 1,
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

// What another build or another Spec made is told apart, and discarded.
func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	spec := Spec{Positions: 5000, Chains: 1, Seed: 1}

	f := func(s Spec, want string) {
		t.Helper()
		why, err := Discard(dir, s)
		if err != nil || want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("%+v: %q, %v; want %q", s, why, err, want)
		}
	}
	write := func() {
		t.Helper()
		made := spec
		if err := made.SetDefaults(); err != nil {
			t.Fatal(err)
		}
		made.Genesis = "2025-01-01T00:00:00Z"
		if err := (&Record{Spec: made}).Write(dir); err != nil {
			t.Fatal(err)
		}
	}

	f(spec, "no corpus in "+dir)
	write()
	f(spec, "")

	larger := spec
	larger.Positions = 6000
	f(larger, "has 5000 positions, not 6000")
	f(spec, "no corpus in")
	write()
	other := spec
	other.Seed = 2
	f(other, "of another kind")
	write()

	old := []byte(`{"spec": {"positions": 5000}, "storeFormat": 1}`)
	if err := os.WriteFile(dir+"/"+recordName, old, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir)
	if !errors.Is(err, ErrOld) || !strings.Contains(err.Error(), "--reuse --positions 5000") {
		t.Errorf("an old corpus is %v", err)
	}
	f(spec, "of an older format")
}

// The options of a node come back from its command line as they were.
func TestOptions(t *testing.T) {
	s := Spec{Positions: 5000, Chains: 1, Genesis: "2025-01-01T00:00:00Z"}
	if err := s.SetDefaults(); err != nil {
		t.Fatal(err)
	}
	f := func(n Node, want Options) {
		t.Helper()
		args, err := s.Args(n)
		if err != nil || len(args) != 4 {
			t.Fatalf("the command line is %q, %v", args, err)
		}
		if got, err := ParseOptions(args[3]); err != nil || got != want {
			t.Errorf("read again they are %+v, %v; want %+v", got, err, want)
		}
	}

	since := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	f(Node{Market: Calm, Bare: true, Since: since},
		Options{sim.Workload{Crowd: s.Crowd, Behind: 24 * 24 * time.Hour, Calm: true}, true})
	f(Node{Since: since}, Options{Workload: sim.Workload{Crowd: s.Crowd}})
	if _, err := ParseOptions("{"); err == nil {
		t.Error("half of the options were read")
	}
}
