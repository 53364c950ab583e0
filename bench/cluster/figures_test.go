package cluster

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/bench/load"
)

// What measures nothing is refused before anything is started.
func TestMeasureFiguresRefuses(t *testing.T) {
	f := func(change func(*FigureSettings), want string) {
		t.Helper()
		s := &FigureSettings{Refreshes: 1, Refresh: time.Second, Rounds: 1, Length: time.Second, Corpus: "none"}
		change(s)
		if err := MeasureFigures(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", s, err, want)
		}
	}

	f(func(*FigureSettings) {}, "no corpus in none")
	f(func(s *FigureSettings) { s.Rounds = 0 }, "cannot measure 0 rounds of 1s")
	f(func(s *FigureSettings) { s.Length = 0 }, "cannot measure 1 rounds of 0s")
	f(func(s *FigureSettings) { s.Refreshes = 0 }, "cannot measure 0 refreshes, one every 1s")
	f(func(s *FigureSettings) { s.Refresh = 0 }, "one every 0s; at least 1, every 10ms")
}

// The cost of refreshes, or of cuts of a follower, is what was used since a reading; what the
// node uses when idle is told apart.
func TestCostOfRefreshes(t *testing.T) {
	start := time.Unix(1000, 0)
	before := reading{start, time.Second, map[string]float64{
		`tidemark_chain_refresh_seconds_count{chain="1"}`: 10, `tidemark_chain_refresh_seconds_sum{chain="1"}`: 1,
	}}
	f := func(counts map[string]float64, want refreshCost) {
		t.Helper()
		is := reading{start.Add(8 * time.Second), 3 * time.Second, counts}
		if got := is.since(before, 0.0625); got != want {
			t.Errorf("it is %+v; want %+v", got, want)
		}
	}

	f(map[string]float64{
		`tidemark_chain_refresh_seconds_count{chain="1"}`: 14, `tidemark_chain_refresh_seconds_sum{chain="1"}`: 2,
		`tidemark_cluster_append_seconds_sum{chain="1"}`: 0.5, `tidemark_chain_refresh_seconds_bucket{le="1"}`: 99,
	}, refreshCost{count: 4, cpu: 2, idle: 0.5, took: 1, append: 0.5})
	before.counts = nil
	f(map[string]float64{
		`tidemark_chain_follow_seconds_count{chain="1"}`: 1, `tidemark_chain_follow_seconds_count{chain="2"}`: 1,
		`tidemark_chain_follow_seconds_sum{chain="1"}`: 1, `tidemark_chain_refresh_seconds_count{chain="1"}`: 0,
	}, refreshCost{count: 2, cpu: 2, idle: 0.5, took: 1})
}

// readingOf is a reading so many seconds after the first, of a node that has refreshed.
func readingOf(second, cpu, refreshes float64) reading {
	at := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return reading{time.Unix(1000, 0).Add(at(second)), at(cpu), map[string]float64{
		`tidemark_chain_refresh_seconds_count{chain="1"}`: refreshes,
	}}
}

// Nodes are idle where neither has refreshed nor works on what it will count.
func TestIdleLook(t *testing.T) {
	f := func(want bool, cpu, refreshes float64) {
		t.Helper()
		l := look{
			from: [2]reading{readingOf(0, 5, 7), readingOf(0, 6, 7)},
			to:   [2]reading{readingOf(1, 5.01, 7), readingOf(1, cpu, refreshes)},
		}
		if l.isIdle() != want {
			t.Errorf("idle with %.2f s of CPU and %.0f refreshes is %v", cpu-6, refreshes-7, !want)
		}
	}

	f(true, 6.01, 7)
	f(false, 6.01, 8)
	f(false, 6.2, 7)
}

// Spans are between looks, and what nodes use in the median of these comes off.
func TestSpans(t *testing.T) {
	at := func(second, cpu, idle, refreshes float64) look {
		from, to := readingOf(second, cpu, refreshes), readingOf(second+1, cpu+idle, refreshes)
		return look{[2]reading{from, from}, [2]reading{to, to}}
	}

	spans := spansOf([]look{at(0, 0, 0.0625, 0), at(15, 3.875, 0.25, 2), at(31, 6.125, 0.0625, 4)})
	want := refreshCost{count: 2, cpu: 4.0625, idle: 15 * 0.0625}
	if len(spans) != 2 || spans[0].writer != want || spans[0].other != want {
		t.Fatalf("the spans are %+v; want 2, the first one of %+v twice", spans, want)
	}

	sum := total(spans)
	if sum.other.count != 4 || sum.other.cpu != 6.125 {
		t.Errorf("the total is %+v", sum.other)
	}
	low, high := rangeOf(spans, func(s span) float64 { return s.writer.cpu })
	if low != 2.0625 || high != 4.0625 {
		t.Errorf("the CPU of spans is from %v to %v", low, high)
	}
}

// A figure that is not reached is named.
func TestMissedFigure(t *testing.T) {
	f := figures{FigureSettings: &FigureSettings{Out: io.Discard}}
	f.checkFigure(1.04, 1.05, "page of %d nodes", 2)
	f.checkFigure(1.06, 1.05, "page of %d nodes", 3)
	if len(f.missed) != 1 || f.missed[0] != "page of 3 nodes is 1.060" {
		t.Errorf("missed are %q", f.missed)
	}
}

// Nodes that are asked beside those that are measured count for nothing but their errors.
func TestTogether(t *testing.T) {
	began := make(chan bool)
	side := func(requests uint64, err error) load.Side {
		return func(context.Context) (*load.Result, error) {
			select {
			case began <- true: // each waits for the other
			case <-began:
			}
			r := new(load.Result)
			r.Requests = requests
			return r, err
		}
	}

	failed := errors.New("no answer")
	r, err := together(side(7, nil), side(5, nil))(t.Context())
	if err != nil || r.Requests != 7 {
		t.Errorf("measured are %+v, %v; want 7 requests", r, err)
	}
	if _, err := together(side(7, nil), side(5, failed))(t.Context()); !errors.Is(err, failed) {
		t.Errorf("the error is %v; want %v", err, failed)
	}
}

// Every node is the first one in turn, and what counts are rounds in which all were.
func TestTurnsOfNodes(t *testing.T) {
	var sides []load.Side
	for micros := range 3 {
		sides = append(sides, func(context.Context) (*load.Result, error) {
			r := new(load.Result)
			r.ServerMicros = float64(10 * micros)
			return r, nil
		})
	}

	rounds, err := load.InTurns(t.Context(), 6, inTurn(sides), sides[2])
	if err != nil {
		t.Fatal(err)
	}
	if got := ratiosOfTurns(rounds[0], rounds[1], 3); !slices.Equal(got, []float64{2, 2}) {
		t.Errorf("the ratios are %v; want 2 twice", got)
	}
}
