package cluster

import (
	"testing"
	"time"
)

// A server that has lost the others answers, but is not taken for one with a majority; a node
// leaves it for one that reaches the leader, once there is one.
func TestLeavesServersWithoutLeader(t *testing.T) {
	s := newServers(t, 3, true)
	config := s.config("a")
	config.Servers = config.Servers[:1]
	alone, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(alone.Close)
	if !alone.Reaches(t.Context()) || !leaderAnswers(alone.ctx, alone.js) {
		t.Error("the leader of three servers is not reached")
	}

	s.Stop(1)
	s.Stop(2)
	reaches := func() bool { return alone.Reaches(t.Context()) || leaderAnswers(alone.ctx, alone.js) }
	for end := time.Now().Add(time.Minute); reaches(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a server that has lost the others reaches the leader")
		}
	}

	before := alone.nc.Stats().Reconnects
	for end := time.Now().Add(3 * firstPatience); alone.nc.Stats().Reconnects == before; {
		time.Sleep(100 * time.Millisecond)
		if time.Now().After(end) {
			t.Fatal("a node stays at a server that has lost the others")
		}
	}
}
