package rpc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// decodes reads a value of a node's answer; problem is what is wrong with it.
func decodes[T comparable](t *testing.T, text string, want T, problem string) {
	t.Helper()
	var got T
	err := json.Unmarshal([]byte(text), &got)
	fails(t, text, err, problem)
	if err == nil && got != want {
		t.Errorf("%s is read as %v; want %v", text, got, want)
	}
}

// Numbers are hex strings within their size, hashes and addresses have all their digits.
func TestWireValues(t *testing.T) {
	f := func(text string, want uint64, problem string) {
		t.Helper()
		decodes(t, text, quantity(want), problem)
	}
	f(`"0x0"`, 0, "")
	f(`"0x00ff"`, 255, "")
	f(`"0xffffffffffffffff"`, 1<<64-1, "")
	f(`"0x10000000000000000"`, 0, "has 17 hex digits; cannot exceed 16")
	f(`"0x"`, 0, "invalid syntax")
	f(`"0xg"`, 0, "invalid syntax")
	f(`"12"`, 0, "is not a hex string")
	f(`12`, 0, "is not a hex string")

	w := func(text string, high, low uint64, problem string) {
		t.Helper()
		decodes(t, text, wide{Hi: high, Lo: low}, problem)
	}
	w(`"0x7"`, 0, 7, "")
	w(`"0x1234567890abcdef"`, 0, 0x1234567890abcdef, "")
	w(`"0x91234567890abcdef"`, 9, 0x1234567890abcdef, "")
	w(`"0x`+strings.Repeat("f", 32)+`"`, 1<<64-1, 1<<64-1, "")
	w(`"0x1`+strings.Repeat("f", 32)+`"`, 0, 0, "has 33 hex digits; cannot exceed 32")
	w(`"0xg0000000000000000"`, 0, 0, "invalid syntax")
	w(`"0x1000000000000000g"`, 0, 0, "invalid syntax")
	w(`7`, 0, 0, "is not a hex string")

	hash := market.Hash{0xab, 31: 1}
	decodes(t, `"`+hash.String()+`"`, word(hash), "")
	decodes(t, `"`+hash.String()+`0"`, word{}, "has 65 hex digits; cannot exceed 64")
	decodes(t, `"`+hash.String()[:65]+`"`, word{}, "has 63 hex digits; want 64")
	decodes(t, `"`+hash.String()[:65]+`g"`, word{}, "invalid byte")
	decodes(t, `"`+token.String()+`"`, address(token), "")

	b := hexBytes{7, 7, 7}
	for text, want := range map[string]string{`"0x0102"`: "\x01\x02", `"0x"`: "", `"0x03"`: "\x03"} {
		if err := json.Unmarshal([]byte(text), &b); err != nil || string(b) != want {
			t.Errorf("%s is read as %x, %v; want %x", text, b, err, want)
		}
	}
	fails(t, "half a byte", json.Unmarshal([]byte(`"0x1"`), &b), "odd length")
}

// All nodes failed in one way only if each did.
func TestAllErrors(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		if got := allErrors(err, isAbsent); got != want {
			t.Errorf("%v: %t; want %t", err, got, want)
		}
	}
	absent, broken := absentError("it"), errors.New("broken")

	f(nil, false)
	f(absent, false) // of no list
	f(joined{absent}, true)
	f(joined{absent, absent}, true)
	f(joined{absent, broken}, false)
	f(joined{broken, absent}, false)
}

// Of the logs of a block those are read that are of a contract, with one of its own topics.
func TestOurLogs(t *testing.T) {
	log := func(a market.Address, topics ...market.Hash) wireLog {
		l := wireLog{Address: address(a)}
		for _, topic := range topics {
			l.Topics = append(l.Topics, word(topic))
		}
		return l
	}
	f := func(want bool, l wireLog) {
		t.Helper()
		if got := len(decoder().ourLogs([]wireLog{l, l})); got != 0 && got != 2 || got == 2 != want {
			t.Errorf("%d of two logs %+v are read; want both: %t", got, l, want)
		}
	}

	for _, topic := range managerTopics {
		f(true, log(manager, topic))
		f(false, log(positions, topic))
		f(false, log(token, topic))
	}
	for _, topic := range positionTopics {
		f(true, log(positions, topic, market.Hash{1}))
		f(false, log(manager, topic))
	}
	f(false, log(manager))
	f(false, log(positions, market.Hash{1}, positionTopics[0]))
}

// A block is dated by its logs if all of them have its time.
func TestDatedByLogs(t *testing.T) {
	c := newChain(5)
	c.mine(swapped(1), swapped(2))
	f := func(want bool, dated ...bool) {
		t.Helper()
		logs := asWire[[]wireLog](t, c.blocks[5].logs)
		for i := range logs {
			if !dated[i] {
				logs[i].Time = nil
			}
		}
		blocks, err := decoder().assembleBlocks(logs, 5, 5, false)
		if err != nil || blocks[0].dated != want || want && blocks[0].Time != c.blocks[5].time {
			t.Errorf("%v: %+v, %v; want it to be dated: %t", dated, blocks, err, want)
		}
	}

	f(true, true, true)
	f(false, true, false)
	f(false, false, true)
	f(false, false, false)
}

// Small integers are words below 2^64, whatever follows them.
func TestSmallIntegers(t *testing.T) {
	f := func(answer string, want uint64, ok bool) {
		t.Helper()
		b := hexBytes(answer)
		if got, is := small(&b); is != ok || ok && got != want {
			t.Errorf("%x is read as %d, %t; want %d, %t", answer, got, is, want, ok)
		}
	}
	word := func(h market.Hash) string { return string(h[:]) }

	f(word(number(18)), 18, true)
	f(word(number(18))+"more", 18, true)
	f(word(number(-1)), 0, false)
	f(word(market.Hash{23: 1, 31: 18}), 0, false)
	f(word(number(18))[:31], 0, false)
	if _, ok := small(nil); ok {
		t.Error("no answer is an integer")
	}
}
