package torture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"tidemark/actors/cluster/natstest"
	"tidemark/bench/process"
)

const (
	// takeoverWithin is from the death of a writer to the next generation; with the
	// stream's own leader, servers have to elect another one first.
	takeoverWithin       = 5 * time.Second
	takeoverLeaderWithin = 15 * time.Second
	// healedWithin is from the end of a partition until all nodes show what any showed.
	healedWithin = 2 * time.Second
	// behindWithin is how far followers may be behind, in 99 of 100 generations.
	behindWithin = 100 * time.Millisecond
	// withLeader is the share of kills, one in so many, in which the stream's leader dies
	// with the writer.
	withLeader = 4
)

// times are how long something took, over many rounds.
type times struct {
	t      *testing.T
	what   string
	within time.Duration
	quiet  []time.Duration // while nobody else used the processors
	loaded []time.Duration
	began  time.Time
	busy   time.Duration // of others, before
}

// othersBusy is the CPU time that processes used which are not ours.
func othersBusy() time.Duration { return process.ReadMachine().Busy - process.CPU(os.Getpid()) }

// begin begins a measurement.
func (x *times) begin() { x.began, x.busy = time.Now(), othersBusy() }

// loadedTimes is how many times as long something may take while others use the
// processors.
const loadedTimes = 3

// end ends it, and reports whether it took no longer than it may.
func (x *times) end() bool {
	took, most := time.Since(x.began), x.within
	if others := othersBusy() - x.busy; float64(others) < quietShare*float64(took) {
		x.quiet = append(x.quiet, took)
	} else {
		x.loaded = append(x.loaded, took)
		most *= loadedTimes
	}

	if took > most {
		x.t.Errorf("%s took %s; cannot exceed %s", x.what, took, most)
	}
	return took <= most
}

// String says how long it took in the median and at most, and of how many rounds others
// took the processors.
func (x *times) String() string {
	all := slices.Sorted(slices.Values(slices.Concat(x.quiet, x.loaded)))
	if len(all) == 0 {
		return x.what + " never"
	}
	over := 0
	for _, d := range all {
		if d > x.within {
			over++
		}
	}
	return fmt.Sprintf("%s after %s in the median, %s at most, %d of %d over %s (%d while others used the processors)",
		x.what, round(all[len(all)/2]), round(all[len(all)-1]), over, len(all), x.within, len(x.loaded))
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// TestClusterKills kills writers with -9 at random moments, and with one in four the
// leader of the stream. Another node writes within seconds. No generation has two
// contents on any node, none that was shown is missing, and every store is sound.
func TestClusterKills(t *testing.T) {
	kills := share(t, 4, 100)
	f := newFleet(t)
	alone := &times{t: t, what: "another writes", within: takeoverWithin}
	both := &times{t: t, what: "with the stream's leader", within: takeoverLeaderWithin}
	back := &times{t: t, what: "the killed node has everything", within: fleetPatience}

	for i := range kills {
		time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Second))))
		victim := f.aWriter()
		leader := f.streamLeader()
		took := alone
		if i%withLeader == 1 {
			took = both
		} else {
			leader = nil
		}

		took.begin()
		orphans := f.orphan(victim)
		if leader != nil {
			if err := leader.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		f.await("the next writer", func() bool { return f.isWritten(orphans) })
		took.end()

		back.begin()
		if leader != nil {
			f.startServer(leader)
		}
		f.restart(victim)
		f.settle("after a kill")
		back.end()
	}
	f.judge()
	figure(t, "%d writers killed with -9, %d of them with the stream's leader: %d generations that went back, "+
		"%d pages compared between nodes, %d differ; %s; %s; %s", kills, (kills+withLeader-2)/withLeader, f.back,
		f.compared, f.differ, alone, both, back)
}

// aWriter returns a node that writes a chain.
func (f *fleet) aWriter() (writer *member) {
	f.t.Helper()
	chain := fleetChains[rand.IntN(len(fleetChains))]
	f.await("a writer", func() bool {
		for _, m := range f.members {
			if f.written(m)[chain] {
				writer = m
				return true
			}
		}
		return false
	})
	return writer
}

// orphan kills a node, and returns the newest generations of the chains that it wrote.
func (f *fleet) orphan(m *member) map[int64]int64 {
	written := f.written(m)
	f.kill(m)
	newest := f.newestShown()
	for chain := range newest {
		if !written[chain] {
			delete(newest, chain)
		}
	}
	return newest
}

// isWritten reports whether other nodes write the chains of one that was killed. Of the
// first chain there has to be a generation; on the others the next block may be late.
func (f *fleet) isWritten(orphans map[int64]int64) bool {
	for chain, generation := range orphans {
		writes := func(m *member) bool { return f.written(m)[chain] }
		if !slices.ContainsFunc(f.members, writes) ||
			chain == fleetChains[0] && f.newestShown()[chain] <= generation {
			return false
		}
	}
	return true
}

