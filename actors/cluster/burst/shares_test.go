package burst

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"tidemark/storage/accounts"
)

const (
	whole  = accounts.WholeLimit
	second = int64(time.Second)
)

// alone is what node a knows that has heard of nobody, with the accounts of some plans.
func alone(t *testing.T, plans ...accounts.Plan) (s *Shares, n *modelNode, now int64) {
	t.Helper()
	m := newModel(t, 20, plans...)
	n = m.start("a")
	return n.shares, n, m.now
}

// What a node may have that is not heard is at first what it claimed, then at least its
// part of all nodes, and then only that.
func TestClaimsOfSilentNodes(t *testing.T) {
	p := &peer{rest: whole / 2, nodes: 4, heardAt: 5, claims: map[uint64]Claim{7: {7, 0, 9}}}
	f := func(silent, rest, listed int64) {
		t.Helper()
		if got, own := p.claimOf(1, 5+silent), p.claimOf(7, 5+silent); got != rest || own != listed {
			t.Errorf("after %s: %d and of a listed account %d; want %d, %d", time.Duration(silent), got, own, rest, listed)
		}
		if live := silent < silentAfter; p.live(5+silent) != live || p.silent(5+silent) != silent {
			t.Errorf("after %s it is live: %t", time.Duration(silent), !live)
		}
	}

	f(0, whole/2, 9)
	f(silentAfter-1, whole/2, 9)
	f(silentAfter, whole/2, whole/4)
	f(loweredAfter-1, whole/2, whole/4)
	f(loweredAfter, whole/4, whole/4)
}

// An announcement replaces what was known of a node; another process of it has heard nothing.
func TestWhatIsHeardOfANode(t *testing.T) {
	s, _, now := alone(t)
	s.process = "mine"
	f := func(what string, a Announcement, at int64, met bool, want peer) {
		t.Helper()
		a.Node, want.node, want.heardAt = "b", "b", at
		s.metAt = 0
		s.Hear(&a, at)
		if got := s.peers["b"]; !reflect.DeepEqual(*got, want) || (s.metAt == at) != met || s.doubled {
			t.Errorf("%s: %+v, met at %d; want %+v", what, *got, s.metAt, want)
		}
	}
	none := map[uint64]Claim{}
	heard := []Heard{{"a", "mine", 5, 1, 2999}, {"c", "r", 1, 3, 500}}

	f("the first", Announcement{Process: "p", Number: 3, Nodes: 2, Rest: 9, Accounts: []Claim{{7, 1, 2}}}, now, true,
		peer{process: "p", number: 3, nodes: 2, rest: 9, claims: map[uint64]Claim{7: {7, 1, 2}}})
	f("the next", Announcement{Process: "p", Number: 4, Nodes: 3, Rest: 8, Peers: heard}, now+1, false,
		peer{process: "p", number: 4, nodes: 3, rest: 8, claims: none, acked: 5})
	heard[0].SilentMs = 3000
	f("it doubts", Announcement{Process: "p", Number: 5, Nodes: 3, Peers: heard}, now+2, false,
		peer{process: "p", number: 5, nodes: 3, claims: none, acked: 5, doubts: true})
	f("it has not heard this node", Announcement{Process: "p", Number: 6, Nodes: 3}, now+3, false,
		peer{process: "p", number: 6, nodes: 3, claims: none, doubts: true})
	f("another process of it", Announcement{Process: "q", Number: 1, Nodes: 3}, now+4, false,
		peer{process: "q", number: 1, nodes: 3, claims: none})
	heard[0] = Heard{"a", "before", 9, 1, 0}
	f("it has heard an earlier process", Announcement{Process: "q", Number: 2, Nodes: 3, Peers: heard}, now+5, false,
		peer{process: "q", number: 2, nodes: 3, claims: none})
	f("it was silent", Announcement{Process: "q", Number: 3, Nodes: 3}, now+5+silentAfter, true,
		peer{process: "q", number: 3, nodes: 3, claims: none})

	s.Hear(&Announcement{Node: "a", Process: "mine", Nodes: 1}, now)
	if s.doubled {
		t.Error("a node takes itself for another one")
	}
	for _, process := range []string{"other", "mine"} {
		if s.Hear(&Announcement{Node: "a", Process: process, Nodes: 1}, now); !s.doubled || s.peers["a"] != nil {
			t.Error("another process of its name is not noticed")
		}
	}
}

