package sim

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

func blocksOf(g *grown) (blocks []market.Block, tokens []market.TokenMeta) {
	for _, s := range g.spans {
		blocks = append(blocks, s.Blocks...)
		tokens = append(tokens, s.Tokens...)
	}
	return blocks, tokens
}

// Where spans are cut does not show in what they say.
func TestCutsDoNotMatter(t *testing.T) {
	cfg := testConfig(42161, 200, 24, 4)
	want := grow(t, cfg)
	blocks, tokens := blocksOf(want)

	f := func(spanEvents int) {
		t.Helper()
		cfg.SpanEvents = spanEvents
		g := grow(t, cfg)
		if len(g.spans) <= len(want.spans) {
			t.Errorf("%d events a span: %d spans; want more than %d", spanEvents, len(g.spans), len(want.spans))
		}
		gotBlocks, gotTokens := blocksOf(g)
		if !reflect.DeepEqual(gotBlocks, blocks) || !reflect.DeepEqual(gotTokens, tokens) {
			t.Errorf("%d events a span: other blocks or tokens than with %d", spanEvents, want.cfg.SpanEvents)
		}
		if g.Head() != want.Head() {
			t.Errorf("%d events a span: head %v; want %v", spanEvents, g.Head(), want.Head())
		}
	}
	f(1)
	f(7)
	f(300)
}

// A ledger that is continued from a State goes on as if nothing had happened.
func TestNoStateInTheFeed(t *testing.T) {
	cfg := testConfig(1, 100, 12, 3)
	cfg.SpanEvents = 100
	want, _ := blocksOf(grow(t, cfg))

	g := plant(t, cfg)
	for more := true; more; {
		fresh, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		g.Feed = fresh
		g.Ledger = ledger.From(ledger.Config{
			Chain: cfg.Chain, PositionManager: cfg.PositionManager, Start: cfg.StartBlock,
		}, g.Freeze(), nil, func() {})
		more = g.step(t)
	}
	if got, _ := blocksOf(g); !reflect.DeepEqual(got, want) {
		t.Errorf("%d blocks from fresh feeds differ from %d of one feed", len(got), len(want))
	}
}

func TestFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(43114, 60, 12, 2)
		cfg.Now, cfg.Every = time.Now, 5*time.Second
		g := grow(t, cfg)

		head := g.Head()
		if want := cfg.Genesis + 2*day; head.Time != want {
			t.Fatalf("head at %d; want %d", head.Time, want)
		}
		if last := g.spans[len(g.spans)-1]; last.Final || last.To-last.From+1 != confirmations {
			t.Errorf("the last span is %d to %d, final %v; want the last %d blocks", last.From, last.To, last.Final, confirmations)
		}

		for range 3 {
			start := time.Now()
			step, err := g.Next(t.Context(), feed.Cursor{Anchors: g.Anchors(), State: g.Freeze()})
			if err != nil || step.Span != nil || step.Head != head {
				t.Fatalf("a frozen chain answers %+v, %v; want its head %v", step, err, head)
			}
			if waited := time.Since(start); waited != cfg.Every || !step.Confirmed.Equal(time.Now()) {
				t.Errorf("confirmed at %v after %s; want now after %s", step.Confirmed, waited, cfg.Every)
			}
		}
	})
}

// A block that stays the head is confirmed again and again until the next one is due, which
// does not come later for it.
func TestLiveConfirms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(1, 60, 12, 2)
		cfg.Frozen, cfg.Now, cfg.Every = false, time.Now, 5*time.Second
		cfg.Genesis = time.Now().Unix() - 2*day - 1800
		g := grow(t, cfg)
		g.nextBlock(t)

		start, head := time.Now(), g.Head()
		for _, after := range []time.Duration{5 * time.Second, 10 * time.Second, 12 * time.Second} {
			step, err := g.Next(t.Context(), feed.Cursor{Anchors: g.Anchors(), State: g.Freeze()})
			if waited := time.Since(start); err != nil || waited != after {
				t.Fatalf("an answer after %s, %v; want one after %s", waited, err, after)
			}
			if next := after == 12*time.Second; next != (step.Span != nil) || next == step.Confirmed.Equal(time.Now()) {
				t.Errorf("after %s block %d is answered %+v", after, head.Number, step)
			}
		}
	})
}

