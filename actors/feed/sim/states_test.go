package sim

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// positionStates are the states of a position that the API tells apart.
var positionStates = strings.Split(`open and in range
open below its range
open above its range
closed and in range
closed and out of range
closed and opened again
transferred
burned with its liquidity
burned when it was empty
never changed
changed often
changed with another one in one transaction
risky
not risky
without a price of a leg
with an unrealizable leg
of a hook that keeps a part
of unknown pnl
of unknown pnl at cost
of a gain
of a loss
leg priced by none
leg priced by anchor
leg priced by pool
leg priced by derived
leg priced by feed
missing no reason
missing for no_market
missing for thin_market
missing for uncorroborated
missing for stale_price
missing for bad_decimals
missing for hook_delta
missing for own_pool_only
missing for unrealizable`, "\n")

// poolStates are the states of a pool that the API tells apart.
var poolStates = strings.Split(`native
without native
of two stables
dynamic, of a known fee
dynamic, of an unknown fee
with a hook that takes a part of swaps
with a protocol fee
without a protocol fee
never traded
not traded within a day
traded within the hour
only initialised
without liquidity in range
without open positions
with liquidity of another sender
of unknown TVL
of TVL 0
with one leg priced
risky and above $1,000
corroborated and below $1,000
old
young
with a token without a name
with a token of 0 decimals
with a token of too many decimals`, "\n")

var (
	sourceNames = []string{"none", "anchor", "pool", "derived", "feed"}
	reasonNames = []string{
		"no reason", "for no_market", "for thin_market", "for uncorroborated", "for stale_price",
		"for bad_decimals", "for hook_delta", "for own_pool_only", "for unrealizable",
		"for quarantined",
	}
)

// TestEveryFlag walks the default market of every chain and names each state
// of the contract that no row is in.
func TestEveryFlag(t *testing.T) {
	eachChain(t, func(t *testing.T, g *grown) {
		st := g.priced()
		positions, pools := tally{}, tally{}
		for _, h := range g.histories(positions, pools) {
			positions.add("closed and opened again", h.again)
			positions.add("transferred", h.moved)
		}

		for i := range st.Positions.Len() {
			countPosition(positions, st, i)
		}
		for i := range st.Pools.Len() {
			countPool(pools, st, i)
		}

		positions.check(t, "position", positionStates)
		pools.check(t, "pool", poolStates)
	})
}

// tally counts the rows in every state.
type tally map[string]int

func (c tally) add(state string, is bool) {
	if is {
		c[state]++
	}
}

func (c tally) check(t *testing.T, kind string, states []string) {
	t.Helper()
	for _, state := range states {
		t.Logf("%6d  %s %s", c[state], kind, state)
		if c[state] == 0 {
			t.Errorf("no %s %s", kind, state)
		}
	}

	for state := range c {
		if !slices.Contains(states, state) {
			t.Errorf("a %s is %q, which is not in the list", kind, state)
		}
	}
}

// history is what the events say of a position beyond its present state.
type history struct {
	liquidity            clmath.U128
	closed, again, moved bool
}

// histories follows the events of every position, and counts on the way what
// is seen of one event or block only.
func (g *grown) histories(positions, pools tally) map[uint64]*history {
	all := map[uint64]*history{}
	of := func(id uint64) *history {
		if all[id] == nil {
			all[id] = &history{}
		}
		return all[id]
	}

	apply := func(e market.Event) (id uint64) {
		switch e := e.(type) {
		case market.ModifyLiquidity:
			if e.Sender != g.cfg.PositionManager {
				pools.add("with liquidity of another sender", true)
				return 0
			}
			id = binary.BigEndian.Uint64(e.Salt[24:])
			h := of(id)
			h.again = h.again || h.closed && e.LiquidityDelta.Sign() > 0
			h.liquidity, _ = h.liquidity.Apply(e.LiquidityDelta)
			h.closed = h.closed || h.liquidity.IsZero()
		case market.TransferNFT:
			id = e.ID
			h := of(id)
			h.moved = h.moved || !e.From.IsZero() && !e.To.IsZero()
			positions.add("burned with its liquidity", e.To.IsZero() && !h.liquidity.IsZero())
			positions.add("burned when it was empty", e.To.IsZero() && h.liquidity.IsZero())
		}
		return id
	}

	var tx, first uint64 // the transaction, and the position that it changed first
	for _, s := range g.spans {
		for i := range s.Blocks {
			for _, l := range s.Blocks[i].Logs {
				id, now := apply(l.Event), s.Blocks[i].Number<<16|uint64(l.Tx)
				if tx != now {
					tx, first = now, 0
				}
				positions.add("changed with another one in one transaction", first != 0 && id != 0 && id != first)
				first = cmp.Or(first, id)
			}
		}
	}
	return all
}

