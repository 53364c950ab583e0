package chain

import (
	"slices"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// TestOnlyOtherStatsAreWritten values every pool again: without a change none is to
// be written, nor when one token's price moves, since what changes then follows from it. A
// pool that holds something else is.
func TestOnlyOtherStatsAreWritten(t *testing.T) {
	s := newStage(t)
	s.publish()

	c, st := s.chain, *s.chain.view.State
	c.everything = true
	if changed := c.valuePools(&st, func() {}); len(changed) != 0 {
		t.Errorf("stats of %d pools are to be written again, but nothing has changed", len(changed))
	}

	native := st.Native
	prices := market.Thaw(st.Prices)
	prices.Mut(native).Usd *= 1.01
	st.Prices = prices.Freeze()
	before := st.Stats
	c.everything = true
	if changed := c.valuePools(&st, func() {}); len(changed) > 0 {
		t.Errorf("stats of %d pools are written when the native price moves", len(changed))
	}
	others := 0
	for i := range st.Pools.Len() {
		want := value.Stats(&st, i)
		if !sameStats(st.Stats.At(i), &want) {
			t.Errorf("pool %d has the stats %+v; want %+v", i, *st.Stats.At(i), want)
		}
		if !sameStats(before.At(i), &want) {
			others++
		}
	}
	if others == 0 || others == int(st.Pools.Len()) {
		t.Errorf("stats of %d pools of %d change with the native price", others, st.Pools.Len())
	}

	pools := market.Thaw(st.Pools)
	pools.Mut(3).SqrtPriceX96[1]++
	st.Pools, c.due[3] = pools.Freeze(), dueHeld
	if changed := c.valuePools(&st, func() {}); !slices.Equal(changed, []uint32{3}) {
		t.Errorf("the stats of %v are written; want those of the pool that moved", changed)
	}
}

// TestDecimalsThatBecomeKnown: the price of a pool is shown once the decimals of its tokens
// are known, also where no price moves.
func TestDecimalsThatBecomeKnown(t *testing.T) {
	s := newStage(t)
	s.publish()

	c, now := s.chain, *s.chain.view.State
	named := now.Pools.At(0).Currency0
	tokens, before := market.Thaw(now.Tokens), *c.view.State
	tokens.Mut(named).BadDecimals = true
	before.Tokens = tokens.Freeze()
	c.view = &rankings.View{State: &before}

	var ch ledger.Changes
	ledger.Tokens.SetChanged(&ch, []uint32{named})
	c.markStale(&now, &ch, func() {})
	for i := range now.Pools.Len() {
		p := now.Pools.At(i)
		if has := p.Currency0 == named || p.Currency1 == named; has != (c.due[i] != 0) {
			t.Errorf("pool %d has the token: %t; of its stats %d is due", i, has, c.due[i])
		}
	}
}
