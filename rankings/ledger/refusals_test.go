package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// strictSpan returns a span of one block with these events.
func strictSpan(l *Ledger, events ...market.Event) *market.Span {
	head := l.Head()
	b := market.Block{Number: head.Number + 1, Time: head.Time + 12, Txs: make([]market.Tx, 1)}
	for i, e := range events {
		b.Logs = append(b.Logs, market.Log{Index: uint32(i), Event: e})
	}
	return &market.Span{
		From: b.Number, To: b.Number, Time: b.Time, Strict: true, Blocks: []market.Block{b},
	}
}

// poolOfTwo returns a ledger with a pool at tick 0 that has the initialised ticks
// -600, -60, 60 and 600, and a protocol fee of 1000 pips when the price falls.
func poolOfTwo(t *testing.T, fee uint32) *Ledger {
	t.Helper()
	l := New(Config{Chain: 1, PositionManager: testManager})
	add := func(lower, upper int32) market.ModifyLiquidity {
		return market.ModifyLiquidity{
			Pool: market.PoolID{1}, Sender: script.Person("x"), TickLower: lower, TickUpper: upper,
			LiquidityDelta: clmath.I128{Lo: 1e15},
		}
	}

	s := strictSpan(l,
		market.Initialize{
			Pool: market.PoolID{1}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 2},
			Fee: fee, TickSpacing: 60, SqrtPriceX96: clmath.SqrtPriceAtTick(0),
		},
		add(-600, 600), add(-60, 60),
		market.ProtocolFeeUpdated{Pool: market.PoolID{1}, ProtocolFee: 1000},
	)
	s.Tokens = testTokens()
	apply(t, l, s)
	return l
}

// TestRefusedSwaps changes one field of a valid swap at a time. The error names the
// field, and for a value out of bounds the bounds.
func TestRefusedSwaps(t *testing.T) {
	check := func(fee uint32, changes map[string][]func(e *market.Swap)) {
		t.Helper()
		l := poolOfTwo(t, fee)
		good, ok := script.Trade(&l.st, 0, script.Order{
			Amount: clmath.U256{1e13}, Down: true, ExactIn: true, Fee: 3000,
			Limit: clmath.SqrtPriceAtTick(-500),
		})
		if !ok || good.Tick >= -60 {
			t.Fatalf("the swap should cross tick -60: %+v, %v", good, ok)
		}

		for what, list := range changes {
			for i, change := range list {
				bad := good
				change(&bad)
				_, err := l.Apply(strictSpan(l, bad))
				var m *Mismatch
				if !errors.As(err, &m) || m.What != what && m.What+" "+m.Want != what {
					t.Errorf("fee %d, %s, change %d: got %v", fee, what, i, err)
				}
			}
		}
		apply(t, l, strictSpan(l, good))
	}

	check(3000, map[string][]func(e *market.Swap){
		"fee": {
			func(e *market.Swap) { e.Fee++ },
			func(e *market.Swap) { e.Fee-- },
			func(e *market.Swap) { e.Fee = 3000 }, // without the protocol's part
		},
		"tick": {
			func(e *market.Swap) { e.Tick++ },
			func(e *market.Swap) { e.Tick-- },
		},
		"sqrtPriceX96": {
			func(e *market.Swap) { e.SqrtPriceX96 = clmath.MaxSqrtPrice },
			func(e *market.Swap) { e.SqrtPriceX96.SubUint64(&clmath.MinSqrtPrice, 1) },
		},
		"liquidity": {func(e *market.Swap) { e.Liquidity.Lo++ }},
		"tick -887272 to 887271": {
			func(e *market.Swap) { e.Tick = clmath.MaxTick },
			func(e *market.Swap) { e.Tick = clmath.MinTick - 1 },
		},
		"input": {
			func(e *market.Swap) { e.Amount0 = e.Amount0.Neg() },
			func(e *market.Swap) { e.Amount0 = clmath.I128{Lo: 1e11}.Neg() },
		},
	})

	check(market.DynamicFee, map[string][]func(e *market.Swap){"fee": {
		func(e *market.Swap) { e.Fee = 999 }, // below the protocol's
		func(e *market.Swap) { e.Fee = clmath.Pips + 1 },
	}})
}