// A node that starts learns of nodes that are silent from those that it hears, and later
// no more.
func TestWhatOthersKnow(t *testing.T) {
	s, _, now := alone(t)
	f := func(what string, listening bool, h Heard, want *peer) {
		t.Helper()
		s.listening = listening
		s.Hear(&Announcement{Node: "b", Process: "p", Number: 1, Nodes: 2, Peers: []Heard{h}}, now)
		if got := s.peers[h.Node]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v; want %+v", what, got, want)
		}
	}

	f("after the start", false, Heard{"c", "r", 4, 3, 500}, nil)
	f("without a number of nodes", true, Heard{"c", "r", 4, 0, 500}, nil)
	one := &peer{node: "d", process: "r", nodes: 1, rest: whole, heardAt: now}
	f("a node that was alone", true, Heard{"d", "r", 4, 1, 0}, one)
	c := &peer{node: "c", process: "r", nodes: 3, rest: whole, heardAt: now - 500*int64(time.Millisecond)}
	f("a silent node", true, Heard{"c", "r", 4, 3, 500}, c)
	f("it is known", true, Heard{"c", "s", 5, 4, 100}, c)
	f("this node", true, Heard{"a", "before", 5, 4, 100}, nil)
}

// A node is forgotten when it was silent for long while the servers answered all the time.
func TestForgottenNodes(t *testing.T) {
	const now = 1000 * second
	f := func(what string, heardAt, reachedSince int64, known, stays bool) {
		t.Helper()
		s, _, _ := alone(t)
		s.known, s.reachedSince = 5, reachedSince
		s.peers["b"] = &peer{node: "b", heardAt: heardAt}
		s.forgetDead(now)
		if got := s.peers["b"] != nil; got != stays || (s.known == 5) != known {
			t.Errorf("%s: it is known: %t, of %d nodes; want %t", what, got, s.known, stays)
		}
	}

	f("the servers do not answer", 0, 0, true, true)
	f("they have for less than a minute", 0, now-forgetAfter+1, true, true)
	f("they have for a minute", 0, now-forgetAfter, false, false)
	f("it was heard a minute ago", now-forgetAfter, 1, false, false)
	f("it was heard since", now-forgetAfter+1, 1, false, true)
}

// A part is lowered at once. It is raised when all that are heard have heard of it, as far
// as they leave room.
func TestAdjustedParts(t *testing.T) {
	const half, quarter = whole / 2, whole / 4
	at := func(held, claim int64, since uint64) share { return share{held: held, claim: claim, since: since} }
	f := func(what string, had, want share, p peer, unsure bool) {
		t.Helper()
		s, n, now := alone(t, medium)
		s.listening, s.number = false, 7
		had.account, had.cell, want.account, want.cell = 1, n.cells[0], 1, n.cells[0]
		p.nodes, p.heardAt = 2, now
		s.adjust(&had, &scene{now: now, nodes: 2, live: []*peer{&p}, unsure: unsure})
		if had != want {
			t.Errorf("%s: %+v; want %+v", what, had, want)
		}
	}

	f("less", at(whole, whole, 3), at(half, half, 3), peer{}, false)
	f("as much", at(half, half, 3), at(half, half, 3), peer{}, false)
	f("less than is claimed", at(half, whole, 3), at(half, half, 3), peer{acked: 7}, false)
	f("more", share{}, at(0, half, 7), peer{acked: 6}, false)
	f("more, heard at once", share{}, at(half, half, 7), peer{acked: 7, rest: half}, false)
	f("more of what is held", at(quarter, quarter, 3), at(quarter, half, 7), peer{acked: 6}, false)
	f("claimed before", at(0, quarter, 3), at(quarter, quarter, 3), peer{acked: 3, rest: half}, false)
	f("too much claimed", at(0, whole, 3), at(0, half, 3), peer{acked: 2}, false)
	f("little room", at(0, half, 3), at(quarter, half, 3), peer{acked: 3, rest: whole - quarter}, false)
	f("no room", at(9, half, 3), at(9, half, 3), peer{acked: 3, rest: whole}, false)
	f("of a listed account", at(0, half, 3), at(half, half, 3),
		peer{acked: 3, rest: whole, claims: map[uint64]Claim{1: {1, 0, 0}}}, false)
	f("nodes meet", at(0, half, 3), at(0, half, 3), peer{acked: 3}, true)
	f("the other needs it", at(whole, whole, 0), at(whole/64, whole/64, 0),
		peer{claims: map[uint64]Claim{1: {1, maxNeed, 0}}}, false)
	busy := at(whole-whole/64, whole-whole/64, 7)
	busy.need = maxNeed
	f("this node needs it", share{need: maxNeed}, busy, peer{acked: 7}, false)
}

