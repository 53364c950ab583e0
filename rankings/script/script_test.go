package script

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

func TestAmount(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		v, err := Amount(text)
		if got := v.Dec(); want != "" && (err != nil || got != want) || want == "" && err == nil {
			t.Errorf("Amount(%q) = %s, %v; want %q", text, got, err, want)
		}
	}

	f("0", "0")
	f("1000", "1000")
	f("1_000", "1000")
	f("1e3", "1000")
	f("1.5e18", "1500000000000000000")
	f("1.25e2", "125")
	f("1e77", "1"+strings.Repeat("0", 77))
	f("1e78", "")
	f("1.25e1", "")
	f("1.5", "")
	f("-1", "")
	f("e3", "")
	f("", "")
	f("1ex", "")
	f("1e-1", "")
	f("1e99999999999999999999", "")
}

func TestDuration(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}

	f("+90", 90)
	f("90", 90)
	f("+90s", 90)
	f("+5m", 300)
	f("+2h", 7200)
	f("+3d", 3*market.Day)
	f("+1_000", 1000)
	for _, text := range []string{"", "+", "h", "+1w"} {
		if n, err := parseDuration(text); err == nil {
			t.Errorf("%q: got %d; want an error", text, n)
		}
	}
}

func TestRead(t *testing.T) {
	lines, err := Read("x", "# a comment\n\n block   # an event\nshow a b\n> one\n>two  # not this\nshow c\n")
	got := ""
	for _, l := range lines {
		got += fmt.Sprintf("%s %q %d %q\n", l.Where, l.Text, len(l.Words), l.Want)
	}
	want := `x:3 "block" 1 []
x:4 "show a b" 3 ["one" "two"]
x:7 "show c" 2 []
`
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}

	if _, err := Read("x", "\n> one"); err == nil || !strings.HasPrefix(err.Error(), "x:2: ") {
		t.Errorf("output before a command: got %v", err)
	}
}

func TestRepeat(t *testing.T) {
	f := func(line string, want ...string) {
		t.Helper()
		if got, err := Repeat(line); err != nil || strings.Join(got, ";") != strings.Join(want, ";") {
			t.Errorf("%q: got %q, %v; want %q", line, got, err, want)
		}
	}

	f("block", "block")
	f("times 2 block", "block", "block")
	f("times 2 block | at +1h", "block", "at +1h", "block", "at +1h")
	f("times 0 block")
	if _, err := Repeat("times x block"); err == nil {
		t.Error("times x: no error")
	}
}

// TestRefusals: a line that is not understood is an error that names the reason.
func TestRefusals(t *testing.T) {
	var pools market.Table[market.Pool]
	var tokens market.Table[market.Token]
	pools.Append(market.Pool{ID: Pool("P"), Currency1: 1, TickSpacing: 60})
	tokens.Append(market.Token{Decimals: 18})
	tokens.Append(market.Token{Decimals: 6})
	st := &market.State{Pools: pools.Freeze(), Tokens: tokens.Freeze()}
	f := func(line, want string) {
		t.Helper()
		s, err := New().Span(st, line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want %q", line, s, err, want)
		}
	}

	f("jump", `unknown event "jump"`)
	f("mint 1 alice P", "mint has 4 words; it needs at least 7")
	f("block; jump", `unknown event "jump"`)
	f("sell0 Q 5", "no pool")
	f("push Q @4", "no pool")
	f("push P 4", `"4" is not @PRICE with a price above 0`)
	f("pool P A B 3000 60 @0", `"@0" is not @PRICE with a price above 0`)
	f("pool P A B x 60", "pool: ")
	f("pool P A B 3000 60 @-1", `"@-1" is not @PRICE with a price above 0`)
	f("add 1 170141183460469231731687303715884105728", "is not below 2^127")
	f("wait x", "wait: ")
}
