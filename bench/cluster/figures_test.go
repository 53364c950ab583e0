package cluster

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"tidemark/bench/load"
)

// The cost of a refresh is what was used since a reading, by refreshes of a writer or
// cuts of a follower; what the node uses when idle is told apart.
func TestCostOfARefresh(t *testing.T) {
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
	}, refreshCost{cpu: 0.5, idle: 0.125, took: 0.25, append: 0.125})
	before.counts = nil
	f(map[string]float64{
		`tidemark_chain_follow_seconds_count{chain="1"}`: 1, `tidemark_chain_follow_seconds_count{chain="2"}`: 1,
		`tidemark_chain_follow_seconds_sum{chain="1"}`: 1, `tidemark_chain_refresh_seconds_count{chain="1"}`: 0,
	}, refreshCost{cpu: 1, idle: 0.25, took: 0.5})
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

	rounds, err := load.InTurns(t.Context(), 6, inTurn(sides))
	if err != nil {
		t.Fatal(err)
	}
	if got := averageTurns(rounds[0], 3); !slices.Equal(got, []float64{10, 10}) {
		t.Errorf("the averages are %v; want 10 twice", got)
	}
}
