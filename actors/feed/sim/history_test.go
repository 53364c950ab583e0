package sim

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
	"tidemark/rankings/value"
)

// eachChain grows the default history of every chain, once for all tests; of
// the smallest only where tests are to be short.
func eachChain(t *testing.T, f func(t *testing.T, g *grown)) {
	for i, chain := range testChains {
		if testing.Short() && i < len(testChains)-1 {
			continue
		}
		t.Run(fmt.Sprint(chain), func(t *testing.T) { f(t, grownDefault(t, chain)) })
	}
}

var defaults = map[market.ChainID]*grown{}

func grownDefault(t *testing.T, chain market.ChainID) *grown {
	if defaults[chain] == nil {
		defaults[chain] = grow(t, defaultConfig(chain))
	}
	return defaults[chain]
}

const mostEvents = 50_000

// seeds is how many seeds to try: one where tests are to be short.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return 1
	}
	return n
}

func TestSizes(t *testing.T) {
	f := func(cfg Config) {
		t.Helper()
		for seed := range seeds(4) {
			cfg.Seed = seed
			g := growBare(t, cfg)
			st := g.Freeze()
			if st.Positions.Len() != uint32(cfg.Positions) || st.Pools.Len() != uint32(cfg.Pools) {
				t.Errorf("chain %d: %d positions, %d pools; want %d, %d",
					cfg.Chain, st.Positions.Len(), st.Pools.Len(), cfg.Positions, cfg.Pools)
			}
			if end := cfg.Genesis + int64(cfg.Days)*day; st.Now() != end {
				t.Errorf("chain %d: the history ends at %d; want %d", cfg.Chain, st.Now(), end)
			}
			if found := ledger.Check(st); len(found) > 0 {
				t.Errorf("chain %d: %d findings, such as %s", cfg.Chain, len(found), found[0])
			}
			if g.events > mostEvents {
				t.Errorf("chain %d: %d events; want at most %d", cfg.Chain, g.events, mostEvents)
			}
		}
	}

	for _, chain := range testChains {
		f(testConfig(chain, 15, 5, 1))
		f(testConfig(chain, 40, 10, 2))
		f(testConfig(chain, 77, 13, 15))
	}
	f(testConfig(42161, 300, 27, 400))

	// The third stable coin is missing on some chains.
	two := testConfig(43114, 300, 47, 30)
	two.Stables = two.Stables[:2]
	f(two)
	f(defaultConfig(1))
}

// Every kind of event happens on every chain, however small it is.
func TestEveryKindOfEvent(t *testing.T) {
	f := func(g *grown) {
		t.Helper()
		kinds := map[string]int{}
		for _, s := range g.spans {
			for i := range s.Blocks {
				for _, l := range s.Blocks[i].Logs {
					kinds[kindOf(g, l.Event)]++
				}
			}
		}

		for _, kind := range []string{
			"Initialize", "Donate", "ProtocolFeeUpdated", "Subscription", "Unsubscription", "Swap", "Swap of a dynamic fee",
			"mint", "burn", "transfer", "add", "remove", "collect", "direct add", "direct remove",
		} {
			if kinds[kind] == 0 {
				t.Errorf("chain %d of %d positions has no %s", g.cfg.Chain, g.cfg.Positions, kind)
			}
		}
	}

	eachChain(t, func(t *testing.T, g *grown) { f(g) })
	for _, chain := range testChains {
		f(grow(t, testConfig(chain, 50, 10, 2)))
		f(grow(t, testConfig(chain, 20, 6, 2)))
	}
}

func kindOf(g *grown, e market.Event) string {
	switch e := e.(type) {
	case market.TransferNFT:
		return map[[2]bool]string{{true, false}: "mint", {false, true}: "burn"}[[2]bool{e.From.IsZero(), e.To.IsZero()}] +
			map[bool]string{true: "transfer"}[!e.From.IsZero() && !e.To.IsZero()]
	case market.ModifyLiquidity:
		who := map[bool]string{false: "direct "}[e.Sender == g.cfg.PositionManager]
		return who + map[int]string{1: "add", -1: "remove", 0: "collect"}[e.LiquidityDelta.Sign()]
	case market.Swap:
		for i := range g.venues {
			if v := &g.venues[i]; v.id == e.Pool && v.fee == market.DynamicFee {
				return "Swap of a dynamic fee"
			}
		}
	}

	return reflect.TypeOf(e).Name()
}