// TestRefusedTickAtAPrice: a rising price that stops at an initialised tick is in that tick. The one
// below has the same price at its end, so that only the replay can tell.
func TestRefusedTickAtAPrice(t *testing.T) {
	l := poolOfTwo(t, 3000)
	good, ok := script.Trade(&l.st, 0, script.Order{
		Amount: clmath.U256{1e15}, ExactIn: true, Fee: 3000, Limit: clmath.SqrtPriceAtTick(60),
	})
	if !ok || good.Tick != 60 || good.SqrtPriceX96 != clmath.SqrtPriceAtTick(60) {
		t.Fatalf("the swap should stop at tick 60: %+v, %v", good, ok)
	}

	refused := func(what, got, want string, change func(e *market.Swap)) {
		t.Helper()
		bad := good
		change(&bad)
		var m *Mismatch
		if _, err := l.Apply(strictSpan(l, bad)); !errors.As(err, &m) || m.What != what || m.Got != got || m.Want != want {
			t.Errorf("got %v; want %s %s refused for %s", err, what, got, want)
		}
	}
	refused("tick", "59", "60", func(e *market.Swap) { e.Tick = 59 })
	refused("input", "-1", "enough to reach its price", func(e *market.Swap) { e.Amount1 = clmath.I128{Lo: 1}.Neg() })
	inside := l.st.Pools.At(0).Liquidity
	apply(t, l, strictSpan(l, good))

	// A swap that moves nothing but the tick goes down: up there is no tick to leave.
	apply(t, l, strictSpan(l, market.Swap{
		Pool: good.Pool, SqrtPriceX96: good.SqrtPriceX96, Tick: 59, Liquidity: inside, Fee: 3997,
	}))
	if p := l.st.Pools.At(0); p.Tick != 59 || p.Liquidity != inside {
		t.Errorf("back below the tick the pool is %+v", *p)
	}
}

// TestMovesWaitForTheirOwnChange mints and burns two positions in one transaction, both NFTs before
// the first change of liquidity: each change ends the move of its own position.
func TestMovesWaitForTheirOwnChange(t *testing.T) {
	l := poolOfTwo(t, 3000)
	move := func(from, to string, id uint64) market.TransferNFT {
		e := market.TransferNFT{ID: id}
		if from != "" {
			e.From = script.Person(from)
		}
		if to != "" {
			e.To = script.Person(to)
		}
		return e
	}
	change := func(id uint64, delta clmath.I128) market.ModifyLiquidity {
		return market.ModifyLiquidity{
			Pool: market.PoolID{1}, Sender: testManager, TickLower: -120, TickUpper: 60 * int32(id),
			LiquidityDelta: delta, Salt: script.Salt(id),
		}
	}
	holds := func(id uint64, owner string, open, burned bool) {
		t.Helper()
		p := l.st.Positions.At(uint32(id - 1))
		if *l.st.Owners.At(p.Owner) != script.Person(owner) || p.IsOpen() != open || p.Burned != burned ||
			p.TickUpper != 60*int32(id) {
			t.Errorf("position %d is %+v; want one of %s, open %t", id, p, owner, open)
		}
	}

	some := clmath.I128{Lo: 1e9}
	apply(t, l, strictSpan(l, move("", "a", 1), move("", "b", 2), change(2, some), change(1, some)))
	holds(1, "a", true, false)
	holds(2, "b", true, false)
	apply(t, l, strictSpan(l, move("a", "", 1), move("b", "", 2), change(2, some.Neg()), change(1, some.Neg())))
	holds(1, "a", false, true)
	holds(2, "b", false, true)
	clean(t, l.Freeze())

	var mismatch *Mismatch
	_, err := l.Apply(strictSpan(l, move("", "c", 3), change(2, some)))
	if !errors.As(err, &mismatch) {
		t.Errorf("a mint with a change of another position gives %v", err)
	}
}

// TestRefusedRanges changes liquidity over ranges that the contracts do not accept.
func TestRefusedRanges(t *testing.T) {
	for _, spacing := range []int32{1, 60} {
		l := New(Config{Chain: 1})
		s := strictSpan(l, market.Initialize{
			Pool: market.PoolID{1}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 2},
			TickSpacing: spacing, SqrtPriceX96: clmath.SqrtPriceAtTick(0),
		})
		s.Tokens = testTokens()
		apply(t, l, s)

		f := func(lower, upper int32, want bool) {
			t.Helper()
			_, err := l.Apply(strictSpan(l, market.ModifyLiquidity{
				Pool: market.PoolID{1}, Sender: script.Person("x"),
				TickLower: lower, TickUpper: upper, LiquidityDelta: clmath.I128{Lo: 1},
			}))
			var m *Mismatch
			if want && err != nil || !want && (!errors.As(err, &m) || m.What != "range") {
				t.Errorf("spacing %d, %d to %d: got %v; want ok = %v", spacing, lower, upper, err, want)
			}
		}

		edge := clmath.MaxTick / spacing * spacing
		f(-edge, edge, true)
		f(-edge-spacing, 0, false)
		f(0, edge+spacing, false)
		f(60, 60, false)
		f(60, 0, false)
		f(0, 60, true)
		f(1, 60, spacing == 1)
		f(0, 59, spacing == 1)
	}
}

