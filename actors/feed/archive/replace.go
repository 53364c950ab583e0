package archive

import (
	"errors"
	"os"
	"slices"

	"tidemark/rankings/market"
)

// makeRoom drops the blocks of a span, and what lies above it and is of another branch.
// Spans above that may follow it are kept in a segment of their own, after a hole where
// one of them began within the span: its rest cannot be told from another branch.
func (a *Archive) makeRoom(span *market.Span) error {
	same := true // what lies above may be of the span's branch
	for i := 0; i < len(a.segments); i++ {
		s := a.segments[i]
		switch {
		case s.last.Number < span.From && s.base.Number < span.From:
			continue
		case s.base.Number >= span.To:
			if same = same && (s.base.Number > span.To || joins(span.Head(), s.base)); same {
				return nil
			}
		case s.last.Number > span.To:
			var err error
			var damage *Damage
			if same, err = a.keepAbove(s, span); errors.As(err, &damage) {
				a.cfg.Log.Error("damaged blocks of the archive are replaced, with those that follow in their segment",
					"chain", a.cfg.Chain, "segment", damage.File, "error", damage.Err)
				same, err = true, nil
			}
			if err != nil {
				return err
			}
		}

		a.version++
		if s.base.Number < span.From {
			if err := a.cutBack(s, market.Head{Number: span.From - 1, Hash: span.Parent}); err != nil {
				return err
			}
			continue
		}
		if err := a.remove(s); err != nil {
			return err
		}
		i--
	}
	return nil
}

// cutBack ends a segment with a block. A span that goes on beyond the block is lost as a whole,
// since only its end has a hash; the segment ends with the span before it, so that the blocks
// between are named as missing.
func (a *Archive) cutBack(s *segment, at market.Head) error {
	end, err := a.endWithin(s, at.Number)
	if err != nil {
		return err
	}
	if s.last = end; end.Number == at.Number {
		s.last = at
	}
	return nil
}

// endWithin returns the last block up to one with which a span of a segment ends, of those that
// are written; the base: none does. A frame that cannot be read has none.
func (a *Archive) endWithin(s *segment, block uint64) (market.Head, error) {
	frames, _, err := s.frames()
	if err != nil {
		return market.Head{}, err
	}
	r := segmentReader{of: *s}
	if r.file, err = os.Open(s.path); err != nil {
		return market.Head{}, err
	}
	defer r.close()

	for _, p := range slices.Backward(frames) {
		if p.first > block {
			continue
		}
		spans, err := r.decode(&p)
		var damage *Damage
		if errors.As(err, &damage) {
			a.cfg.Log.Error("damaged blocks of the archive are fetched again", "chain", a.cfg.Chain,
				"segment", damage.File, "from", damage.From, "to", damage.To, "error", damage.Err)
			continue
		}
		if err != nil {
			return market.Head{}, err
		}
		for _, span := range slices.Backward(spans) {
			if span.To <= min(p.until, block) {
				return span.Head(), nil
			}
		}
	}
	return s.base, nil
}

// keepAbove writes the spans of a segment above a span into a segment of their own. It
// reports whether they may be of the span's branch; if not it keeps none of them.
func (a *Archive) keepAbove(s *segment, span *market.Span) (same bool, err error) {
	// Without the span's hash: to be of another branch is no damage.
	r, err := a.readSegment(s, market.Head{Number: span.To})
	if err != nil {
		return false, err
	}
	defer r.close()

	base := span.Head()
	list, err := r.next()
	for ; err == nil && len(list) > 0; list, err = r.next() {
		if list[0].From == span.To+1 && list[0].Parent != span.Hash {
			return false, nil
		}
		// The first to be kept follows a block whose hash is known.
		for len(list) > 0 && (list[0].From <= span.To || base.Hash.IsZero()) {
			base, list = list[0].Head(), list[1:]
		}
		if len(list) > 0 {
			return true, a.keepRest(s, base, list, r)
		}
	}
	return err == nil, err
}

// keepRest writes spans of a segment, and all that follow them in it, into a segment of
// their own.
func (a *Archive) keepRest(s *segment, base market.Head, list []market.Span, r *segmentReader) error {
	w, err := newWriter(a.pathOf(base.Number+1), fileHeader{s.Identity, base})
	if err != nil {
		return err
	}
	for ; err == nil && len(list) > 0; list, err = r.next() {
		if err = w.addAll(list, s.finalized); err != nil {
			break
		}
	}

	made, err := w.finish(err)
	if err != nil {
		return err
	}
	a.segments = slices.Insert(a.segments, slices.Index(a.segments, s)+1, made)
	return nil
}

// baseAfter returns the first block after one that a segment begins with as its base;
// 0: there is none. A span that ends with it shows whether the segment follows it.
func (a *Archive) baseAfter(number uint64) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.segments {
		if s.base.Number > number {
			return s.base.Number
		}
	}
	return 0
}
