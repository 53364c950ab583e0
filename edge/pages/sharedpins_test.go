package pages

import (
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// sharingNode is the pins of a node in a cluster, with a board of chain 1.
type sharingNode struct {
	*Pages
	t     *testing.T
	view  *rankings.View
	hears []*sharingNode

	mu    sync.Mutex
	walks []Walk // that it told of
}

// newSharing returns nodes that hear of each other's walks after a delay.
func newSharing(t *testing.T, n int, delay time.Duration) []*sharingNode {
	nodes := make([]*sharingNode, n)
	for i := range nodes {
		node := &sharingNode{t: t}
		node.Pages = &Pages{enabled: []market.ChainID{1}, cfg: &Config{
			Board: new(rankings.Board), Metrics: metrics.NewSet(),
			TellWalk: func(w *Walk) {
				node.mu.Lock()
				defer node.mu.Unlock()
				node.walks = append(node.walks, *w)
				for _, other := range node.hears {
					time.AfterFunc(delay, func() { other.HearWalk(w) })
				}
			},
		}}
		bounds := DefaultLimits()
		bounds.Pins = 2
		node.SetLimits(bounds)
		node.pins = newPins(node.cfg, &node.limits, func() {})
		nodes[i] = node
		t.Cleanup(node.pins.close)
	}

	for i, node := range nodes {
		for j, other := range nodes {
			if i != j {
				node.hears = append(node.hears, other)
			}
		}
	}
	return nodes
}

// publish shows generations, 50 ms apart.
func (n *sharingNode) publish(generations ...uint64) {
	for _, generation := range generations {
		n.view, _ = rankings.Build(n.view, crowd(3, 1), generation)
		n.cfg.Board.Publish(n.view)
		time.Sleep(50 * time.Millisecond)
	}
}

// ask answers a question of an account, and returns the generation.
func (n *sharingNode) ask(account uint64, which query.Cut) (uint64, *render.Error) {
	c, err := n.findCut(&Question{Account: account, Options: query.Options{Cut: which}}, 1)
	if err != nil {
		return 0, err
	}
	defer n.pins.endAnswer(c)
	if !c.views[0].Pinned() {
		n.t.Error("a walk is on a generation that is not pinned")
	}
	return c.views[0].Generation, nil
}

// begin begins a walk of an account, which should be on a generation.
func (n *sharingNode) begin(account, want uint64) {
	n.t.Helper()
	if got, err := n.ask(account, query.Cut{Pin: true}); err != nil || got != want {
		n.t.Errorf("the walk of account %d is on generation %d, %v; want %d", account, got, err, want)
	}
}

// answers reports whether the walk of an account can go on at this node.
func (n *sharingNode) answers(account, generation uint64) bool {
	got, err := n.ask(account, query.Cut{Named: []query.Generation{{Chain: 1, Number: generation}}})
	if err != nil && err != errGone {
		n.t.Errorf("generation %d: %v", generation, err)
	}
	return err == nil && got == generation
}

// kept returns the generations that are pinned, and how many walks are awaited.
func (n *sharingNode) kept() (generations []uint64, awaited int) {
	n.pins.mu.Lock()
	defer n.pins.mu.Unlock()
	for _, c := range n.pins.cuts {
		generations = append(generations, c.views[0].Generation)
	}
	if n.pins.shared != nil {
		awaited = len(n.pins.shared.awaited)
	}
	return generations, awaited
}

// told returns what the node told of.
func (n *sharingNode) told() []Walk {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.walks)
}

// publishAll shows generations at all nodes, at one after the other.
func publishAll(nodes []*sharingNode, generations ...uint64) {
	for _, n := range nodes {
		n.publish(generations...)
	}
}

// A node alone has every generation that there is: one that it does not have is gone, at
// once.
func TestNodeAloneWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSharing(t, 1, 0)[0]
		n.cfg.TellWalk, n.cfg.Metrics = nil, metrics.NewSet()
		n.pins = newPins(n.cfg, &n.limits, func() {})
		t.Cleanup(n.pins.close)
		n.publish(7)

		began := time.Now()
		if n.answers(1, 8) || time.Since(began) > 0 {
			t.Errorf("the next generation is refused after %s", time.Since(began))
		}
	})
}

