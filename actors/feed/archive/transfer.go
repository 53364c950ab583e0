package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tidemark/rankings/market"
)

// Export writes the archive's blocks up to the settled ones, which no reorganisation can take
// back, to a file, which must not exist. An archive with holes cannot be exported: the error
// says what is missing.
func (a *Archive) Export(ctx context.Context, path string) (Status, error) {
	st := a.Status()
	var err error
	switch until := min(st.Finalized, st.Head.Number-min(market.UndoBlocks, st.Head.Number)); {
	case st.Head.Number == 0:
		err = errors.New("it is empty")
	case len(st.Holes) > 0:
		err = fmt.Errorf("it lacks blocks %s; a running node fetches them again", st.Holes[0])
	case until <= st.Base.Number:
		err = errUnsettled(st.Base)
	default:
		st, err = a.export(ctx, path, st.Base, until)
	}

	if err != nil {
		return Status{}, fmt.Errorf("cannot export the archive of chain %d: %w", a.cfg.Chain, err)
	}
	return st, nil
}

func errUnsettled(base market.Head) error {
	return fmt.Errorf("no block after %d is settled yet", base.Number)
}

func (a *Archive) export(ctx context.Context, path string, base market.Head, until uint64) (st Status, err error) {
	if _, err := os.Lstat(path); err == nil {
		return st, fmt.Errorf("%s exists", path)
	}
	r, err := a.ReadAfter(base)
	if err != nil || r == nil {
		return st, errors.Join(err, errors.New("nothing can be read of it"))
	}
	defer r.Close()
	w, err := newWriter(path, fileHeader{a.cfg.Identity, base})
	if err != nil {
		return st, err
	}

	var span *market.Span
	for err == nil {
		if span, err = r.Next(); span == nil || err != nil || span.To > until {
			break
		}
		if err = ctx.Err(); err == nil {
			span.Final = true
			err = w.add(span, until)
		}
	}
	if err == nil && w.seg.last == base {
		err = errUnsettled(base) // not even the first span is, as a whole
	}
	s, err := w.finish(err)
	if err != nil {
		return st, err
	}
	return s.status(), nil
}

// status is what one segment has.
func (s *segment) status() Status {
	return Status{
		Base: s.base, Head: s.last, Finalized: s.finalized, Spans: s.spans, Events: s.events,
		Bytes: s.size, Segments: 1,
	}
}

// Import reads a file that Export wrote into an empty archive. check is told the end
// of every span, and can refuse it; nil: no check. After an error the archive is empty.
func (a *Archive) Import(ctx context.Context, path string, check func(market.Head) error) (st Status, err error) {
	s, damage, err := openSegment(path)
	switch {
	case err == nil && damage != nil:
		err = damage
	case err == nil && !s.sealed:
		err = errors.New("it is not complete")
	case err == nil:
		err = a.cfg.Identity.check(s.Identity)
	}

	if err == nil {
		err = a.takeSpans(ctx, s, check)
	}
	if err != nil {
		return st, fmt.Errorf("cannot import %s: %w", path, err)
	}
	return a.Status(), nil
}

// EnsureEmpty returns an error when the archive has blocks. It removes segments without any.
func (a *Archive) EnsureEmpty() error {
	st := a.Status()
	switch {
	case st.Head.Number > 0:
		return fmt.Errorf("the archive has blocks %d to %d already; move %s away first",
			st.Base.Number+1, st.Head.Number, a.cfg.Dir)
	case st.Segments > 0:
		return a.Drop()
	}
	return nil
}

// takeSpans appends every span of a file.
func (a *Archive) takeSpans(ctx context.Context, s *segment, check func(market.Head) error) (err error) {
	if err := a.EnsureEmpty(); err != nil {
		return err
	}
	r, err := a.readSegment(s, s.base)
	if err != nil {
		return err
	}
	defer r.close()
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Drop())
		}
	}()

	a.NoteFinalized(s.finalized) // before the frames, which have it
	at := s.base
	for {
		spans, err := r.next()
		if err != nil {
			return err
		}
		if len(spans) == 0 {
			break
		}
		for i := range spans {
			if err := a.takeSpan(ctx, at, &spans[i], check); err != nil {
				return err
			}
			at = spans[i].Head()
		}
		if err := a.Sync(); err != nil {
			return err
		}
	}
	if at != s.last {
		return fmt.Errorf("it ends with block %d %s; its footer says %d %s",
			at.Number, at.Hash, s.last.Number, s.last.Hash)
	}
	return nil
}

func (a *Archive) takeSpan(
	ctx context.Context, at market.Head, span *market.Span, check func(market.Head) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if check != nil {
		if err := check(span.Head()); err != nil {
			return err
		}
	}
	return a.Append(at, span)
}

// Inspect returns what a file that Export wrote says that it has, and of what.
func Inspect(path string) (id Identity, st Status, err error) {
	s, damage, err := openSegment(path)
	if err == nil {
		err = damage
	}
	if err != nil {
		return id, st, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return s.Identity, s.status(), nil
}

// ErrEmpty is the error of a directory without a segment.
var ErrEmpty = errors.New("there is no archive")

// Find returns of what the archive in a directory is.
func Find(dir string) (id Identity, err error) {
	names, err := segmentFiles(dir)
	if err != nil {
		return id, err
	}

	if len(names) == 0 {
		return id, fmt.Errorf("%w in %s", ErrEmpty, dir)
	}
	for _, name := range names {
		var h fileHeader
		text, err := readStart(name)
		if err == nil && h.decode(text) == nil {
			return h.Identity, nil
		}
	}
	return id, fmt.Errorf("no segment in %s has a header that can be read", dir)
}

func readStart(name string) ([]byte, error) {
	f, _, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, fileHead)
	_, err = io.ReadFull(f, b)
	return b, err
}
