package edge

import (
	"testing"
	"time"

	"tidemark/rankings"
)

// TestOldestChain: an answer over several chains is as old as the oldest of
// them, whichever that is.
func TestOldestChain(t *testing.T) {
	f := func(ages ...time.Duration) {
		t.Helper()
		now, board := time.Now(), new(rankings.Board)
		s := serve(t, func(c *Config) { c.Board = board })
		for i, c := range sharedNode().board.Load().Chains {
			v, _ := rankings.Build(nil, c.View.State, c.View.Generation)
			v.Confirm(now.Add(-ages[i]).UnixMilli())
			board.Publish(v)
			board.SetStatus(c.ID, c.Status)
		}

		oldest := max(ages[0], ages[1], ages[2])
		want := now.Add(-oldest).UTC().Format("2006-01-02T15:04:05.000Z")
		for _, path := range []string{"/v1/positions?limit=2", "/v1/pools?limit=2", "/v1/pools?limit=2"} {
			if m := s.get(path).decoded(t); m["stale"] != true || m["dataAsOf"] != want {
				t.Errorf("%v: %s: stale %v as of %v; want %s", ages, path, m["stale"], m["dataAsOf"], want)
			}
		}
		if m := s.get("/v1/stats").decoded(t); m["asOf"] != want {
			t.Errorf("%v: /v1/stats as of %v; want %s", ages, m["asOf"], want)
		}
	}

	f(time.Second, 2*time.Minute, 3*time.Minute)
	f(3*time.Minute, time.Second, 2*time.Minute)
	f(2*time.Minute, 3*time.Minute, time.Second)
}
