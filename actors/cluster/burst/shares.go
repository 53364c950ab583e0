package burst

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"tidemark/storage/accounts"
)

// Shares are a node's parts of all burst limits. Its methods are called by one goroutine at
// a time; requests read the book.
type Shares struct {
	node, process string
	book          *accounts.Book
	cells         map[uint64]*accounts.Cell
	asked         []accounts.Asked

	began        int64
	ticked       int64
	counted      int64 // when needs were counted last
	listening    bool
	known        int64 // nodes of the cluster, as remembered from before the start; 0: unknown
	metAt        int64 // when a node was heard that had not been heard before
	reachedSince int64 // the servers have answered since then; 0: they do not
	number       uint64
	doubled      bool // another process has the name of this node

	peers    map[string]*peer
	rest     share // of accounts that are not listed
	accounts map[uint64]*share
}

// share is what this node has of an account's limit.
type share struct {
	account uint64
	cell    *accounts.Cell
	need    int64
	held    int64
	claim   int64  // at least held
	since   uint64 // the announcement in which it was raised
}

// NewShares begins without a part of any limit. known is of how many nodes the cluster was,
// 0 if that is not known.
func NewShares(node, process string, book *accounts.Book, known, now int64) *Shares {
	book.SetNoBurst()
	return &Shares{
		node: node, process: process, book: book, cells: map[uint64]*accounts.Cell{},
		began: now, ticked: now, counted: now, listening: true, known: known,
		peers: map[string]*peer{}, accounts: map[uint64]*share{},
	}
}

// scene is the cluster as this node sees it at one time.
type scene struct {
	now     int64
	nodes   int64
	live    []*peer
	silent  []*peer
	lonely  bool  // it hears nobody
	doubted bool  // a node that it hears does not hear it
	unheard int64 // parts of nodes that were known before the start and not heard since
	// unsure: nodes meet that did not hear each other. What those have that are still
	// silent may be more than is known.
	unsure bool
}

// scene returns how the cluster looks to this node at a time.
func (s *Shares) scene(now int64) *scene {
	v := &scene{now: now, nodes: s.Nodes()}
	if heard := int64(len(s.peers)) + 1; heard < v.nodes {
		v.unheard = (v.nodes - heard) * (accounts.WholeLimit / v.nodes)
	}

	for _, p := range s.peers {
		if !p.live(now) {
			v.silent = append(v.silent, p)
			continue
		}
		v.live = append(v.live, p)
		v.doubted = v.doubted || p.doubts
	}
	v.unsure = len(v.silent)+int(v.unheard) > 0 && now-s.metAt < loweredAfter
	v.lonely = len(v.live) == 0 && v.nodes > 1
	return v
}

// Tick adjusts all parts to what was heard and asked, and returns what to tell the others.
// reached is whether the servers answer.
func (s *Shares) Tick(now int64, reached bool) *Announcement {
	switch {
	case !reached || now-s.ticked >= silentAfter: // or this process did not run
		s.reachedSince = 0
	case s.reachedSince == 0:
		s.reachedSince = now
	}
	s.ticked = now
	s.forgetDead(now)
	s.listening = s.listening && (s.reachedSince == 0 || now-s.reachedSince < listenFor)

	s.number++
	v := s.scene(now)
	s.adjust(&s.rest, v)
	s.applyRest(v)
	s.countNeeds(now)
	s.followNeeds(v)
	for account, sh := range s.accounts {
		s.adjust(sh, v)

		if s.isQuiet(sh, v) {
			s.book.ClearBurst(sh.cell, now)
			delete(s.accounts, account)
			continue
		}
		s.apply(sh, v)
	}
	return s.announce(v)
}

// WantsServers reports whether Tick needs to know if the servers answer.
func (s *Shares) WantsServers(now int64) bool {
	v := s.scene(now)
	return s.listening || len(v.silent) > 0 || v.unheard > 0
}

// Nodes returns how many nodes share the limits.
func (s *Shares) Nodes() int64 { return max(s.known, int64(len(s.peers))+1) }

// silentNodes names the nodes that are not heard.
func (s *Shares) silentNodes(now int64) (names []string) {
	for _, p := range s.scene(now).silent {
		names = append(names, p.node)
	}
	slices.Sort(names)
	return names
}

