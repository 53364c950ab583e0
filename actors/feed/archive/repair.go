package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"tidemark/rankings/market"
)

// scrub is where the check of the checksums stands.
type scrub struct {
	segment uint64 // the first block of the segment that is checked
	at      int64  // the offset of the next frame
}

// scrubBytes is how much is checked in one go: some milliseconds of reading.
const scrubBytes = 4 << 20

// Scrub checks the checksums of the next few frames, going around the archive. It
// reports damage after the segment was cut around it.
func (a *Archive) Scrub() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.segments, func(s *segment) bool { return s.base.Number >= a.checked.segment })
	if i < 0 {
		i, a.checked = 0, scrub{}
	}
	if len(a.segments) == 0 {
		return nil
	}
	s := a.segments[i]
	if a.checked.segment != s.base.Number || a.checked.at == 0 {
		a.checked = scrub{s.base.Number, fileHead}
	}
	end, damage, err := s.checkSums(a.checked.at, min(a.checked.at+scrubBytes, s.size))
	if err != nil {
		return err
	}
	if damage != nil {
		return a.cutOut(damage)
	}

	if a.checked.at = end; end >= s.size {
		a.checked = scrub{segment: s.base.Number + 1}
	}
	return nil
}

// checkAnew has Scrub begin a segment again whose file was written anew or removed: its frames
// are at other offsets.
func (a *Archive) checkAnew(s *segment) {
	if a.checked.segment == s.base.Number {
		a.checked.at = 0
	}
}

// checkSums compares the frames from one offset to about another with their
// checksums. damage is of the first that does not match.
func (s *segment) checkSums(from, to int64) (end int64, damage *Damage, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return from, nil, err
	}
	defer f.Close()

	var bad *Damage
	var packed []byte
	enough := errors.New("enough")
	end, broken, err := walkFrames(f, from, s.size, func(at int64, h *frame) error {
		if at >= to {
			return enough
		}
		packed = slices.Grow(packed[:0], int(h.packed))[:h.packed]
		if _, err := f.ReadAt(packed, at+frameHead); err != nil {
			return err
		}
		if err := h.checkSum(packed); err != nil {
			bad = &Damage{filepath.Base(s.path), h.first, h.last, err}
			return err
		}
		return nil
	})
	if broken == nil || errors.Is(broken, enough) || err != nil {
		return end, nil, err
	}
	if bad == nil { // the header itself
		bad = &Damage{filepath.Base(s.path), s.base.Number + 1, s.last.Number, broken}
	}
	return end, bad, nil
}

// CutOut removes damaged blocks, so that they are missing and can be fetched again.
// What follows them in their segment is kept where it can be read.
func (a *Archive) CutOut(d *Damage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cutOut(d)
}

func (a *Archive) cutOut(d *Damage) error {
	i := slices.IndexFunc(a.segments, func(s *segment) bool { return filepath.Base(s.path) == d.File })
	if i < 0 {
		return d // it is gone
	}
	s := a.segments[i]
	a.m.damages.Inc()
	a.version++
	if s == a.active {
		if err := a.flush(); err != nil {
			return errors.Join(d, err)
		}
		if err := a.closeActive(); err != nil {
			return errors.Join(d, err)
		}
	}

	kept := s.last
	if err := a.salvage(i); err != nil {
		return errors.Join(d, err)
	}
	a.checkAnew(s)
	a.cfg.Log.Error("a segment of the archive is damaged; the blocks are fetched again", "chain", a.cfg.Chain,
		"segment", d.File, "from", s.last.Number+1, "to", a.lostUntil(s, kept), "error", d.Err)
	return d
}

// lostUntil returns the last block that was cut out after a segment.
func (a *Archive) lostUntil(s *segment, was market.Head) uint64 {
	if next := a.after(s); next != nil {
		return next.base.Number
	}
	return was.Number
}

// salvage writes segment i again without what cannot be read: what follows a damaged frame
// goes to a segment of its own, up to the next damaged one.
func (a *Archive) salvage(i int) error {
	s := a.segments[i]
	r, err := a.readSegment(s, s.base)
	if err != nil {
		return err
	}
	defer r.close()
	low, err := newWriter(s.path, s.fileHeader)
	if err != nil {
		return err
	}

	// The upper parts are kept first: after a kill before the last write the damage is found again.
	u := upperParts{archive: a, identity: s.Identity}
	err = u.finish(r.split(low, &u))
	made, err := low.finish(err)
	if err != nil { // the segment stays as it was
		return errors.Join(err, u.remove())
	}
	a.segments = slices.Insert(a.segments, i+1, u.made...)
	*s = *made
	return nil
}

// upperParts are the new segments with what follows the damaged frames of one: a part for
// every damaged frame that something follows.
type upperParts struct {
	archive  *Archive
	identity Identity
	writing  *writer // the newest part; nil: it is finished
	made     []*segment
}

// begin finishes the part before, and begins one with a span. at is the time from which it
// goes on.
func (u *upperParts) begin(first *market.Span, at int64) (*writer, error) {
	if err := u.finish(nil); err != nil {
		return nil, err
	}
	base := market.Head{Number: first.From - 1, Hash: first.Parent, Time: at}
	w, err := newWriter(u.archive.pathOf(first.From), fileHeader{u.identity, base})
	u.writing = w
	return w, err
}

// finish finishes the part that is being written, or drops it if something failed before.
func (u *upperParts) finish(failed error) error {
	if u.writing == nil {
		return failed
	}
	made, err := u.writing.finish(failed)
	if u.writing = nil; err == nil {
		u.made = append(u.made, made)
	}
	return err
}

// remove removes the parts that are finished.
func (u *upperParts) remove() (err error) {
	for _, s := range u.made {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// split writes the spans before the first damaged frame to low, and those after each damaged
// one, if there are any, to an upper part of its own.
func (r *segmentReader) split(low *writer, u *upperParts) error {
	for w := low; ; {
		spans, err := r.next()
		var lost *Damage
		switch {
		case errors.As(err, &lost):
			r.skip(lost)
			w = nil
			continue
		case err != nil || len(spans) == 0:
			return err
		}

		if w == nil {
			if w, err = u.begin(&spans[0], low.seg.last.Time); err != nil {
				return err
			}
		}
		if err := w.addAll(spans, r.of.finalized); err != nil {
			return err
		}
	}
}

// skip goes on after what is lost.
func (r *segmentReader) skip(lost *Damage) {
	r.at = market.Head{Number: lost.To}
	switch {
	case len(r.frames) == 0:
		r.broken = nil
	case r.frames[0].first <= lost.To:
		r.frames = r.frames[1:]
	}
}