// TestTickOverflow: neither the gross nor the net liquidity of a tick may pass 128
// bits, even if no position does.
func TestTickOverflow(t *testing.T) {
	most := clmath.I128{Lo: ^uint64(0), Hi: 1<<63 - 1}
	f := func(name string, want bool, ranges ...[2]int32) {
		t.Helper()
		l := poolOfTwo(t, 3000)
		var err error
		for i, r := range ranges {
			_, err = l.Apply(strictSpan(l, market.ModifyLiquidity{
				Pool: market.PoolID{1}, TickLower: r[0], TickUpper: r[1], LiquidityDelta: most,
				Salt: script.Salt(uint64(i)),
			}))
			if i < len(ranges)-1 && err != nil {
				t.Fatalf("%s: range %d: %v", name, i, err)
			}
		}
		var m *Mismatch
		if want && err != nil || !want && (!errors.As(err, &m) || m.What != "liquidityDelta") {
			t.Errorf("%s: got %v; want ok = %v", name, err, want)
		}
	}

	f("one", true, [2]int32{1200, 1260})
	f("net of two", false, [2]int32{1200, 1260}, [2]int32{1200, 1320})
	f("net of two at their end", false, [2]int32{1200, 1260}, [2]int32{1140, 1260})
	f("gross of two", true, [2]int32{1200, 1260}, [2]int32{1260, 1320})
	f("gross of three", false, [2]int32{1200, 1260}, [2]int32{1260, 1320}, [2]int32{1260, 1380})

	// Around the price there is some liquidity already.
	f("a pool of one", true, [2]int32{-120, 120})
	f("a pool of two", false, [2]int32{-120, 120}, [2]int32{-180, 180})
	f("two, one of them above the price", true, [2]int32{-120, 120}, [2]int32{240, 300})
}

// TestUnknownPools: an event of a pool that was never initialized is refused, whatever
// it is.
func TestUnknownPools(t *testing.T) {
	l := poolOfTwo(t, 3000)
	before := l.Freeze()

	for _, e := range []market.Event{
		market.Donate{Pool: market.PoolID{9}}, market.Swap{Pool: market.PoolID{9}},
		market.ProtocolFeeUpdated{Pool: market.PoolID{9}}, market.ModifyLiquidity{Pool: market.PoolID{9}},
	} {
		_, err := l.Apply(strictSpan(l, e))
		var m *Mismatch
		if !errors.As(err, &m) || m.What != "pool" || m.Want != "one that was initialized" {
			t.Errorf("%T: %v", e, err)
		}
		sameState(t, l.Freeze(), before)
	}
}

// TestHookDelta: bit 1 of a hook's address is for added liquidity, bit 0 for
// removed liquidity and collected fees.
func TestHookDelta(t *testing.T) {
	f := func(hooks byte, delta clmath.I128, want bool) {
		t.Helper()
		c := change{delta: delta}
		if got := c.hookMayKeep(&market.Pool{Hooks: market.Address{19: hooks}}); got != want {
			t.Errorf("hooks %b, delta %s: got %v; want %v", hooks, signed(delta), got, want)
		}
	}

	one := clmath.I128{Lo: 1}
	f(0b10, one, true)
	f(0b10, one.Neg(), false)
	f(0b10, clmath.I128{}, false)
	f(0b01, one, false)
	f(0b01, one.Neg(), true)
	f(0b01, clmath.I128{}, true)
	f(0b11, one, true)
	f(0b100, one, false)
	f(0b100, one.Neg(), false)
}

