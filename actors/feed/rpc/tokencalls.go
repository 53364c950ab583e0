package rpc

import (
	"context"
	"encoding/binary"
	"strings"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// callGas bounds what a hostile token can make of an answer: memory costs gas, and
// this much buys about 700 kB.
const callGas = 1_000_000

// The functions that describe a token, by their selectors, and one that every
// position manager answers.
var (
	selectors = [3]string{
		selector("symbol()"), selector("name()"), selector("decimals()"),
	}
	nextTokenID = selector("nextTokenId()")
)

func selector(signature string) string { return topic(signature).String()[:10] }

// probeCalls asks for something that every node with the chain's state can tell.
func (f *Feed) probeCalls(ctx context.Context, need uint64) error {
	return f.trySources(ctx, Backfill, need, func(s *source) error {
		var answer *hexBytes
		msg := map[string]string{"to": f.cfg.PositionManager.String(), "data": nextTokenID}
		err := s.Call(ctx, &answer, "eth_call", msg, "latest")
		if callReverted(err) {
			return nil
		}
		return err
	})
}

// callTokens reads the metadata of tokens from one source and returns those that
// it failed at.
func (f *Feed) callTokens(
	ctx context.Context, s *source, list []market.Address,
) (left []market.Address, err error) {
	answers := make([]*hexBytes, len(selectors)*len(list))
	calls := make([]endpoint.Call, 0, len(answers))
	for i, a := range list {
		for k, data := range selectors {
			msg := map[string]string{"to": a.String(), "data": data, "gas": hex(callGas)}
			calls = append(calls, endpoint.Call{
				Method: "eth_call", Args: []any{msg, "latest"},
				Result: &answers[len(selectors)*i+k],
			})
		}
	}
	if err := s.AskAtOnce(ctx, calls); err != nil {
		return list, err
	}

	for i, a := range list {
		at := len(selectors) * i
		if failed := nodeFailure(calls[at:][:len(selectors)]); failed != nil {
			left, err = append(left, a), failed
			continue
		}
		t := market.TokenMeta{Address: a, Symbol: text(answers[at]), Name: text(answers[at+1])}
		t.SetDecimals(small(answers[at+2]))
		if t.BadDecimals && f.isRequired(a) {
			left = append(left, a)
			err = absentError("decimals of %s, on which prices hang: set them by decimals = [\"%s=…\"] "+
				"under [[chains]]", a, a)
			continue
		}
		f.keepToken(t)
	}
	return left, err
}

// nodeFailure returns the first error of calls that is not the token's own.
func nodeFailure(calls []endpoint.Call) error {
	for i := range calls {
		if err := endpoint.CallError(&calls[i]); err != nil && !callReverted(err) {
			return err
		}
	}
	return nil
}

// text reads a string as contracts return it: encoded as the ABI says, or as
// 32 bytes filled with zeros. There is none when the answer is neither.
func text(answer *hexBytes) texts.Text {
	if answer == nil || len(*answer) < 32 {
		return 0
	}

	b := []byte(*answer)
	if len(b) == 32 {
		b = b[:len(strings.TrimRight(string(b), "\x00"))]
	} else {
		at, ok := lowWord(b)
		if !ok || at > uint64(len(b)-32) {
			return 0
		}
		size, ok := lowWord(b[at:])
		if !ok || size > uint64(len(b))-at-32 {
			return 0
		}
		b = b[at+32:][:size]
	}

	return texts.FromContract(b)
}

// callReverted reports whether err is how a contract's own code ended.
func callReverted(err error) bool {
	if !endpoint.IsAnswer(err) {
		return false
	}
	e := endpoint.AsError(err)
	text := strings.ToLower(e.Text)
	for _, sign := range []string{
		"revert", "opcode", "instruction", "out of gas", "stack", "jump", "execution", "vm ",
	} {
		if strings.Contains(text, sign) {
			return !strings.Contains(text, "timeout")
		}
	}

	return e.Code == revertedCode
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
