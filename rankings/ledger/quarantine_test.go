package ledger

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// TestQuarantinedFees: a pool that begins with an event that cannot be keeps a dynamic
// fee, and any other as far as it can be one; its spacing is one that pools can have.
func TestQuarantinedFees(t *testing.T) {
	f := func(fee, wantFee uint32, spacing, wantSpacing int32) {
		t.Helper()
		l := New(Config{Chain: 1, PositionManager: testManager})
		s := strictSpan(l, market.Initialize{
			Pool: market.PoolID{1}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 2},
			Fee: fee, TickSpacing: spacing, // without a price
		})
		s.Tokens, s.Strict = testTokens(), false
		if _, err := l.Apply(s); err != nil {
			t.Fatal(err)
		}

		st := l.Freeze()
		clean(t, st)
		p := st.Pools.At(0)
		if p.Fee != wantFee || p.TickSpacing != wantSpacing || p.IsDynamic() != (fee == market.DynamicFee) || !p.Quarantined {
			t.Errorf("a fee of %d and spacing of %d became %d and %d; want %d and %d",
				fee, spacing, p.Fee, p.TickSpacing, wantFee, wantSpacing)
		}
	}

	f(3000, 3000, 60, 60)
	f(market.DynamicFee, market.DynamicFee, 60, 60)
	f(clmath.Pips, clmath.Pips, 1, 1)
	f(clmath.Pips+1, clmath.Pips, 0, 1)
	f(market.DynamicFee+1, clmath.Pips, -5, 1)
	f(0, 0, maxSpacing, maxSpacing)
	f(0, 0, maxSpacing+1, maxSpacing)
}

// TestQuarantinedCurrencies: a pool that begins with an event that cannot be has the currencies of
// the event, also those of which the feed has told nothing.
func TestQuarantinedCurrencies(t *testing.T) {
	l := New(Config{Chain: 1, PositionManager: testManager})
	known, one, two := market.Address{19: 1}, market.Address{18: 1}, market.Address{18: 2}
	initialize := func(pool byte, currency0, currency1 market.Address) market.Initialize {
		return market.Initialize{
			Pool: market.PoolID{pool}, Currency0: currency0, Currency1: currency1, Fee: 3000, TickSpacing: 60, // no price
		}
	}
	s := strictSpan(l, initialize(1, one, two), initialize(2, known, two), initialize(3, one, one))
	s.Tokens, s.Strict = testTokens(), false
	quarantined, err := l.Apply(s)
	if err != nil || len(quarantined) != 3 || l.QuarantinedPools() != 3 {
		t.Fatalf("%d pools are quarantined, %v; want three of one span", len(quarantined), err)
	}

	st := l.Freeze()
	clean(t, st)
	for i, want := range [][2]market.Address{{one, two}, {known, two}, {one, one}} {
		p := st.Pools.At(uint32(i))
		for side, token := range []uint32{p.Currency0, p.Currency1} {
			at := st.Tokens.At(token)
			if at.Address != want[side] || at.BadDecimals != (want[side] != known) {
				t.Errorf("pool %d: currency %d is %s, bad decimals %t; want %s", i, side, at.Address, at.BadDecimals, want[side])
			}
		}
	}
	if n := st.Tokens.Len(); n != uint32(len(testTokens()))+2 {
		t.Errorf("there are %d tokens; want two more than the feed has told of", n)
	}
}

