package archive

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"tidemark/rankings/market"
)

// pending is spans that are not in a frame yet.
type pending struct {
	head      frame // first, spans and events; first 0: nothing is pending
	records   []byte
	ends      []pendingEnd
	finalized uint64
}

// pendingEnd is where a pending span ends.
type pendingEnd struct {
	head   market.Head
	bytes  int    // of all records up to here
	events uint32 // likewise
}

func (p *pending) clear() {
	p.head, p.records, p.ends = frame{}, p.records[:0], p.ends[:0]
}

// Append adds a span that the ledger has applied after the block before. A span that
// does not follow the end of the archive replaces its blocks there, or is the first
// after a hole. What the archive has above it is kept if it may still be of the same
// branch. What is added is in the file at the latest after Sync.
func (a *Archive) Append(before market.Head, span *market.Span) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.add(before, span)
	if err == nil && len(a.pending.records) >= frameBytes && !a.cfg.Full() {
		err = a.flush()
	}
	if err != nil {
		return fmt.Errorf("cannot archive blocks %d to %d of chain %d: %w", span.From, span.To, a.cfg.Chain, err)
	}
	return nil
}

func (a *Archive) add(before market.Head, span *market.Span) error {
	if !a.follows(span) {
		if err := a.moveTo(before, span); err != nil {
			return err
		}
	}

	p := &a.pending
	if p.head.first == 0 {
		p.head.first = span.From
	}
	p.records = p.head.appendSpan(p.records, span)
	p.ends = append(p.ends, pendingEnd{span.Head(), len(p.records), p.head.events})
	return nil
}

// follows reports whether a span goes to the end of the active segment, and the next
// segment stays as it is.
func (a *Archive) follows(span *market.Span) bool {
	if a.active == nil || span.From != a.tip().Number+1 {
		return false
	}
	next := a.after(a.active)
	return next == nil || span.To < next.base.Number || joins(span.Head(), next.base)
}

// joins reports whether the block at which something ends is the base of what follows.
func joins(end, base market.Head) bool {
	return end.Number == base.Number && end.Hash == base.Hash && !end.Hash.IsZero()
}

// tip returns the last block of the active segment, what is pending included.
func (a *Archive) tip() market.Head {
	if n := len(a.pending.ends); n > 0 {
		return a.pending.ends[n-1].head
	}
	return a.active.last
}

// after returns the segment that follows one; nil: none.
func (a *Archive) after(s *segment) *segment {
	if i := slices.Index(a.segments, s); i >= 0 && i+1 < len(a.segments) {
		return a.segments[i+1]
	}
	return nil
}

// moveTo makes the segment active in which a span belongs.
func (a *Archive) moveTo(before market.Head, span *market.Span) error {
	if err := a.flush(); err != nil {
		return err
	}
	if err := a.makeRoom(span); err != nil {
		return err
	}
	i := len(a.segments) - 1
	for i >= 0 && a.segments[i].base.Number >= span.From {
		i--
	}
	if before.Hash.IsZero() { // within a span, where an hour began
		before.Hash = span.Parent
	}
	if i < 0 || a.segments[i].last.Number+1 < span.From {
		return a.create(before)
	}

	// A full segment of which the chain took everything back has the name of the next one.
	s := a.segments[i]
	if s.written < span.From && s.size >= a.cfg.SegmentBytes && s.base.Number+1 < span.From {
		return a.create(before)
	}
	return a.activate(s)
}

// remove deletes a segment.
func (a *Archive) remove(s *segment) error {
	if s == a.active {
		a.unsynced = false // it is gone
		if err := a.closeActive(); err != nil {
			return err
		}
	}
	if err := os.Remove(s.path); err != nil {
		return err
	}
	a.segments = slices.DeleteFunc(a.segments, func(x *segment) bool { return x == s })
	a.checkAnew(s)
	return syncDir(a.cfg.Dir)
}

// create begins a segment after a block.
func (a *Archive) create(before market.Head) error {
	if err := a.closeActive(); err != nil {
		return err
	}
	s := &segment{fileHeader: fileHeader{a.cfg.Identity, before}, path: a.pathOf(before.Number + 1)}
	s.last, s.written, s.size = before, before.Number, fileHead
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(s.fileHeader.append(nil))
	if err = errors.Join(err, syncDir(a.cfg.Dir)); err != nil {
		return errors.Join(err, f.Close(), os.Remove(s.path))
	}

	i, _ := slices.BinarySearchFunc(a.segments, before.Number, func(s *segment, n uint64) int {
		if s.base.Number < n {
			return -1
		}
		return 1
	})
	a.segments = slices.Insert(a.segments, i, s)
	a.active, a.file, a.unsynced = s, f, true
	return nil
}

