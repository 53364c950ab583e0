package archive

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"tidemark/rankings/market"
)

const (
	fileMagic   = "TMSPANS1"
	fileHead    = 8 + 8 + 20 + 20 + 8 + 8 + 32 + 8 + 4
	footerMagic = "TMSPANSE"
	footerLen   = 8 + 8 + 32 + 8 + 8 + 8 + 8 + 4
)

// Identity is what every file of an archive says that it is of.
type Identity struct {
	Chain           market.ChainID
	PoolManager     market.Address
	PositionManager market.Address
	Start           uint64 // the block from which events are read
}

// check refuses a file of another chain or of other contracts.
func (id Identity) check(have Identity) error {
	switch {
	case id.Chain != have.Chain:
		return fmt.Errorf("it is of chain %d, not of chain %d", have.Chain, id.Chain)
	case id.PoolManager != have.PoolManager:
		return fmt.Errorf("its pool-manager is %s; the configuration says %s", have.PoolManager, id.PoolManager)
	case id.PositionManager != have.PositionManager:
		return fmt.Errorf("its position-manager is %s; the configuration says %s",
			have.PositionManager, id.PositionManager)
	}
	return nil
}

// fileHeader begins a file: what it is of, and the block before its first span.
type fileHeader struct {
	Identity
	base market.Head
}

func (h *fileHeader) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, fileMagic...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.Chain))
	dst = append(dst, h.PoolManager[:]...)
	dst = append(dst, h.PositionManager[:]...)
	dst = binary.BigEndian.AppendUint64(dst, h.Start)
	dst = appendHead(dst, h.base)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

func (h *fileHeader) decode(b []byte) error {
	if len(b) < fileHead || string(b[:8]) != fileMagic {
		return errors.New("it is no archive of spans")
	}
	if binary.BigEndian.Uint32(b[fileHead-4:]) != crc32.Checksum(b[:fileHead-4], castagnoli) {
		return errors.New("the checksum of its header does not match")
	}

	h.Chain = market.ChainID(binary.BigEndian.Uint64(b[8:]))
	copy(h.PoolManager[:], b[16:])
	copy(h.PositionManager[:], b[36:])
	h.Start = binary.BigEndian.Uint64(b[56:])
	h.base = readHead(b[64:])
	return nil
}

// appendHead appends a block: number, hash, time.
func appendHead(dst []byte, h market.Head) []byte {
	dst = binary.BigEndian.AppendUint64(dst, h.Number)
	dst = append(dst, h.Hash[:]...)
	return binary.BigEndian.AppendUint64(dst, uint64(h.Time))
}

func readHead(b []byte) (h market.Head) {
	h.Number, h.Time = binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[40:]))
	copy(h.Hash[:], b[8:40])
	return h
}

// content is what a file holds; the footer of a sealed file has it.
type content struct {
	last      market.Head // of the spans that are not superseded; the base: none
	spans     uint64      // superseded ones included
	events    uint64
	finalized uint64
}

