package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	"tidemark/actors/cluster/burst"
	"tidemark/edge/admin"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// ReadyCmd asks a running node whether it should be sent requests.
type ReadyCmd struct{ AdminFlags }

// Run succeeds when the node is ready; an error says what it waits for.
func (c *ReadyCmd) Run() error {
	node := adminClient(c.Data)
	answer, err := node.do(http.MethodGet, "/ready", nil)
	if err != nil {
		return err
	}

	var v admin.ReadyView
	if err := node.decode(answer, &v); err != nil {
		return err
	}
	if c.JSON {
		_, err = os.Stdout.Write(answer)
	}
	if !v.Ready {
		return errors.New(v.Reason)
	}
	if !c.JSON {
		_, err = fmt.Println("ready")
	}
	return err
}

// readiness tells balancers and service managers whether a node should be sent
// requests: every chain that is not offline has a published generation, it has its
// part of burst limits, and the node has not been told to stop.
type readiness struct {
	board    *rankings.Board
	health   func(market.ChainID) (status, reason string)
	disk     func() storage.Disk
	bursts   *burst.Limits // nil without a cluster
	chains   []market.ChainID
	tell     func() // nil, or called before it is ready: tells the other nodes once
	stopping atomic.Bool
}

// check returns nil when the node is ready, else what it waits for.
func (r *readiness) check() error {
	if r.stopping.Load() {
		return errors.New("the node is stopping")
	}

	board := r.board.Load()
	for _, id := range r.chains {
		c, ok := board.Chain(id)
		if ok && (c.View != nil || c.Status.Offline) {
			continue
		}
		_, reason := r.health(id)
		return fmt.Errorf("chain %d: %s%s", id, reason, describeFullDisk(r.disk()))
	}
	if r.bursts != nil && !r.bursts.Ready() {
		return errors.New("the node listens to the other nodes for its part of burst limits")
	}
	if r.tell != nil {
		r.tell()
	}
	return nil
}

// describeFullDisk says that a disk has no room for chains that catch up; empty: it has.
func describeFullDisk(d storage.Disk) string {
	if d.Status.HasRoom() {
		return ""
	}
	return fmt.Sprintf("; the disk has %d bytes free, and nothing is written before it has %d",
		d.FreeBytes, storage.WritableBytes())
}

// nearHead is how far a generation may be behind its chain's head, in seconds of the chain's
// time: until then the records of the next one are mostly the same.
const nearHead = 600

// hasStarted reports whether every chain has a generation near its head, with all records in
// memory. One that is offline need not, nor one whose history is read for the first time,
// which can take days: it has no generation beside its ledger.
func (n *node) hasStarted() bool {
	board := n.board.Load()
	for _, c := range n.enabledChains() {
		on, ok := board.Chain(c.ID)
		switch {
		case !ok:
			return false
		case on.Status.Offline || on.Status.Syncing && on.View == nil:
		case on.View == nil || !on.View.Warm() || on.Status.ChainHead.Time-on.View.State.Head.Time > nearHead:
			return false
		}
	}
	return true
}