// The promises of the simulated market, on every chain and at every size.
func TestPromises(t *testing.T) {
	f := func(g *grown) {
		t.Helper()
		st := g.priced()
		var old, trusted, risky bool
		for i := range st.Pools.Len() {
			p, stats := st.Pools.At(i), st.Stats.At(i)
			old = old || st.Now()-p.CreatedAt >= int64(g.cfg.Days)*day
			corroborated := st.Prices.At(p.Currency0).Corroborated && st.Prices.At(p.Currency1).Corroborated
			trusted = trusted || corroborated && stats.TVLUsd > 0 && stats.TVLUsd < 1000
			risky = risky || !corroborated && stats.TVLUsd > 1000
		}

		var long, unavailable, unrealizable bool
		for i := range st.Positions.Len() {
			var m value.Metrics
			value.Position(st, i, &m)
			long = long || st.Positions.At(i).Entries >= 4
			unavailable = unavailable || m.PriceUnavailable && m.Open
			unrealizable = unrealizable || m.UnrealizableLeg()
		}

		for promise, kept := range map[string]bool{
			"a pool as old as the history":            old,
			"a corroborated pool below $1,000":        trusted,
			"an uncorroborated pool above $1,000":     risky,
			"a position with four transactions":       long,
			"an open row with priceUnavailable":       unavailable,
			"a row with unrealizableLeg":              unrealizable,
			"core pools that are traded every day":    tradedDaily(g),
			"a core pool for which tokens are priced": st.Prices.At(0).Corroborated,
		} {
			if !kept {
				t.Errorf("chain %d, seed %d, %d positions: there is not %s", g.cfg.Chain, g.cfg.Seed, g.cfg.Positions, promise)
			}
		}
	}

	eachChain(t, func(t *testing.T, g *grown) {
		f(g)
		for i, v := range g.venues {
			p := g.Freeze().Pools.At(uint32(i))
			if v.role == untraded && (p.Swaps > 0 || p.OpenPositions == 0) {
				t.Errorf("pool %d, which is never traded, has %d swaps and %d positions", i, p.Swaps, p.OpenPositions)
			}
		}
	})

	// At every size, the least one included.
	for _, chain := range testChains {
		for seed := range seeds(5) {
			for _, cfg := range []Config{testConfig(chain, 50, 10, 2), testConfig(chain, 15, 5, 1)} {
				cfg.Seed = seed
				f(grow(t, cfg))
			}
		}
		f(grow(t, testConfig(chain, 400, 20, 20)))
	}
}

func tradedDaily(g *grown) bool {
	days := map[market.PoolID]map[uint32]bool{}
	for _, i := range g.core {
		days[g.venues[i].id] = map[uint32]bool{}
	}

	for _, s := range g.spans {
		for i := range s.Blocks {
			for _, l := range s.Blocks[i].Logs {
				if e, ok := l.Event.(market.Swap); ok && days[e.Pool] != nil {
					days[e.Pool][market.DayOf(s.Blocks[i].Time)] = true
				}
			}
		}
	}

	for _, on := range days {
		for d := market.DayOf(g.cfg.Genesis + day - 1); d < market.DayOf(g.Head().Time); d++ {
			if !on[d] {
				return false
			}
		}
	}
	return true
}

// No chain has a token's address or a pool's id of another.
func TestChainsAreApart(t *testing.T) {
	seen := map[string]market.ChainID{}
	eachChain(t, func(t *testing.T, g *grown) {
		for i := range g.tokens {
			at := g.tokens[i].meta.Address
			if was, ok := seen[at.String()]; ok && !at.IsZero() {
				t.Errorf("token %s is on chain %d too", at, was)
			}
			seen[at.String()] = g.cfg.Chain
		}

		for i := range g.venues {
			id := g.venues[i].id.String()
			if was, ok := seen[id]; ok {
				t.Errorf("pool %s is on chain %d too", id, was)
			}
			seen[id] = g.cfg.Chain
		}
	})
}