// Ready reports whether this node has a part of the limits.
func (s *Shares) Ready() bool { return s.rest.held > 0 }

// keptNeed is what of a need is not forgotten at once.
const keptNeed = needUnit

// leastCounted is the shortest time of which requests tell a rate.
const leastCounted = int64(tickEvery / 2)

// countNeeds takes what was asked since the last tick. A small need halves with every tick,
// so that there is no end of it between two requests.
func (s *Shares) countNeeds(now int64) {
	elapsed := now - s.counted
	if elapsed < leastCounted { // the tick before was late; the next one counts these
		return
	}
	s.counted = now

	for _, sh := range s.accounts {
		if sh.need = min(sh.need/2, keptNeed); sh.need < needUnit/8 {
			sh.need = 0
		}
	}

	micros := elapsed / int64(time.Microsecond) // of nanoseconds the product could overflow
	s.asked = s.book.TakeAsked(s.asked[:0])
	for _, a := range s.asked {
		if sh := s.follow(a.Cell.ID, a.Cell); sh != nil {
			sh.need = max(sh.need, min(a.Times*needUnit*1e6/micros, maxNeed))
		}
	}
}

// followNeeds lists the accounts that other nodes need.
func (s *Shares) followNeeds(v *scene) {
	for _, p := range v.live {
		for account, c := range p.claims {
			if c.Need > 0 && s.accounts[account] == nil {
				s.follow(account, s.findCell(account))
			}
		}
	}
}

// follow lists an account, with the part that it has as one that is not. It returns nil if
// too many are listed, or the account is not known here.
func (s *Shares) follow(account uint64, c *accounts.Cell) *share {
	sh := s.accounts[account]
	if sh == nil && c != nil && len(s.accounts) < maxTold {
		sh = &share{account: account, cell: c, held: s.rest.held, claim: s.rest.held}
		s.accounts[account] = sh
	}
	return sh
}

// isQuiet reports whether nobody needs an account, and this node has the part of it that
// it has of all others.
func (s *Shares) isQuiet(sh *share, v *scene) bool {
	if sh.need > 0 || sh.held != s.rest.held || sh.claim != s.rest.claim {
		return false
	}
	for _, p := range v.live {
		if p.claims[sh.account].Need > 0 {
			return false
		}
	}
	return true
}

func (s *Shares) findCell(account uint64) *accounts.Cell {
	if s.cells[account] == nil {
		s.findCells()
	}
	return s.cells[account]
}

func (s *Shares) findCells() {
	for c := range s.book.Cells() {
		s.cells[c.ID] = c
	}
}

// apply tells the limiter.
func (s *Shares) apply(sh *share, v *scene) {
	to := accounts.BurstShare{Parts: sh.held, Nodes: v.nodes}
	if s.book.BurstOf(sh.cell) != to {
		s.book.SetBurst(sh.cell, to, v.now)
	}
}

func (s *Shares) applyRest(v *scene) {
	to := accounts.BurstShare{Parts: s.rest.held, Nodes: v.nodes}
	if s.book.RestOfBurst() != to {
		s.findCells()
		s.book.SetRestOfBurst(maps.Values(s.cells), to, v.now)
	}
}

// announce returns what this node tells now.
func (s *Shares) announce(v *scene) *Announcement {
	a := &Announcement{
		Node: s.node, Process: s.process, Number: s.number, Nodes: v.nodes, Rest: s.rest.claim,
	}
	for _, p := range s.peers {
		a.Peers = append(a.Peers, Heard{
			Node: p.node, Process: p.process, Number: p.number, Nodes: p.nodes,
			SilentMs: p.silent(v.now) / 1e6,
		})
	}
	for _, sh := range s.accounts {
		a.Accounts = append(a.Accounts, Claim{sh.account, sh.need, sh.claim})
	}

	slices.SortFunc(a.Peers, func(x, y Heard) int { return cmp.Compare(x.Node, y.Node) })
	slices.SortFunc(a.Accounts, func(x, y Claim) int { return cmp.Compare(x.Account, y.Account) })
	return a
}

// Leave returns what a node tells that has stopped serving.
func (s *Shares) Leave() *Announcement {
	s.number++
	return &Announcement{Node: s.node, Process: s.process, Number: s.number, Nodes: 1, Leaves: true}
}
