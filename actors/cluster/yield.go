package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// A writer whose feed fails leaves the chain to a node that offers to write it, since that
// one may have other providers. A follower does not read its feed, so it may find that its
// own fails too. Then it asks in turn.

const (
	// yieldFor is how long a node that has left a chain to another one does not ask for it:
	// several attempts of the others.
	yieldFor = 5 * time.Second
	// offerAgain is how long it offers nothing either. Where the feeds of all nodes fail the
	// chain does not go round among them.
	offerAgain = 5 * time.Minute
)

func (ch *Chain) yieldSubject() string { return fmt.Sprintf("yield.%d", ch.id) }

// Yield gives the leadership up if another node offers to write the chain, and reports
// whether one does. This node must follow then.
func (ch *Chain) Yield() bool {
	ctx, cancel := context.WithTimeout(ch.ctx, leaderTimeout)
	defer cancel()
	if _, err := ch.c.nc.RequestWithContext(ctx, ch.yieldSubject(), nil); err != nil {
		return false
	}
	now := time.Now()
	ch.lead.yielded.Store(&now)
	ch.Resign()
	return true
}

// hearYield offers to write the chain.
func (ch *Chain) hearYield(m *nats.Msg) {
	if !ch.lead.ready.Load() || !ch.hasRoom() || ch.hasYielded(offerAgain) {
		return
	}
	if err := m.Respond(nil); err != nil && ch.ctx.Err() == nil {
		ch.c.cfg.Log.Debug("cannot offer to write a chain", "chain", ch.id, "error", err)
	}
}

// hasYielded reports whether this node has left the chain to another one so lately.
func (ch *Chain) hasYielded(within time.Duration) bool {
	at := ch.lead.yielded.Load()
	return at != nil && time.Since(*at) < within
}
