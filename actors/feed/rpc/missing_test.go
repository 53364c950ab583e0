package rpc

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/rankings/market"
)

// callsAnswer makes a node answer eth_call with what answer returns.
func (n *fakeNode) callsAnswer(answer func() any) {
	n.answer = func(method string, _ object) any {
		if method != "eth_call" {
			return nil
		}
		return answer()
	}
}

// told returns what spans say of the token's decimals: the last that do.
func (l *follower) told() (meta market.TokenMeta, times int) {
	for _, s := range l.spans {
		for _, t := range s.Tokens {
			if t.Address == token {
				meta = t
				times++
			}
		}
	}
	return meta, times
}

// Metadata that a token did not tell is asked for again later, ever more rarely,
// and told with the next span once it is known.
func TestMissingTokensAreReadAgain(t *testing.T) {
	c := newChain(5)
	n := newNode(t, c)
	c.mine(created(token))
	var answer any = fail(3, "execution reverted")
	n.callsAnswer(func() any { return answer })
	l := follow(t, nil, n)
	l.to(c, 5)
	if meta, _ := l.told(); !meta.BadDecimals {
		t.Fatalf("told %s of a token that reverts", show(meta))
	}

	// A minute later and ten minutes after that it still reverts; then the pause is
	// longer.
	for i, pause := range []time.Duration{firstReread, 10 * firstReread, firstReread} {
		asked := n.calls["eth_call"]
		l.clock.advance(pause)
		c.mine(swapped(1))
		l.to(c, 5)
		if again := n.calls["eth_call"] > asked; again != (i < 2) {
			t.Errorf("pause %d of %s: asked again %v", i, pause, again)
		}
	}

	answer = number(8).String()
	l.clock.advance(lastReread)
	c.mine(swapped(1))
	l.to(c, 5)
	if meta, times := l.told(); meta.BadDecimals || meta.Decimals != 8 || times != 2 {
		t.Errorf("told %s, %d times", show(meta), times)
	}

	// What the ledger takes back with a span it is told again.
	c.cut(1)
	c.mine(swapped(2))
	c.mine(swapped(3))
	l.to(c, 8)
	if meta, times := l.told(); meta.BadDecimals || meta.Decimals != 8 || times != 2 || l.reverts != 1 {
		t.Errorf("after %d reverts: told %s, %d times", l.reverts, show(meta), times)
	}
}

// Decimals that are too many for a price are known: they are told once, and not asked for
// again.
func TestManyDecimalsAreNotMissing(t *testing.T) {
	c := newChain(5)
	n := newNode(t, c)
	c.mine(created(token))
	var answer any = number(77).String()
	n.callsAnswer(func() any { return answer })
	l := follow(t, nil, n)
	l.to(c, 5)

	asked := n.calls["eth_call"]
	answer = number(18).String()
	l.clock.advance(lastReread)
	c.mine(swapped(1))
	l.to(c, 5)

	if meta, times := l.told(); meta.Decimals != 77 || !meta.BadDecimals || times != 1 || n.calls["eth_call"] != asked {
		t.Errorf("told %s, %d times, asked %d times; want %d", show(meta), times, n.calls["eth_call"], asked)
	}
}

// After a restart the ledger names what is missing.
func TestMissingTokensOfALedger(t *testing.T) {
	for _, decimals := range []int64{8, 77} {
		missingTokenOfALedger(t, decimals)
	}
}

func missingTokenOfALedger(t *testing.T, decimals int64) {
	t.Helper()
	c := newChain(5)
	n := newNode(t, c)
	n.callsAnswer(func() any { return number(decimals).String() })
	l := follow(t, nil, n)
	l.missing = []market.Address{token}
	l.to(c, 5)

	l.missing = nil
	l.clock.advance(firstReread)
	c.mine(swapped(1))
	l.to(c, 5)
	if meta, times := l.told(); int64(meta.Decimals) != decimals || times != 1 {
		t.Errorf("told %s, %d times", show(meta), times)
	}
}