// TestHookDeltaIsNoted: of a position whose hook may have kept a part, that is known for good.
func TestHookDeltaIsNoted(t *testing.T) {
	f := func(hooks byte, added, removed bool) {
		t.Helper()
		l := New(Config{Chain: 1, PositionManager: testManager})
		s := strictSpan(l,
			market.Initialize{
				Pool: market.PoolID{1}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 2},
				Fee: 3000, TickSpacing: 60, SqrtPriceX96: clmath.SqrtPriceAtTick(0), Hooks: market.Address{19: hooks},
			},
			market.TransferNFT{To: script.Person("alice"), ID: 1}, moved(1e9),
		)
		s.Tokens = testTokens()
		for _, want := range []bool{added, removed, removed} {
			apply(t, l, s)
			if got := l.Freeze().Positions.At(0).HookDelta; got != want {
				t.Errorf("hooks %b, block %d: noted %t; want %t", hooks, l.Head().Number, got, want)
			}
			s = strictSpan(l, moved(-1e8))
		}
	}

	f(0b00, false, false)
	f(0b10, true, true)
	f(0b01, false, true)
	f(0b100, false, false)
}

// TestRefusedSpanForgetsTokens: a span that is refused leaves neither its tokens
// nor the native currency, so that they can be in the next one.
func TestRefusedSpanForgetsTokens(t *testing.T) {
	l := New(Config{Chain: 1})
	bad := strictSpan(l, market.Donate{})
	bad.Tokens = testTokens()
	if _, err := l.Apply(bad); err == nil {
		t.Fatal("a donation to an unknown pool was accepted")
	}
	if l.st.Native != market.NoIndex || l.st.Tokens.Len() != 0 || len(l.tokenOf.all()) != 0 {
		t.Fatalf("native is %d, %d tokens", l.st.Native, l.st.Tokens.Len())
	}
	clean(t, l.Freeze())

	good := strictSpan(l)
	good.Tokens = testTokens()[1:]
	apply(t, l, good)
	clean(t, l.Freeze())
}

// TestRevertDiscardsAnnouncedHour: prices that were announced before a Revert do
// not take effect after it.
func TestRevertDiscardsAnnouncedHour(t *testing.T) {
	l := poolOfTwo(t, 3000)
	apply(t, l, strictSpan(l))
	l.BeginHour(market.HourOf(l.Head().Time), []HourPrice{{Token: 1, Usd: 5}}, nil)
	if err := l.Revert(); err != nil {
		t.Fatal(err)
	}

	apply(t, l, strictSpan(l))
	if usd := l.Freeze().Tokens.At(1).HourUsd; market.Known(usd) {
		t.Errorf("token 1 has the price %v", usd)
	}
}

// TestUndoOfClearedTick: of a tick that a span initialised and cleared again, the undo has
// no day to drop.
func TestUndoOfClearedTick(t *testing.T) {
	l := poolOfTwo(t, 3000)
	change := market.ModifyLiquidity{
		Pool: market.PoolID{1}, Sender: script.Person("x"), TickLower: -120, TickUpper: 120,
		LiquidityDelta: clmath.I128{Lo: 5},
	}
	back := change
	back.LiquidityDelta = change.LiquidityDelta.Neg()
	apply(t, l, strictSpan(l, change, back))

	undo := l.undos[len(l.undos)-1]
	for op := range undo.Drops.All() {
		if day, ok := op.Entry.(*market.TickDay); ok {
			t.Errorf("the undo drops %+v", *day)
		}
	}
}

// TestHourAnnouncedTwice: of an hour announced twice the later record counts, and a
// Revert puts the earlier one back into the series, or none.
func TestHourAnnouncedTwice(t *testing.T) {
	l := poolOfTwo(t, 3000)
	later := strictSpan(l)
	later.Time += market.Hour
	apply(t, l, later)
	hour := market.HourOf(l.Head().Time)

	first := HourPrice{
		Token: 1, Usd: 5, AsOf: 7, OnlyPool: 2, Markets: 3, Source: market.SourcePool,
		Reason: market.ReasonUncorroborated, Corroborated: true, ExitUsd: 1e6, PriceLostAt: 8, TrustLostAt: 9,
	}
	for _, p := range []HourPrice{first, {Token: 1, Usd: 6}} {
		l.BeginHour(hour, []HourPrice{p}, nil)
		apply(t, l, strictSpan(l))
	}
	l.Changes()

	// last is the newest operation on the record of the hour.
	last := func() (newest Op) {
		for op := range l.Changes().Ops.All() {
			if e := HourPrices.Entry(&op); e != nil && e.Token == 1 && e.Hour == hour {
				newest = op
			}
		}
		return newest
	}
	for _, want := range []Op{
		HourPrices.Put(HourEntry{first, hour}), HourPrices.Drop(HourEntry{HourPrice{Token: 1}, hour}),
	} {
		if err := l.Revert(); err != nil {
			t.Fatal(err)
		}
		if got := last(); !reflect.DeepEqual(got, want) {
			t.Errorf("a revert does %+v of %+v; want %+v of %+v", got, got.Entry, want, want.Entry)
		}
	}
}

