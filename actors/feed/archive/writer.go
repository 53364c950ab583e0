package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tidemark/rankings/market"
)

// writer writes a whole file of spans that follow one another. The file gets its
// name when it is complete.
type writer struct {
	seg  segment
	file *os.File
	buf  []byte
	head frame
}

func newWriter(path string, h fileHeader) (*writer, error) {
	f, err := os.OpenFile(path+partSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w := &writer{seg: segment{fileHeader: h, path: path}, file: f}
	w.seg.last, w.seg.size = h.base, fileHead
	if _, err := f.Write(h.append(nil)); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return w, nil
}

// add adds a span, which must follow the one before it.
func (w *writer) add(s *market.Span, finalized uint64) error {
	if err := checkFollows(w.seg.last, s); err != nil {
		return err
	}
	if w.head.spans == 0 {
		w.head = frame{first: s.From}
	}
	w.buf = w.head.appendSpan(w.buf, s)
	w.head.last, w.head.finalized = s.To, finalized

	w.seg.last, w.seg.written = s.Head(), s.To
	w.seg.finalized = finalized
	if len(w.buf) < frameBytes {
		return nil
	}
	return w.flush()
}

func (w *writer) addAll(list []market.Span, finalized uint64) error {
	for i := range list {
		if err := w.add(&list[i], finalized); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) flush() error {
	if w.head.spans == 0 {
		return nil
	}
	b := packing().appendFrame(nil, w.head, w.buf)
	w.seg.size += int64(len(b))
	w.seg.spans += uint64(w.head.spans)
	w.seg.events += uint64(w.head.events)
	w.head, w.buf = frame{}, w.buf[:0]
	_, err := w.file.Write(b)
	return err
}

// finish ends the file, unless something failed before: then it is removed.
func (w *writer) finish(failed error) (*segment, error) {
	if failed == nil {
		failed = w.flush()
	}
	if failed == nil {
		_, failed = w.file.Write(w.seg.content.append(nil))
	}
	if failed == nil {
		failed = w.file.Sync()
	}
	failed = errors.Join(failed, w.file.Close())
	if failed == nil {
		failed = os.Rename(w.file.Name(), w.seg.path)
	}
	if failed != nil {
		return nil, errors.Join(failed, os.Remove(w.file.Name()))
	}

	if err := syncDir(filepath.Dir(w.seg.path)); err != nil {
		return nil, fmt.Errorf("cannot keep %s: %w", w.seg.path, err)
	}
	return &w.seg, nil
}
