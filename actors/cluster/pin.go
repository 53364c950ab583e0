package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// A walk on one node reads leaves of an old generation, which the writer of the chain
// would delete. So the nodes tell each other which generations they have pinned.

// pinned is what a node tells of a chain.
type pinned struct {
	Node        string
	Generations []uint64
	at          time.Time // when it was heard
}

func (ch *Chain) pinSubject() string { return fmt.Sprintf("pin.%d", ch.id) }

// TellPinned tells the other nodes which generations this one has pinned. It does not
// wait. It must be called again in time, since a node that says nothing may be dead.
func (ch *Chain) TellPinned(generations []uint64) {
	text, err := json.Marshal(pinned{Node: ch.c.cfg.Name, Generations: generations})
	if err == nil {
		err = ch.c.nc.Publish(ch.pinSubject(), text)
	}
	if err != nil && ch.ctx.Err() == nil {
		ch.c.cfg.Log.Debug("cannot tell what is pinned", "chain", ch.id, "error", err)
	}
}

func (ch *Chain) hearPinned(m *nats.Msg) {
	told := pinned{at: time.Now()}
	if json.Unmarshal(m.Data, &told) != nil {
		return
	}
	ch.pinsMu.Lock()
	defer ch.pinsMu.Unlock()
	ch.pins[told.Node] = told
}

// PinnedElsewhere returns the generations that other nodes have pinned.
func (ch *Chain) PinnedElsewhere() (all []uint64) {
	ch.pinsMu.Lock()
	defer ch.pinsMu.Unlock()
	for node, told := range ch.pins {
		if time.Since(told.at) >= heardFor {
			delete(ch.pins, node)
			continue
		}
		all = append(all, told.Generations...)
	}

	slices.Sort(all)
	return slices.Compact(all)
}
