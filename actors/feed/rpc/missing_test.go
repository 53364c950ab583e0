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
}

// After a restart the ledger names what is missing.
func TestMissingTokensOfALedger(t *testing.T) {
	c := newChain(5)
	n := newNode(t, c)
	n.callsAnswer(func() any { return number(8).String() })
	l := follow(t, nil, n)
	l.missing = []market.Address{token}
	l.to(c, 5)

	l.missing = nil
	l.clock.advance(firstReread)
	c.mine(swapped(1))
	l.to(c, 5)
	if meta, times := l.told(); meta.Decimals != 8 || times != 1 {
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
	c := newChain(5)
	n := newNode(t, c)
	c.mine(created(token))
	n.answer = func(method string, o object) any {
		if method != "eth_call" {
			return nil
		}
		if strings.Contains(fmt.Sprintf("%s", o["params"]), nextTokenID) {
			return number(1).String()
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
