package stream

import (
	"slices"
	"strconv"

	"tidemark/edge/render"
	"tidemark/rankings"
)

// EndStop is the reason with which a hub that stops ends its streams; the server has others.
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