// A node that hears nobody has at most its part of all nodes, and that much in the end; one
// that starts and does not know of how many waits.
func TestPartsAlone(t *testing.T) {
	const now, third = 1000 * second, int64(whole / 3)
	f := func(what string, held int64, want share, change func(s *Shares, v *scene)) {
		t.Helper()
		s, _, _ := alone(t)
		s.listening, s.number, s.began = false, 7, 0
		v := &scene{now: now, nodes: 3, lonely: true}
		change(s, v)
		sh := share{held: held, claim: held, since: 3}
		if s.adjust(&sh, v); sh != want {
			t.Errorf("%s: %+v; want %+v", what, sh, want)
		}
	}
	at := func(held, claim int64, since uint64) share { return share{held: held, claim: claim, since: since} }
	began := func(ago int64) func(*Shares, *scene) { return func(s *Shares, _ *scene) { s.began = now - ago } }
	heard := func(ago int64) func(*Shares, *scene) {
		return func(s *Shares, _ *scene) {
			s.peers["b"], s.peers["c"] = &peer{heardAt: now - ago}, &peer{heardAt: now - ago - second}
		}
	}

	f("more", whole, at(third, third, 7), heard(silentAfter))
	f("less, for now", 5, at(5, third, 7), heard(fallbackAfter-1))
	f("less, later", 5, at(third, third, 7), heard(fallbackAfter))
	f("it began just now", 5, at(5, third, 7), began(fallbackAfter-1))
	f("it began long ago", 5, at(third, third, 7), began(fallbackAfter))
	f("it listens, of unknown nodes", 5, at(5, 5, 3), func(s *Shares, _ *scene) { s.listening = true })
	f("it listens, of known nodes", 5, at(third, third, 7), func(s *Shares, _ *scene) {
		s.listening, s.known = true, 3
	})
	f("it listens and hears others", 5, at(5, third, 7), func(s *Shares, v *scene) {
		s.listening, s.known, v.live, v.lonely = true, 3, []*peer{{}}, false
	})
}

// What a node sees: who is heard, who is not, and what is left to nodes of which it has
// heard nothing.
func TestScenes(t *testing.T) {
	const now = 1000 * second
	f := func(what string, known, metAgo int64, peers []*peer, want scene) {
		t.Helper()
		s, _, _ := alone(t)
		s.known, s.metAt = known, now-metAgo
		for i, p := range peers {
			p.node = fmt.Sprint(i)
			s.peers[p.node] = p
		}
		want.now = now
		got := s.scene(now)
		if len(got.live) != len(want.live) || len(got.silent) != len(want.silent) {
			t.Errorf("%s: %d are heard and %d are not; want %d and %d", what, len(got.live), len(got.silent),
				len(want.live), len(want.silent))
		}
		got.live, got.silent, want.live, want.silent = nil, nil, nil, nil
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v; want %+v", what, *got, want)
		}
	}
	live := func() *peer { return &peer{heardAt: now} }
	silent := func() *peer { return &peer{heardAt: now - silentAfter} }
	one, two := make([]*peer, 1), make([]*peer, 2)

	f("nobody", 0, 0, nil, scene{nodes: 1})
	f("a node", 0, 0, []*peer{live()}, scene{nodes: 2, live: one})
	f("two", 0, 0, []*peer{live(), live()}, scene{nodes: 3, live: two})
	f("one of two", 0, loweredAfter, []*peer{live(), silent()}, scene{nodes: 3, live: one, silent: one})
	f("one of two, met just now", 0, loweredAfter-1, []*peer{live(), silent()},
		scene{nodes: 3, live: one, silent: one, unsure: true})
	f("a silent one", 0, loweredAfter, []*peer{silent()}, scene{nodes: 2, silent: one, lonely: true})
	f("one of four known", 4, loweredAfter, []*peer{live()}, scene{nodes: 4, live: one, unheard: 2 * (whole / 4)})
	f("one of three known, met just now", 3, 0, []*peer{live()},
		scene{nodes: 3, live: one, unheard: whole / 3, unsure: true})
	f("none of three known", 3, loweredAfter, nil, scene{nodes: 3, unheard: 2 * (whole / 3), lonely: true})
	f("one that doubts", 0, 0, []*peer{{heardAt: now, doubts: true}, live()}, scene{nodes: 3, live: two, doubted: true})
	f("a silent one that doubted", 0, loweredAfter, []*peer{{doubts: true}, live()},
		scene{nodes: 3, live: one, silent: one})
}