// activate opens a segment for writing at its end; a footer is cut off.
func (a *Archive) activate(s *segment) error {
	if s == a.active {
		return nil
	}
	if err := a.closeActive(); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}

	if err := f.Truncate(s.size); err != nil {
		return errors.Join(err, f.Close())
	}
	a.active, a.file = s, f
	return nil
}

// Revert supersedes what the archive has above a block, because the chain or the
// ledger went back to it from another. While an archive is replayed it has more
// than the ledger; then nothing is superseded before other spans are appended.
func (a *Archive) Revert(from uint64, to market.Head) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if end := a.end(); end.Number > from || end.Number <= to.Number {
		return nil
	}
	a.version++
	if err := a.revert(to); err != nil {
		return fmt.Errorf("cannot take the archive of chain %d back to block %d: %w", a.cfg.Chain, to.Number, err)
	}
	return nil
}

func (a *Archive) revert(to market.Head) error {
	newest := a.segments[len(a.segments)-1]
	if newest != a.active {
		if err := a.flush(); err != nil {
			return err
		}
		if err := a.activate(newest); err != nil {
			return err
		}
	}
	for a.active.base.Number > to.Number {
		a.pending.clear()
		if err := a.remove(a.active); err != nil || len(a.segments) == 0 {
			return err
		}
		if err := a.activate(a.segments[len(a.segments)-1]); err != nil {
			return err
		}
	}

	p := &a.pending
	for len(p.ends) > 0 && p.ends[len(p.ends)-1].head.Number > to.Number {
		p.ends = p.ends[:len(p.ends)-1]
	}
	if n := len(p.ends); n > 0 {
		end := p.ends[n-1]
		p.records, p.head.spans, p.head.events = p.records[:end.bytes], uint32(n), end.events
		return nil
	}
	p.clear()
	if a.active.last.Number > to.Number {
		if err := a.cutBack(a.active, to); err != nil {
			return err
		}
	}
	if a.active.written > a.active.last.Number {
		p.head.first = a.active.last.Number + 1
	}
	return nil
}

// NoteFinalized notes the newest block that no reorganisation reaches.
func (a *Archive) NoteFinalized(block uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending.finalized = max(a.pending.finalized, block)
}

// Sync makes everything durable that was appended and superseded. It must return
// before the ledger's state after those spans is committed.
func (a *Archive) Sync() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.sync(); err != nil {
		return fmt.Errorf("cannot write the archive of chain %d: %w", a.cfg.Chain, err)
	}
	return nil
}

func (a *Archive) sync() error {
	if a.active == nil {
		return nil
	}
	if err := a.flush(); err != nil {
		return err
	}
	if err := a.file.Sync(); err != nil {
		return err
	}
	a.unsynced = false

	if a.active.size < a.cfg.SegmentBytes {
		return nil
	}
	return errors.Join(a.seal(), a.trim())
}

// flush writes what is pending as a frame. After an error the file is as it was, and
// everything is still pending.
func (a *Archive) flush() error {
	p := &a.pending
	if p.head.first == 0 {
		return nil
	}
	f, s := p.head, a.active
	f.finalized, f.last = p.finalized, f.first-1
	if n := len(p.ends); n > 0 {
		f.last = p.ends[n-1].head.Number
	}

	b := packing().appendFrame(nil, f, p.records)
	if _, err := a.file.WriteAt(b, s.size); err != nil {
		return errors.Join(err, a.file.Truncate(s.size))
	}
	a.unsynced = true
	s.last, s.written = a.tip(), f.last
	s.size += int64(len(b))
	s.spans += uint64(f.spans)
	s.events += uint64(f.events)
	s.finalized = max(s.finalized, f.finalized)
	p.clear()
	return nil
}

// seal ends the active segment with a footer.
func (a *Archive) seal() error {
	if _, err := a.file.WriteAt(a.active.content.append(nil), a.active.size); err != nil {
		return errors.Join(err, a.file.Truncate(a.active.size))
	}
	if err := a.file.Sync(); err != nil {
		return err
	}
	return a.closeActive()
}

// trim removes the oldest segments while the archive is larger than it may be.
func (a *Archive) trim() error {
	var total int64
	for _, s := range a.segments {
		total += s.size
	}

	for a.cfg.MaxBytes > 0 && total > a.cfg.MaxBytes && len(a.segments) > 1 {
		oldest := a.segments[0]
		a.version++
		if err := a.remove(oldest); err != nil {
			return err
		}
		total -= oldest.size
		a.cfg.Log.Warn("the archive is full; its oldest blocks are removed", "chain", a.cfg.Chain,
			"from", oldest.base.Number+1, "to", oldest.last.Number, "bytes", oldest.size)
	}
	return nil
}
