package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// leadTTL is how long a dead node is taken for the writer. With what the promotion
	// takes, another writes within 5 s.
	leadTTL = 3 * time.Second
	// leadEvery is the pause between renewals, and between attempts of the others.
	leadEvery = 750 * time.Millisecond
	// leadValid is less than leadTTL: a node stops believing that it leads before others
	// may.
	leadValid = 2250 * time.Millisecond
)

// lead is the leadership of a chain.
type lead struct {
	ready    atomic.Bool               // this node has followed to the end
	until    atomic.Pointer[time.Time] // when this node leads no longer; nil: it does not
	revision uint64                    // of the key, if this node has it; only campaign uses it
	// yielded is when this node left the chain to another one; nil: never.
	yielded atomic.Pointer[time.Time]
}

// Leads reports whether this node is to write the chain. Two nodes may believe so at once:
// what keeps them from forking the chain is the stream. A node without room does not lead,
// even while the others still take it for the writer.
func (ch *Chain) Leads() bool {
	until := ch.lead.until.Load()
	return until != nil && time.Now().Before(*until) && ch.hasRoom()
}

// Resign gives the leadership back, until this node has followed to the end again.
func (ch *Chain) Resign() {
	ch.lead.ready.Store(false)
	ch.lead.until.Store(nil)
}

// campaign asks for the leadership while this node is ready, has room and has not just left
// it to another one, renews it, and gives it back when one of these or ctx ends.
func (ch *Chain) campaign(ctx context.Context) {
	for ctx.Err() == nil {
		ch.campaignOnce(ctx)
		Pause(ctx, leadEvery)
	}

	ch.lead.ready.Store(false)
	last, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	ch.campaignOnce(last)
}

func (ch *Chain) campaignOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leadValid)
	defer cancel()
	started := time.Now()
	key, name := fmt.Sprint(ch.id), []byte(ch.c.cfg.Name)
	had := ch.lead.revision

	var err error
	switch {
	case !ch.lead.ready.Load() || !ch.hasRoom() || ch.hasYielded(yieldFor):
		if ch.lead.revision > 0 {
			ch.c.leads.Delete(ctx, key, jetstream.LastRevision(ch.lead.revision))
		}
		ch.lead.revision = 0
	case ch.lead.revision > 0:
		ch.lead.revision, err = ch.c.leads.Update(ctx, key, name, ch.lead.revision)
	default:
		ch.lead.revision, err = ch.c.leads.Create(ctx, key, name)
	}

	var refused *jetstream.APIError
	switch {
	case err != nil && had > 0 && !errors.As(err, &refused):
		ch.lead.revision = had // no answer: it leads until its time is over
		return
	case err != nil, ch.lead.revision == 0:
		ch.lead.revision = 0
		ch.lead.until.Store(nil)
		return
	}
	until := started.Add(leadValid)
	ch.lead.until.Store(&until)
	if had == 0 {
		ch.wakeUp()
	}
}

// Writer returns the name of the node that leads a chain, empty if none does.
func (ch *Chain) Writer(ctx context.Context) (string, error) {
	if err := ch.c.Joined(); err != nil {
		return "", err
	}
	e, err := ch.c.leads.Get(ctx, fmt.Sprint(ch.id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(e.Value()), nil
}
