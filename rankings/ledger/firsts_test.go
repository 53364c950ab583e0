package ledger

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/texts"
)

// TestQuarantinedPrices: a pool that begins at a price that cannot be is kept, with
// the nearest price that can, since every reader relies on the bounds.
func TestQuarantinedPrices(t *testing.T) {
	highest := clmath.MaxSqrtPrice
	highest.SubUint64(&highest, 1)
	f := func(price, want clmath.U256, tick int32) {
		t.Helper()
		l := New(Config{Chain: 1, PositionManager: testManager})
		s := strictSpan(l, market.Initialize{
			Pool: market.PoolID{1}, Currency0: market.Address{19: 1}, Currency1: market.Address{19: 2},
			Fee: 3000, TickSpacing: 60, SqrtPriceX96: price,
		})
		s.Tokens, s.Strict = testTokens(), false
		quarantined, err := l.Apply(s)
		if err != nil || len(quarantined) != 1 || quarantined[0].Why.What != "sqrtPriceX96" {
			t.Fatalf("%d pools are quarantined, %v; want one because of its price", len(quarantined), err)
		}
		st := l.Freeze()
		clean(t, st)
		if p := st.Pools.At(0); p.SqrtPriceX96 != want || p.Tick != tick || !p.Quarantined {
			t.Errorf("price %s, tick %d, quarantined %t; want %s, %d",
				p.SqrtPriceX96.Dec(), p.Tick, p.Quarantined, want.Dec(), tick)
		}
	}

	f(clmath.U256{}, clmath.MinSqrtPrice, clmath.MinTick)
	f(clmath.MaxSqrtPrice, highest, clmath.MaxTick-1)
	f(clmath.U256{0, 0, 0, 1 << 60}, highest, clmath.MaxTick-1)
}

// TestTokensLearnedLater: metadata that could not be read when a token was first seen
// replaces the placeholder once it can, and no later report changes it.
func TestTokensLearnedLater(t *testing.T) {
	address := market.Address{19: 7}
	l := New(Config{Chain: 1, PositionManager: testManager})
	f := func(symbol string, decimals uint8, bad bool, want string) {
		t.Helper()
		s := strictSpan(l)
		s.Tokens = []market.TokenMeta{{
			Address: address, Symbol: texts.New(symbol), Name: texts.New(symbol + " coin"), Decimals: decimals, BadDecimals: bad,
		}}
		apply(t, l, s)
		token := l.Freeze().Tokens.At(0)
		got := fmt.Sprintf("%s, %s, %d, bad %t", token.Symbol, token.Name, token.Decimals, token.BadDecimals)
		if got != want {
			t.Errorf("the token is %s; want %s", got, want)
		}
	}

	f("W", 0, true, "W, W coin, 0, bad true")
	f("X", 3, true, "W, W coin, 0, bad true")
	f("Y", 77, true, "Y, Y coin, 77, bad true")
	f("Z", 78, true, "Y, Y coin, 77, bad true")
	f("Z", 0, true, "Y, Y coin, 77, bad true")
	f("A", 6, false, "A, A coin, 6, bad false")
	f("B", 9, false, "A, A coin, 6, bad false")
	f("C", 0, true, "A, A coin, 6, bad false")
}

// TestUndosAfterLearning: undos that are stored already are stored again with what was
// learned of a token, and once.
func TestUndosAfterLearning(t *testing.T) {
	l := chainOf(t, 20)
	f := func(block uint64, meta market.TokenMeta, want int) {
		t.Helper()
		apply(t, l, &market.Span{From: block, To: block, Tokens: []market.TokenMeta{meta}, Time: 30})
		if c := l.Changes(); len(c.UndoPut) != want {
			t.Errorf("block %d: %d undos are stored; want %d", block, len(c.UndoPut), want)
		}
	}

	l.Changes()
	before := len(l.undos)
	unread, read := market.TokenMeta{Address: market.Address{9}, BadDecimals: true}, market.TokenMeta{Address: market.Address{9}}
	f(21, unread, 1)
	f(22, unread, 1)
	f(23, read, before+3)
	f(24, read, 1)
}

// TestGasOfAnEntry: the first entry of a transaction has its gas price beside the
// share of the gas, as the receipt says.
func TestGasOfAnEntry(t *testing.T) {
	l := poolOfTwo(t, 3000)
	l.Changes()
	s := strictSpan(l, market.TransferNFT{To: script.Person("alice"), ID: 1}, moved(1e9), moved(1e9))
	s.Blocks[0].Txs[0] = market.Tx{GasKnown: true, GasUsed: 301, GasPrice: clmath.U128{Lo: 7, Hi: 1}}
	apply(t, l, s)

	var used []uint64
	for op := range l.Changes().Ops.All() {
		e := Transactions.Entry(&op)
		if e == nil {
			continue
		}
		want := clmath.U128{}
		if used = append(used, e.GasUsed); len(used) == 1 {
			want = clmath.U128{Lo: 7, Hi: 1}
		}
		if e.GasPrice != want || e.GasUnknown {
			t.Errorf("entry %d has the gas price %s, unknown %t; want %s", len(used),
				unsigned(e.GasPrice), e.GasUnknown, unsigned(want))
		}
	}
	if len(used) != 2 || used[0] != 301 || used[1] != 0 {
		t.Errorf("the entries used %v; want 301 and 0", used)
	}

	// Liquidity of another sender has no part in it, whatever its salt.
	others := moved(1e9)
	others.Sender, others.Salt = script.Person("bob"), script.Salt(2)
	s = strictSpan(l, others, moved(1e9))
	s.Blocks[0].Txs[0] = market.Tx{GasKnown: true, GasUsed: 301, GasPrice: clmath.U128{Lo: 7}}
	apply(t, l, s)
	for op := range l.Changes().Ops.All() {
		if e := Transactions.Entry(&op); e != nil && e.GasUsed != 301 {
			t.Errorf("the only position of a transaction used %d of 301", e.GasUsed)
		}
	}

	// Without a receipt nothing is known of the first, and the others have no part of it.
	s = strictSpan(l, moved(1e9), moved(1e9))
	s.Blocks[0].Txs[0] = market.Tx{GasUsed: 301, GasPrice: clmath.U128{Lo: 7}}
	apply(t, l, s)
	var unknown []bool
	for op := range l.Changes().Ops.All() {
		if e := Transactions.Entry(&op); e != nil {
			if unknown = append(unknown, e.GasUnknown); e.GasUsed != 0 || !e.GasPrice.IsZero() || !e.GasWei.IsZero() {
				t.Errorf("entry %d has gas without a receipt: %+v", len(unknown), *e)
			}
		}
	}
	if !slices.Equal(unknown, []bool{true, false}) {
		t.Errorf("the gas of the entries is unknown: %t; want that of the first", unknown)
	}
	if p := l.Freeze().Positions.At(0); !p.GasUnknown || market.Known(p.CostUsd) {
		t.Errorf("the position is %+v; want that its gas and cost are unknown", *p)
	}

	// What only a false receipt can say stops at the largest sum.
	s = strictSpan(l, moved(1e9))
	s.Blocks[0].Txs[0] = market.Tx{GasKnown: true, GasUsed: 1 << 63, GasPrice: clmath.U128{Hi: 2}}
	apply(t, l, s)
	most := clmath.U128{Lo: math.MaxUint64, Hi: math.MaxUint64}
	for op := range l.Changes().Ops.All() {
		if e := Transactions.Entry(&op); e != nil && e.GasWei != most {
			t.Errorf("gas of more than 128 bits is %s; want %s", unsigned(e.GasWei), unsigned(most))
		}
	}
}
