package burst

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/storage/accounts"
)

// model is nodes of a cluster with books of their own, a network between them, and clients,
// all on one clock.
type model struct {
	t      *testing.T
	random *rand.Rand
	now    int64
	plans  []*accounts.Terms // of account 1, 2, 3, …
	nodes  []*modelNode
	flying []flight
	// admitted are requests by account and step.
	admitted [][]int64
	needs    func(node string, account int) float64 // requests a second
	most     []float64                              // of a window, beside what is allowed
	// remembered is what every node has in its store: how many nodes there are.
	remembered map[string]int64
}

type modelNode struct {
	name, process string
	book          *accounts.Book
	cells         []*accounts.Cell
	keys          []*accounts.Key
	shares        *Shares
	nextTick      int64
	cut           bool // from the servers
	owed          []float64
	took, asked   []int64
}

type flight struct {
	to   string
	at   int64
	text *Announcement
}

const (
	step       = int64(10 * time.Millisecond)
	window     = int64(10*time.Second) / step
	modelMonth = accounts.Month(2026*12 + 10)
)

func newModel(t *testing.T, seed uint64, plans ...accounts.Plan) *model {
	m := &model{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), now: modelMonth.Start().UnixNano(),
		needs: func(string, int) float64 { return 0 }, remembered: map[string]int64{},
	}
	for i := range plans {
		m.plans = append(m.plans, accounts.NewTerms(&plans[i], false))
	}
	m.admitted = make([][]int64, len(plans))
	m.most = make([]float64, len(plans))
	return m
}

// start starts a node.
func (m *model) start(name string) *modelNode {
	n := &modelNode{
		name: name, process: fmt.Sprint(name, m.now), owed: make([]float64, len(m.plans)),
		took: make([]int64, len(m.plans)), asked: make([]int64, len(m.plans)),
		nextTick: m.now + m.random.Int64N(int64(tickEvery)),
	}
	n.book = accounts.NewBook(accounts.NewTurner(m.now, 0).Step(m.now, m.now))
	for i, terms := range m.plans {
		c := accounts.NewCell(uint64(i+1), fmt.Sprint("account", i+1), 0, terms)
		number := n.book.Add(&accounts.Issued{
			ID: uint64(i + 1), Cell: c, Prefix: accounts.PrefixOf(fmt.Sprintf("tm_srv_%09d", i)),
		}, 0, 0)
		n.cells, n.keys = append(n.cells, c), append(n.keys, n.book.Key(number))
	}
	n.shares = NewShares(name, n.process, n.book, m.remembered[name], m.now)
	m.nodes = append(m.nodes, n)
	return n
}

func (m *model) node(name string) *modelNode {
	i := slices.IndexFunc(m.nodes, func(n *modelNode) bool { return n.name == name })
	return m.nodes[i]
}

// kill ends a node, as if its machine had failed.
func (m *model) kill(name string) {
	m.nodes = slices.DeleteFunc(m.nodes, func(n *modelNode) bool { return n.name == name })
}

// stop stops a node in order.
func (m *model) stop(name string) {
	n := m.node(name)
	m.kill(name)
	m.send(n, n.shares.Leave())
}

// send sends an announcement to all other nodes. Some are late and some are lost.
func (m *model) send(from *modelNode, a *Announcement) {
	if from.cut {
		return
	}
	header, body := a.encode()

	for _, n := range m.nodes {
		if n == from || n.cut || m.random.IntN(50) == 0 {
			continue
		}
		text, err := decodeAnnouncement(header, body)
		if err != nil {
			m.t.Fatal(err)
		}
		at := m.now + m.random.Int64N(int64(50*time.Millisecond))
		for _, f := range m.flying {
			if f.to == n.name && f.text.Node == a.Node {
				at = max(at, f.at)
			}
		}
		m.flying = append(m.flying, flight{n.name, at, text})
	}
}

// run runs the cluster for a time, and checks every window of ten seconds.
func (m *model) run(d time.Duration) {
	m.t.Helper()
	for end := m.now + int64(d); m.now < end; m.now += step {
		m.deliver()
		for _, n := range m.nodes {
			if m.now >= n.nextTick {
				n.nextTick += int64(tickEvery)
				m.send(n, n.shares.Tick(m.now, !n.cut))
				m.remembered[n.name] = n.shares.Nodes()
			}
		}

		for i := range m.plans {
			m.ask(i)
			m.check(i)
		}
	}
}

func (m *model) deliver() {
	rest := m.flying[:0]
	for _, f := range m.flying {
		i := slices.IndexFunc(m.nodes, func(n *modelNode) bool { return n.name == f.to })
		switch {
		case f.at > m.now:
			rest = append(rest, f)
		case i >= 0 && !m.nodes[i].cut:
			m.nodes[i].shares.Hear(f.text, m.now)
		}
	}
	m.flying = rest
}