// While a node that is heard does not hear this one, it has at most its part of all nodes.
// What silent nodes may have is not divided.
func TestTargets(t *testing.T) {
	f := func(what string, v scene, want int64) {
		t.Helper()
		s, n, now := alone(t, medium)
		v.now = now
		for _, p := range append(slices.Clone(v.live), v.silent...) {
			p.nodes = v.nodes
		}
		if got := s.target(&share{account: 1, cell: n.cells[0], need: maxNeed}, &v); got != want {
			t.Errorf("%s: %d; want %d", what, got, want)
		}
	}
	live := func(now int64) []*peer { return []*peer{{heardAt: now}} }
	_, _, now := alone(t)

	f("alone", scene{nodes: 1}, whole)
	f("beside an idle node", scene{nodes: 2, live: live(now)}, whole-whole/64)
	f("in doubt", scene{nodes: 2, live: live(now), doubted: true}, whole/2)
	f("beside a silent node", scene{nodes: 4, silent: []*peer{{heardAt: now - loweredAfter}}}, whole-whole/4)
	f("beside nodes that were not heard", scene{nodes: 4, unheard: 3 * whole / 4}, whole/4)
	f("nothing is left", scene{nodes: 4, unheard: whole, silent: []*peer{{heardAt: now - loweredAfter}}}, 0)

	v := &scene{now: now, nodes: 2, unheard: whole, live: []*peer{
		{nodes: 3, heardAt: now, rest: 5, acked: 4}, {nodes: 3, heardAt: now, acked: 6},
	}}
	if v.room(1) != 0 || v.free(1) != 0 {
		t.Errorf("%d is free, and %d is room; want nothing", v.free(1), v.room(1))
	}
	if v.unheard = 1; v.room(1) != whole-6 || v.free(1) != whole-1 {
		t.Errorf("%d is free, and %d is room; want %d and %d", v.free(1), v.room(1), whole-1, whole-6)
	}
	if !v.allHeard(4) || v.allHeard(5) || !(&scene{}).allHeard(5) {
		t.Error("an announcement is heard by all when the last one has heard it")
	}
	if got := (&share{}).rate(); got != 1 {
		t.Errorf("accounts that are not listed have the rate %d", got)
	}
}

