package stream

import (
	"slices"
	"strconv"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/value"
)

// EndStop is why the streams of a hub end that stops; the server has other reasons.
const EndStop = "stop"

func endEvent(reason string) []byte { return render.AppendEndEvent(nil, reason) }

func resetEvent(generations string) []byte {
	return render.AppendGenerationEvent(nil, "reset", generations)
}

func generationEvent(generations string) []byte {
	return render.AppendGenerationEvent(nil, "generation", generations)
}

var comment = []byte(render.Comment)

// tellStep queues the events of a step: for every change those streams that watch
// it, and for each of these streams the end of the step.
func (h *Hub) tellStep(step *rankings.Step) {
	generations := h.known.String()
	var touched []*Stream
	for at := range step.Len() {
		touched = h.tellChange(step, at, generations, touched)
	}

	end := generationEvent(generations)
	for _, s := range touched {
		if step.Reverted {
			h.queue(s, render.AppendReorgEvent(nil, generations, step.Len(), step.Chain, s.reorged))
			s.reorged = nil
		}
		h.queue(s, end)
		s.seen = step.Seq + 1
	}
}

// tellChange queues the event of a change for the streams that watch it, or notes its id
// if the step is a reorganisation. It appends to touched those streams that the step had
// nothing for until then.
func (h *Hub) tellChange(step *rankings.Step, at int, generations string, touched []*Stream) []*Stream {
	var room [maxKeys]key
	var event []byte
	for _, k := range keysOfChange(step, at, room[:0]) {
		w := h.index.watches[k]
		if w == nil {
			continue
		}

		// Also without a stream now, so that it is kept for one that comes back.
		if event == nil && !step.Reverted {
			event = h.eventAt(step, at, generations)
		}
		for _, s := range w.streams {
			if s.backlog != nil || event == nil && !step.Reverted {
				continue
			}
			if s.touched != step.Seq+1 {
				s.touched = step.Seq + 1
				touched = append(touched, s)
			}
			if step.Reverted {
				s.reorged = addID(s.reorged, step, at)
			} else {
				h.queue(s, event)
			}
		}
	}
	return touched
}

// addID adds the id of a changed row, as batches write it, once.
func addID(ids []string, step *rankings.Step, at int) []string {
	id := strconv.AppendUint(nil, uint64(step.Chain), 10)
	id = append(id, '-')

	// The changes of a position follow each other. Those of a pool that has got the place of
	// another one need not.
	named := ids
	if at < len(step.Positions) {
		id = strconv.AppendUint(id, step.Positions[at].ID, 10)
		named = ids[max(len(ids), 1)-1:]
	} else {
		id = step.Pools[at-len(step.Positions)].ID.AppendHex(id)
	}
	if slices.Contains(named, string(id)) {
		return ids
	}
	return append(ids, string(id))
}

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
