package rpc

import (
	"net/http"
	"testing"

	"tidemark/actors/feed/endpoint"
)

// The refusals of providers, as they write them, and what to ask for instead.
func TestSuggestedRange(t *testing.T) {
	f := func(text string, from, asked, want uint64, wantWhole bool) {
		t.Helper()
		if got, whole := suggestedRange(text, from, asked); got != want || whole != wantWhole {
			t.Errorf("%q: %d, %v; want %d, %v", text, got, whole, want, wantWhole)
		}
	}

	f("You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, "+
		"this block range should work: [0x64, 0x257]", 100, 2000, 500, false)
	f("Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.",
		5, 2000, 10, true)
	f("range 1000000 exceeds limit of 10000 blocks", 1, 1_000_000, 10000, true)
	f("block range is too large, range: 1999, max: 7", 1, 2000, 7, true)
	f("block range 1999 is too large", 1, 2000, 0, false)
	f("query returned more than 10000 results. Try with this block range [0x1, 0x64].", 1, 2000, 100, false)
	f("query returned more than 10000 results. Try with this block range [0x2, 0x64].", 1, 2000, 0, false)
	f("this block range should work: [0x64, 0x257]", 100, 501, 500, false)
	f("this block range should work: [0x64, 0x257]", 100, 500, 0, false) // it was asked for
	f("this block range should work: [0x64, 0x64]", 100, 500, 1, false)
	f("this block range should work: [0x64, 0x63]", 100, 500, 0, false)
	f("exceed maximum block range: 5000", 0, 20000, 5000, true)
	f("eth_getLogs is limited to 0 - 10,000 blocks range", 0, 20000, 10000, true)
	f("up to a 2K block range and no limit on the response size", 0, 5000, 2000, true)
	f("block range too large", 0, 5000, 0, false)
	f("Log response size exceeded.", 0, 5000, 0, false)
}

func TestRangeSizeRefused(t *testing.T) {
	f := func(err *endpoint.Error, retries int, want bool) {
		t.Helper()
		r, strikes := newRangeSize(2000), 0
		for range retries {
			if r.refused(1, 2000, err, &strikes) {
				t.Errorf("%v: taken as too much at once", err)
			}
		}
		r.answers = 7
		got := r.refused(1, 2000, err, &strikes)
		if got != want || got && (strikes != 0 || r.answers != 0) {
			t.Errorf("%v: %v; want %v, and to count anew: %d strikes, %d answers", err, got, want, strikes, r.answers)
		}
		if r.refused(5, 5, err, &strikes) {
			t.Errorf("%v: a single block was taken as too much", err)
		}
	}

	refused := func(text string) *endpoint.Error {
		return &endpoint.Error{Kind: endpoint.Refused, Status: 400, Text: text}
	}

	f(refused("your plan's capacity does not allow this range"), 0, true)
	f(refused("no"), 0, true)
	f(&endpoint.Error{Kind: endpoint.Oversized}, 0, true)
	f(&endpoint.Error{Kind: endpoint.TimedOut}, 0, true)
	f(&endpoint.Error{Kind: endpoint.Limited, Text: "capacity exceeded"}, 1, true)
	f(&endpoint.Error{Kind: endpoint.ServerError, Status: 503}, 1, true)
	f(&endpoint.Error{Kind: endpoint.Limited, Status: http.StatusTooManyRequests}, 5, false)
	f(refused("block range extends beyond current head block"), 5, false)
	f(&endpoint.Error{Kind: endpoint.Absent}, 5, false)
}

// What was refused is not asked for again at every growth.
func TestRangeSizeRemembers(t *testing.T) {
	r, strikes := newRangeSize(2000), 0
	const most = 300 // of a provider that does not say so
	refusals := 0
	for range 200 {
		for !(r.size <= most) {
			refusals++
			r.refused(1, r.size, &endpoint.Error{Kind: endpoint.Refused, Text: "too many blocks"}, &strikes)
		}
		r.answered(r.size)
	}
	if refusals > 14 || r.size < most/2 {
		t.Errorf("%d refusals in 200 ranges, size %d at last", refusals, r.size)
	}

	r = newRangeSize(2000)
	r.refused(1, 2000, &endpoint.Error{Kind: endpoint.Refused, Text: "max block range: 10"}, &strikes)
	for range 500 {
		if r.answered(r.size); r.size > 10 {
			t.Fatalf("grew to %d past the provider's limit", r.size)
		}
	}
}

// A refusal halves what was asked for, or goes back to what was answered before; full
// answers let it grow by an eighth, up to what was refused, and beyond that in time.
func TestRangeSizeGrows(t *testing.T) {
	r, strikes := newRangeSize(2000), 0
	f := func(what string, size, limit uint64) {
		t.Helper()
		if r.get() != size || r.limit() != limit {
			t.Errorf("%s: %d blocks, at most %d; want %d, %d", what, r.get(), r.limit(), size, limit)
		}
	}
	refuse := func(asked uint64, text string) {
		r.refused(1, asked, &endpoint.Error{Kind: endpoint.Refused, Text: text}, &strikes)
	}

	f("at first", 2000, 2000)
	refuse(2000, "too many")
	f("refused", 1000, 1000)
	r.answered(1000)
	f("answered in full", 1000, 1000)
	refuse(999, "too many")
	f("refused below what was answered", 499, 499)
	r.answered(249)
	f("half of it was answered", 499, 499)
	refuse(498, "try this: [0x1, 0x64]")
	f("another size is suggested", 100, 100)
	for range retryCeiling - 1 {
		r.answered(100)
	}
	f("answered often", 100, 100)
	r.answered(50)
	f("half of it, once more", 100, 2000)
	r.answered(51)
	f("more than half of it", 113, 2000)
	r.answered(113)
	f("all of it", 128, 2000)
	refuse(2, "too many")
	f("two were refused", 1, 1)
	refuse(1, "too many")
	f("one was refused", 1, 1)

	r = newRangeSize(2000)
	r.answered(2000)
	refuse(2000, "too many")
	f("what was answered is refused now", 1000, 1000)

	refuse(100, "at most 10 blocks")
	f("the provider names its limit", 10, 10)
	for range retryCeiling {
		r.answered(10)
	}
	f("which stays", 10, 10)
}

// After a refusal as many blocks are asked for as were answered before.
func TestRangesGoBackToWhatWasAnswered(t *testing.T) {
	n := newNode(t, newChain(60))
	n.maxRange = 11
	l := follow(t, nil, n)
	l.f.sources[0].ranges.size = 11

	for _, from := range []uint64{10, 21} { // the second time 13 are asked for first
		read, err := l.f.readRange(t.Context(), from, 59, new(int))
		if err != nil || read.from != from || read.to != from+10 {
			t.Errorf("from block %d: %v, %+v; want 11 blocks", from, err, read)
		}
	}
	if asked := n.calls["eth_getLogs"]; asked != 3 {
		t.Errorf("logs were asked for %d times; want 3", asked)
	}
}
