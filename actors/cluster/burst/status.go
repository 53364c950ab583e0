package burst

import (
	"cmp"
	"slices"
	"time"

	"tidemark/storage/accounts"
)

// Status is what a node knows of the shared burst limits.
type Status struct {
	Nodes    []Node // with this one, by name
	Accounts []Part // those in use, by id
}

// Node is a node that shares the limits.
type Node struct {
	Name   string
	Silent time.Duration // since it was heard; 0: this one
}

// Part is what nodes have of an account's limit.
type Part struct {
	Cell   *accounts.Cell
	Parts  map[string]float64 // by node, of 1
	Needed float64            // requests a second that are asked of all nodes
}

// Status returns what this node knows.
func (l *Limits) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shares.status(l.now())
}

func (s *Shares) status(now int64) (st Status) {
	st.Nodes = append(st.Nodes, Node{Name: s.node})
	for _, p := range s.peers {
		st.Nodes = append(st.Nodes, Node{p.node, time.Duration(max(p.silent(now), 1))})
	}

	for _, sh := range s.accounts {
		part := Part{Cell: sh.cell, Parts: map[string]float64{s.node: ofOne(sh.held)}, Needed: needOf(sh.need)}
		for _, p := range s.peers {
			part.Parts[p.node] = ofOne(p.claimOf(sh.account, now))
			if p.live(now) {
				part.Needed += needOf(p.claims[sh.account].Need)
			}
		}
		st.Accounts = append(st.Accounts, part)
	}

	slices.SortFunc(st.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(st.Accounts, func(a, b Part) int { return cmp.Compare(a.Cell.ID, b.Cell.ID) })
	return st
}

func ofOne(parts int64) float64 { return float64(parts) / accounts.WholeLimit }

func needOf(need int64) float64 { return float64(need) / needUnit }
