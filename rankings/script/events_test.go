package script

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// marketOfOne is a State of the pool P of A and B at tick 0, in which alice has position
// 7, and the script that knows their tokens.
func marketOfOne(t *testing.T) (*Market, *market.State) {
	t.Helper()
	m := New()
	for _, line := range [][]string{{"token", "A", "18"}, {"token", "B", "6"}, {"token", "native", "18"}} {
		if known, err := m.Set(line); !known || err != nil {
			t.Fatal(known, err)
		}
	}

	var pools market.Table[market.Pool]
	var tokens market.Table[market.Token]
	var owners market.Table[market.Address]
	var positions market.Table[market.Position]
	pools.Append(market.Pool{ID: Pool("P"), Currency1: 1, TickSpacing: 60, SqrtPriceX96: clmath.SqrtPriceAtTick(0)})
	tokens.Append(market.Token{Decimals: 18})
	tokens.Append(market.Token{Decimals: 6})
	owners.Append(Person("alice"))
	positions.Append(market.Position{ID: 6})
	positions.Append(market.Position{ID: 7, TickLower: -60, TickUpper: 120, LiquidityOrUsd: clmath.U128{Lo: 500}})
	return m, &market.State{
		Head: market.Head{Number: 41}, Pools: pools.Freeze(), Tokens: tokens.Freeze(),
		Owners: owners.Freeze(), Positions: positions.Freeze(),
	}
}

