package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"

	geth "github.com/ethereum/go-ethereum/rpc"

	"tidemark/rankings/market"
)

const (
	// maxTokens bounds the descriptions that are kept; past it all are read
	// again when they are needed.
	maxTokens = 1 << 16
	// callGas bounds what a hostile token can make of an answer: memory costs
	// gas, and this much buys about 700 kB.
	callGas = 1_000_000
	// maxText is how many bytes of a symbol or name are kept, more than are
	// ever shown.
	maxText = 1024
)

// The functions that describe a token, by their selectors.
var selectors = [3]string{
	selector("symbol()"), selector("name()"), selector("decimals()"),
}

func selector(signature string) string { return topic(signature).String()[:10] }

// describe returns the metadata of every currency of a pool that is created in
// the span, each once. They may have been seen in earlier spans too.
func (f *Feed) describe(ctx context.Context, s *market.Span) ([]market.TokenMeta, error) {
	var wanted, unread []market.Address
	seen := make(map[market.Address]bool)
	for i := range s.Blocks {
		for _, l := range s.Blocks[i].Logs {
			e, ok := l.Event.(market.Initialize)
			for _, a := range []market.Address{e.Currency0, e.Currency1} {
				if !ok || seen[a] {
					continue
				}
				seen[a] = true
				wanted = append(wanted, a)
				if _, known := f.tokens[a]; !known && !a.IsZero() {
					unread = append(unread, a)
				}
			}
		}
	}
	if len(f.tokens)+len(unread) > maxTokens {
		clear(f.tokens)
		return f.describe(ctx, s)
	}
	if len(unread) > 0 {
		err := f.try(ctx, s.To, func(n *node) error { return f.readTokens(ctx, n, unread) })
		if err != nil {
			return nil, err
		}
		f.unnamed = 0
	}
	var out []market.TokenMeta
	for _, a := range wanted {
		if a.IsZero() {
			out = append(out, f.native())
			continue
		}
		out = append(out, f.tokens[a])
	}
	return out, nil
}

func (f *Feed) native() market.TokenMeta {
	return market.TokenMeta{Symbol: &f.cfg.NativeSymbol, Name: &f.cfg.NativeName, Decimals: 18}
}

func (f *Feed) readTokens(ctx context.Context, n *node, tokens []market.Address) error {
	answers := make([]*hexBytes, len(selectors)*len(tokens))
	calls := make([]geth.BatchElem, 0, len(answers))
	for i, a := range tokens {
		for k, data := range selectors {
			msg := map[string]string{"to": a.String(), "data": data, "gas": hex(callGas)}
			calls = append(calls, geth.BatchElem{
				Method: "eth_call", Args: []any{msg, "latest"}, Result: &answers[3*i+k],
			})
		}
	}
	if err := n.ask(ctx, calls); err != nil {
		return err
	}
	for i := range calls {
		err := callError(&calls[i])
		if err == nil || callFailed(err) {
			continue
		}
		if f.unnamed++; f.unnamed <= patience*len(f.nodes) || !isAnswer(err) {
			return err
		}
	}
	for i, a := range tokens {
		t := market.TokenMeta{Address: a, Symbol: text(answers[3*i]), Name: text(answers[3*i+1])}
		decimals, ok := small(answers[3*i+2])
		if t.BadDecimals = !ok || decimals > market.MaxDecimals; !t.BadDecimals {
			t.Decimals = uint8(decimals)
		}
		f.tokens[a] = t
	}
	return nil
}

// text reads a string as contracts return it: encoded as the ABI says, or as
// 32 bytes filled with zeros. It is nil when the answer is neither.
func text(answer *hexBytes) *string {
	if answer == nil || len(*answer) < 32 {
		return nil
	}
	b := []byte(*answer)
	if len(b) == 32 {
		b = b[:len(strings.TrimRight(string(b), "\x00"))]
	} else {
		at, ok := lowWord(b)
		if !ok || at > uint64(len(b)-32) {
			return nil
		}
		size, ok := lowWord(b[at:])
		if !ok || size > uint64(len(b))-at-32 {
			return nil
		}
		b = b[at+32:][:size]
	}
	s := strings.ToValidUTF8(string(b[:min(len(b), maxText)]), "")
	return &s
}

// callFailed reports whether err is how the token's own code ended.
func callFailed(err error) bool {
	var answered geth.Error
	if !errors.As(err, &answered) || isLimit(err) {
		return false
	}
	text := strings.ToLower(answered.Error())
	for _, sign := range []string{
		"revert", "opcode", "instruction", "out of gas", "stack", "jump", "execution", "vm ",
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return answered.ErrorCode() == revertedCode
}

// revertedCode is the JSON-RPC error of a call that reverted with data.
const revertedCode = 3

// small reads an unsigned integer below 2^64.
func small(answer *hexBytes) (uint64, bool) {
	if answer == nil || len(*answer) < 32 {
		return 0, false
	}
	return lowWord(*answer)
}

func lowWord(b []byte) (uint64, bool) {
	return binary.BigEndian.Uint64(b[24:32]),
		[24]byte(b[:24]) == [24]byte{}
}