// TestNewTicks: a tick at or below the pool's tick starts with all fee growth
// outside, a higher one with none, as the contracts do.
func TestNewTicks(t *testing.T) {
	l := poolOfTwo(t, 3000)
	donation := market.Donate{Pool: market.PoolID{1}, Amount0: clmath.U256{5e9}, Amount1: clmath.U256{7e9}}
	add := market.ModifyLiquidity{
		Pool: market.PoolID{1}, Sender: script.Person("x"), LiquidityDelta: clmath.I128{Lo: 1e9},
	}
	below, above := add, add
	below.TickLower, below.TickUpper = -120, 0
	above.TickLower, above.TickUpper = 0, 120
	apply(t, l, strictSpan(l, donation, below, above))

	p := l.st.Pools.At(0)
	if p.FeeGrowthGlobal0X128.IsZero() || p.FeeGrowthGlobal0X128 == p.FeeGrowthGlobal1X128 {
		t.Fatalf("the donation gave %s and %s", p.FeeGrowthGlobal0X128.Dec(), p.FeeGrowthGlobal1X128.Dec())
	}
	f := func(tick int32, want0, want1 clmath.U256) {
		t.Helper()
		slot, ok := findTick(l.st.TickLists.At(0), tick)
		if !ok {
			t.Fatalf("tick %d is not initialised", tick)
		}
		got := l.st.Ticks.At(slot)
		if got.FeeGrowthOutside0X128 != want0 || got.FeeGrowthOutside1X128 != want1 {
			t.Errorf("tick %d: outside %s and %s; want %s and %s", tick,
				got.FeeGrowthOutside0X128.Dec(), got.FeeGrowthOutside1X128.Dec(), want0.Dec(), want1.Dec())
		}
	}

	f(-120, p.FeeGrowthGlobal0X128, p.FeeGrowthGlobal1X128)
	f(0, p.FeeGrowthGlobal0X128, p.FeeGrowthGlobal1X128)
	f(120, clmath.U256{}, clmath.U256{})
}

