package main

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/rankings/market"
)

// A setting takes what the file or a text gives for its kind, prints it so that it can be
// read again, and refuses anything else with what is allowed.
func TestSettingKinds(t *testing.T) {
	f := func(into any, raw any, want string) {
		t.Helper()
		s := setting{name: "x", value: reflect.ValueOf(into).Elem()}
		before := s.text()
		err := s.set(raw)
		if problem, refused := strings.CutPrefix(want, "! "); refused {
			if err == nil || !strings.HasSuffix(err.Error(), "; "+problem) || s.text() != before {
				t.Errorf("%T takes %v: %v, now %s; want it refused: %s", into, raw, err, s.text(), problem)
			}
			return
		}
		if err != nil || s.text() != want {
			t.Errorf("%T takes %v: %v, now %s; want %s", into, raw, err, s.text(), want)
		}
	}

	const number = "! allowed is a whole number from 0 on"
	f(new(int), int64(7), "7")
	f(new(int), int64(0), "0")
	f(new(int), int64(-1), number)
	f(new(int), "7", "7")
	f(new(int), "-7", number)
	f(new(int), "9223372036854775807", "9223372036854775807")
	f(new(int), "9223372036854775808", number)
	f(new(int64), "3000000000", "3000000000")
	f(new(int), 1.5, number)
	f(new(int), true, number)
	f(new(uint64), int64(0), "0")
	f(new(uint64), int64(-1), number)
	f(new(uint64), "9223372036854775807", "9223372036854775807")
	f(new(uint64), "9223372036854775808", number)
	f(new(market.ChainID), "42161", "42161")

	f(new(float64), 1.5, "1.5")
	f(new(float64), int64(2), "2")
	f(new(float64), "0.25", "0.25")

	const amount = "! allowed is a number from 0 on"
	f(new(float64), "much", amount)
	f(new(float64), int64(-2), amount)
	f(new(float64), -0.5, amount)
	f(new(float64), math.NaN(), amount)
	f(new(float64), math.Inf(1), amount)
	f(new(float64), "-1", amount)
	f(new(float64), "nan", amount)
	f(new(float64), "inf", amount)

	f(new(bool), true, "true")
	f(new(bool), "true", "true")
	f(new(bool), "yes", "! allowed are true and false")
	f(new(bool), int64(1), "! allowed are true and false")

	const duration = `! allowed is a duration such as "45s", "2m" or "0s"`
	f(new(time.Duration), "90s", `"1m30s"`)
	f(new(time.Duration), "0s", `"0s"`)
	f(new(time.Duration), "-1ns", duration)
	f(new(time.Duration), int64(0), `"0s"`)
	f(new(time.Duration), int64(5), duration)
	f(new(time.Duration), "5", duration)

	at := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	const moment = `! allowed is a time such as 2026-01-02T15:00:00Z, or ""`
	f(new(time.Time), at.In(time.FixedZone("", 3600)), "2026-01-02T15:00:00Z")
	f(new(time.Time), "2026-01-02T16:00:00+01:00", "2026-01-02T15:00:00Z")
	f(&at, "", `""`)
	f(new(time.Time), "yesterday", moment)
	f(new(time.Time), true, moment)

	const address = "0x00000000000000000000000000000000000000aa"
	f(new(market.Address), address, `"`+address+`"`)
	f(new(market.Address), "0xaa", "! allowed is 0x and 40 hex digits")
	f(new([]market.Address), []any{address, address}, `["`+address+`", "`+address+`"]`)
	f(new([]market.Address), address+", ,"+address, `["`+address+`", "`+address+`"]`)
	f(new([]market.Address), "0xaa", "! values have commas between them here; in the file "+
		`allowed is a list of addresses such as ["0x…"], each 0x and 40 hex digits`)
	f(new([]market.Address), []any{"0xaa"}, "! allowed is 0x and 40 hex digits")
	f(new([]string), "a, b,", `["a", "b"]`)
	f(new([]string), []any{"a, b", int64(7)}, `["a, b", "7"]`)
	f(new([]string), []any{true}, "! allowed is text")
	f(new([]string), int64(7), `! allowed is a list of texts such as ["a", "b"]`)
	f(new(string), "a", `"a"`)
	f(new(string), int64(7), "! allowed is text")
	f(new(string), []any{"a"}, "! allowed is text")
}

// Of a value that a reload does not put in force, the log says what can be told of it.
func TestOneLine(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := oneLine(text); got != want {
			t.Errorf("%q is told as %q; want %q", text, got, want)
		}
	}

	f(`"info"`, `"info"`)
	f("", "none")
	f("a = 1\nb = 2", "a table")
	f(`"https://node/key"`, "an address")
}