// The market looks like one: see each line.
func TestMarketIsSane(t *testing.T) {
	eachChain(t, func(t *testing.T, g *grown) {
		st := g.priced()
		between := func(what string, got, low, high float64) {
			t.Helper()
			if !(got >= low && got <= high) {
				t.Errorf("%s is %g; want %g to %g", what, got, low, high)
			}
		}

		between("USD of the native token", st.Prices.At(0).Usd/g.cfg.NativeUsd, 0.3, 3)

		near, open, lively := 0.0, 0.0, 0.0
		var tvl, volume, week, fees float64
		for i := range st.Pools.Len() {
			p, stats := st.Pools.At(i), st.Stats.At(i)
			if !g.venues[i].isOpen() || !st.Prices.At(p.Currency0).Corroborated || !st.Prices.At(p.Currency1).Corroborated {
				continue
			}
			open++
			if math.Abs(float64(p.Tick-g.referenceNow(i))) < 300 {
				near++
			}
			if stats.VolumeUsd24h > 0 {
				lively++
			}
			tvl, volume = tvl+stats.TVLUsd, volume+stats.VolumeUsd24h
			week, fees = week+stats.VolumeUsd7d, fees+stats.FeesUsd24h
		}

		between("share of pools within 3 % of the reference", near/open, 0.9, 1)
		between("share of pools traded within a day", lively/open, 0.9, 1)
		between("volume of a day in TVL", volume/tvl, 0.1, 1.5)
		between("volume of a week in days", week/volume, 3, 14)
		between("fees in volume", fees/volume, 0.0003, 0.004)
		between("TVL in M$", tvl/1e6, 5, 1000)

		rows := g.rows(st)
		between("share of open positions", rows.open/float64(st.Positions.Len()), 0.3, 0.5)
		between("share of open positions in range", rows.inRange/rows.open, 0.6, 0.8)
		between("share of risky rows", rows.risky/float64(st.Positions.Len()), 0.02, 0.3)
		between("share of rows that gain", rows.gain/rows.valued, 0.2, 0.7)
		between("share of the largest owner", rows.largest/float64(st.Positions.Len()), 0.02, 0.07)
		between("share of the ten largest owners", rows.ten/float64(st.Positions.Len()), 0.1, 0.3)
		between("positions an owner", float64(st.Positions.Len())/rows.owners, 2, 6)
	})
}

func (g *grown) referenceNow(pool uint32) int32 {
	t := g.Head().Time - g.cfg.Genesis
	s := scene{world: &world{plan: g.plan}, priced: t, market: marketAt(g.cfg.Seed, t)}
	return s.reference(&g.venues[pool])
}

// counts are of the rows of all positions.
type counts struct {
	open, inRange, risky, valued, gain float64
	owners, largest, ten               float64 // how many, and positions of the largest
}

func (g *grown) rows(st *market.State) (c counts) {
	owned := map[uint32]float64{}
	for i := range st.Positions.Len() {
		var m value.Metrics
		value.Position(st, i, &m)
		add := func(to *float64, when bool) {
			if when {
				*to++
			}
		}
		add(&c.open, m.Open)
		add(&c.inRange, m.Open && m.InRange)
		add(&c.risky, m.Risky)
		add(&c.valued, market.Known(m.PnlUsd))
		add(&c.gain, m.PnlUsd > 0)
		owned[st.Positions.At(i).Owner]++
	}

	sizes := slices.Sorted(maps.Values(owned))
	slices.Reverse(sizes)
	c.owners, c.largest = float64(len(sizes)), sizes[0]
	for _, n := range sizes[:10] {
		c.ten += n
	}
	return c
}

// The third stable coin is worth about a seventh less for a day.
func TestLosesItsPeg(t *testing.T) {
	eachChain(t, func(t *testing.T, g *grown) {
		v := g.venueOf(t, "DAI", "USDC")
		lowest, off := 0.0, map[uint32]bool{}
		for _, s := range g.spans {
			for i := range s.Blocks {
				for _, l := range s.Blocks[i].Logs {
					e, ok := l.Event.(market.Swap)
					if !ok || e.Pool != v.id {
						continue
					}
					usd := exp(int64(e.Tick)) // token1 per token0, raw
					if g.tokens[v.token0].meta.Decimals == 6 {
						usd = 1 / usd
					}
					usd *= 1e12
					lowest = math.Min(lowest, usd-1)
					if usd < 0.97 {
						off[market.HourOf(s.Blocks[i].Time)] = true
					}
				}
			}
		}

		if lowest > -0.1 || lowest < -0.2 || len(off) < 3 || len(off) > 24 {
			t.Errorf("fell by %.3f, in %d hours below 0.97; want 0.1 to 0.2, in 3 to 24 hours", -lowest, len(off))
		}
	})
}

// venueOf returns the first pool of two tokens.
func (g *grown) venueOf(t *testing.T, a, b string) *venue {
	t.Helper()
	is := func(token uint32, symbol string) bool { return g.tokens[token].meta.Symbol == texts.New(symbol) }

	for i := range g.venues {
		v := &g.venues[i]
		if is(v.token0, a) && is(v.token1, b) || is(v.token0, b) && is(v.token1, a) {
			return v
		}
	}
	t.Fatalf("no pool of %s and %s", a, b)
	return nil
}
