package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	tidemark "tidemark/edge/client/go"
)

// record is what the nodes of a fleet have shown: no generation may have two contents,
// no node may go back, and what any node has shown must stay.
type record struct {
	t *testing.T

	mu     sync.Mutex
	newest map[int64]int64   // generation of every chain that any node has shown
	bodies map[string][]byte // pages by generation and path
	by     map[string]string // the node that showed a page first
	order  []string          // of their keys, as they came
	first  map[chainGeneration]map[string]time.Time

	pages, compared, differ, back int
	ofNode                        map[string]int // pages of a node that could be compared
}

type chainGeneration struct{ chain, generation int64 }

// standing is what a node shows now.
type standing struct {
	address     string // empty: it does not run
	generations map[int64]int64
	writes      map[int64]bool
}

func newRecord(t *testing.T) *record {
	return &record{
		t: t, newest: map[int64]int64{}, bodies: map[string][]byte{}, by: map[string]string{},
		first: map[chainGeneration]map[string]time.Time{}, ofNode: map[string]int{},
	}
}

// present has a node watched that was started; absent one that is to be killed.
func (r *record) present(m *member) { r.become(m, standing{address: m.address()}) }
func (r *record) absent(m *member)  { r.become(m, standing{}) }

func (r *record) become(m *member, s standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.generations, s.writes = map[int64]int64{}, map[int64]bool{}
	m.seen = s
}

func (r *record) addressOf(m *member) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return m.seen.address
}

// newestShown returns the newest generation of every chain that any node has shown.
func (r *record) newestShown() map[int64]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.newest)
}

// allHave reports whether every node that runs shows these generations or later ones.
func (f *fleet) allHave(newest map[int64]int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		for chain, generation := range newest {
			if m.seen.address != "" && m.seen.generations[chain] < generation {
				return false
			}
		}
	}
	return true
}

// anyPast reports whether a node shows a later generation of every one of these.
func (r *record) anyPast(newest map[int64]int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for chain, generation := range newest {
		if r.newest[chain] <= generation {
			return false
		}
	}
	return true
}

// written returns the chains that a node writes.
func (r *record) written(m *member) map[int64]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(m.seen.writes)
}

func (r *record) comparedOf(m *member) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ofNode[m.name]
}

// watchPause is how often a node is looked at: less than followers may be behind.
const watchPause = 4 * time.Millisecond

// watch looks at a node until the fleet ends, and reads a page of every generation.
func (f *fleet) watch(m *member) {
	var conn *client
	for {
		select {
		case <-f.ended:
			if conn != nil {
				conn.close()
			}
			return
		case <-time.After(watchPause):
		}

		address := f.addressOf(m)
		if conn != nil && conn.address != address {
			conn.close()
			conn = nil
		}
		if conn == nil && address != "" {
			conn, _ = dial(address, f.key)
		}
		if conn != nil && !f.lookAt(m, conn) {
			conn.close()
			conn = nil
		}
	}
}

// lookAt notes what a node shows, and reads a page of what is new. It reports whether
// the node answers.
func (f *fleet) lookAt(m *member, conn *client) bool {
	r, err := conn.ask("/health")
	at := time.Now()
	var health tidemark.Health
	if err != nil || json.Unmarshal(r.body, &health) != nil {
		return false
	}

	for _, g := range f.note(m, conn.address, &health, at) {
		if r, err = conn.ask(fleetPage(g)); err != nil {
			return false
		}
		if r.status == http.StatusOK {
			f.notePage(m, fleetPage(g), &r)
		}
	}
	return true
}

// fleetPages are what all nodes are asked about a chain, in turns.
var fleetPages = []string{
	"/v1/positions?chainId=%d&limit=50", "/v1/positions?chainId=%d&sort=pnl&status=all&page=2&limit=50",
	"/v1/pools?chainId=%d&limit=60", "/v1/positions/%d/swapdex-v4/7/explain", "/v1/positions?chainId=%d&sort=age&limit=100",
}

// note notes the generations of a node, and returns those that are new there.
func (r *record) note(m *member, address string, h *tidemark.Health, at time.Time) (fresh []chainGeneration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.seen.address != address {
		return nil // it was killed meanwhile
	}

	for _, c := range h.Chains {
		m.seen.writes[c.ChainID] = c.Role == "writer"
		if c.Generation == nil {
			continue
		}
		was, now := m.seen.generations[c.ChainID], *c.Generation
		if now < was {
			r.back++
			r.t.Errorf("%s shows generation %d of chain %d after %d", m.name, now, c.ChainID, was)
		}
		if now == was {
			continue
		}

		g := chainGeneration{c.ChainID, now}
		if r.first[g] == nil {
			r.first[g] = map[string]time.Time{}
		}
		r.first[g][m.name] = at
		m.seen.generations[c.ChainID] = now
		r.newest[c.ChainID] = max(r.newest[c.ChainID], now)
		fresh = append(fresh, g)
	}
	return fresh
}

// keptPages are far more than nodes are behind each other.
const keptPages = 5000

// notePage compares a page with what another node showed of its generation.
func (r *record) notePage(m *member, path string, a *reply) {
	if bytes.Contains(a.body, []byte(`"stale":true`)) {
		return // it says how old it is on this node
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := a.generation + " " + path
	r.pages++
	was, seen := r.bodies[key]
	if !seen {
		r.bodies[key], r.by[key], r.order = a.body, m.name, append(r.order, key)
		if len(r.order) > keptPages {
			delete(r.bodies, r.order[0])
			delete(r.by, r.order[0])
			r.order = r.order[1:]
		}
		return
	}

	if r.by[key] != m.name {
		r.compared++
		r.ofNode[m.name]++
	}
	if !bytes.Equal(was, a.body) {
		r.differ++
		r.t.Errorf("%s of generation %s differs between %s and %s:\n%s\n%s", path, a.generation, r.by[key], m.name,
			was, a.body)
	}
}

// fleetPage is what is asked of a chain at a generation: the same on all nodes.
func fleetPage(g chainGeneration) string {
	return fmt.Sprintf(fleetPages[int(g.generation)%len(fleetPages)], g.chain)
}