// TestClusterServers kills NATS servers with -9. The nodes go on, and soon after the
// server is back all of them have everything.
func TestClusterServers(t *testing.T) {
	kills := share(t, 4, 50)
	f := newFleet(t)
	on := &times{t: t, what: "the next generation of every chain", within: takeoverLeaderWithin}
	healed := &times{t: t, what: "all nodes have everything", within: healedWithin}
	for range kills {
		time.Sleep(time.Duration(rand.Int64N(int64(time.Second))))
		s := f.servers[rand.IntN(len(f.servers))]
		on.begin()
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		newest := f.newestShown()
		f.await("the next generation", func() bool { return f.anyPast(newest) })
		on.end()

		f.startServer(s)
		healed.begin()
		f.settle("after a server")
		healed.end()
	}
	f.judge()
	figure(t, "%d NATS servers killed with -9: %d generations that went back, %d pages compared between nodes, %d "+
		"differ; %s; %s", kills, f.back, f.compared, f.differ, on, healed)
}

// cutKinds are what a partition separates.
var cutKinds = []string{"a node from all servers", "a server from the others", "a node from a server"}

// links returns all connections of a random partition of a kind.
func (f *fleet) links(kind int) (all []*natstest.Proxy) {
	i, m := rand.IntN(len(f.servers)), f.members[rand.IntN(len(f.members))]
	switch kind {
	case 0:
		return m.wires
	case 1:
		for pair, p := range f.routes {
			if pair[0] == i || pair[1] == i {
				all = append(all, p)
			}
		}
		return all
	}

	return m.wires[i : i+1]
}

// TestClusterPartitions cuts links, or holds what is sent on them, in both directions.
// Soon after they are healed all nodes have everything, and nothing has forked.
func TestClusterPartitions(t *testing.T) {
	cuts := share(t, 6, 50)
	f := newFleet(t)
	healed := &times{t: t, what: "all nodes have everything", within: healedWithin}
	kinds := make([]int, len(cutKinds))
	for i := range cuts {
		kind := i % len(cutKinds)
		links := f.links(kind)
		kinds[kind]++
		silent := rand.IntN(2) == 0
		for _, p := range links {
			if silent {
				p.Hold()
			} else {
				p.Cut()
			}
		}
		time.Sleep(time.Second + time.Duration(rand.Int64N(int64(5*time.Second))))

		for _, p := range links {
			p.Heal()
		}
		when := fmt.Sprintf("after %s was separated (silently: %v)", cutKinds[kind], silent)
		healed.begin()
		f.settle(when)
		if !healed.end() {
			t.Log("it was ", when)
		}
	}
	f.judge()
	figure(t, "%d partitions (%d of %s, %d of %s, %d of %s), cut or silent: %d generations that went back, %d pages "+
		"compared between nodes, %d differ; %s after healing", cuts, kinds[0], cutKinds[0], kinds[1], cutKinds[1],
		kinds[2], cutKinds[2], f.back, f.compared, f.differ, healed)
}

// TestClusterBehind measures how long after its writer a follower shows a generation.
func TestClusterBehind(t *testing.T) {
	count := share(t, 50, 1000)
	f := newFleet(t)
	before := f.newestShown()
	x := &times{t: t, what: "measuring", within: time.Hour}
	x.begin()
	for f.generationsSince(before) < count {
		newest := f.newestShown()
		f.await("the next generation", func() bool { return f.anyPast(newest) })
	}
	f.settle("at the end")
	x.end()

	behind := f.behindSince(before)
	p99, most := behind[len(behind)*99/100], behindWithin
	if len(x.loaded) > 0 {
		most *= loadedTimes
	}
	if p99 > most {
		t.Errorf("followers are %s behind in 1 of 100 generations; cannot exceed %s", p99, most)
	}
	f.judge()
	figure(t, "%d generations on followers: behind their writer %s in the median, p99 %s, %s at most; others used the "+
		"processors: %v", len(behind), round(behind[len(behind)/2]), round(p99), round(behind[len(behind)-1]),
		len(x.loaded) > 0)
}

// generationsSince counts what all chains have shown since.
func (r *record) generationsSince(before map[int64]int64) (n int) {
	for chain, newest := range r.newestShown() {
		n += int(newest - before[chain])
	}
	return n
}

// behindSince returns how long after the first node each other one showed a generation.
// The first one to be looked at may be a follower, so the result is up to a look wrong.
func (r *record) behindSince(before map[int64]int64) (behind []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for g, shown := range r.first {
		if g.generation <= before[g.chain] || len(shown) < fleetNodes {
			continue
		}
		var at []time.Time
		for _, when := range shown {
			at = append(at, when)
		}
		slices.SortFunc(at, time.Time.Compare)
		for _, later := range at[1:] {
			behind = append(behind, later.Sub(at[0]))
		}
	}

	slices.Sort(behind)
	return behind
}
