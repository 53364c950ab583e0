package ledger

import (
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// TestCheckFindsDamage damages one record at a time.
func TestCheckFindsDamage(t *testing.T) {
	w := newWorld(4)
	for range 60 {
		if err := w.step().apply(w.Ledger); err != nil {
			t.Fatal(err)
		}
	}

	clean(t, w.Freeze())
	f := func(want string, damage func(l *Ledger)) {
		t.Helper()
		st := w.Freeze()
		l := From(w.cfg, st, nil, func() {})
		damage(l)
		broken := l.Freeze()
		clean(t, st)
		for _, finding := range Check(broken) {
			if strings.Contains(finding.String(), want) {
				return
			}
		}
		t.Errorf("no finding has %q: %v", want, Check(broken))
	}

	open := uint32(0)
	for !w.st.Positions.At(open).IsOpen() {
		open++
	}

	traded := uint32(0)
	for w.st.Pools.At(traded).LastHour == market.NoIndex {
		traded++
	}

	f("liquidityGross", func(l *Ledger) { Positions.in(l).Mut(open).Liquidity.Lo++ })
	f("are not its ticks", func(l *Ledger) {
		Positions.in(l).Mut(open).UpperSlot = l.st.Positions.At(open).LowerSlot
	})
	f("ticks in records", func(l *Ledger) { Positions.in(l).Mut(open).UpperSlot = 1 << 20 })
	f("closed at 5", func(l *Ledger) { Positions.in(l).Mut(open).ClosedAt = 5 })
	f("in range for", func(l *Ledger) { Positions.in(l).Mut(open).SecondsInside += 1 << 31 })
	f("seconds closed since the mint", func(l *Ledger) { Positions.in(l).Mut(open).SecondsClosed += 1 << 31 })
	f("they are not known", func(l *Ledger) {
		Positions.in(l).Mut(open).Timed, Positions.in(l).Mut(open).SecondsClosed = false, 7
	})
	f("in range for", func(l *Ledger) {
		Ticks.in(l).Mut(l.st.Positions.At(open).LowerSlot).SecondsOutside += 1 << 31
	})
	f("id 1 after", func(l *Ledger) { Positions.in(l).Mut(l.st.Positions.Len() - 1).ID = 1 })
	f("transactions; the positions have", func(l *Ledger) { Positions.in(l).Mut(0).Entries++ })
	f("holders; counted", func(l *Ledger) { Pools.in(l).Mut(0).Holders++ })
	f("open positions; counted", func(l *Ledger) { l.st.OpenCount++ })
	f("its ticks sum to", func(l *Ledger) { Pools.in(l).Mut(0).Liquidity.Lo++ })
	f("is not within tick", func(l *Ledger) { Pools.in(l).Mut(0).Tick += 2 })
	f("tick 900000", func(l *Ledger) { Pools.in(l).Mut(0).Tick = 900_000 })
	f("currencies", func(l *Ledger) { Pools.in(l).Mut(0).Currency1 = 99 })
	f("as 0 is", func(l *Ledger) { Pools.in(l).Mut(1).ID = l.st.Pools.At(0).ID })
	f("nonNFT 1: is", func(l *Ledger) { *NonNFT.in(l).Mut(1) = *l.st.NonNFT.At(0) })
	f("liquidityNet", func(l *Ledger) { Ticks.in(l).Mut(0).LiquidityNet.Lo++ })
	f("sqrtPriceX96", func(l *Ledger) { Ticks.in(l).Mut(0).SqrtPriceX96[0]++ })
	f("listed as", func(l *Ledger) { Ticks.in(l).Mut(0).Tick++ })
	f("is free with liquidity", func(l *Ledger) { Ticks.in(l).Mut(0).Pool = market.NoIndex })
	f("out of order", func(l *Ledger) {
		refs := l.tickRefs.edit(0).Refs
		refs[0], refs[1] = refs[1], refs[0]
	})

	f("is in no list", func(l *Ledger) { l.tickRefs.edit(0).Refs = nil })
	f("listed in record", func(l *Ledger) { l.tickRefs.edit(0).Refs[0].Slot = 1 << 30 })
	f("is listed wrongly", func(l *Ledger) {
		last := l.st.Pools.At(traded).LastHour
		Hours.in(l).Mut(last).Prev = last
	})

	f("listed for", func(l *Ledger) { Hours.in(l).Mut(l.st.Pools.At(traded).LastHour).Pool++ })
	f("listed false", func(l *Ledger) { Pools.in(l).Mut(traded).LastHour = market.NoIndex })
	f("does not end at the pool's state", func(l *Ledger) { Days.in(l).Mut(0).Liquidity.Lo++ })
	f("amounts", func(l *Ledger) { Days.in(l).Mut(0).Amount0[0]++ })
	f("the last swap was at", func(l *Ledger) { Pools.in(l).Mut(traded).LastSwapAt += 3600 })
	f("belong to no position", func(l *Ledger) { Overflow.in(l).Append(market.Sums{}) })
	f("minute rings", func(l *Ledger) { Minutes.in(l).Append(market.Minutes{}) })
	f("is native", func(l *Ledger) { l.st.Native = 3 })
}