// A walk goes on at any node, as long as it goes on at one, and ends on all.
func TestWalkOnOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 3, 2*time.Millisecond)
		publishAll(nodes, 1)
		nodes[0].begin(7, 1)
		time.Sleep(2 * time.Millisecond)
		publishAll(nodes, 2, 3, 4)

		for i, n := range nodes {
			if !n.answers(7, 1) || n.answers(7, 2) {
				t.Errorf("node %d answers from generation 1: %t, from 2: %t", i, n.answers(7, 1), n.answers(7, 2))
			}
		}
		for range 11 { // the others hear that it goes on
			time.Sleep(50 * time.Second)
			if !nodes[1].answers(7, 1) {
				t.Fatal("a walk under way has ended")
			}
		}
		if !nodes[0].answers(7, 1) || !nodes[2].answers(7, 1) {
			t.Error("a walk has ended on a node that was not asked for a while")
		}
		time.Sleep(50 * time.Second) // ten minutes after its beginning
		for i, n := range nodes {
			if n.answers(7, 1) {
				t.Errorf("node %d answers after ten minutes", i)
			}
		}
	})
}

// A walk on generations that are renewed at one node goes on as long on the others.
func TestRenewedWalkOnOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, 2*time.Millisecond)
		publishAll(nodes, 1)
		nodes[0].begin(7, 1)
		time.Sleep(50 * time.Second)
		nodes[0].begin(7, 1)
		time.Sleep(2 * time.Millisecond)
		publishAll(nodes, 2, 3, 4)

		for range 11 {
			time.Sleep(54 * time.Second)
			if !nodes[1].answers(7, 1) {
				t.Fatal("a walk under way has ended")
			}
		}
		time.Sleep(6 * time.Second) // ten minutes after it was renewed
		for i, n := range nodes {
			if n.answers(7, 1) {
				t.Errorf("node %d answers after ten minutes", i)
			}
		}
	})
}

// What nobody asks for ends a minute later, on all nodes.
func TestIdleWalkEndsOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, time.Millisecond)
		publishAll(nodes, 1)
		nodes[0].begin(7, 1)
		publishAll(nodes, 2, 3, 4)

		time.Sleep(time.Minute + tellEvery)
		for i, n := range nodes {
			if kept, _ := n.kept(); len(kept) != 0 || n.answers(7, 1) {
				t.Errorf("node %d keeps generations %d a minute after the last answer", i, kept)
			}
		}
		told := len(nodes[0].told())
		time.Sleep(time.Minute)
		if now := len(nodes[0].told()); told > 2 || now != told {
			t.Errorf("%d times the other node was told, and %d times later; want at most 2, and none", told, now-told)
		}
	})
}

// An answer that takes minutes keeps its generations on all nodes.
func TestLongAnswerIsKeptOnOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, time.Millisecond)
		publishAll(nodes, 1)
		c, err := nodes[0].findCut(&Question{Account: 7, Options: query.Options{Cut: query.Cut{Pin: true}}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		nodes[1].publish(2, 3, 4)

		time.Sleep(5 * time.Minute)
		if !nodes[1].answers(7, 1) {
			t.Error("the other node does not keep what an answer is made from")
		}
		time.Sleep(4*time.Minute + 30*time.Second)
		nodes[0].pins.endAnswer(c)
		nodes[0].publish(2, 3)
		time.Sleep(28 * time.Second)
		for i, n := range nodes {
			if !n.answers(7, 1) {
				t.Errorf("node %d has let go of what an answer was made from until 28 seconds ago", i)
			}
		}
	})
}

// After ten minutes a walk does not go on, even while an answer from it is under way.
func TestWalkOfTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 1, 0)
		n := nodes[0]
		n.publish(1)
		c, err := n.findCut(&Question{Account: 7, Options: query.Options{Cut: query.Cut{Pin: true}}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		n.publish(2, 3)

		time.Sleep(maxPin)
		if n.answers(7, 1) {
			t.Error("a walk goes on after ten minutes")
		}
		if kept, _ := n.kept(); len(kept) != 1 {
			t.Errorf("generations %d are kept; want the one of the answer under way", kept)
		}
		n.pins.endAnswer(c)
		if kept, _ := n.kept(); len(kept) != 0 {
			t.Errorf("generations %d are kept after the answer", kept)
		}
	})
}

