package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"tidemark/storage"
)

// Cut is what a writer committed.
type Cut struct {
	Batch []byte // of the store
	Note  []byte // for followers; see storage.Cut
	Place Place
}

// Place is where a cut stands.
type Place struct {
	Sequence uint64 // of its last message in the stream
	Number   uint64 // counts the cuts of a chain; 0: before the first
	Hash     Hash
}

// Hash identifies a cut and all before it.
type Hash [sha256.Size]byte

const (
	// magic ends with the version of what a cut has. The one before, with other hints in its
	// note, is read too: a node that goes on from it finds out what they tell.
	magic       = "TMCUT\x02"
	magicBefore = "TMCUT\x01"

	hashedFrom = len(magic) + 4
	headerLen  = hashedFrom + 2 + 8 + 2*sha256.Size
	placeLen   = 8 + 8 + sha256.Size
	// PartBytes is the largest part of a cut. Messages are far from the limit of a
	// server (1 MB), and a follower fetches one in a millisecond.
	PartBytes = 512 << 10
	// maxParts bounds a cut to 16 GB, far beyond any batch.
	maxParts = 1 << 15
	// maxBatch bounds what a follower unpacks. A batch of Pebble is at most 4 GiB.
	maxBatch = 4 << 30
)

// ErrBroken is the error of a stream that does not continue what this node has: a cut is
// missing, damaged, or another one than the node has.
var ErrBroken = errors.New("the cluster's cuts cannot be followed")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBroken, fmt.Errorf(format, args...))
}

// Encode returns a place as it is stored.
func (p Place) Encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, p.Sequence)
	b = binary.BigEndian.AppendUint64(b, p.Number)
	return append(b, p.Hash[:]...)
}

// DecodePlace reads a stored place. None is that before the first cut.
func DecodePlace(b []byte) (p Place, err error) {
	if b == nil {
		return p, nil
	}
	if len(b) != placeLen {
		return p, broken("the stored place has %d bytes; want %d", len(b), placeLen)
	}
	p.Sequence, p.Number = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	copy(p.Hash[:], b[16:])
	return p, nil
}

// header is the head of every message.
type header struct {
	part, parts uint16
	format      uint16
	number      uint64
	before      Hash
	hash        Hash
}

func (h *header) append(dst []byte) []byte {
	dst = append(dst, magic...)
	dst = binary.BigEndian.AppendUint16(dst, h.part)
	dst = binary.BigEndian.AppendUint16(dst, h.parts)
	dst = h.appendHashed(dst)
	return append(dst, h.hash[:]...)
}

// appendHashed appends what the hash of the cut covers beside the body.
func (h *header) appendHashed(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, h.format)
	dst = binary.BigEndian.AppendUint64(dst, h.number)
	return append(dst, h.before[:]...)
}

func (h *header) hashOf(body []byte) (sum Hash) {
	s := sha256.New()
	s.Write(h.appendHashed(nil))
	s.Write(body)
	s.Sum(sum[:0])
	return sum
}

// decodeHeader reads the head of a message and returns the part of the body.
func decodeHeader(message []byte) (h header, body []byte, err error) {
	known := bytes.HasPrefix(message, []byte(magic)) || bytes.HasPrefix(message, []byte(magicBefore))
	if len(message) < headerLen || !known {
		return h, nil, broken("a message of %d bytes is no part of a cut that this program knows",
			len(message))
	}

	b := message[len(magic):]
	h.part, h.parts = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	h.format, h.number = binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint64(b[6:])
	copy(h.before[:], b[14:])
	copy(h.hash[:], b[14+sha256.Size:])
	if h.part >= h.parts || h.parts > maxParts {
		return h, nil, broken("cut %d: part %d of %d", h.number, h.part, h.parts)
	}
	return h, message[headerLen:], nil
}

// encodeCut returns the messages of the cut that follows a place, and its hash.
func encodeCut(after Place, batch, note []byte) (messages [][]byte, hash Hash, err error) {
	plain := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(note)+len(batch)), uint32(len(note)))
	plain = append(append(plain, note...), batch...)
	body := encoder.EncodeAll(plain, nil)

	parts := max(1, (len(body)+PartBytes-1)/PartBytes)
	if parts > maxParts {
		return nil, hash, fmt.Errorf("a cut of %d bytes is too large; at most %d parts of %d are allowed",
			len(body), maxParts, PartBytes)
	}
	h := header{
		parts: uint16(parts), format: storage.Format, number: after.Number + 1, before: after.Hash,
	}
	h.hash = h.hashOf(body)

	for ; h.part < h.parts; h.part++ {
		n := min(len(body), PartBytes)
		messages = append(messages, append(h.append(nil), body[:n]...))
		body = body[n:]
	}
	return messages, h.hash, nil
}

// The coders of bodies. Both may be used by several goroutines at once.
var (
	encoder = must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest)))
	decoder = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBatch)))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return v
}

// assembly puts the parts of the cut after a place together.
type assembly struct {
	after Place
	head  header
	next  uint16 // the part that is wanted next
	body  []byte // a Cut has nothing of it
	plain []byte // memory for what a Cut has
}

// add takes the next message of the chain. The cut is nil until its last part is there.
func (a *assembly) add(sequence uint64, message []byte) (*Cut, error) {
	h, body, err := decodeHeader(message)
	if err != nil {
		return nil, err
	}
	if h.number != a.after.Number+1 {
		return nil, broken("cut %d follows cut %d", h.number, a.after.Number)
	}
	if h.before != a.after.Hash {
		return nil, broken("cut %d follows another cut %d than this node has", h.number, a.after.Number)
	}

	switch {
	case h.part == 0: // also of a new writer: what came before is void
		a.head, a.next, a.body = h, 0, a.body[:0]
	case h.part != a.next || h.hash != a.head.hash || h.parts != a.head.parts || h.format != a.head.format:
		return nil, broken("cut %d: part %d does not follow the parts before it", h.number, h.part)
	}
	a.body = append(a.body, body...)
	if a.next++; a.next < h.parts {
		return nil, nil
	}
	return a.finish(sequence)
}

// finish checks the cut as a whole and unpacks it.
func (a *assembly) finish(sequence uint64) (*Cut, error) {
	h := &a.head
	if h.hashOf(a.body) != h.hash {
		return nil, broken("cut %d does not have the hash that it says", h.number)
	}
	if err := checkFormat("cut", h.number, h.format); err != nil {
		return nil, err
	}

	plain, err := decoder.DecodeAll(a.body, a.plain[:0])
	a.plain = plain
	if err != nil {
		return nil, broken("cut %d cannot be unpacked: %w", h.number, err)
	}
	if len(plain) < 4 || uint64(len(plain)-4) < uint64(binary.BigEndian.Uint32(plain)) {
		return nil, broken("cut %d has %d bytes; its note is longer", h.number, len(plain))
	}
	n := 4 + binary.BigEndian.Uint32(plain)
	return &Cut{
		Note: plain[4:n], Batch: plain[n:],
		Place: Place{Sequence: sequence, Number: h.number, Hash: h.hash},
	}, nil
}

// checkFormat refuses what this program does not know.
func checkFormat(what string, number uint64, format uint16) error {
	if format < storage.OldestFormat || format > storage.Format {
		return broken("%s %d is of format %d; this program reads %d to %d; give this node the newer program",
			what, number, format, storage.OldestFormat, storage.Format)
	}
	return nil
}
