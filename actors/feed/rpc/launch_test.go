package rpc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/rankings/market"
)

// The piece that is wanted is always read. Others are as far as the window, the second stage and
// memory have room, and none while one has failed.
func TestLaunchedPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLine(busy(200))
		n.latency = func(uint64) time.Duration { return time.Hour }
		l := overLine(t, n, func(c *Config) { c.RangesInFlight, c.MaxLogRange = 4, 10 })
		f := func(what string, want int, lastTo uint64, change func(a *ahead)) {
			t.Helper()
			l.f.cfg.FetchAheadBytes = 100 * maxPieceBytes
			a := l.f.newAhead(market.Head{})
			a.end = 150
			change(a)
			before, bytes := a.reading, a.bytes

			a.mu.Lock()
			defer a.mu.Unlock()
			if a.launch(); a.reading-before != want || a.plan.next != lastTo+1 {
				t.Errorf("%s: %d pieces are read up to block %d; want %d up to %d",
					what, a.reading-before, a.plan.next-1, want, lastTo)
			}
			if p := a.plan.first(); want > 0 && (p.state != isRead || p.seen != a.seen || a.bytes != bytes-p.read.size()) {
				t.Errorf("%s: the first piece is %+v, %d bytes are held of %d", what, p, a.bytes, bytes)
			}
			a.cancel()
		}

		f("a full window", 4, 40, func(a *ahead) { a.seen = 77 })
		f("a small window", 2, 20, func(a *ahead) { a.window = 2 })
		f("some are being read", 3, 30, func(a *ahead) { a.reading = 1 })
		f("near the end", 2, 15, func(a *ahead) { a.end = 15 })
		f("one has failed", 1, 10, func(a *ahead) { a.held = true })
		f("a full second stage", 1, 10, func(a *ahead) { a.second = 4 })
		f("room in the second stage", 4, 40, func(a *ahead) { a.second = 3 })
		f("full memory", 1, 10, func(a *ahead) { a.bytes = 100 * maxPieceBytes })
		f("room for three", 3, 30, func(*ahead) { l.f.cfg.FetchAheadBytes = 3 * maxPieceBytes })
		f("no room for three", 2, 20, func(a *ahead) { l.f.cfg.FetchAheadBytes, a.bytes = 3*maxPieceBytes, 1 })
		f("room for two beside the second stage", 2, 20, func(a *ahead) {
			l.f.cfg.FetchAheadBytes, a.second = 3*maxPieceBytes, 1
		})
		f("given up", 0, 0, func(a *ahead) { a.cancel() })
		f("one whose logs were read before", 4, 40, func(a *ahead) {
			a.plan.take(10, 150).read = &rangeRead{from: 1, to: 10, logs: 5}
			a.bytes = 2 * maxPieceBytes
		})
		f("where logs are dense", 4, 16, func(a *ahead) { a.plan.density = rangeLogs / 4 })
	})
}

// The window begins with eight pieces, or as many as may be in flight.
func TestFirstWindow(t *testing.T) {
	l, _ := still(t)
	for flight, want := range map[int]int{1: 1, 7: 7, 8: 8, 12: 8} {
		l.cfg.RangesInFlight = flight
		if a := l.newAhead(market.Head{Number: 9}); a.window != want || a.plan.next != 10 || a.after.Number != 9 {
			t.Errorf("%d in flight: a window of %d from block %d; want %d from 10", flight, a.window, a.plan.next, want)
		}
	}
}

// An answer widens the window by one, a failure halves it and has the others wait, unless a
// node merely lacks something. What pieces hold in memory counts while they are not read.
func TestPiecesThroughTheirStages(t *testing.T) {
	l, _ := still(t)
	l.cfg.RangesInFlight = 9
	a := l.newAhead(market.Head{})
	a.cancel() // so that nothing is read
	take := func() *piece {
		p := a.plan.take(10, 100)
		p.state = isRead
		a.reading++
		return p
	}
	f := func(what string, window, reading, second int, bytes int64, held bool) {
		t.Helper()
		if a.window != window || a.reading != reading || a.second != second || a.bytes != bytes || a.held != held {
			t.Errorf("%s: window %d, %d and %d in the stages, %d bytes, held %t; want %d, %d, %d, %d, %t", what,
				a.window, a.reading, a.second, a.bytes, a.held, window, reading, second, bytes, held)
		}
		select {
		case <-a.ended:
		default:
			t.Errorf("%s: nobody is told", what)
		}
	}
	one, two, three, four := take(), take(), take(), take()
	size := (&rangeRead{logs: 3}).size()

	one.read = &rangeRead{from: 1, to: 6, logs: 3}
	a.endReading(one, nil)
	f("logs up to block 6", 9, 3, 1, 0, false)
	rest := a.plan.pieces[1]
	if one.state != isFilled || one.to != 6 || rest.from != 7 || rest.to != 10 || a.plan.density != 0.5 {
		t.Errorf("%+v, then %+v, %g logs a block", one, rest, a.plan.density)
	}
	two.read = &rangeRead{from: 11, to: 20, logs: 3}
	a.endReading(two, nil)
	f("all of its logs", 9, 2, 2, 0, false)
	a.endReading(three, absentError("block 30"))
	f("a block that is not there", 9, 1, 2, 0, false)
	a.endReading(four, errors.New("broken"))
	f("a failure", 4, 0, 2, 0, true)

	a.endCompleting(one, nil)
	f("all that it needs", 4, 0, 1, size, true)
	if got, err := a.first(t.Context()); got != one || err != nil || one.state != isReady {
		t.Errorf("the first is %+v, %v", got, err)
	}
	a.endCompleting(two, errors.New("broken"))
	f("a failure after its logs", 2, 0, 0, 2*size, true)
	for range 3 {
		a.fail(new(piece), errors.New("broken"))
	}
	if a.window != 1 {
		t.Errorf("the window is %d after many failures; want 1", a.window)
	}

	one.span = &market.Span{To: 6, Hash: market.Hash{6}}
	a.giveOut(one)
	if a.held || a.bytes != size || a.after != (market.Head{Number: 6, Hash: market.Hash{6}}) || a.plan.first() == one {
		t.Errorf("given out: held %t, %d bytes, after %+v", a.held, a.bytes, a.after)
	}
	if two.state != waits || two.err != nil || three.state != hasFailed || four.state != waits {
		t.Errorf("the others are %+v, %+v and %+v; want all but the second to be tried again", two, three, four)
	}
}

// A failure is told before it is tried again, and then once.
func TestToldFailures(t *testing.T) {
	l, _ := still(t)
	a := l.newAhead(market.Head{})
	a.cancel()
	p := a.plan.take(10, 100)
	a.reading++
	broken := errors.New("broken")
	a.endReading(p, broken)
	head := &observedHead{wireHeader: *wireHeaderOf(500, 1, 1)}

	a.reach(90, head)
	if p.state != hasFailed || a.end != 90 || a.seen != int64(*head.Time) {
		t.Errorf("before it was told: %+v up to %d, seen %d", p, a.end, a.seen)
	}
	if got, err := a.first(t.Context()); got != p || err != broken || !p.told {
		t.Errorf("told %v of %+v", err, got)
	}
	if a.reach(90, head); p.state != waits || p.told {
		t.Errorf("after it was told: %+v; want it to be read again", p)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for len(a.ended) > 0 {
		<-a.ended
	}
	for _, waiting := range []*ahead{a, l.newAhead(market.Head{})} {
		if _, err := waiting.first(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
	}
}
