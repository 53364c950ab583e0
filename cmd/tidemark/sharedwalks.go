package main

import (
	"encoding/json"

	"tidemark/edge/pages"
)

// Walks go on at every node of a cluster: a node tells the others what it keeps for them.
const (
	walkSubject  = "walk"
	startSubject = "walkstart" // its own, since builds that do not know it would take it for a walk
	walkHeader   = "Tidemark-Node"
)

// tellWalk tells the other nodes of a walk; nil without a cluster. What is lost on the way
// is told again, as long as the walk goes on.
func (n *node) tellWalk() func(*pages.Walk) {
	if n.cluster == nil {
		return nil
	}
	return func(w *pages.Walk) {
		body, err := json.Marshal(w)
		if err == nil {
			err = n.cluster.Tell(walkSubject, walkHeader, n.cluster.Node(), body)
		}
		if err != nil {
			n.log.Debug("cannot tell of a walk", "error", err)
		}
	}
}

// hearWalks has the pages keep what other nodes keep for walks, and know when one starts.
func (n *node) hearWalks() error {
	if n.cluster == nil {
		return nil
	}
	if err := n.cluster.Listen(startSubject, walkHeader, func(string, []byte) { n.api.HearStart() }); err != nil {
		return err
	}

	return n.cluster.Listen(walkSubject, walkHeader, func(from string, body []byte) {
		var w pages.Walk
		if err := json.Unmarshal(body, &w); err != nil {
			n.log.Debug("cannot understand a walk of another node", "node", from, "error", err)
			return
		}
		n.api.HearWalk(&w)
	})
}

// tellStart tells the other nodes that this one has nothing of what they have kept for walks
// so far: walks that begin now may come here.
func (n *node) tellStart() {
	if n.cluster == nil {
		return
	}
	if err := n.cluster.Tell(startSubject, walkHeader, n.cluster.Node(), nil); err != nil {
		n.log.Debug("cannot tell of the start", "error", err)
	}
}