// TestQuarantinedPositions: in a quarantined pool ranges and liquidity are followed as far
// as they can be, of the position manager's positions and nobody else's.
func TestQuarantinedPositions(t *testing.T) {
	l := poolOfTwo(t, 3000)
	alice := script.Person("alice")
	bad := strictSpan(l, market.Swap{Pool: market.PoolID{1}, SqrtPriceX96: clmath.SqrtPriceAtTick(5), Fee: 3000})
	bad.Strict = false
	if q, err := l.Apply(bad); err != nil || len(q) != 1 {
		t.Fatalf("%d pools are quarantined, %v", len(q), err)
	}

	before := *l.Freeze().Pools.At(0)
	for _, e := range []market.Event{
		market.Donate{Pool: market.PoolID{1}, Amount0: clmath.U256{5}, Amount1: clmath.U256{6}},
		market.ProtocolFeeUpdated{Pool: market.PoolID{1}, ProtocolFee: 7},
		market.Swap{Pool: market.PoolID{1}, SqrtPriceX96: clmath.SqrtPriceAtTick(9), Tick: 9, Fee: 3000},
	} {
		if apply(t, l, strictSpan(l, e)); *l.Freeze().Pools.At(0) != before {
			t.Errorf("after a %T the pool is %+v; it was %+v", e, *l.Freeze().Pools.At(0), before)
		}
	}

	id := uint64(0)
	change := func(lower, upper int32, delta clmath.I128) market.ModifyLiquidity {
		return market.ModifyLiquidity{
			Pool: market.PoolID{1}, Sender: testManager, TickLower: lower, TickUpper: upper,
			LiquidityDelta: delta, Salt: script.Salt(id),
		}
	}
	mint := func(lower, upper, wantLower, wantUpper int32) {
		t.Helper()
		id++
		m := change(lower, upper, clmath.I128{Lo: 7})
		apply(t, l, strictSpan(l, market.TransferNFT{To: alice, ID: id}, m))
		st := l.Freeze()
		clean(t, st)
		p := st.Positions.At(uint32(id - 1))
		if p.TickLower != wantLower || p.TickUpper != wantUpper || p.Liquidity().Lo != 7 || p.Entries != 0 {
			t.Errorf("from %d to %d: %+v; want %d to %d", lower, upper, *p, wantLower, wantUpper)
		}
	}
	mint(-60, 60, -60, 60)
	mint(clmath.MinTick, clmath.MaxTick, clmath.MinTick, clmath.MaxTick)
	mint(clmath.MinTick-1, clmath.MaxTick+1, clmath.MinTick, clmath.MaxTick)
	mint(clmath.MaxTick, clmath.MaxTick, clmath.MaxTick-1, clmath.MaxTick)
	mint(clmath.MaxTick+9, clmath.MaxTick+9, clmath.MaxTick-1, clmath.MaxTick)
	mint(clmath.MinTick-9, clmath.MinTick-9, clmath.MinTick, clmath.MinTick+1)
	mint(60, 60, 60, 61)
	mint(60, -60, 60, 61)

	liquidity := func(name string, want clmath.U128, m market.ModifyLiquidity) {
		t.Helper()
		apply(t, l, strictSpan(l, m))
		st := l.Freeze()
		clean(t, st)
		p := st.Positions.At(uint32(id - 1))
		if p.Liquidity() != want || p.IsOpen() == (p.ClosedAt != 0) || market.Known(p.CostUsd) || p.Timed {
			t.Errorf("%s: %+v; want the liquidity %s", name, *p, unsigned(want))
		}
		if p := st.Positions.At(uint32(id - 2)); p.Liquidity().Lo != 7 {
			t.Errorf("%s: the position before it has %s", name, unsigned(p.Liquidity()))
		}
	}

	const most = 1<<63 - 1
	full := clmath.U128{Lo: 1<<64 - 1, Hi: 1<<64 - 1}
	liquidity("more", clmath.U128{Lo: 9}, change(0, 0, clmath.I128{Lo: 2}))
	direct := change(0, 0, clmath.I128{Lo: 2})
	direct.Sender = alice
	liquidity("of another sender", clmath.U128{Lo: 9}, direct)
	unknown := change(0, 0, clmath.I128{Lo: 2})
	unknown.Salt = script.Salt(id + 1)
	liquidity("of no position", clmath.U128{Lo: 9}, unknown)
	wide := change(0, 0, clmath.I128{Lo: 2})
	wide.Salt[23] = 1
	liquidity("of an id that is none", clmath.U128{Lo: 9}, wide)

	liquidity("less", clmath.U128{Lo: 4}, change(0, 0, clmath.I128{Lo: 5}.Neg()))
	liquidity("less than nothing", clmath.U128{}, change(0, 0, clmath.I128{Lo: 5}.Neg()))
	liquidity("nothing of nothing", clmath.U128{}, change(0, 0, clmath.I128{}))
	liquidity("a lot", clmath.U128{Lo: 1<<64 - 1, Hi: most}, change(0, 0, clmath.I128{Lo: 1<<64 - 1, Hi: most}))
	liquidity("twice as much", clmath.U128{Lo: 1<<64 - 2, Hi: 1<<64 - 1}, change(0, 0, clmath.I128{Lo: 1<<64 - 1, Hi: most}))
	liquidity("all that there can be", full, change(0, 0, clmath.I128{Lo: 1}))
	liquidity("more than that", full, change(0, 0, clmath.I128{Lo: 1}))

	// One that begins without liquidity is closed from then on.
	id++
	apply(t, l, strictSpan(l, market.TransferNFT{To: alice, ID: id}, change(-60, 60, clmath.I128{})))
	minted := uint32(l.Head().Time)
	if p := l.Freeze().Positions.At(uint32(id - 1)); !p.Closed || p.ClosedAt != minted {
		t.Errorf("minted without liquidity at %d, it was closed at %d: %t", minted, p.ClosedAt, p.Closed)
	}

	// One of another pool is not followed here.
	second := market.Initialize{
		Pool: market.PoolID{2}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 3},
		Fee: 3000, TickSpacing: 60, SqrtPriceX96: clmath.SqrtPriceAtTick(0),
	}
	id++
	other := change(-60, 60, clmath.I128{Lo: 7})
	other.Pool = second.Pool
	apply(t, l, strictSpan(l, second, market.TransferNFT{To: alice, ID: id}, other))
	apply(t, l, strictSpan(l, change(-60, 60, clmath.I128{Lo: 5})))
	st := l.Freeze()
	clean(t, st)
	if p := st.Positions.At(uint32(id - 1)); p.Liquidity().Lo != 7 {
		t.Errorf("the liquidity of another pool's position is %s; want 7", unsigned(p.Liquidity()))
	}

	// Gas is divided over positions, to which a salt that is no id does not belong.
	noID := change(-60, 60, clmath.I128{Lo: 5})
	noID.Salt = script.Salt(1)
	noID.Salt[0] = 1
	s := strictSpan(l, noID, other)
	s.Blocks[0].Txs[0] = market.Tx{GasKnown: true, GasUsed: 301, GasPrice: clmath.U128{Lo: 7}}
	apply(t, l, s)
	for op := range l.Changes().Ops.All() {
		if e := Transactions.Entry(&op); e != nil && e.Block == l.Head().Number && e.GasUsed != 301 {
			t.Errorf("the only position of a transaction used %d of 301", e.GasUsed)
		}
	}
}

// TestQuarantineSurvivesLaterReverts: the number of quarantined pools is what it was when a
// span that changed such a pool is undone, and goes back with the span of the quarantine.
func TestQuarantineSurvivesLaterReverts(t *testing.T) {
	l := poolOfTwo(t, 3000)
	bad := strictSpan(l, market.Swap{Pool: market.PoolID{1}, SqrtPriceX96: clmath.SqrtPriceAtTick(5), Fee: 3000})
	bad.Strict = false
	apply(t, l, bad)
	apply(t, l, strictSpan(l, market.TransferNFT{To: script.Person("alice"), ID: 1}, market.ModifyLiquidity{
		Pool: market.PoolID{1}, Sender: testManager, TickLower: -60, TickUpper: 60,
		LiquidityDelta: clmath.I128{Lo: 7}, Salt: script.Salt(1),
	}))

	for _, want := range []int{1, 0} {
		if err := l.Revert(); err != nil {
			t.Fatal(err)
		}
		if got := l.QuarantinedPools(); got != want {
			t.Errorf("%d pools are quarantined; want %d", got, want)
		}
	}
}