// Parts follow needs, if there is enough for all, and are in proportion to them if not.
func TestDivide(t *testing.T) {
	f := func(free int64, needs []int64, want ...int64) {
		t.Helper()
		var got []int64
		for i := range needs {
			got = append(got, divide(free, needs, i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d for %v: %v; want %v", free, needs, got, want)
		}
	}

	f(640, []int64{0}, 640)
	f(640, []int64{0, 0}, 320, 320)
	f(640, []int64{100, 20}, 10+100+250, 10+20+250)
	f(640, []int64{600, 20}, 10+600, 10+20)
	f(640, []int64{601, 20}, 10+600, 10+19)
	f(640, []int64{930, 310}, 10+465, 10+155)
	f(0, []int64{9, 9}, 0, 0)

	parts := func(need, rate, want int64) {
		t.Helper()
		if got := partsFor(need, rate); got != want {
			t.Errorf("a need of %d at %d a second: %d parts; want %d", need, rate, got, want)
		}
	}
	parts(0, 5, 0)
	parts(2500, 5, whole/2)
	parts(4999, 5, int64(4999)*whole/5000)
	parts(5000, 5, whole)
	parts(maxNeed, 5, whole)
}

// A node that starts listens for as long as the servers answer, and again if it did not run.
func TestListening(t *testing.T) {
	s, _, now := alone(t)
	f := func(after int64, reached, listens bool, since int64) {
		t.Helper()
		now += after
		a := s.Tick(now, reached)
		if s.listening != listens || now-s.reachedSince != since && since >= 0 || since < 0 && s.reachedSince != 0 {
			t.Errorf("it listens: %t, the servers answer since %d; want %t, %d", s.listening, s.reachedSince, listens, since)
		}
		if a.Number != s.number || a.Node != "a" || a.Nodes != 1 {
			t.Errorf("it tells %+v", a)
		}
	}

	f(second, false, true, -1)
	f(10*second/4, true, true, 0)
	f(second, true, true, second)
	f(2*second-1, true, true, 3*second-1)
	f(1, false, true, -1)
	f(1, true, true, 0)
	f(silentAfter, true, true, -1)
	f(1, true, true, 0)
	f(silentAfter-1, true, true, silentAfter-1)
	f(1, true, false, silentAfter)
	f(1, false, false, -1)
	if s.number != 11 {
		t.Errorf("%d announcements; want 11", s.number)
	}
	want := &Announcement{Node: "a", Process: s.process, Number: 12, Nodes: 1, Leaves: true}
	if got := s.Leave(); !reflect.DeepEqual(got, want) {
		t.Errorf("it leaves with %+v; want %+v", got, want)
	}
}

// A need is the rate that was asked since the last tick, whenever ticks come, at least half of
// what it was if that is small, and nothing when it has become smaller.
func TestNeeds(t *testing.T) {
	s, n, now := alone(t, medium, medium)
	f := func(after time.Duration, asked, want int64) {
		t.Helper()
		now += int64(after)
		for range asked {
			ticket := n.book.Admit(n.keys[0], now)
			ticket.TakeToken()
		}
		s.countNeeds(now)
		if got := s.accounts[1]; got == nil && want >= 0 || got != nil && got.need != want {
			t.Errorf("after %d requests the need is %+v; want %d", asked, got, want)
		}
	}

	f(tickEvery, 0, -1)
	f(tickEvery, 3, 3*needUnit*2)
	f(2*tickEvery, 6, 3*needUnit*2) // a tick that is late, and the next one right after it
	f(tickEvery/8, 1, 3*needUnit*2)
	f(tickEvery*7/8, 2, 3*needUnit*2)
	f(tickEvery, 1, needUnit*2)
	f(tickEvery, 0, needUnit)
	f(tickEvery, 0, needUnit/2)
	f(tickEvery, 0, needUnit/4)
	f(tickEvery, 0, needUnit/8)
	f(tickEvery, 0, 0)
	if len(s.accounts) != 1 {
		t.Errorf("%d accounts are listed; want the one that was asked for", len(s.accounts))
	}
}

// An account is listed when somebody needs it, with the part that all others have, until
// nobody does and it has that part again.
func TestListedAccounts(t *testing.T) {
	s, n, now := alone(t, medium, medium)
	s.rest = share{held: 11, claim: 12}
	p := &peer{node: "b", nodes: 2, heardAt: now, claims: map[uint64]Claim{1: {1, 0, 5}, 2: {2, 1, 5}, 99: {99, 1, 5}}}
	v := &scene{now: now, live: []*peer{p}}
	s.followNeeds(v)
	want := share{account: 2, cell: n.cells[1], held: 11, claim: 11}
	if len(s.accounts) != 1 || *s.accounts[2] != want {
		t.Errorf("listed are %+v; want account 2", s.accounts)
	}
	first := s.accounts[2]
	s.followNeeds(v)
	if s.accounts[2] != first || s.follow(2, n.cells[1]) != first || s.follow(3, nil) != nil {
		t.Error("an account is listed twice")
	}

	f := func(what string, want bool, change func(sh *share)) {
		t.Helper()
		sh := share{account: 1, held: 11, claim: 12}
		change(&sh)
		if got := s.isQuiet(&sh, v); got != want {
			t.Errorf("%s: nobody needs it: %t; want %t", what, got, want)
		}
	}
	f("as all others", true, func(*share) {})
	f("it is needed here", false, func(sh *share) { sh.need = 1 })
	f("it has more", false, func(sh *share) { sh.held++ })
	f("it claims more", false, func(sh *share) { sh.claim++ })
	f("it is needed elsewhere", false, func(sh *share) { sh.account = 2 })

	for id := range uint64(maxTold) {
		s.accounts[1000+id] = &share{}
	}
	if s.follow(1, n.cells[0]) != nil {
		t.Error("more accounts are listed than fit into a message")
	}
}

// Nodes and accounts are told and shown in order, whatever order they are kept in.
func TestOrderOfWhatIsTold(t *testing.T) {
	s, n, now := alone(t, medium, medium, medium, medium)
	s.rest = share{held: 3, claim: 4}
	for i, name := range []string{"e", "c", "b", "d"} {
		s.peers[name] = &peer{
			node: name, process: name + name, number: uint64(i), nodes: 5, heardAt: now - 2*second, rest: whole / 4,
			claims: map[uint64]Claim{2: {2, 3 * needUnit, whole / 2}},
		}
	}
	s.peers["e"].heardAt = now - silentAfter
	s.peers["c"].heardAt = now
	for i, c := range n.cells {
		s.accounts[c.ID] = &share{account: c.ID, cell: c, need: int64(i) * needUnit, held: whole / 8, claim: int64(i) + 5}
	}

	a := s.announce(&scene{now: now, nodes: 5})
	want := &Announcement{
		Node: "a", Process: s.process, Nodes: 5, Rest: 4,
		Peers:    []Heard{{"b", "bb", 2, 5, 2000}, {"c", "cc", 1, 5, 0}, {"d", "dd", 3, 5, 2000}, {"e", "ee", 0, 5, 3000}},
		Accounts: []Claim{{1, 0, 5}, {2, needUnit, 6}, {3, 2 * needUnit, 7}, {4, 3 * needUnit, 8}},
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("it tells %+v; want %+v", a, want)
	}

	st := s.status(now)
	nodes := []Node{{"a", 0}, {"b", 2 * time.Second}, {"c", 1}, {"d", 2 * time.Second}, {"e", 3 * time.Second}}
	if !reflect.DeepEqual(st.Nodes, nodes) {
		t.Errorf("the nodes are %+v; want %+v", st.Nodes, nodes)
	}
	for i, part := range st.Accounts {
		needed, b := float64(i), 0.25
		if i == 1 {
			needed, b = 1+3*3, 0.5 // of those that are heard
		}
		parts := map[string]float64{"a": 0.125, "b": b, "c": b, "d": b, "e": b}
		if part.Cell != n.cells[i] || part.Needed != needed || !reflect.DeepEqual(part.Parts, parts) {
			t.Errorf("account %d has %+v; want %g, %v", i+1, part, needed, parts)
		}
	}
}

// The limiter is told of a part when that changes, and not before.
func TestLimiterIsTold(t *testing.T) {
	s, n, now := alone(t, medium, medium)
	c, other := n.cells[0], n.cells[1]
	v := &scene{now: now, nodes: 3}
	f := func(cell *accounts.Cell, want accounts.BurstShare) {
		t.Helper()
		if got := n.book.BurstOf(cell); got != want {
			t.Errorf("account %d has %+v; want %+v", cell.ID, got, want)
		}
	}

	f(c, accounts.BurstShare{Nodes: 1})
	s.rest.held = whole / 4
	s.applyRest(v)
	f(c, accounts.BurstShare{Parts: whole / 4, Nodes: 3})
	clear(s.cells)
	if s.applyRest(v); len(s.cells) > 0 {
		t.Error("the limiter is told of a part that it knows")
	}

	// An account that has the part of all others goes on to have it when that changes.
	sh := &share{account: 1, cell: c, held: whole / 4}
	s.apply(sh, v)
	s.rest.held = whole / 8
	s.applyRest(v)
	f(c, accounts.BurstShare{Parts: whole / 8, Nodes: 3})
	s.rest.held, sh.held = whole/4, whole/2
	s.applyRest(v)
	s.apply(sh, v)
	f(c, accounts.BurstShare{Parts: whole / 2, Nodes: 3})
	f(other, accounts.BurstShare{Parts: whole / 4, Nodes: 3})
	if s.findCell(2) != other || s.findCell(9) != nil {
		t.Error("an account is not found")
	}

	// Nobody needs it: it has the part of all others again.
	s.accounts[1] = &share{account: 1, cell: c, held: s.rest.held}
	s.listening, s.rest.claim, s.accounts[1].claim = false, s.rest.held, s.rest.held
	s.Tick(now, true)
	if len(s.accounts) != 0 {
		t.Errorf("an account that nobody needs is listed: %+v", s.accounts)
	}
	f(c, n.book.RestOfBurst())
}
