package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"tidemark/rankings/market"
	"tidemark/storage"
)

// A snapshot is a chain as it was after one cut. It says itself what it is, so that
// nothing beside it has to be believed:
//
//	0    "TMSNP" 01
//	6    format of the store    2
//	8    chain                  8
//	16   place of the cut       48   sequence, number, hash
//	64   runs: length (4) and so many bytes of zstd, each of 64 KiB of an export of the
//	     store (storage.Export); the last one may be shorter
//	     0                      4
//	     SHA-256 of all before  32
//
// All numbers are big-endian.
const (
	snapshotMagic  = "TMSNP\x01"
	snapshotHeader = len(snapshotMagic) + 2 + 8 + placeLen
	// runBytes is packed in 100 to 200 µs, between two pauses.
	runBytes = 64 << 10
	// maxRun bounds a packed run: zstd makes nothing much longer than it was.
	maxRun = runBytes + runBytes/8
)

// snapshotWriter packs an export.
type snapshotWriter struct {
	to              io.Writer
	sum             hash.Hash
	run, packed     []byte
	bytes, unpacked uint64
}

// newSnapshotWriter begins a snapshot of a chain.
func newSnapshotWriter(to io.Writer, id market.ChainID, at Place) (*snapshotWriter, error) {
	w := &snapshotWriter{to: to, sum: sha256.New(), run: make([]byte, 0, runBytes)}
	head := binary.BigEndian.AppendUint16([]byte(snapshotMagic), storage.Format)
	head = binary.BigEndian.AppendUint64(head, uint64(id))
	return w, w.put(append(head, at.Encode()...))
}

// put writes bytes that the hash covers.
func (w *snapshotWriter) put(b []byte) error {
	w.sum.Write(b)
	w.bytes += uint64(len(b))
	_, err := w.to.Write(b)
	return err
}

// Write takes bytes of the export.
func (w *snapshotWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		took := copy(w.run[len(w.run):runBytes], p[n:])
		w.run, n = w.run[:len(w.run)+took], n+took
		if len(w.run) == runBytes {
			if err := w.endRun(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (w *snapshotWriter) endRun() error {
	if len(w.run) == 0 {
		return nil
	}
	w.packed = encoder.EncodeAll(w.run, append(w.packed[:0], 0, 0, 0, 0))
	binary.BigEndian.PutUint32(w.packed, uint32(len(w.packed)-4))
	w.unpacked += uint64(len(w.run))
	w.run = w.run[:0]
	return w.put(w.packed)
}

// Close ends the snapshot, which is not whole before.
func (w *snapshotWriter) Close() error {
	err := w.endRun()
	if err == nil {
		err = w.put(make([]byte, 4))
	}
	if err == nil {
		err = w.put(w.sum.Sum(nil))
	}
	return err
}

// snapshotReader unpacks a snapshot. It ends with io.EOF only if the snapshot is whole
// and has the hash that it says; what was read before may still be wrong.
type snapshotReader struct {
	from   io.Reader
	sum    hash.Hash
	packed []byte
	plain  []byte
	left   []byte // of plain
	err    error
}

// runDecoder unpacks runs.
var runDecoder = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(runBytes)))

// newSnapshotReader reads the head of a snapshot and checks that it is the expected one.
func newSnapshotReader(from io.Reader, id market.ChainID, at Place) (*snapshotReader, error) {
	r := &snapshotReader{from: from, sum: sha256.New()}
	head := make([]byte, snapshotHeader)
	if err := r.readFull(head); err != nil {
		return nil, err
	}

	rest, ok := bytes.CutPrefix(head, []byte(snapshotMagic))
	if !ok {
		return nil, broken("the object is no snapshot that this program knows")
	}
	format := binary.BigEndian.Uint16(rest)
	chain := market.ChainID(binary.BigEndian.Uint64(rest[2:]))
	place, err := DecodePlace(rest[10:])
	switch {
	case err != nil:
		return nil, err
	case chain != id || place != at:
		return nil, broken("the object is a snapshot of chain %d at cut %d; want chain %d at cut %d",
			chain, place.Number, id, at.Number)
	}
	return r, checkFormat("the snapshot", place.Number, format)
}

// readFull reads bytes that the hash covers.
func (r *snapshotReader) readFull(b []byte) error {
	_, err := io.ReadFull(r.from, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return broken("the snapshot is cut off")
	}
	r.sum.Write(b)
	return err
}

// Read returns bytes of the export.
func (r *snapshotReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.err == nil {
			r.err = r.nextRun()
		}
		if r.err != nil {
			return 0, r.err
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (r *snapshotReader) nextRun() error {
	var length [4]byte
	if err := r.readFull(length[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n == 0 {
		return r.checkEnd()
	}
	if n > maxRun {
		return broken("a run of the snapshot has %d bytes; at most %d are allowed", n, maxRun)
	}

	r.packed = append(r.packed[:0], make([]byte, n)...)
	if err := r.readFull(r.packed); err != nil {
		return err
	}
	plain, err := runDecoder.DecodeAll(r.packed, r.plain[:0])
	if err != nil {
		return broken("the snapshot cannot be unpacked: %w", err)
	}
	r.plain, r.left = plain, plain
	return nil
}

// checkEnd compares the hash and returns io.EOF if all is well.
func (r *snapshotReader) checkEnd() error {
	want := r.sum.Sum(nil)
	said := make([]byte, len(want))
	if err := r.readFull(said); err != nil {
		return err
	}
	if !bytes.Equal(said, want) {
		return broken("the snapshot does not have the hash that it says")
	}

	n, err := r.from.Read(make([]byte, 1))
	switch {
	case n > 0:
		return broken("the snapshot goes on after its end")
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return err
}