// ask has clients of an account ask every node for what they need.
func (m *model) ask(account int) {
	total := int64(0)
	for _, n := range m.nodes {
		n.owed[account] += m.needs(n.name, account) * float64(step) / 1e9
		for ; n.owed[account] >= 1; n.owed[account]-- {
			ticket := n.book.Admit(n.keys[account], m.now)
			n.asked[account]++

			if ticket.TakeToken() {
				total++
				n.took[account]++
			}
		}
	}
	m.admitted[account] = append(m.admitted[account], total)
}

// check checks the last ten seconds of an account.
func (m *model) check(account int) {
	m.t.Helper()
	all := m.admitted[account]
	parts := int64(0)
	for _, n := range m.nodes {
		parts += n.book.BurstOf(n.cells[account]).Parts
	}
	if parts > accounts.WholeLimit {
		m.t.Fatalf("%s after the start the nodes have %d of %d parts of account %d",
			time.Duration(int64(len(all))*step), parts, accounts.WholeLimit, account+1)
	}

	sum := int64(0)
	for _, n := range all[max(int64(len(all))-window, 0):] {
		sum += n
	}

	p := &m.plans[account].Plan
	allowed := float64(p.Burst + 10*p.RequestsPerSecond)
	m.most[account] = max(m.most[account], float64(sum)/allowed)
	if float64(sum) > 1.1*allowed {
		m.t.Fatalf("%s after the start %d requests of account %d were admitted in 10 s; the plan allows %.0f",
			time.Duration(int64(len(all))*step), sum, account+1, allowed)
	}
}

// admitsOf returns the admitted requests a second of an account at nodes, in the time that
// follows.
func (m *model) admitsOf(account int, d time.Duration, names ...string) float64 {
	m.t.Helper()
	before := int64(0)
	for _, name := range names {
		before -= m.node(name).took[account]
	}
	m.run(d)
	for _, name := range names {
		before += m.node(name).took[account]
	}
	return float64(before) / d.Seconds()
}

var (
	small  = accounts.Plan{ID: "small", RequestsPerSecond: 5, Burst: 10}
	medium = accounts.Plan{ID: "medium", RequestsPerSecond: 100, Burst: 200}
	bursty = accounts.Plan{ID: "bursty", RequestsPerSecond: 10, Burst: 1000}
	single = accounts.Plan{ID: "single", RequestsPerSecond: 20, Burst: 1}
)

// A busy node has what the others do not need, within two seconds, and one that is alone has
// everything.
func TestSharesFollowNeed(t *testing.T) {
	m := newModel(t, 1, medium)
	m.start("a")
	m.needs = func(string, int) float64 { return 300 }
	m.run(5 * time.Second)
	if got := m.admitsOf(0, 5*time.Second, "a"); got < 99 || got > 101 {
		t.Errorf("a node that is alone admits %.1f of 100 a second", got)
	}

	m.start("b")
	m.start("c")
	m.needs = func(string, int) float64 { return 0 }
	m.run(20 * time.Second)
	busy := "a"
	m.needs = func(node string, _ int) float64 {
		if node == busy {
			return 300
		}
		return 0
	}
	for _, busy = range []string{"a", "c", "b"} {
		m.run(2 * time.Second)
		if got := m.admitsOf(0, 5*time.Second, busy); got < 95 {
			t.Errorf("2 s after it is asked, node %s admits %.1f of 100 a second", busy, got)
		}
	}

	m.needs = func(node string, _ int) float64 { return map[string]float64{"a": 60, "b": 20, "c": 10}[node] }
	m.run(3 * time.Second)
	if got := m.admitsOf(0, 10*time.Second, "a", "b", "c"); got < 88 {
		t.Errorf("of 90 requests a second at three nodes, %.1f are admitted", got)
	}
}

// A part that moves takes no tokens along: clients cannot empty a full bucket at one node,
// have its part move to another one, and find a full bucket there.
func TestPartsTakeNoTokensAlong(t *testing.T) {
	m := newModel(t, 5, bursty)
	for _, name := range []string{"a", "b", "c", "d"} {
		m.start(name)
	}
	m.run(2 * time.Minute)
	ask := func(busy string, rate float64, d time.Duration) {
		m.needs = func(node string, _ int) float64 {
			if node == busy {
				return rate
			}
			return 0
		}
		m.run(d)
	}

	ask("a", 5, 6*time.Minute)
	ask("a", 900, 1500*time.Millisecond)
	ask("b", 3, 2*time.Second)
	ask("b", 10, time.Second)
	ask("b", 900, 1500*time.Millisecond)
	t.Logf("most of 10 s, of what the plans allow: %.3f", m.most)
	if m.most[0] < 0.4 {
		t.Errorf("a bucket that was filled while it had most of a limit had %.2f of what the plan allows in 10 s",
			m.most[0])
	}
}