// TestRefusedPositions: what the position manager cannot have done is refused by the
// quantity that shows it, and leaves the ledger as it was.
func TestRefusedPositions(t *testing.T) {
	l := poolOfTwo(t, 3000)
	alice, bob := script.Person("alice"), script.Person("bob")
	mint := func(id uint64, by int64) []market.Event {
		m := moved(by)
		m.Salt = script.Salt(id)
		return []market.Event{market.TransferNFT{To: alice, ID: id}, m}
	}
	apply(t, l, strictSpan(l, append(mint(1, 1e9), mint(3, 1e9)...)...))
	apply(t, l, strictSpan(l, market.TransferNFT{From: alice, ID: 3}, withSalt(moved(-1e9), 3)))
	second := market.Initialize{
		Pool: market.PoolID{2}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 3},
		Fee: 3000, TickSpacing: 60, SqrtPriceX96: clmath.SqrtPriceAtTick(0),
	}
	apply(t, l, strictSpan(l, second))

	before := l.Freeze()
	f := func(want string, events ...market.Event) {
		t.Helper()
		_, err := l.Apply(strictSpan(l, events...))
		var m *Mismatch
		if !errors.As(err, &m) || m.What+" is "+m.Got+", not "+m.Want != want {
			t.Errorf("got %v; want that %s", err, want)
		}
		sameState(t, l.Freeze(), before)
	}

	transfer := func(from, to market.Address, id uint64) market.Event {
		return market.TransferNFT{From: from, To: to, ID: id}
	}
	f("position is 2, not one that was minted", transfer(alice, bob, 2))
	f("position is 3, not one that is not burned", transfer(alice, bob, 3))
	f("position is 4, not one that has its liquidity", transfer(market.Address{}, alice, 4), transfer(alice, bob, 4))
	f("owner is "+bob.String()+", not "+alice.String(), transfer(bob, alice, 1))
	f("owner is "+market.Address{}.String()+", not an address other than zero", transfer(market.Address{}, market.Address{}, 4))
	f("minted id is 3, not more than 3", mint(3, 1e9)...)
	f("minted liquidity is 0, not more than 0", mint(4, 0)...)
	f("mint or burn is without a change of liquidity, not one", transfer(market.Address{}, alice, 4))
	f("mint or burn is without a change of liquidity, not one", transfer(alice, market.Address{}, 1))
	f("burned liquidity is 1, not -1000000000", transfer(alice, market.Address{}, 1), moved(1))
	f("burned liquidity is 0, not -1000000000", transfer(alice, market.Address{}, 1), moved(0))
	f("liquidity left by a burn is 999999999, not 0", transfer(alice, market.Address{}, 1), moved(-1))
	f("position is 3, not one that is not burned", withSalt(moved(1), 3))
	f("position is 2, not one that was minted", withSalt(moved(1), 2))

	wide := moved(1)
	wide.Salt[23] = 1
	f("position in salt is "+wide.Salt.String()+", not an id below 2^64", wide)
	other := moved(1)
	other.Pool = second.Pool
	f("pool is "+other.Pool.String()+", not "+market.PoolID{1}.String(), other)
	for _, end := range []func(m *market.ModifyLiquidity){
		func(m *market.ModifyLiquidity) { m.TickLower = -120 }, func(m *market.ModifyLiquidity) { m.TickUpper = 120 },
	} {
		m := moved(1)
		end(&m)
		f(fmt.Sprintf("range is [%d %d], not [-60 60]", m.TickLower, m.TickUpper), m)
	}
	f("liquidityDelta is -1000000001, not one that fits the position's liquidity 1000000000", moved(-1e9-1))

	wrong := second
	wrong.Pool = market.PoolID{3}
	wrong.Tick = 1
	f("tick is 1, not 0", wrong)
	wrong = second
	wrong.Pool, wrong.Currency0 = market.PoolID{3}, market.Address{5}
	f("currency0 is "+wrong.Currency0.String()+", not one with known metadata", wrong)
	wrong.Currency0, wrong.Currency1 = second.Currency0, market.Address{5}
	f("currency1 is "+wrong.Currency1.String()+", not one with known metadata", wrong)

	l.BeginHour(market.HourOf(l.Head().Time)+1, nil, nil)
	if _, err := l.Apply(strictSpan(l)); err == nil || !strings.Contains(err.Error(), "announced hour") {
		t.Errorf("an hour after its span gave %v", err)
	}
	sameState(t, l.Freeze(), before)

	// One that begins within the span, and after its first block.
	late := strictSpan(l)
	late.To, late.Time = late.To+1, late.Time+market.Hour
	l.BeginHour(market.HourOf(l.Head().Time)+1, nil, nil)
	if _, err := l.Apply(late); err == nil || !strings.Contains(err.Error(), "announced hour") {
		t.Errorf("an hour after the first block gave %v", err)
	}
	sameState(t, l.Freeze(), before)
}

func withSalt(m market.ModifyLiquidity, id uint64) market.ModifyLiquidity {
	m.Salt = script.Salt(id)
	return m
}

// TestSkippedHours: hours of days that nobody will read are not put into the series; all
// else is the same.
func TestSkippedHours(t *testing.T) {
	w := newWorld(9)
	skipping := New(w.cfg)
	var steps []*step
	for range 120 {
		s := w.step()
		if err := s.apply(w.Ledger); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}

	middle := market.DayOf(steps[60].span.Time)
	skipping.SkipHours(middle)
	all, late := newShadow(), newShadow()
	for _, s := range steps {
		if err := s.apply(skipping); err != nil {
			t.Fatal(err)
		}
	}
	all.take(w.Ledger)
	late.take(skipping)
	sameState(t, skipping.Freeze(), w.Freeze())

	early := 0
	for key, entry := range all.series {
		day := uint32(market.NoIndex)
		switch e := entry.(type) {
		case *market.PoolDay:
			if d := *e; d.Day < middle {
				d.ForgetHour()
				all.series[key] = &d
			}
		case *market.PoolHour:
			day = e.Day
		case *market.TickHour:
			day = e.Day
		}
		if day < middle {
			early++
			delete(all.series, key)
		}
	}
	sameSeries(t, late.series, all.series)
	if early == 0 || early == len(all.series) {
		t.Errorf("%d entries are of early hours", early)
	}
}