func (n *content) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, footerMagic...)
	dst = appendHead(dst, n.last)
	for _, x := range []uint64{n.spans, n.events, n.finalized} {
		dst = binary.BigEndian.AppendUint64(dst, x)
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

// decode reports whether b is a footer.
func (n *content) decode(b []byte) bool {
	if len(b) < footerLen || string(b[:8]) != footerMagic ||
		binary.BigEndian.Uint32(b[footerLen-4:]) != crc32.Checksum(b[:footerLen-4], castagnoli) {
		return false
	}
	n.last = readHead(b[8:])
	n.spans = binary.BigEndian.Uint64(b[56:])
	n.events = binary.BigEndian.Uint64(b[64:])
	n.finalized = binary.BigEndian.Uint64(b[72:])
	return true
}

// segment is one file of an archive: spans that follow one another.
type segment struct {
	fileHeader
	content
	path    string
	size    int64  // up to the end of the last whole frame
	written uint64 // the last block of the newest frame
	sealed  bool   // it had a footer when it was opened
}

// placed is a frame and where it is in its file.
type placed struct {
	frame
	at    int64  // of its header
	until uint64 // its spans above this block are superseded
}

// openSegment reads the header, and the footer or, where there is none, all frames.
// damage tells what is wrong with a file that can be used up to its size.
func openSegment(path string) (s *segment, damage, err error) {
	f, info, err := openFile(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()

	s = &segment{path: path}
	b := make([]byte, fileHead)
	if _, err := io.ReadFull(f, b); err != nil && !isEnd(err) {
		return nil, nil, err
	}
	if err := s.fileHeader.decode(b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err), nil
	}
	if info.Size() >= fileHead+footerLen {
		end := make([]byte, footerLen)
		if _, err := f.ReadAt(end, info.Size()-footerLen); err != nil {
			return nil, nil, err
		}
		if s.sealed = s.content.decode(end); s.sealed {
			s.size, s.written = info.Size()-footerLen, s.last.Number
			return s, nil, nil
		}
	}
	damage, err = s.scan(f, info.Size())
	return s, damage, err
}

// openFile opens a regular file: a named pipe would wait for a writer, for ever.
func openFile(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s has the mode %s; an archive is a regular file", path, info.Mode())
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	return f, info, err
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// scan reads every frame of a file with its spans' last one, and finds what the
// footer would say.
func (s *segment) scan(f *os.File, size int64) (damage, err error) {
	p := packing()
	s.content, s.size = content{last: s.base}, fileHead
	var live []market.Head // ends of the frames that are not superseded
	var packed, scratch []byte
	_, damage, err = walkFrames(f, fileHead, size, func(at int64, h *frame) error {
		packed = slices.Grow(packed[:0], int(h.packed))[:h.packed]
		if _, err := f.ReadAt(packed, at+frameHead); err != nil {
			return err
		}
		spans, err := p.unpack(h, packed, &scratch)
		if err != nil {
			return err
		}

		live = dropAbove(live, h.first-1)
		for i := range spans {
			live = append(live, spans[i].Head())
		}
		s.size = at + frameHead + int64(h.packed)
		s.spans += uint64(h.spans)
		s.events += uint64(h.events)
		s.finalized = max(s.finalized, h.finalized)
		return nil
	})

	if len(live) > 0 {
		s.last = live[len(live)-1]
	}
	s.written = s.last.Number
	return damage, err
}

// endsUnfinished reports whether no whole frame follows what cannot be read: then it is
// no damage of what was there, but a write that a kill interrupted.
func (s *segment) endsUnfinished() (bool, error) {
	text, err := os.ReadFile(s.path)
	if err != nil {
		return false, err
	}
	for rest := text[min(s.size, int64(len(text))):]; ; rest = rest[1:] {
		i := bytes.Index(rest, []byte(frameMagic))
		if i < 0 {
			return true, nil
		}
		rest = rest[i:]

		var h frame
		if h.decode(rest) != nil || len(rest) < frameHead+int(h.packed) {
			continue
		}
		if h.checkSum(rest[frameHead:][:h.packed]) == nil {
			return false, nil
		}
	}
}

// dropAbove drops the heads above a block.
func dropAbove(heads []market.Head, block uint64) []market.Head {
	for len(heads) > 0 && heads[len(heads)-1].Number > block {
		heads = heads[:len(heads)-1]
	}
	return heads
}

// walkFrames visits the headers of the frames from an offset on. It returns where
// the last whole one ends; damage says why a later one cannot be read. Bytes that
// begin no frame are damage too.
func walkFrames(f *os.File, from, size int64, visit func(at int64, h *frame) error) (end int64, damage, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, size-from), 64<<10)
	for at := from; ; {
		b, err := r.Peek(frameHead)
		if len(b) == 0 && errors.Is(err, io.EOF) {
			return at, nil, nil
		}
		if err != nil && !isEnd(err) {
			return at, nil, err
		}

		var h frame
		if err := h.decode(b); err != nil {
			return at, fmt.Errorf("offset %d: %w", at, err), nil
		}
		next := at + frameHead + int64(h.packed)
		if next > size {
			return at, fmt.Errorf("offset %d: a frame of %d bytes is cut short", at, h.packed), nil
		}
		if err := visit(at, &h); err != nil {
			var fault *os.PathError
			if errors.As(err, &fault) {
				return at, nil, err
			}
			return at, fmt.Errorf("offset %d: %w", at, err), nil
		}
		if _, err := r.Discard(frameHead + int(h.packed)); err != nil {
			return at, nil, err
		}
		at = next
	}
}

// frames lists the frames that are not wholly superseded. broken says why those
// after them cannot be found.
func (s *segment) frames() (all []placed, broken, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	_, broken, err = walkFrames(f, fileHead, s.size, func(at int64, h *frame) error {
		all = append(all, placed{frame: *h, at: at})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}

	least := ^uint64(0)
	for i := len(all) - 1; i >= 0; i-- {
		all[i].until = min(least, all[i].last)
		least = min(least, all[i].first-1)
	}
	all = slices.DeleteFunc(all, func(p placed) bool { return p.until < p.first })
	return all, broken, nil
}
