package sim

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// busyCrowd is a year with little in it and ten days with much.
var busyCrowd = Crowd{
	Leave: 400, Width: 500, Wallets: 380, Awake: 20, Sleepy: 40, Zipf: true, BusyDays: 10, Early: 10,
}

func crowded(chain market.ChainID, positions, pools int) (Config, Workload) {
	cfg := testConfig(chain, positions, pools, 400)
	cfg.Actions = 4 * positions
	return cfg, Workload{Crowd: busyCrowd}
}

func TestZipf(t *testing.T) {
	d := dice{key: 8}
	const n, throws = 5000, 200_000
	var got [n]float64
	for range throws {
		got[d.zipf(n)]++
	}

	c := Crowd{Zipf: true}
	for k := range 50 {
		if want := c.shareOf(k, n) * throws; math.Abs(got[k]-want) > 6*math.Sqrt(want) {
			t.Errorf("%d was drawn %.0f times; want about %.0f", k, got[k], want)
		}
	}

	tail := 0.0
	for k := n / 2; k < n; k++ {
		tail += got[k]
	}
	if want := throws * math.Log(2) / math.Log(n+1); math.Abs(tail/want-1) > 0.05 {
		t.Errorf("the latter half was drawn %.0f times; want about %.0f", tail, want)
	}
}

// A crowd's market keeps what every market promises, and has a long past that
// is cheap: founders with a thousand transactions, next to nothing else.
func TestCrowd(t *testing.T) {
	for _, chain := range testChains {
		cfg, load := crowded(chain, 3000, 150)
		g := growBare(t, cfg, load)
		st := g.Freeze()
		if found := ledger.Check(st); len(found) > 0 {
			t.Errorf("chain %d: %d findings, such as %s", chain, len(found), found[0])
		}
		if st.Positions.Len() != 3000 || st.Pools.Len() != 150 {
			t.Errorf("chain %d: %d positions, %d pools", chain, st.Positions.Len(), st.Pools.Len())
		}

		for _, i := range g.core {
			if p := st.Positions.At(g.venues[i].seat); p.Entries < 1000 || st.Now()-int64(p.MintedAt) < 365*day {
				t.Errorf("chain %d: the founder of pool %d has %d transactions in %d days",
					chain, i, p.Entries, (st.Now()-int64(p.MintedAt))/day)
			}
		}

		early := 0
		for _, s := range g.spans {
			for i := range s.Blocks {
				if s.Blocks[i].Time < cfg.Genesis+390*day {
					early += len(s.Blocks[i].Logs)
				}
			}
		}

		if rounds := 390 * 3 * len(g.core) * 4; early < rounds/2 || early > 2*rounds {
			t.Errorf("chain %d: %d of %d events before the busy days; want about %d",
				chain, early, g.events, rounds)
		}
		if !tradedDaily(g) {
			t.Errorf("chain %d: a core pool is not traded on every day", chain)
		}
	}
}

// In a calm market a hundredth of the pools is traded in every round, and no
// price that others depend on moves.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, load := crowded(42161, 4000, 400)
		cfg.Frozen, cfg.Now, cfg.Every = false, time.Now, 5*time.Second
		end := time.Unix(cfg.Genesis, 0).Add(400 * 24 * time.Hour)
		load.Calm, load.Behind = true, time.Since(end)-calmLull
		g := growBare(t, cfg, load)
		if over := g.Head().Time - end.Add(calmLull).Unix(); over < 0 || over > 1 {
			t.Fatalf("the head is %d s after the history's end; want none", over)
		}
		before := g.Freeze()
		const rounds = 20
		for range rounds {
			g.step(t)
		}

		after, moved := g.Freeze(), 0
		for i := range after.Pools.Len() {
			was, is := before.Pools.At(i), after.Pools.At(i)
			if was.Swaps == is.Swaps {
				continue
			}
			if moved++; i < uint32(len(cast)) {
				t.Errorf("pool %d of the cast was traded", i)
			}
		}

		if want := 400 * rounds / 100; moved < want/2 || moved > want {
			t.Errorf("%d pools moved in %d rounds; want nearly %d", moved, rounds, want)
		}

		if passed := after.Now() - before.Now(); passed < 5*rounds-10 || passed > 5*rounds+10 {
			t.Errorf("%d rounds took %d s", rounds, passed)
		}
	})
}

// A brisk market has two minutes of blocks in every Every, and a turn of every
// core pool in each.
func TestBrisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(1, 60, 12, 2)
		cfg.Frozen, cfg.Now, cfg.Every = false, time.Now, 5*time.Second
		behind := time.Since(time.Unix(cfg.Genesis, 0).Add(48 * time.Hour))
		g := grow(t, cfg, Workload{Brisk: true, Behind: behind})
		was := g.Freeze()
		for range 20 {
			before, start := g.Head(), time.Now()
			g.step(t)
			if blocks := g.Head().Number - before.Number; blocks != 10 || time.Since(start) != 5*time.Second {
				t.Fatalf("%d blocks after %s; want 10 after 5 s", blocks, time.Since(start))
			}
		}

		if passed := g.Head().Time - cfg.Genesis - 2*day; passed != 20*120 {
			t.Errorf("%d s of the chain passed in 100 s; want %d", passed, 20*120)
		}

		for _, i := range g.core {
			if swaps := g.Freeze().Pools.At(i).Swaps - was.Pools.At(i).Swaps; swaps < 39 {
				t.Errorf("core pool %d was traded %d times in 40 minutes", i, swaps)
			}
		}
	})
}

func TestRefusesCrowds(t *testing.T) {
	f := func(c Crowd, want string) {
		t.Helper()
		cfg, load := crowded(1, 400, 40)
		load.Crowd = c
		if _, err := NewWorkload(cfg, load); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", c, err, want)
		}
	}
	f(Crowd{Leave: 901}, "leave 901; at least 0, at most 900")
	f(Crowd{Width: -1}, "width -1")
	f(Crowd{BusyDays: 400}, "busyDays 400; at least 0, at most 399")
	f(Crowd{Early: 1000}, "early 1000")
}