func TestLive(t *testing.T) {
	f := func(chain market.ChainID, blocks uint64, pace time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			cfg := testConfig(chain, 60, 12, 2)
			cfg.Frozen, cfg.Now = false, time.Now
			cfg.Genesis = time.Now().Unix() - 2*day - 1800
			g := grow(t, cfg)

			events := g.events
			for range 200 {
				before, start := g.Head(), time.Now()
				g.nextBlock(t)
				if got := g.Head().Number - before.Number; got != blocks || time.Since(start) != pace {
					t.Fatalf("chain %d: %d blocks after %s; want %d after %s", chain, got, time.Since(start), blocks, pace)
				}
				if age := time.Now().Unix() - g.Head().Time; age < 0 || age > 12 {
					t.Fatalf("chain %d: the head is %d s old", chain, age)
				}
			}

			if g.events == events {
				t.Errorf("chain %d: no events in 200 live spans", chain)
			}
		})
	}
	f(1, 1, 12*time.Second)
	f(42161, 8, 2*time.Second)
	f(43114, 1, 2*time.Second)
}

func TestClockStepsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(1, 60, 12, 2)
		late := time.Hour
		cfg.Frozen, cfg.Genesis = false, time.Now().Unix()-3*day
		cfg.Now = func() time.Time { return time.Now().Add(late) }
		g := grow(t, cfg)

		late = 0
		head, start := g.Head(), time.Now()
		g.nextBlock(t)
		if g.Head().Number != head.Number+1 || time.Since(start) < 59*time.Minute {
			t.Errorf("block %d followed %d after %s; want the next block after an hour",
				g.Head().Number, head.Number, time.Since(start))
		}
	})
}

func TestReorg(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(43114, 200, 12, 2)
		cfg.Frozen, cfg.Now = false, time.Now
		cfg.Genesis, cfg.LivePace = time.Now().Unix()-2*day-3600, time.Second
		g := grow(t, cfg)
		for range 20 {
			g.step(t)
		}

		old, head := g.spans[len(g.spans)-1], g.Head()
		if err := g.Reorg(5); err != nil {
			t.Fatal(err)
		}
		step, err := g.Next(t.Context(), feed.Cursor{Anchors: g.Anchors(), State: g.Freeze()})
		if err != nil || step.RevertTo == nil || step.RevertTo.Number != head.Number-5 {
			t.Fatalf("after a reorganisation of 5 at %d: revert to %+v, %v", head.Number, step.RevertTo, err)
		}

		for g.Head().Number > step.RevertTo.Number {
			if err := g.Revert(); err != nil {
				t.Fatal(err)
			}
		}
		for g.Head().Number < head.Number {
			g.step(t)
		}

		fresh := g.spans[len(g.spans)-1]
		if fresh.Hash == old.Hash || g.Head().Number != head.Number {
			t.Errorf("block %d is %s again", head.Number, fresh.Hash)
		}
		if found := ledger.Check(g.Freeze()); len(found) > 0 {
			t.Errorf("after the reorganisation: %v", found[0])
		}
	})
}

func TestReorgTooDeep(t *testing.T) {
	cfg := testConfig(1, 60, 12, 2)
	g := grow(t, cfg)
	if err := g.Reorg(confirmations + 1); err == nil {
		t.Errorf("a reorganisation of %d blocks was accepted", confirmations+1)
	}

	if err := g.Reorg(100); err != nil {
		t.Fatal(err)
	}
	anchors := []market.Head{g.Head()}
	_, err := g.Next(context.Background(), feed.Cursor{Anchors: anchors, State: g.Freeze()})
	if !errors.Is(err, feed.ErrTooDeep) {
		t.Errorf("a reorganisation below every anchor: %v; want ErrTooDeep", err)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(1, 60, 12, 2)
		cfg.Frozen, cfg.Now, cfg.Genesis = false, time.Now, time.Now().Unix()-2*day
		g := grow(t, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Next(ctx, feed.Cursor{Anchors: g.Anchors(), State: g.Freeze()}); !errors.Is(err, ctx.Err()) {
			t.Errorf("Next returned %v; want %v", err, ctx.Err())
		}
	})
}

func TestRefuses(t *testing.T) {
	f := func(change func(*Config), want string) {
		t.Helper()
		cfg := testConfig(1, 50, 10, 2)
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v; want %q", err, want)
		}
	}

	f(func(c *Config) { c.Pools = 4 }, "4 pools; at least 5")
	f(func(c *Config) { c.Positions = 24 }, "24 positions in 10 pools; at least 25")
	f(func(c *Config) { c.Days = 0 }, "0 days; at least 1")
	f(func(c *Config) { c.Actions = 150 }, "150 actions; at least 200")
	f(func(c *Config) { c.Stables = c.Stables[:1] }, "1 stable tokens; at least 2")
	f(func(c *Config) { c.StartBlock = 0 }, "at least 1")
	f(func(c *Config) { c.BlockTime = -1 }, "block time")
	if _, err := New(testConfig(1, 15, 5, 1)); err != nil {
		t.Errorf("the least sizes: %v", err)
	}
}