// A node tells of a walk again five seconds after it told of it, if it was asked since, and
// then of all accounts.
func TestWalkIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, time.Millisecond)
		nodes[1].publish(1)
		nodes[0].publish(1)
		time.Sleep(time.Minute) // nothing wakes the node

		hears := nodes[0].hears
		nodes[0].hears = nil
		for account := range uint64(5) {
			nodes[0].begin(9-account, 1)
		}
		time.Sleep(time.Second)
		nodes[0].begin(9, 1)
		nodes[0].mu.Lock()
		nodes[0].hears = hears
		nodes[0].mu.Unlock()
		time.Sleep(tellEvery)

		want := Walk{
			Generations: []query.Generation{{Chain: 1, Number: 1}},
			Accounts:    []uint64{5, 6, 7, 8, 9}, Age: tellEvery,
		}
		if told := nodes[0].told(); len(told) != 6 || !reflect.DeepEqual(told[5], want) {
			t.Fatalf("told is %+v; want five accounts and %+v", told, want)
		}

		// The walk is as old on the node that hears of it late.
		nodes[1].publish(2)
		time.Sleep(joinPin - tellEvery - time.Second)
		nodes[1].begin(3, 2)
	})
}

// A stream waits for the generations that it comes with, at a node that is behind by more than
// a walk waits for, but not for those that cannot come.
func TestStreamOnNodeThatIsBehind(t *testing.T) {
	f := func(first, last, named uint64, want time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			n := newSharing(t, 1, 0)[0]
			n.publish(first)
			go func() {
				for g := first + 1; g <= last; g++ {
					n.publish(g)
				}
			}()

			began := time.Now()
			n.AwaitGenerations([]query.Generation{{Chain: 1, Number: named}})
			if took := time.Since(began).Round(100 * time.Millisecond); took != want {
				t.Errorf("from %d to %d, the stream waits for %d for %s; want %s", first, last, named, took, want)
			}
			time.Sleep(time.Second)
		})
	}
	f(5, 10, 10, 200*time.Millisecond)
	f(5, 5, 5, 0)
	f(5, 5, 4, 0)
	f(5, 5, 8, awaitFor)
	f(5, 5, 5+maxStreamBehind+1, 0)
}

// A walk that begins after a node has started is not on generations that this node never had.
func TestWalkAfterANodeStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, time.Millisecond)
		old, started := nodes[0], nodes[1]
		old.publish(1)
		old.begin(7, 1)
		old.publish(2, 3, 4)
		started.publish(4)
		old.HearStart()

		old.begin(7, 4)
		old.begin(8, 4)
		time.Sleep(2 * time.Millisecond)
		if !started.answers(7, 4) || !started.answers(8, 4) {
			t.Error("a walk does not go on at the node that has started")
		}
		if kept, awaited := old.kept(); !slices.Equal(kept, []uint64{1, 4}) || awaited != 0 {
			t.Errorf("generations %d are kept, and %d walks awaited; want 1 and 4, and none", kept, awaited)
		}
	})
}

// If the other walks have all pins, the answer says when the first of them ends.
func TestWalkWaitsForTheFirstThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 1, 0)
		n := nodes[0]
		for account := range uint64(2) {
			n.publish(account + 1)
			n.begin(account+1, account+1)
			time.Sleep(joinPin)
		}
		if !n.answers(1, 1) { // now the second one ends first
			t.Error("the walk does not go on")
		}

		n.publish(3)
		_, err := n.ask(3, query.Cut{Pin: true})
		if want := time.Minute - joinPin - 50*time.Millisecond; err == nil || err.Retry != want {
			t.Errorf("a third walk is told to wait: %+v; want for %s", err, want)
		}
	})
}

// What a walk on a chain that is gone or offline asks for is not counted as under way.
func TestWalkOnUnavailableChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 1, 0)
		n := nodes[0]
		n.publish(1)
		n.begin(7, 1)

		n.cfg.Board.SetStatus(1, rankings.ChainStatus{Enabled: true, Offline: true})
		named := query.Cut{Named: []query.Generation{{Chain: 1, Number: 1}}}
		if _, err := n.listScope(&Question{Account: 7, Positions: rankings.PositionQuestion{Chain: 1}, Options: query.Options{Cut: named}}); err == nil || err.Code != 503 {
			t.Errorf("a walk on a chain that is offline: %v; want 503", err)
		}
		n.pins.mu.Lock()
		underWay := n.pins.cuts[0].answers
		n.pins.mu.Unlock()
		if underWay != 0 {
			t.Errorf("%d answers are under way", underWay)
		}
		if n.pins.findPinned(7, 0, []query.Generation{{Chain: 2, Number: 1}}) != nil {
			t.Error("the generation of another chain is found")
		}

		views := []*rankings.View{n.view}
		n.cfg.Board.SetStatus(1, rankings.ChainStatus{Enabled: true})
		n.cfg.Board.Withdraw(1)
		if c, err := n.pins.pinNamed(8, views); err != errReplaced {
			t.Errorf("a view that was withdrawn is kept: %v, %v", c, err)
		}
		n.HearWalk(&Walk{Generations: []query.Generation{{Chain: 1, Number: 2}}})
		if _, awaited := n.kept(); awaited != 1 {
			t.Errorf("%d walks are awaited on a chain without a view; want 1", awaited)
		}
		if _, err := n.ask(9, query.Cut{Pin: true}); err == nil || err.Code != 503 {
			t.Errorf("a walk on a chain without a view: %v; want 503", err)
		}
	})
}

