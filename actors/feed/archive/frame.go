package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"

	"tidemark/rankings/field"
	"tidemark/rankings/market"
)

const (
	frameMagic = "TMF1"
	frameHead  = 4 + 4 + 8 + 8 + 8 + 4 + 4 + 4 + 4 + 4
	// frameBytes is how much is compressed at once, before compression: enough for
	// zstd to find what repeats, and little to decode for one span.
	frameBytes = 256 << 10
	// maxFrame is the largest frame that is read, before compression: a span of
	// half a million events, many times what a node gives in one answer.
	maxFrame = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is the header of a frame; doc.go draws it.
type frame struct {
	first     uint64 // its spans begin with this block; what had it before is superseded
	last      uint64 // the last block of its spans; first-1: none
	finalized uint64 // the newest block that no reorganisation reached when it was written
	spans     uint32
	events    uint32
	size      uint32 // of the spans before compression
	packed    uint32 // and after it
	sum       uint32 // CRC-32C of the packed bytes
}

var errNoFrame = errors.New("no frame begins here")

func (f *frame) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, frameMagic...)
	dst = binary.BigEndian.AppendUint32(dst, f.packed)
	for _, n := range []uint64{f.first, f.last, f.finalized} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	for _, n := range []uint32{f.spans, f.events, f.size, f.sum} {
		dst = binary.BigEndian.AppendUint32(dst, n)
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

// decode reads a header and checks everything that is trusted afterwards.
func (f *frame) decode(b []byte) error {
	if len(b) < frameHead || string(b[:4]) != frameMagic {
		return errNoFrame
	}
	if binary.BigEndian.Uint32(b[frameHead-4:]) != crc32.Checksum(b[:frameHead-4], castagnoli) {
		return errors.New("the checksum of a frame's header does not match")
	}

	f.packed = binary.BigEndian.Uint32(b[4:])
	f.first = binary.BigEndian.Uint64(b[8:])
	f.last = binary.BigEndian.Uint64(b[16:])
	f.finalized = binary.BigEndian.Uint64(b[24:])
	f.spans = binary.BigEndian.Uint32(b[32:])
	f.events = binary.BigEndian.Uint32(b[36:])
	f.size = binary.BigEndian.Uint32(b[40:])
	f.sum = binary.BigEndian.Uint32(b[44:])
	switch {
	case f.size > maxFrame || f.packed > maxFrame:
		return fmt.Errorf("too big frame; got %d bytes, %d packed; cannot exceed %d", f.size, f.packed, maxFrame)
	case f.first == 0 || f.last < f.first-1 || (f.last < f.first) != (f.spans == 0):
		return fmt.Errorf("a frame has %d spans from block %d to %d", f.spans, f.first, f.last)
	}
	return nil
}

// checkSum compares the packed bytes with the header.
func (f *frame) checkSum(packed []byte) error {
	if sum := crc32.Checksum(packed, castagnoli); sum != f.sum {
		return fmt.Errorf("the checksum of blocks %d to %d does not match: %08x; want %08x",
			f.first, f.last, sum, f.sum)
	}
	return nil
}

// appendSpan appends the record of a span to those of a frame, and counts it in the header.
func (f *frame) appendSpan(records []byte, s *market.Span) []byte {
	c := field.Coder{Buf: records}
	walkSpan(&c, s)
	f.spans++
	for i := range s.Blocks {
		f.events += uint32(len(s.Blocks[i].Logs))
	}
	return c.Buf
}

// packer compresses and decompresses, from any goroutine.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// packing is shared by all archives, because a packer takes megabytes: one goroutine
// writes while another reads ahead.
var packing = sync.OnceValue(func() *packer {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic("BUG: zstd encoder: " + err.Error())
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		panic("BUG: zstd decoder: " + err.Error())
	}
	return &packer{enc, dec}
})

// appendFrame appends a frame of the records of spans. Its head says what they are;
// the sizes and the sum are filled in.
func (p *packer) appendFrame(dst []byte, f frame, records []byte) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, frameHead)...)
	dst = p.enc.EncodeAll(records, dst)
	packed := dst[at+frameHead:]
	f.size, f.packed, f.sum = uint32(len(records)), uint32(len(packed)), crc32.Checksum(packed, castagnoli)
	f.append(dst[:at])
	return dst
}

// unpack returns the spans of a frame. scratch is reused for the bytes between.
func (p *packer) unpack(f *frame, packed []byte, scratch *[]byte) ([]market.Span, error) {
	if err := f.checkSum(packed); err != nil {
		return nil, err
	}
	raw, err := p.dec.DecodeAll(packed, (*scratch)[:0])
	if err != nil {
		return nil, fmt.Errorf("cannot decompress blocks %d to %d: %w", f.first, f.last, err)
	}
	*scratch = raw
	return decodeSpans(f, raw)
}

// decodeSpans reads the spans of a frame: as many as the header says, each after the
// one before.
func decodeSpans(f *frame, raw []byte) ([]market.Span, error) {
	if len(raw) != int(f.size) || int(f.spans) > len(raw)/leastSpan {
		return nil, fmt.Errorf("blocks %d to %d have %d bytes; the header says %d in %d spans",
			f.first, f.last, len(raw), f.size, f.spans)
	}
	spans := make([]market.Span, f.spans)
	c := field.Reader(raw)
	next := f.first
	for i := range spans {
		s := &spans[i]
		walkSpan(&c, s)
		if !c.Failed() && s.From != next {
			return nil, fmt.Errorf("a span begins with block %d after block %d", s.From, next-1)
		}
		next = s.To + 1
	}

	if err := c.Done(); err != nil {
		return nil, fmt.Errorf("blocks %d to %d: %w", f.first, f.last, err)
	}
	if next != f.last+1 {
		return nil, fmt.Errorf("spans end with block %d; the header says %d", next-1, f.last)
	}
	return spans, nil
}