// Nodes that fail at eth_call as such are waited for, however long that takes.
func TestTokensWaitForNodes(t *testing.T) {
	c := newChain(5)
	n := newNode(t, c)
	c.mine(created(token))
	l := follow(t, nil, n)
	until := l.clock.read().Add(138 * time.Second)
	n.callsAnswer(func() any {
		if l.f.cfg.Clock.Now().Before(until) {
			return fail(-32000, "upstream is gone")
		}
		return number(6).String()
	})

	l.to(c, 400)
	if meta, times := l.told(); meta.BadDecimals || meta.Decimals != 6 || times != 1 {
		t.Errorf("told %s, %d times", show(meta), times)
	}
	if l.clock.read().Before(until) {
		t.Error("the chain went on while no node answered")
	}
}

// The chain waits for the decimals of tokens that prices hang on, unless they are
// configured.
func TestRequiredTokens(t *testing.T) {
	f := func(required bool, configured map[market.Address]uint8, waits bool) {
		t.Helper()
		c := newChain(5)
		n := newNode(t, c)
		c.mine(created(token))
		var answer any = "0x"
		n.callsAnswer(func() any { return answer })
		l := follow(t, func(c *Config) {
			if required {
				c.Required = []market.Address{token}
			}
			c.Decimals = configured
		}, n)

		var err error
		for range 30 {
			if err = l.next(); err == nil && l.last.Confirmed.IsZero() == false {
				break
			}
		}
		if waiting := err != nil; waiting != waits {
			t.Fatalf("required %v, configured %v: %v", required, configured, err)
		}
		if waits && !strings.Contains(err.Error(), `decimals = ["`+token.String()) {
			t.Errorf("the error does not say what to set: %v", err)
		}

		answer = number(6).String()
		l.to(c, 60)
		want, known := configured[token]
		if waits {
			want, known = 6, true
		}
		if meta, _ := l.told(); meta.BadDecimals == known || meta.Decimals != want {
			t.Errorf("required %v, configured %v: told %s", required, configured, show(meta))
		}
	}

	f(true, nil, true)
	f(false, nil, false)
	f(true, map[market.Address]uint8{token: 9}, false)
	f(false, map[market.Address]uint8{token: 9}, false)
}

// A token that no node can be asked about, while they answer other calls, is noted as
// missing after three tries; nothing is noted of a token while the node as such fails.
func TestTokensThatNoNodeReads(t *testing.T) {
	for _, probed := range []any{number(1).String(), fail(3, "execution reverted")} {
		tokensThatNoNodeReads(t, probed)
	}
}

func tokensThatNoNodeReads(t *testing.T, probed any) {
	t.Helper()
	c := newChain(5)
	n := newNode(t, c)
	c.mine(created(token))
	n.answer = func(method string, o object) any {
		if method != "eth_call" {
			return nil
		}
		if strings.Contains(fmt.Sprintf("%s", o["params"]), nextTokenID) {
			return probed
		}
		return fail(-32000, "upstream is gone")
	}
	l := follow(t, nil, n)
	for i := range tokenStrikes - 1 {
		if err := l.next(); err == nil {
			t.Errorf("try %d: the span went on", i+1)
		}
	}
	l.to(c, 5)
	if meta, times := l.told(); !meta.BadDecimals || times != 1 {
		t.Errorf("told %s, %d times", show(meta), times)
	}

	l.clock.advance(firstReread)
	c.mine(swapped(1))
	l.to(c, 5)
	if s := l.f.Status(); !strings.Contains(s.LastError, "cannot read missing tokens: ") {
		t.Errorf("the last error is %q", s.LastError)
	}

	other := market.Address{0x71}
	n.status = http.StatusBadGateway
	left, err := l.f.callTokens(t.Context(), l.f.sources[0], []market.Address{other})
	if _, unread := l.f.tokens.find([]market.Address{other}); err == nil || len(left) != 1 || len(unread) != 1 {
		t.Errorf("a node that fails: %v, left %v, unread %v", err, left, unread)
	}
}

