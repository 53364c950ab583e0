package archive

import (
	"slices"

	"tidemark/rankings/market"
)

// makeRoom drops the blocks of a span from segment i on: what lies above it is moved
// to a segment of its own first.
func (a *Archive) makeRoom(i int, span *market.Span) error {
	a.version++
	low := a.segments[i]
	for k := i; k < len(a.segments) && a.segments[k].base.Number < span.To; k++ {
		s := a.segments[k]
		if s.last.Number > span.To {
			if err := a.moveAbove(s, span.Head()); err != nil {
				return err
			}
		}
		if k > i {
			if err := a.remove(s); err != nil {
				return err
			}
			k--
		}
	}

	if err := a.activate(low); err != nil {
		return err
	}
	a.pending.head.first = span.From
	low.last = market.Head{Number: span.From - 1, Hash: span.Parent}
	return nil
}

// moveAbove writes the spans of a segment above a block into a segment of their own.
// One that begins at or below it loses those blocks.
func (a *Archive) moveAbove(s *segment, at market.Head) error {
	w, err := newWriter(a.pathOf(at.Number+1), fileHeader{s.Identity, at})
	if err != nil {
		return err
	}
	spans, err := a.readSegment(s, at)
	for spans != nil && err == nil {
		var list []market.Span
		if list, err = spans.next(); len(list) == 0 {
			break
		}
		for i := range list {
			if err == nil {
				err = w.add(&list[i], s.finalized)
			}
		}
	}
	if spans != nil {
		spans.close()
	}

	made, err := w.finish(err)
	if err != nil {
		return err
	}
	a.segments = slices.Insert(a.segments, slices.Index(a.segments, s)+1, made)
	return nil
}