func countPosition(c tally, st *market.State, i uint32) {
	var m value.Metrics
	value.Position(st, i, &m)
	p := st.Positions.At(i)

	tick := st.Pools.At(p.Pool).Tick
	c.add("open and in range", m.Open && m.InRange)
	c.add("open below its range", m.Open && tick < p.TickLower)
	c.add("open above its range", m.Open && tick >= p.TickUpper)
	c.add("closed and in range", !m.Open && m.InRange)
	c.add("closed and out of range", !m.Open && !m.InRange)

	c.add("never changed", p.Entries == 1)
	c.add("changed often", p.Entries >= 20)
	c.add("risky", m.Risky)
	c.add("not risky", !m.Risky)
	c.add("without a price of a leg", m.PriceUnavailable)
	c.add("with an unrealizable leg", m.UnrealizableLeg())
	c.add("of a hook that keeps a part", p.HookDelta)

	c.add("of unknown pnl", !market.Known(m.PnlUsd))
	c.add("of unknown pnl at cost", !market.Known(m.PnlCostUsd) && market.Known(m.PnlUsd))
	c.add("of a gain", m.PnlUsd > 0)
	c.add("of a loss", m.PnlUsd < 0)

	c.add("missing "+reasonNames[m.Reason], true)
	for _, price := range m.Price {
		c.add("leg priced by "+sourceNames[price.Source], true)
	}
}

func countPool(c tally, st *market.State, i uint32) {
	p, s := st.Pools.At(i), st.Stats.At(i)
	tokens := [2]*market.Token{st.Tokens.At(p.Currency0), st.Tokens.At(p.Currency1)}
	prices := [2]*market.Price{st.Prices.At(p.Currency0), st.Prices.At(p.Currency1)}
	corroborated := prices[0].Corroborated && prices[1].Corroborated
	stable := func(k int) bool { return prices[k].Anchor && prices[k].Usd == 1 }
	traded := st.Now() - p.LastSwapAt

	c.add("native", tokens[0].IsNative())
	c.add("without native", !tokens[0].IsNative())
	c.add("of two stables", stable(0) && stable(1))
	c.add("dynamic, of a known fee", p.IsDynamic() && p.LastFee != market.NoFee)
	c.add("dynamic, of an unknown fee", p.IsDynamic() && p.LastFee == market.NoFee)
	c.add("with a hook that takes a part of swaps", p.Hooks[19]&(1<<3) != 0)
	c.add("with a protocol fee", p.ProtocolFee != 0)
	c.add("without a protocol fee", p.ProtocolFee == 0)

	c.add("never traded", p.Swaps == 0)
	c.add("not traded within a day", p.Swaps > 0 && traded > market.Day)
	c.add("traded within the hour", p.Swaps > 0 && traded < market.Hour)
	c.add("only initialised", p.Swaps == 0 && p.LiquidityChanges == 0)
	c.add("without liquidity in range", p.Liquidity.IsZero())
	c.add("without open positions", p.OpenPositions == 0)

	c.add("of unknown TVL", !market.Known(s.TVLUsd))
	c.add("of TVL 0", s.TVLUsd == 0)
	c.add("with one leg priced", market.Known(s.TVLUsd) && s.Unpriced)
	c.add("risky and above $1,000", !corroborated && s.TVLUsd > 1000)
	c.add("corroborated and below $1,000", corroborated && s.TVLUsd < 1000)
	c.add("old", st.Now()-p.CreatedAt > 80*market.Day)
	c.add("young", st.Now()-p.CreatedAt < 7*market.Day)

	for _, token := range tokens {
		c.add("with a token without a name", token.Symbol == 0)
		c.add("with a token of 0 decimals", token.Decimals == 0)
		c.add("with a token of too many decimals", token.BadDecimals)
	}
}
