package burst

import (
	"time"

	"tidemark/storage/accounts"
)

const (
	// listenFor is how long a node that starts listens. All nodes tell of themselves twice
	// a second.
	listenFor = int64(3 * time.Second)
	// silentAfter is after how long without a word a node is no longer waited for.
	silentAfter = int64(3 * time.Second)
	// fallbackAfter is when a node that hears nobody takes its part of all nodes. The
	// others have made room by then: silentAfter, and half a second.
	fallbackAfter = int64(6 * time.Second)
	// loweredAfter is when it has lowered its parts to that, if they were larger.
	loweredAfter = int64(10 * time.Second)
	// forgetAfter is when a node that is not heard counts as dead. Until then the others
	// have less of each limit.
	forgetAfter = int64(time.Minute)
)

// peer is what this node knows of another one.
type peer struct {
	node, process string
	number        uint64 // of its last announcement
	heardAt       int64
	nodes         int64 // that it knows
	rest          int64
	claims        map[uint64]Claim
	// acked is the last announcement of this process that it has heard; doubts: it has
	// heard none for long.
	acked  uint64
	doubts bool
}

// silent is how long it has not been heard.
func (p *peer) silent(now int64) int64 { return now - p.heardAt }

func (p *peer) live(now int64) bool { return p.silent(now) < silentAfter }

// claimOf returns what a node may have of an account; account 0 stands for all that are not
// listed.
func (p *peer) claimOf(account uint64, now int64) int64 {
	claim := p.rest
	if c, ok := p.claims[account]; ok {
		claim = c.Parts
	}

	fallback := accounts.WholeLimit / p.nodes
	switch silent := p.silent(now); {
	case silent < silentAfter:
		return claim
	case silent < loweredAfter:
		return max(claim, fallback)
	}
	return fallback
}

// Hear takes what another node tells.
func (s *Shares) Hear(a *Announcement, now int64) {
	if a.Node == s.node {
		s.doubled = s.doubled || a.Process != s.process
		return
	}
	if a.Leaves {
		delete(s.peers, a.Node)
		s.known = max(s.known-1, 0)
		return
	}

	p := s.peers[a.Node]
	if p == nil || !p.live(now) {
		s.metAt = now
	}
	if p == nil || p.process != a.Process {
		p = &peer{node: a.Node, process: a.Process}
		s.peers[a.Node] = p
	}
	p.number, p.heardAt, p.nodes, p.rest = a.Number, now, a.Nodes, a.Rest
	p.claims = make(map[uint64]Claim, len(a.Accounts))
	for _, c := range a.Accounts {
		p.claims[c.Account] = c
	}

	p.acked = 0
	for i := range a.Peers {
		s.hearOf(p, &a.Peers[i], now)
	}
}

// hearOf takes what a node knows of another one, or of this one. A node that starts learns
// of those that are silent.
func (s *Shares) hearOf(p *peer, h *Heard, now int64) {
	switch {
	case h.Node == s.node && h.Process == s.process:
		p.acked, p.doubts = h.Number, h.SilentMs*int64(time.Millisecond) >= silentAfter
	case h.Node != s.node && s.listening && s.peers[h.Node] == nil && h.Nodes > 0:
		s.peers[h.Node] = &peer{
			node: h.Node, process: h.Process, nodes: h.Nodes, rest: accounts.WholeLimit,
			heardAt: now - h.SilentMs*int64(time.Millisecond),
		}
	}
}

// forgetDead forgets nodes that were silent for long while the servers answered.
func (s *Shares) forgetDead(now int64) {
	if s.reachedSince > 0 && now-s.reachedSince >= forgetAfter {
		s.known = 0
	}
	for name, p := range s.peers {
		if s.reachedSince > 0 && now-max(p.heardAt, s.reachedSince) >= forgetAfter {
			delete(s.peers, name)
		}
	}
}