// Missing tokens are read again when they are due, sixteen at a time in order of their
// addresses, and are put off at once.
func TestDueTokens(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	k := tokens{missing: map[market.Address]*missingToken{}}
	for i := range byte(20) {
		k.missing[market.Address{i + 1}] = &missingToken{due: now}
	}
	k.missing[market.Address{0}] = &missingToken{due: now.Add(1)}

	f := func(from, count byte, due time.Time) {
		t.Helper()
		list := k.takeDue(due)
		if len(list) != int(count) {
			t.Fatalf("%d are due; want %d", len(list), count)
		}
		for i, a := range list {
			if a[0] != from+byte(i) || k.missing[a].due.Sub(due) != firstReread {
				t.Errorf("number %d is %d, read again after %s", i, a[0], k.missing[a].due.Sub(due))
			}
		}
	}
	f(1, 16, now)
	f(17, 4, now)
	f(0, 0, now)
	f(0, 1, now.Add(firstReread-1))
	f(0, 16, now.Add(2*firstReread))
}

// Pauses before a missing token is read again grow tenfold up to a day. What is found is told
// once, and again after the ledger took back a span.
func TestRepairedTokens(t *testing.T) {
	f, now := still(t)
	f.cfg.Decimals = map[market.Address]uint8{{5}: 9}
	bad := market.TokenMeta{Address: token, BadDecimals: true}
	for _, want := range []time.Duration{1, 10, 100, 1000, 1440, 1440} {
		f.keepToken(bad)
		if got := f.tokens.missing[token].due.Sub(*now); got != want*time.Minute {
			t.Errorf("it is read again after %s; want %s", got, want*time.Minute)
		}
	}
	f.keepToken(market.TokenMeta{Address: market.Address{5}, BadDecimals: true})
	if m := f.tokens.known[market.Address{5}]; m.BadDecimals || m.Decimals != 9 || len(f.tokens.missing) != 1 {
		t.Errorf("a token with configured decimals is %s", show(m))
	}

	list := []market.Address{token, {5}, {6}}
	told := func(what string, want ...market.Address) {
		t.Helper()
		var got []market.Address
		for _, m := range f.tokens.takeRepaired() {
			got = append(got, m.Address)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: told %v; want %v", what, got, want)
		}
	}
	f.tokens.repair(list[:1])
	told("while it is missing")
	f.keepToken(market.TokenMeta{Address: token, Decimals: 6})
	if found := f.tokens.repair(list); len(found) != 2 || len(f.tokens.missing) != 0 {
		t.Errorf("found %v, %d are missing", found, len(f.tokens.missing))
	}
	told("once it is known", token, market.Address{5})
	told("later")
	f.tokens.repair(list[1:])
	f.tokens.tellAgain()
	told("after a span was taken back", token, market.Address{5}, market.Address{5})
	f.tokens.tellAgain()
	f.tokens.tellAgain()
	told("after two were", token, market.Address{5}, market.Address{5})
}

// Hostile tokens cannot make much of what is missing, nor of failures that are counted.
func TestMostMissingTokens(t *testing.T) {
	f, _ := still(t)
	for i := range maxMissing + 1 {
		f.keepToken(market.TokenMeta{Address: market.Address{1, byte(i), byte(i >> 8)}, BadDecimals: true})
	}
	if got := len(f.tokens.missing); got != maxMissing {
		t.Errorf("%d are kept to be read again; want %d", got, maxMissing)
	}
	f.keepToken(market.TokenMeta{Address: market.Address{1}, BadDecimals: true})
	if m := f.tokens.missing[market.Address{1}]; m == nil || m.pause != 10*firstReread {
		t.Errorf("one that is kept already is read again after %+v", m)
	}

	var list []market.Address
	for i := range maxMissing + 1 {
		list = append(list, market.Address{2, byte(i), byte(i >> 8)})
	}
	f.strikeTokens(list[:maxMissing])
	if f.strikeTokens(list[:1]); f.tokens.strikes[list[0]] != 2 {
		t.Errorf("%d failures of a token; want 2", f.tokens.strikes[list[0]])
	}
	f.strikeTokens(list[maxMissing:])
	if f.strikeTokens(list[:1]); len(f.tokens.strikes) != 1 || f.tokens.strikes[list[0]] != 1 {
		t.Errorf("of too many %d are kept; want them forgotten", len(f.tokens.strikes))
	}
}