// A node that is behind pins what it hears of once it has it, and a request waits for that.
// One that is ahead can pin what was replaced a moment ago.
func TestWalkOnUnequalNodes(t *testing.T) {
	f := func(what string, delay time.Duration, has, later []uint64, wait time.Duration, want bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			nodes := newSharing(t, 2, delay)
			a, b := nodes[0], nodes[1]
			b.publish(has...)
			a.publish(5)
			a.begin(7, 5)
			go func() {
				time.Sleep(wait)
				b.publish(later...)
			}()

			time.Sleep(delay + time.Millisecond)
			if got := b.answers(7, 5); got != want {
				t.Errorf("%s: the walk goes on: %t; want %t", what, got, want)
			}
			if kept, _ := b.kept(); len(kept) > 0 && !slices.Equal(kept, []uint64{5}) {
				t.Errorf("%s: generations %d are kept", what, kept)
			}
			time.Sleep(awaitFor)
		})
	}

	ms := time.Millisecond
	f("level", ms, []uint64{5}, nil, 0, true)
	f("one behind", ms, []uint64{4}, []uint64{5}, 500*ms, true)
	f("two behind", ms, []uint64{3}, []uint64{4, 5}, 500*ms, true)
	f("three behind", ms, []uint64{2}, []uint64{3, 4, 5}, 500*ms, false)
	f("behind for too long", ms, []uint64{4}, []uint64{5}, awaitFor+100*ms, false)
	f("one ahead", ms, []uint64{5, 6}, nil, 0, true)
	f("one ahead for long", replacedFor, []uint64{5, 6}, nil, 0, false)
	f("two ahead", ms, []uint64{5, 6, 7}, nil, 0, false)
	f("after a gap", ms, []uint64{5, 7}, nil, 0, false)
}

// What a node that was behind pins once it has it stays, whatever follows it before the
// walk goes on there.
func TestWalkOnNodeThatWasBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, time.Millisecond)
		nodes[1].publish(4)
		nodes[0].publish(5)
		nodes[0].begin(7, 5)
		time.Sleep(2 * time.Millisecond)
		if _, awaited := nodes[1].kept(); awaited != 1 {
			t.Errorf("%d walks are awaited; want 1", awaited)
		}

		nodes[1].publish(5, 6, 7, 8)
		if kept, awaited := nodes[1].kept(); awaited != 0 || !nodes[1].answers(7, 5) {
			t.Errorf("generations %d are kept, %d walks awaited; want 5, and none", kept, awaited)
		}
	})
}

// A walk that a node was not told of goes on there too while it has the generation: as
// the newest, and for a moment after that.
func TestUntoldWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 1, 0)
		n := nodes[0]
		n.publish(5, 6)
		f := func(generation uint64, want bool) {
			t.Helper()
			if got := n.answers(7, generation); got != want {
				t.Errorf("generation %d is answered from: %t; want %t", generation, got, want)
			}
		}

		newest := []*rankings.View{n.view}
		recalled := n.pins.restoreNamed(newest, []query.Generation{{Chain: 1, Number: 5}})
		if recalled[0].Generation != 5 || newest[0] != n.view {
			t.Errorf("generation %d is recalled, and the newest are changed to %d; want 5 and 6",
				recalled[0].Generation, newest[0].Generation)
		}

		f(6, true)
		f(5, true)
		f(4, false)
		n.publish(7, 8)
		time.Sleep(replacedFor)
		f(8, true)
		f(7, false)
	})
}

