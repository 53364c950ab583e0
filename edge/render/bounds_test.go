package render

import (
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// TestNumberForms: plain digits from 10^-6 to below 10^21, an exponent outside.
func TestNumberForms(t *testing.T) {
	f := func(x float64, want string) {
		t.Helper()
		if got := string(number(nil, x)); got != want {
			t.Errorf("%g: got %s; want %s", x, got, want)
		}
	}

	f(1e-6, "0.000001")
	f(-1e-6, "-0.000001")
	f(math.Nextafter(1e-6, 0), "9.999999999999997e-07")
	f(math.Nextafter(1e21, 0), "999999999999999900000")
	f(1e21, "1e+21")
	f(0.5, "0.5") // powers of 2
	f(4, "4")
	f(1<<56, "72057594037927940")
	f(9007199254740993, "9007199254740992")
}

func TestPagination(t *testing.T) {
	f := func(p Pagination, want string) {
		t.Helper()
		if got := string(AppendPagination(nil, &p)); got != `,"pagination":{`+want+`}` {
			t.Errorf("%+v: got %s; want %s", p, got, want)
		}
	}

	f(Pagination{Page: 1, Limit: 20}, `"page":1,"limit":20,"total":0,"totalPages":0,"hasMore":false`)
	f(Pagination{Page: 2, Limit: 20, Total: 40},
		`"page":2,"limit":20,"total":40,"totalPages":2,"hasMore":false`)
	f(Pagination{Page: 1, Limit: 20, Total: 41, HasMore: true, Capped: true},
		`"page":1,"limit":20,"total":41,"totalPages":3,"hasMore":true,"totalCapped":true`)
}

// TestFlags: the flags of a list that is partial, and of data that is stale.
func TestFlags(t *testing.T) {
	f := func(got []byte, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}

	f(AppendMissing(nil, nil), "")
	f(AppendMissing(nil, []market.ChainID{1, 42161}), `,"partial":true,"missingChains":[1,42161]`)
	f(AppendStale(nil, 1_700_000_000_123), `,"stale":true,"dataAsOf":"2023-11-14T22:13:20.123Z"`)
	f(AppendStale(nil, 0), `,"stale":true,"dataAsOf":null`)
}

func TestErrorBody(t *testing.T) {
	f := func(e *Error, retry int64, want string) {
		t.Helper()
		if got := string(e.AppendBody(nil)); got != want || e.RetryAfter() != retry {
			t.Errorf("got %s, Retry-After %d; want %s, %d", got, e.RetryAfter(), want, retry)
		}
	}

	f(TooMany("slow", time.Second), 1, `{"error":"slow"}`)
	f(TooMany("slow", time.Second+1), 2, `{"error":"slow"}`)
	f(OverQuota("spent", 90*time.Second), 90, `{"error":"spent","retryAfterSec":90}`)
	f(OverQuota("spent", 0), 0, `{"error":"spent","retryAfterSec":1}`)
	f(Unavailable("later", time.Nanosecond), 1, `{"error":"later"}`)
	f(Absent("1:5", "no position %d", 7), 0, `{"error":"no position 7"}`)
	if e := Absent("1:5", "x"); e.Units != 1 || e.Code != 404 || e.Generations != "1:5" {
		t.Errorf("a 404 is %+v", e)
	}
}

// TestValueUsd: nothing is worth 0 without a price, and what is too much for a
// float is unknown.
func TestValueUsd(t *testing.T) {
	f := func(raw clmath.U256, decimals int16, usd, want float64) {
		t.Helper()
		got := valueUsd(&raw, decimals, usd)
		if got != want && (market.Known(got) || market.Known(want)) {
			t.Errorf("%s, %d decimals at %v: got %v; want %v", raw.Dec(), decimals, usd, got, want)
		}
	}

	f(clmath.U256{}, 18, market.Unknown, 0)
	f(clmath.U256{1500}, 3, 2, 3)
	f(clmath.U256{1}, 0, market.Unknown, market.Unknown)
	f(clmath.U256{1}, -1, 2, market.Unknown)
	f(clmath.U256{}, -1, market.Unknown, 0)
	f(clmath.U256{3: 1 << 63}, 0, 1e300, market.Unknown)
}

// TestLag: blocks and seconds are never negative, and null while a head is unknown.
func TestLag(t *testing.T) {
	f := func(indexed, head market.Head, want string) {
		t.Helper()
		s := rankings.ChainStatus{LastIndexed: indexed, ChainHead: head}
		if got := string(appendLag(nil, &s)); got != want {
			t.Errorf("%+v of %+v: got %s; want %s", indexed, head, got, want)
		}
	}

	at := func(number uint64, time int64) market.Head { return market.Head{Number: number, Time: time} }
	f(at(90, 1000), at(100, 1012), `,"lagBlocks":10,"lagSeconds":12`)
	f(at(100, 1012), at(100, 1012), `,"lagBlocks":0,"lagSeconds":0`)
	f(at(101, 1024), at(100, 1012), `,"lagBlocks":0,"lagSeconds":0`)
	f(market.Head{}, at(100, 1012), `,"lagBlocks":null,"lagSeconds":null`)
	f(at(100, 1012), market.Head{}, `,"lagBlocks":null,"lagSeconds":null`)
}

// TestErrorText checks what the log says of a failure: its status, its message and, if it
// has one, its cause.
func TestErrorText(t *testing.T) {
	e := Unavailable("data could not be read", time.Second)
	if got := e.Error(); got != "503 data could not be read" {
		t.Errorf("without a cause: %q", got)
	}
	e.Cause = io.ErrUnexpectedEOF
	if got := e.Error(); got != "503 data could not be read: unexpected EOF" || !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("with a cause: %q", got)
	}
}
