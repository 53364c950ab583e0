package main

import (
	"context"
	"fmt"
)

// A node of a cluster that is started while no NATS servers answer serves what its data has,
// and joins the others when they do.

// historyOf returns the stream that the data was taken from, empty if the node has never
// been in a cluster.
func (n *node) historyOf() string {
	stream, _ := findPair(n.store.Identity(), historyName)
	return stream
}

// startsAlone has a node join later that was started without the servers. One that has
// nothing of the cluster is refused.
func (n *node) startsAlone() error {
	if n.unreached == nil {
		return nil
	}
	if n.historyOf() == "" {
		return fmt.Errorf("%w; the node must reach them at its first start", n.unreached)
	}
	n.cluster.JoinLater(n.checkLate, n.refuseLate)
	n.log.Warn("no NATS servers answer; this node serves what its data has, and joins the cluster when they do",
		"error", n.unreached)
	return nil
}

// checkLate makes the checks that need the servers, before this node joins.
func (n *node) checkLate() error {
	if had, has := n.historyOf(), n.cluster.History(); had != has {
		return fmt.Errorf("the NATS servers have another stream, of %s; the data of this node is of the one of %s; "+
			"start the node again to have its data replaced", has, had)
	}
	return n.checkAgreed(n.agree(context.Background()))
}

// refuseLate ends a node that may not join: at its start it would have been refused.
func (n *node) refuseLate(err error) {
	n.failed <- fmt.Errorf("cannot join the cluster: %w", err)
}