// An account has one pin on all nodes, and a walk that is nobody's makes room on all.
func TestPinsOfAccountsOnAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, time.Millisecond)
		f := func(node int, account, generation uint64, want ...uint64) {
			t.Helper()
			publishAll(nodes, generation)
			nodes[node].begin(account, generation)
			time.Sleep(joinPin + time.Second)
			for i, n := range nodes {
				if kept, _ := n.kept(); !slices.Equal(kept, want) {
					t.Errorf("node %d keeps generations %d; want %d", i, kept, want)
				}
			}
		}

		f(0, 7, 1, 1)
		f(1, 8, 2, 1, 2)
		f(1, 7, 3, 2, 3) // its own makes room
		nodes[0].publish(4)
		if got, err := nodes[0].ask(9, query.Cut{Pin: true}); err == nil || err.Code != 503 {
			t.Errorf("a third cut is kept: generation %d, %v", got, err)
		}
		f(0, 8, 5, 3, 5)
		f(0, 7, 6, 5, 6)

		want := Walk{Generations: []query.Generation{{Chain: 1, Number: 6}}, Accounts: []uint64{7}}
		if told := nodes[0].told(); !reflect.DeepEqual(told[len(told)-1], want) {
			t.Errorf("told is %+v; want %+v", told[len(told)-1], want)
		}
	})
}

// The cut that several accounts share makes room when all of them go on to another one.
func TestAccountsChangeTheirPinTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSharing(t, 1, 0)[0]
		bounds := *n.Limits()
		bounds.Pins = 1
		n.SetLimits(bounds)

		for generation := range uint64(2) {
			n.publish(generation + 1)
			named := []query.Generation{{Chain: 1, Number: generation + 1}}
			n.HearWalk(&Walk{Generations: named, Accounts: []uint64{7, 8}})
		}
		if kept, _ := n.kept(); !slices.Equal(kept, []uint64{2}) {
			t.Errorf("generations %d are kept; want 2", kept)
		}
	})
}

// A new walk joins one that another node has just begun, and not one that is older.
func TestJoinWalkOfOtherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, time.Millisecond)
		publishAll(nodes, 1)
		nodes[0].begin(7, 1)
		time.Sleep(time.Millisecond)
		publishAll(nodes, 2)

		nodes[1].begin(8, 1)
		time.Sleep(joinPin + time.Second)
		nodes[1].begin(9, 2)
	})
}

// Without room, a node does not keep the walk of another one, and does not wait for it.
func TestNoRoomForWalkOfOtherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newSharing(t, 2, time.Millisecond)
		a, b := nodes[0], nodes[1]
		b.hears = nil

		for generation := range uint64(2) {
			b.publish(generation + 1)
			b.begin(generation+1, generation+1)
			time.Sleep(joinPin + time.Second)
		}
		a.publish(2, 3)
		b.publish(3)

		a.begin(7, 3)
		b.publish(4, 5)
		if kept, awaited := b.kept(); !slices.Equal(kept, []uint64{1, 2}) || awaited != 0 || b.answers(7, 3) {
			t.Errorf("generations %d are kept, %d walks awaited; want 1 and 2, and none", kept, awaited)
		}

		// Walks that end at once make room at once.
		bounds := *b.Limits()
		bounds.Pin = time.Second
		b.SetLimits(bounds)
		time.Sleep(joinPin)
		a.publish(4, 5)
		a.begin(8, 5)
		time.Sleep(2 * time.Millisecond)
		if kept, _ := b.kept(); !slices.Equal(kept, []uint64{5}) {
			t.Errorf("generations %d are kept after the others ended; want 5", kept)
		}
	})
}

// Walks that cannot be followed yet are bounded, and a node that has closed its pins
// hears no more.
func TestAwaitedWalksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSharing(t, 1, 0)[0]
		n.publish(1)
		for i := range uint64(maxAwaited + 9) {
			n.HearWalk(&Walk{Generations: []query.Generation{{Chain: 1, Number: 2 + i}}})
		}
		if _, got := n.kept(); got != maxAwaited {
			t.Errorf("%d walks are awaited; want %d", got, maxAwaited)
		}
		time.Sleep(awaitFor + updateEvery)
		if _, got := n.kept(); got != 0 {
			t.Errorf("%d walks are awaited after their time", got)
		}

		n.pins.close()
		n.HearWalk(&Walk{Generations: []query.Generation{{Chain: 1, Number: 1}}})
		if kept, _ := n.kept(); len(kept) != 0 || n.view.Pinned() {
			t.Error("closed pins keep a walk")
		}
	})
}
