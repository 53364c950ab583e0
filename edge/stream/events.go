package stream

import (
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/value"
)

// eventAt returns the event of a change, rendered when it is first asked for; nil if
// the row is no longer there.
func (h *Hub) eventAt(step *rankings.Step, at int, generations string) []byte {
	id := eventID{step.Seq, at}
	if event := h.rendered.events[id]; event != nil {
		return event
	}
	event := h.renderEvent(step, at, generations)
	h.rendered.add(id, event)
	return event
}

// renderEvent renders a change with its row. That is of the step's generation, unless
// the chain has published another one since.
func (h *Hub) renderEvent(step *rankings.Step, at int, generations string) []byte {
	c, ok := h.snapshot.Chain(step.Chain)
	if !ok || c.View == nil {
		return nil
	}
	st := c.View.State

	if at >= len(step.Positions) {
		change := &step.Pools[at-len(step.Positions)]
		i, found := c.View.Pool(change.ID)
		if !found {
			return nil
		}
		dst := render.BeginEvent(nil, change.Kind.String(), generations, at+1)
		return render.EndEvent(render.AppendPool(dst, render.NewPool(st, i), 0))
	}

	change := &step.Positions[at]
	i, found := c.View.Position(change.ID)
	if !found {
		return nil
	}
	var m value.Metrics
	value.Position(st, i, &m)
	dst := render.BeginEvent(nil, change.Kind.String(), generations, at+1)
	return render.EndEvent(render.AppendPosition(dst, st, i, &m, 0))
}

// eventID is the place of an event: its step, and the change in it.
type eventID struct {
	seq uint64
	at  int
}

// eventCache holds the rendered events of the steps in the log.
type eventCache struct {
	events map[eventID][]byte
	order  []eventID
	bytes  int
}

func newEventCache() eventCache { return eventCache{events: map[eventID][]byte{}} }

// add keeps an event, and drops the oldest ones if they are too many.
func (c *eventCache) add(id eventID, event []byte) {
	if event == nil {
		return
	}
	c.events[id] = event
	c.order = append(c.order, id)
	c.bytes += len(event)
	for c.bytes > keptBytes {
		c.drop()
	}
}

// forget drops the events of steps that the log no longer has.
func (c *eventCache) forget(log *rankings.ChangeLog) {
	steps := log.After(0)
	for len(c.order) > 0 && (len(steps) == 0 || c.order[0].seq < steps[0].Seq) {
		c.drop()
	}
}

func (c *eventCache) drop() {
	c.bytes -= len(c.events[c.order[0]])
	delete(c.events, c.order[0])
	c.order = c.order[1:]
}
