package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tidemark/rankings/market"
)

// Damage is the error of a segment that is not as it was written. The blocks From to
// To have to be fetched again.
type Damage struct {
	File     string
	From, To uint64 // To 0: up to the segment that follows
	Err      error
}

func (d *Damage) Error() string {
	if d.To == 0 {
		return fmt.Sprintf("segment %s of the archive is damaged from block %d on: %v", d.File, d.From, d.Err)
	}
	return fmt.Sprintf("segment %s of the archive is damaged: blocks %d to %d: %v", d.File, d.From, d.To, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// segmentReader reads the spans of one segment after a block, a frame at a time.
type segmentReader struct {
	file    *os.File
	of      segment // as it was when the reader was made
	frames  []placed
	broken  error       // why the file cannot be read to its end
	at      market.Head // the last block that was read
	packed  []byte
	scratch []byte
}

// readSegment reads the spans after a block, which must not lie before the segment.
// What is pending must have been written.
func (a *Archive) readSegment(s *segment, after market.Head) (*segmentReader, error) {
	frames, broken, err := s.frames()
	if err != nil {
		return nil, err
	}
	for i := range frames {
		frames[i].until = min(frames[i].until, s.last.Number)
	}

	frames = slices.DeleteFunc(frames, func(p placed) bool { return p.until <= after.Number || p.until < p.first })
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	return &segmentReader{file: f, of: *s, frames: frames, at: after, broken: broken}, nil
}

func (r *segmentReader) close() { r.file.Close() }

// next returns the spans of the next frame; none at the end.
func (r *segmentReader) next() ([]market.Span, error) {
	for len(r.frames) > 0 {
		p := &r.frames[0]
		if p.first > r.at.Number+1 {
			return nil, r.damage(r.at.Number+1, p.first-1,
				fmt.Errorf("a frame begins with block %d after block %d", p.first, r.at.Number))
		}
		all, err := r.decode(p)
		if err != nil {
			return nil, err
		}
		if all, err = r.keepLive(all, p.until); err != nil {
			return nil, r.damage(p.first, p.until, err)
		}
		if r.frames = r.frames[1:]; len(all) > 0 {
			return all, nil
		}
	}

	switch from, to := r.at.Number+1, r.of.last.Number; {
	case r.broken != nil:
		return nil, r.damage(from, to, r.broken)
	case from <= to:
		return nil, r.damage(from, to, fmt.Errorf("its blocks end with %d; it says %d", from-1, to))
	}
	return nil, nil
}

// decode returns all spans of a frame.
func (r *segmentReader) decode(p *placed) ([]market.Span, error) {
	r.packed = slices.Grow(r.packed[:0], int(p.packed))[:p.packed]
	if _, err := r.file.ReadAt(r.packed, p.at+frameHead); err != nil {
		return nil, err
	}
	all, err := packing().unpack(&p.frame, r.packed, &r.scratch)
	if err != nil {
		return nil, r.damage(p.first, p.until, err)
	}
	return all, nil
}

func (r *segmentReader) damage(from, to uint64, err error) *Damage {
	return &Damage{filepath.Base(r.of.path), from, to, err}
}

// keepLive drops the spans that were read already or are superseded, and holds that
// the others follow one another. A span is never given in part: only its ends have
// hashes, so that nothing would show which branch the rest of it follows.
func (r *segmentReader) keepLive(spans []market.Span, until uint64) ([]market.Span, error) {
	spans = slices.DeleteFunc(spans, func(s market.Span) bool { return s.To <= r.at.Number || s.To > until })
	if len(spans) > 0 && spans[0].From <= r.at.Number {
		r.at = market.Head{Number: spans[0].From - 1}
	}

	for i := range spans {
		s := &spans[i]
		if err := checkFollows(r.at, s); err != nil {
			return nil, err
		}
		r.at = s.Head()
	}
	return spans, nil
}

func checkFollows(at market.Head, s *market.Span) error {
	switch {
	case s.From != at.Number+1:
		return fmt.Errorf("a span begins with block %d after block %d", s.From, at.Number)
	case !s.Parent.IsZero() && !at.Hash.IsZero() && s.Parent != at.Hash:
		return fmt.Errorf("the span from block %d has the parent %s; block %d is %s",
			s.From, s.Parent, at.Number, at.Hash)
	}
	return nil
}

// readAhead is how many frames are decoded before they are asked for: one is in use
// while the next is made, so that more would only take memory.
const readAhead = 2

// Reader reads the spans of an archive in order, decoding ahead.
type Reader struct {
	batches chan batch
	stop    chan struct{}
	work    sync.WaitGroup
	spans   []market.Span
	version uint64
}

type batch struct {
	spans []market.Span
	err   error
}

// ReadAfter reads what follows a block, up to the first block that is missing. The
// reader is nil if the archive does not have the block after it. Whether the first span
// follows the block is for the caller to say: it may be of another branch, which is no
// damage, or begin before the block.
func (a *Archive) ReadAfter(at market.Head) (*Reader, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active != nil {
		if err := a.flush(); err != nil {
			return nil, err
		}
	}
	var run []segment // that follow one another
	end := at.Number
	for _, s := range a.segments {
		if s.last.Number > end && s.base.Number <= end {
			run = append(run, *s)
			end = s.last.Number
		}
	}
	if len(run) == 0 {
		return nil, nil
	}

	r := &Reader{
		batches: make(chan batch, readAhead), stop: make(chan struct{}), version: a.version,
	}
	r.work.Go(func() {
		defer close(r.batches)
		after := market.Head{Number: at.Number, Time: at.Time}
		for i := range run {
			if after = a.readRun(r, &run[i], after); after.Number < run[i].last.Number {
				return
			}
		}
	})
	return r, nil
}

// readRun hands the spans of a segment to a reader and returns the last block.
func (a *Archive) readRun(r *Reader, s *segment, after market.Head) market.Head {
	spans, err := a.readSegment(s, after)
	if err != nil {
		r.hand(batch{err: err})
		return after
	}

	defer spans.close()
	for {
		list, err := spans.next()
		if len(list) == 0 && err == nil {
			return spans.at
		}
		if !r.hand(batch{list, err}) || err != nil {
			return after
		}
	}
}

// hand gives a batch to the reader; false: it was closed.
func (r *Reader) hand(b batch) bool {
	select {
	case r.batches <- b:
		return true
	case <-r.stop:
		return false
	}
}

// Next returns the next span, nil at the end. The span is the caller's.
func (r *Reader) Next() (*market.Span, error) {
	for len(r.spans) == 0 {
		b, more := <-r.batches
		if !more || b.err != nil {
			return nil, b.err
		}
		r.spans = b.spans
	}
	s := &r.spans[0]
	r.spans = r.spans[1:]
	return s, nil
}

// Close ends the reader.
func (r *Reader) Close() {
	close(r.stop)
	for range r.batches { // until the goroutine has seen it
	}
	r.work.Wait()
}