// TestEvents: a line makes these events and no others.
func TestEvents(t *testing.T) {
	m, st := marketOfOne(t)
	f := func(line string, want ...market.Event) {
		t.Helper()
		s, err := m.Span(st, line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			return
		}
		var got []market.Event
		for _, b := range s.Blocks {
			for _, log := range b.Logs {
				got = append(got, log.Event)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v; want %+v", line, got, want)
		}
	}

	alice, bob := Person("alice"), Person("bob")
	tokenA, tokenB := market.Address{18: 1, 19: 'A'}, market.Address{18: 1, 19: 'B'}
	change := func(id uint64, delta clmath.I128) market.ModifyLiquidity {
		e := market.ModifyLiquidity{
			Pool: Pool("P"), Sender: Manager, Salt: Salt(id), TickLower: -60, TickUpper: 120, LiquidityDelta: delta,
		}
		return e
	}
	plus := func(n uint64) clmath.I128 { return clmath.I128{Lo: n} }

	f("block")
	pool := market.Initialize{
		Pool: Pool("Q"), Currency0: tokenA, Currency1: tokenB, Fee: 500, TickSpacing: 10,
		SqrtPriceX96: clmath.SqrtPriceAtTick(-7), Tick: -7,
	}
	f("pool Q A B 500 10 -7", pool)
	pool.Hooks = market.Address{18: 0x12, 19: 0x34}
	f("pool Q A B 500 10 -7 1234", pool)
	pool.Fee, pool.Hooks, pool.Tick, pool.SqrtPriceX96 = market.DynamicFee, market.Address{}, 0, clmath.SqrtPriceAtTick(0)
	f("pool Q A B dynamic 10", pool)
	pool.Currency0, pool.Currency1 = tokenB, market.Address{}
	f("pool Q B native dynamic 10 0", pool)
	one := sqrtPrice(t, "@1e-12", 18, 6)
	f("pool Q A B 500 10 @1e-12", market.Initialize{
		Pool: Pool("Q"), Currency0: tokenA, Currency1: tokenB, Fee: 500, TickSpacing: 10,
		SqrtPriceX96: one, Tick: clmath.TickAtSqrtPrice(&one),
	})

	f("mint 9 bob P -60 120 1e3", market.TransferNFT{To: bob, ID: 9}, change(9, plus(1000)))
	direct := change(0, plus(5).Neg())
	direct.Sender, direct.Salt = bob, market.Hash{}
	f("direct bob P -60 120 -5", direct)
	wide := change(9, plus(1))
	wide.TickLower, wide.TickUpper = -887220, 887220
	f("mint 9 bob P min max 1", market.TransferNFT{To: bob, ID: 9}, wide)

	f("add 7 50", change(7, plus(50)))
	f("remove 7 50", change(7, plus(50).Neg()))
	f("remove 7 all", change(7, plus(500).Neg()))
	f("collect 7", change(7, clmath.I128{}))
	f("give 7 bob", market.TransferNFT{From: alice, To: bob, ID: 7})
	f("burn 7", market.TransferNFT{From: alice, ID: 7}, change(7, plus(500).Neg()))
	f("burn 7 only", market.TransferNFT{From: alice, ID: 7})
	f("burn 6", market.TransferNFT{From: alice, ID: 6}) // it has no liquidity
	f("give 8 bob", market.TransferNFT{To: bob, ID: 8})

	f("donate P 5 1e2", market.Donate{Pool: Pool("P"), Amount0: clmath.U256{5}, Amount1: clmath.U256{100}})
	f("protocol P 3 2", market.ProtocolFeeUpdated{Pool: Pool("P"), ProtocolFee: 3 | 2<<12})
	f("crash P 99", market.Swap{Pool: Pool("P"), SqrtPriceX96: clmath.U256{99}, Fee: 3000})
	f("")
	f("collect 7;", change(7, clmath.I128{}))
	f("donate P 1 2; block ; collect 7", market.Donate{Pool: Pool("P"), Amount0: clmath.U256{1}, Amount1: clmath.U256{2}},
		change(7, clmath.I128{}))
}

func sqrtPrice(t *testing.T, text string, decimals0, decimals1 uint8) clmath.U256 {
	t.Helper()
	v, err := parseSqrtPrice(text, decimals0, decimals1)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSpans: a line is one transaction in the next block, at the clock of the script, with
// its gas and all tokens.
func TestSpans(t *testing.T) {
	m, st := marketOfOne(t)
	f := func(line string, set string, want string) {
		t.Helper()
		if known, err := m.Set(strings.Fields(set)); set != "" && (!known || err != nil) {
			t.Fatal(set, known, err)
		}
		s, err := m.Span(st, line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			return
		}
		got := fmt.Sprintf("%d-%d +%d, %d tokens", s.From, s.To, s.Time-Start, len(s.Tokens))
		for _, b := range s.Blocks {
			tx := b.Txs[0]
			got += fmt.Sprintf("; block %d +%d: %d logs, %d tx, gas %d at %d, known %t", b.Number, b.Time-Start,
				len(b.Logs), len(b.Txs), tx.GasUsed, tx.GasPrice.Lo, tx.GasKnown)
		}
		if got != want {
			t.Errorf("%q after %q: %s; want %s", line, set, got, want)
		}
	}

	f("collect 7", "", "42-42 +0, 3 tokens; block 42 +0: 1 logs, 1 tx, gas 0 at 0, known true")
	f("collect 7; collect 7", "at +2h", "42-42 +7200, 3 tokens; block 42 +7200: 2 logs, 1 tx, gas 0 at 0, known true")
	f("collect 7", "gas 1000 5e9", "42-42 +7200, 3 tokens; block 42 +7200: 1 logs, 1 tx, gas 1000 at 5000000000, known true")
	f("collect 7", "gas unknown", "42-42 +7200, 3 tokens; block 42 +7200: 1 logs, 1 tx, gas 0 at 0, known false")
	f("block", "", "42-42 +7200, 3 tokens")
	f("wait +90", "token C 8", "42-42 +7290, 4 tokens")

	if a, err := m.Token("A"); err != nil || a != (market.Address{18: 1, 19: 'A'}) {
		t.Errorf("token A is %v, %v", a, err)
	}
	if _, err := m.Token("X"); err == nil {
		t.Error("token X: no error")
	}
}

// TestTokens checks what a token's decimals become: unknown, or bad where they are too many.
func TestTokens(t *testing.T) {
	m := New()
	f := func(decimals string, want uint8, bad bool) {
		t.Helper()
		if _, err := m.Set([]string{"token", "T", decimals}); err != nil {
			t.Fatal(err)
		}
		if got := m.metas["T"]; got.Decimals != want || got.BadDecimals != bad {
			t.Errorf("%s: %d, bad %t; want %d, %t", decimals, got.Decimals, got.BadDecimals, want, bad)
		}
	}

	f("0", 0, false)
	f("36", 36, false)
	f("255", 255, true)
	f("unknown", 0, true)
}

// TestBadLines checks that a line that says nothing sensible is an error, wherever its
// mistake is.
func TestBadLines(t *testing.T) {
	m, st := marketOfOne(t)
	for _, line := range []string{
		"pool Q A B x 60", "pool Q A B 3000 x", "pool Q A B 3000 60 x", "pool Q A B 3000 60 @x", "pool Q A B 3000 60 0 xyz",
		"mint x alice P -60 60 1e18", "mint 9 alice P x 60 1e18", "mint 9 alice P -60 x 1e18", "mint 9 alice P -60 60 x",
		"mint 9 alice P @x 60 1e18", "mint 9 alice None min 60 1e18", "donate P x 1", "donate P 1 x",
		"protocol P x 1", "protocol P 1 x", "crash P x", "sell0 P x", "sell0 None 1", "sell0 P 1 x",
		"push P @x", "push None @1", "add x 1", "add 1 x", "nonsense", "mint 9",
	} {
		if span, err := m.Span(st, line); err == nil {
			t.Errorf("%q makes %+v; want an error", line, span)
		}
	}

	for _, line := range []string{"token A", "token A x", "gas 7", "gas x 7", "gas 7 x", "at x"} {
		if known, err := m.Set(strings.Fields(line)); !known || err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}

// TestShortLines: an event with fewer words than it needs is refused with both numbers.
func TestShortLines(t *testing.T) {
	f := func(line string) {
		t.Helper()
		word := strings.Fields(line)
		m, st := marketOfOne(t)
		if _, err := m.Span(st, line); err != nil && strings.Contains(err.Error(), "needs at least") {
			t.Errorf("%q: %v", line, err)
		}
		short := word[:len(word)-1]
		want := fmt.Sprintf("%s has %d words; it needs at least %d", word[0], len(short), len(word))
		if span, err := m.Span(st, strings.Join(short, " ")); err == nil || err.Error() != want {
			t.Errorf("%q makes %+v, %v; want %q", short, span, err, want)
		}
	}

	f("pool Q A B 500 10")
	f("mint 9 bob P -60 120 1e3")
	f("direct bob P -60 120 5")
	f("donate P 5 6")
	f("protocol P 3 2")
	f("sell0 None 5")
	f("sell1 None 5")
	f("buy0 None 5")
	f("buy1 None 5")
	f("push None @1")
	f("crash P 99")
	f("add 7 50")
	f("remove 7 50")
	f("collect 7")
	f("give 7 bob")
	f("burn 7")
}