// What a node had that stopped or died goes to the others.
func TestSharesOfNodesThatEnd(t *testing.T) {
	m := newModel(t, 2, medium)
	for _, name := range []string{"a", "b", "c"} {
		m.start(name)
	}
	m.run(20 * time.Second)
	m.needs = func(string, int) float64 { return 200 }
	m.run(20 * time.Second)

	m.stop("c")
	m.run(3 * time.Second)
	if got := m.admitsOf(0, 5*time.Second, "a", "b"); got < 95 {
		t.Errorf("after a third node has stopped, two admit %.1f of 100 a second", got)
	}
	m.kill("b")
	m.run(12 * time.Second)
	if got := m.admitsOf(0, 5*time.Second, "a"); got < 48 || got > 51 {
		t.Errorf("while a second node is silent, one admits %.1f; want half of 100 a second", got)
	}
	m.run(time.Duration(forgetAfter))
	if got := m.admitsOf(0, 5*time.Second, "a"); got < 99 {
		t.Errorf("a minute after a second node has died, one admits %.1f of 100 a second", got)
	}
}

// A node that is cut off admits its part of all nodes, also if it was idle before, and also
// after a start.
func TestSharesOfNodesThatAreCutOff(t *testing.T) {
	m := newModel(t, 3, medium)
	for _, name := range []string{"a", "b", "c", "d"} {
		m.start(name)
	}
	m.needs = func(node string, _ int) float64 { return map[string]float64{"a": 200}[node] }
	m.run(20 * time.Second)
	m.node("a").cut, m.node("b").cut = true, true
	m.needs = func(string, int) float64 { return 200 }
	m.run(12 * time.Second)
	for _, name := range []string{"a", "b"} {
		if got := m.admitsOf(0, 5*time.Second, name); got < 24 || got > 26 {
			t.Errorf("node %s, cut off, admits %.1f a second; want a quarter of 100", name, got)
		}
	}

	m.kill("a")
	m.start("a").cut = true
	m.run(7 * time.Second)
	if got := m.admitsOf(0, 5*time.Second, "a"); got < 24 || got > 26 {
		t.Errorf("a node that starts cut off admits %.1f a second; want a quarter of 100", got)
	}
	m.node("a").cut, m.node("b").cut = false, false
	m.run(8 * time.Second)
	if got := m.admitsOf(0, 10*time.Second, "a", "b", "c", "d"); got < 95 {
		t.Errorf("four nodes that hear each other again admit %.1f of 100 a second", got)
	}
}

// Whatever happens to nodes, and wherever the clients go, all of them together admit what
// the plan allows.
func TestNoWindowIsExceeded(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		m := newModel(t, uint64(seed), small, medium, bursty, single)
		m.wander(seed)
		t.Logf("seed %d: most of 10 s, of what the plans allow: %.3f", seed, m.most)
	}
}

// wander has nodes and clients come and go.
func (m *model) wander(seed int) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}[:3+seed%6]
	for _, name := range names {
		m.start(name)
	}
	rates := map[string][]float64{}
	m.needs = func(node string, account int) float64 {
		if r := rates[node]; r != nil {
			return r[account]
		}
		return 0
	}
	cuts := map[string]int64{} // when it was cut

	pause := []time.Duration{3 * time.Second, 12 * time.Second}[seed%2]
	for range 100 {
		for _, name := range names {
			if m.random.IntN(3) == 0 {
				rates[name] = nil
				for _, terms := range m.plans {
					factor := []float64{0, 0.1, 1, 2, 5}[m.random.IntN(5)]
					rates[name] = append(rates[name], factor*float64(terms.Plan.RequestsPerSecond))
				}
			}
		}

		name := names[m.random.IntN(len(names))]
		up := slices.ContainsFunc(m.nodes, func(n *modelNode) bool { return n.name == name })
		switch what := m.random.IntN(8); {
		case !up:
			m.start(name)
		case m.node(name).cut:
			m.node(name).cut = false
			delete(cuts, name)
		case what == 0:
			m.kill(name)
		case what == 1:
			m.stop(name)
		case what < 4:
			m.node(name).cut, cuts[name] = true, m.now
		}

		// A node that is cut off for longer than forgetAfter has its part in addition.
		for name, since := range cuts {
			if m.now-since > forgetAfter-int64(pause) {
				m.node(name).cut = false
				delete(cuts, name)
			}
		}
		m.run(time.Duration(m.random.Int64N(int64(pause))))
	}
}
