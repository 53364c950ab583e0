package rpc

import (
	"encoding/json"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// Gas is read for transactions that change an NFT and for no other: in a range
// by their receipts, near the head by those of the block.
func TestReceipts(t *testing.T) {
	f := func(node func(*fakeNode), near, known bool, calls int) {
		t.Helper()
		c := busy(10)
		n := newNode(t, c)
		node(n)
		l := follow(t, nil, n)
		l.start = 10
		direct := rawLog(manager, []market.Hash{managerTopics[1], {1}, padded(market.Address{5})},
			number(-60), number(120), number(-1000), number(1))
		c.mine(append([]object{swapped(1), direct}, minted(1)...)...)
		for range 150 {
			if near {
				break
			}
			c.mine()
		}
		l.to(c, 30)
		txs := l.spans[0].Blocks[0].Txs
		want := market.Tx{Hash: txs[2].Hash}
		if known {
			want.GasUsed, want.GasKnown = 21010, true
			want.GasPrice = clmath.U128{Lo: 0x234567890abcdef0, Hi: 1}
		}
		if len(txs) != 3 || txs[2] != want {
			t.Errorf("transactions %+v; want the last to be %+v", txs, want)
		}
		if !near && (txs[0].GasKnown || txs[1].GasKnown) {
			t.Errorf("gas of transactions that change no NFT: %+v", txs)
		}
		if got := n.calls["eth_getTransactionReceipt"]; got != calls {
			t.Errorf("%d receipts were asked for; want %d", got, calls)
		}
	}

	// The hash of the transaction, then also that of its block.
	none := func(n *fakeNode) {
		n.answer = func(method string, _ object) any {
			if strings.HasSuffix(method, "Receipt") || strings.HasSuffix(method, "Receipts") {
				return null{}
			}
			return nil
		}
	}

	f(func(*fakeNode) {}, true, true, 0)
	f(func(*fakeNode) {}, false, true, 1)
	f(func(n *fakeNode) {
		n.answer = func(method string, _ object) any {
			if method == "eth_getTransactionReceipt" {
				return fail(-32000, "transaction indexing is in progress")
			}
			return nil
		}
	}, false, true, 1)

	f(none, false, false, absentTries*(patience+1))
	f(func(n *fakeNode) {
		none(n)
		hide := n.answer
		n.answer = func(method string, o object) any {
			if n.calls["eth_getTransactionReceipt"] > 3 {
				return nil
			}
			return hide(method, o)
		}
	}, false, true, 4)
}

func TestTokens(t *testing.T) {
	word := func(s string) string {
		return market.Hash([]byte(s + strings.Repeat("\x00", 32-len(s)))).String()[2:]
	}

	abi := func(s string) string {
		return number(32).String() + number(int64(len(s))).String()[2:] + word(s)
	}

	reverted := fail(3, "execution reverted: no")
	f := func(symbol, name, decimals any, want market.TokenMeta) {
		t.Helper()
		c := newChain(5)
		n := newNode(t, c)
		answers := map[string]any{"0x95d89b41": symbol, "0x06fdde03": name, "0x313ce567": decimals}
		n.answer = func(method string, o object) any {
			if method != "eth_call" {
				return nil
			}
			var msg map[string]string
			_ = json.Unmarshal(o["params"].([]json.RawMessage)[0], &msg)
			if msg["to"] != token.String() || msg["gas"] != "0xf4240" {
				t.Errorf("call %v", msg)
			}
			return answers[msg["data"]]
		}
		c.mine(created(token))
		l := follow(t, nil, n)
		l.to(c, 5)
		c.mine(created(token))
		l.to(c, 5)
		native := market.TokenMeta{Symbol: texts.New("ETH"), Name: texts.New("Ether"), Decimals: 18}
		want.Address = token
		for _, s := range l.spans {
			if len(s.Tokens) != 2 || show(s.Tokens[0]) != show(native) || show(s.Tokens[1]) != show(want) {
				t.Errorf("tokens %s %s; want %s", show(s.Tokens[0]), show(s.Tokens[1]), show(want))
			}
		}
		if got := n.calls["eth_call"]; got != 3 {
			t.Errorf("%d calls; want 3", got)
		}
	}

	six := number(6).String()
	f(abi("USDC"), abi("USD Coin"), six,
		market.TokenMeta{Symbol: texts.New("USDC"), Name: texts.New("USD Coin"), Decimals: 6})
	f("0x"+word("MKR"), "0x"+word("Maker"), number(18).String(),
		market.TokenMeta{Symbol: texts.New("MKR"), Name: texts.New("Maker"), Decimals: 18})
	f(reverted, "0x", reverted, market.TokenMeta{BadDecimals: true})
	f(fail(-32000, "out of gas"), "0x01", number(37).String(), market.TokenMeta{Decimals: 37, BadDecimals: true})
	f("0x", "0x", number(77).String(), market.TokenMeta{Decimals: 77, BadDecimals: true})
	f("0x", "0x", number(255).String(), market.TokenMeta{Decimals: 255, BadDecimals: true})
	f("0x", "0x", number(256).String(), market.TokenMeta{BadDecimals: true})
	f(abi(""), number(32).String()+number(1 << 40).String()[2:]+word("x"), number(36).String(),
		market.TokenMeta{Symbol: texts.New(""), Decimals: 36})
	f(number(1<<62).String()+word("x"), number(-1).String()+word("x"), number(-1).String(),
		market.TokenMeta{BadDecimals: true})
	f(abi("a\xffb"), abi("c"), "0x", market.TokenMeta{Symbol: texts.New("ab"), Name: texts.New("c"),
		BadDecimals: true})
}

// What is no answer of the token itself is asked for again.
func TestTokensOfANodeInTrouble(t *testing.T) {
	c := newChain(5)
	n := newNode(t, c)
	c.mine(created(token))

	left := 4
	n.answer = func(method string, _ object) any {
		if method != "eth_call" {
			return nil
		}
		if left--; left > 0 {
			return fail(-32603, "internal error")
		}
		return number(8).String()
	}

	l := follow(t, nil, n)
	l.to(c, 10)
	if got := l.spans[0].Tokens[1]; got.BadDecimals || got.Decimals != 8 {
		t.Errorf("token %s", show(got))
	}
}

func show(m market.TokenMeta) string {
	b, _ := json.Marshal(m)
	return string(b)
}
