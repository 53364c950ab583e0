package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/rankings/market"
)

// A directory is written whole now and then, and otherwise as its delta from the last whole
// one. A delta is the length of the result, and steps that add bytes and then copy some of the
// whole one, until the result has that length:
//
//	length | added  | bytes | from                     | copied | added ...
//	varint | varint |       | zigzag, from the expected | varint |
//
// The offset that is expected is the one behind the last copy, plus the bytes added since:
// bytes that replace as many cost one byte to go on from. The store has the delta packed.
const (
	// leastCopied: a shorter copy takes more bytes than it saves.
	leastCopied = 12
	// deltaWindow is how many bytes are looked up. Fields of a directory begin at even
	// offsets, and so do windows.
	deltaWindow, deltaStride = 8, 2
	deltaBits                = 16 // of the table of windows
	// maxDirectory bounds what a damaged delta can take of memory: 60 times the directory
	// of a million positions.
	maxDirectory = 10 << 20
)

// differ makes deltas. It reuses its memory.
type differ struct {
	at []uint32 // by hash of a window: its offset in the whole one plus one
}

func windowHash(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15 >> (64 - deltaBits)
}

// appendDelta appends what makes is from was.
func (d *differ) appendDelta(dst, was, is []byte) []byte {
	d.index(was)
	dst = binary.AppendUvarint(dst, uint64(len(is)))
	added, expected := 0, 0 // where the bytes begin, and the offset that they stand for
	for i := 0; i < len(is); {
		from, n := d.find(was, is, i, expected+i-added)
		if n < leastCopied {
			i += deltaStride
			continue
		}

		dst = append(binary.AppendUvarint(dst, uint64(i-added)), is[added:i]...)
		dst = binary.AppendVarint(dst, int64(from-(expected+i-added)))
		dst = binary.AppendUvarint(dst, uint64(n))
		i, expected = i+n, from+n
		added = i
	}
	if added == len(is) {
		return dst
	}
	return append(binary.AppendUvarint(dst, uint64(len(is)-added)), is[added:]...)
}

// index notes the windows of was.
func (d *differ) index(was []byte) {
	if d.at == nil {
		d.at = make([]uint32, 1<<deltaBits)
	}
	clear(d.at)
	for i := 0; i+deltaWindow <= len(was); i += deltaStride {
		d.at[windowHash(was[i:])] = uint32(i) + 1
	}
}

// find returns an offset of was from where on it has what is has at i, and for how long.
func (d *differ) find(was, is []byte, i, expected int) (from, n int) {
	if n = commonLength(was, is, expected, i); n >= leastCopied {
		return expected, n
	}
	if i+deltaWindow > len(is) {
		return 0, 0
	}
	at := d.at[windowHash(is[i:])]
	if at == 0 {
		return 0, 0
	}
	return int(at - 1), commonLength(was, is, int(at-1), i)
}

func commonLength(was, is []byte, from, i int) (n int) {
	for from+n < len(was) && i+n < len(is) && was[from+n] == is[i+n] {
		n++
	}
	return n
}

var errDelta = errors.New("a delta is cut off, or of another directory")

// applyDelta returns what a delta makes from was.
func applyDelta(was, delta []byte) ([]byte, error) {
	length, delta, ok := readUvarint(delta)
	if !ok {
		return nil, errDelta
	}
	if length > maxDirectory {
		return nil, fmt.Errorf("%w: it makes %d bytes; at most %d are allowed", errDelta, length, maxDirectory)
	}

	is, expected := make([]byte, 0, length), int64(0)
	for uint64(len(is)) < length {
		var added []byte
		if added, delta, ok = readString(delta); !ok || uint64(len(added)) > length-uint64(len(is)) {
			return nil, errDelta
		}
		is, expected = append(is, added...), expected+int64(len(added))
		if uint64(len(is)) == length {
			break
		}

		step, size := binary.Varint(delta)
		if size <= 0 {
			return nil, errDelta
		}
		copied, rest, ok := readUvarint(delta[size:])
		from := expected + step
		if delta = rest; !ok || from < 0 || from > int64(len(was)) || copied == 0 ||
			copied > uint64(len(was))-uint64(from) || copied > length-uint64(len(is)) {
			return nil, errDelta
		}
		is, expected = append(is, was[from:from+int64(copied)]...), from+int64(copied)
	}
	if len(delta) > 0 {
		return nil, errDelta
	}
	return is, nil
}

// applyPacked is applyDelta of a delta as it is stored.
func applyPacked(was, packed []byte) ([]byte, error) {
	delta, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	return applyDelta(was, delta)
}

func readUvarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// wholeDirectory is the last directory that was written whole, and what its deltas have cost.
type wholeDirectory struct {
	differ
	bytes   []byte // none: the next one is written whole
	delta   []byte // memory for the next one
	isDelta bool   // the store has a delta of it
	deltas  int
	written int // bytes of these
}

// restart forgets the whole directory, since another process or node may have written it.
func (d *wholeDirectory) restart(s *Store, chain market.ChainID) (err error) {
	d.bytes = d.bytes[:0]
	if _, d.isDelta, err = s.get(appendKind(nil, chain, kindDelta), nil); err != nil {
		return s.reportDamage(chain, "directory delta", err)
	}
	return nil
}

// writeDirectory writes a directory as its delta, or whole: once a delta is longer than the
// mean of all with the whole one included, longer ones would raise that mean.
func (w *writer) writeDirectory(directory []byte) {
	d := &w.directory
	if len(d.bytes) > 0 {
		d.delta = d.appendDelta(d.delta[:0], d.bytes, directory)
		delta := appendPacked(nil, d.delta, w.pause)
		if n := len(delta); n*(d.deltas+1) < len(d.bytes)+d.written {
			d.deltas, d.written, d.isDelta = d.deltas+1, d.written+n, true
			w.setKey(appendKind(w.key[:0], w.chain, kindDelta), delta)
			return
		}
	}

	w.setKey(appendKind(w.key[:0], w.chain, kindDirectory), directory)
	if d.isDelta {
		w.deleteKey(appendKind(w.key[:0], w.chain, kindDelta))
	}
	d.bytes, d.isDelta, d.deltas, d.written = append(d.bytes[:0], directory...), false, 0, 0
}

// readDirectory returns the directory of a chain and the last whole one. If the delta does
// not fit that one, there is no directory: the generation is built anew, as if it could not
// be decoded.
func (s *Store) readDirectory(chain market.ChainID) (directory, whole []byte, err error) {
	whole, ok, err := s.get(appendKind(nil, chain, kindDirectory), nil)
	if err == nil && !ok {
		err = errors.New("it is missing")
	}
	if err != nil {
		return nil, nil, s.reportDamage(chain, "directory", err)
	}

	delta, ok, err := s.get(appendKind(nil, chain, kindDelta), nil)
	if err != nil {
		return nil, nil, s.reportDamage(chain, "directory delta", err)
	}
	if !ok {
		return whole, whole, nil
	}

	if directory, err = applyPacked(whole, delta); err != nil {
		s.opts.Logger.Error("the directory of a chain is damaged", "chain", chain, "error", err)
		return nil, whole, nil
	}
	return directory, whole, nil
}
