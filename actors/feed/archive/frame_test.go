package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// A header is believed if its sum is right and it says what a frame can be.
func TestFrameHeader(t *testing.T) {
	good := frame{first: 100, last: 110, finalized: 90, spans: 3, events: 7, size: 500, packed: 400, sum: 0xabcdef}
	f := func(change func(*frame), want string) {
		t.Helper()
		h := good
		change(&h)
		b := h.append([]byte("before"))[len("before"):]
		var got frame
		err := got.decode(b)
		if want == "" && (err != nil || got != h) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: read as %+v, %v; want %q", h, got, err, want)
		}
	}

	f(func(*frame) {}, "")
	f(func(h *frame) { h.size, h.packed = maxFrame, maxFrame }, "")
	f(func(h *frame) { h.size = maxFrame + 1 }, "too big frame; got 67108865 bytes, 400 packed; cannot exceed 67108864")
	f(func(h *frame) { h.packed = maxFrame + 1 }, "too big frame; got 500 bytes, 67108865 packed")
	f(func(h *frame) { h.first = 0 }, "3 spans from block 0 to 110")
	f(func(h *frame) { h.first, h.last = 0, 1<<64-1 }, "3 spans from block 0 to 18446744073709551615")
	f(func(h *frame) { h.last = 100 }, "")
	f(func(h *frame) { h.last = 99 }, "3 spans from block 100 to 99")
	f(func(h *frame) { h.last, h.spans = 99, 0 }, "")
	f(func(h *frame) { h.last, h.spans = 98, 0 }, "0 spans from block 100 to 98")
	f(func(h *frame) { h.spans = 0 }, "0 spans from block 100 to 110")

	// Every flipped byte is noticed, and a header that is cut short.
	b := good.append(nil)
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if new(frame).decode(bad) == nil {
			t.Errorf("byte %d flipped passes", i)
		}
		if err := new(frame).decode(b[:i]); !errors.Is(err, errNoFrame) {
			t.Errorf("%d bytes: %v; want %v", i, err, errNoFrame)
		}
	}
}

// The spans of a frame are as many as its header says, follow one another, and end where
// it says.
func TestFrameSpans(t *testing.T) {
	spans := line(100, 102)
	records := func(list ...market.Span) (b []byte) {
		for _, s := range list {
			b = append(b, encodeSpan(s)...)
		}
		return b
	}
	f := func(h frame, raw []byte, want string) {
		t.Helper()
		got, err := decodeSpans(&h, raw)
		if want == "" && (err != nil || len(got) != int(h.spans)) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %d spans, %v; want %q", h, len(got), err, want)
		}
	}

	all := records(spans...)
	size := uint32(len(all))
	f(frame{first: 100, last: 102, spans: 3, size: size}, all, "")
	f(frame{first: 100, last: 102, spans: 3, size: size + 1}, all, "blocks 100 to 102 have")
	f(frame{first: 100, last: 102, spans: size + 1, size: size}, all, "blocks 100 to 102 have")
	f(frame{first: 100, last: 101, spans: 2, size: size}, all, "blocks 100 to 101:")
	f(frame{first: 100, last: 103, spans: 4, size: size}, all, "blocks 100 to 103 have")
	f(frame{first: 100, last: 103, spans: 3, size: size}, all, "spans end with block 102; the header says 103")
	f(frame{first: 99, last: 102, spans: 3, size: size}, all, "a span begins with block 100 after block 98")
	gap := records(spans[0], spans[2])
	f(frame{first: 100, last: 102, spans: 2, size: uint32(len(gap))}, gap, "a span begins with block 102 after block 100")
	f(frame{first: 100, last: 99}, nil, "")
}

// What is packed is compared with its sum before anything is made of it, and what does
// not decompress is an error.
func TestUnpack(t *testing.T) {
	spans := line(100, 102)
	var records []byte
	for _, s := range spans {
		records = append(records, encodeSpan(s)...)
	}
	b := packing().appendFrame([]byte("before"), frame{first: 100, last: 102, spans: 3}, records)[len("before"):]
	var h frame
	if err := h.decode(b); err != nil {
		t.Fatal(err)
	}
	packed, scratch := b[frameHead:], []byte("left of another frame")
	got, err := packing().unpack(&h, packed, &scratch)
	if err != nil {
		t.Fatal(err)
	}
	sameSpans(t, spans, got)

	bad := bytes.Clone(packed)
	bad[len(bad)/2] ^= 1
	if _, err := packing().unpack(&h, bad, &scratch); err == nil ||
		!strings.Contains(err.Error(), "the checksum of blocks 100 to 102 does not match") {
		t.Errorf("a flipped byte: %v", err)
	}
	junk := []byte("no zstd")
	h.packed, h.sum = uint32(len(junk)), crc32.Checksum(junk, castagnoli)
	if _, err := packing().unpack(&h, junk, &scratch); err == nil ||
		!strings.Contains(err.Error(), "cannot decompress blocks 100 to 102") {
		t.Errorf("junk with a right sum: %v", err)
	}
}

// A record that no span has is refused, wherever it is wrong.
func TestBadRecords(t *testing.T) {
	f := func(what string, s market.Span, good bool) {
		t.Helper()
		got, err := decodeSpan(encodeSpan(s))
		if (err == nil) != good {
			t.Errorf("%s: read as %+v, %v", what, got, err)
		}
	}
	tx := func(n int) []market.Tx { return make([]market.Tx, n) }
	log := func(index, on uint32) market.Log {
		return market.Log{Index: index, Tx: on, Event: market.Subscription{ID: 1}}
	}
	block := func(n uint64) market.Block {
		return market.Block{Number: n, Txs: tx(1), Logs: []market.Log{log(0, 0)}}
	}
	within := func(b ...market.Block) market.Span { return market.Span{From: 10, To: 12, Blocks: b} }

	f("the first and the last block", within(block(10), block(12)), true)
	f("a block after the last", within(block(13)), false)
	f("a block before the first", within(block(9)), false)
	f("the same block twice", within(block(11), block(11)), false)
	f("a block behind the last one", within(block(12), block(13)), false)
	f("blocks out of order", within(block(12), block(11)), false)
	f("an end before the beginning", market.Span{From: 10, To: 9}, false)
	f("the last block of all", market.Span{From: 10, To: ^uint64(0)}, true)

	f("logs of two transactions", within(market.Block{Number: 10, Txs: tx(2), Logs: []market.Log{log(0, 0), log(3, 1)}}), true)
	f("a log of none", within(market.Block{Number: 10, Txs: tx(1), Logs: []market.Log{log(0, 1)}}), false)
	f("a block without events", within(market.Block{Number: 10, Txs: tx(1)}), false)
	f("a log without transactions", within(market.Block{Number: 10, Logs: []market.Log{log(0, 0)}}), false)

	meta := market.TokenMeta{Symbol: texts.New(""), Name: texts.New("USD"), Decimals: 255}
	s := market.Span{From: 10, To: 12, Tokens: []market.TokenMeta{meta}}
	got, err := decodeSpan(encodeSpan(s))
	if err != nil || got.Tokens[0] != meta {
		t.Errorf("an empty text: %+v, %v", got.Tokens, err)
	}
	whole := encodeSpan(s)
	for n := range whole {
		if _, err := decodeSpan(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes pass", n, len(whole))
		}
	}
}

// What follows a block begins with the next one, and names it as its parent; a hash that
// is not known holds nothing.
func TestFollows(t *testing.T) {
	at := market.Head{Number: 100, Hash: market.Hash{1}}
	f := func(at market.Head, from uint64, parent market.Hash, want string) {
		t.Helper()
		err := checkFollows(at, &market.Span{From: from, To: from, Parent: parent})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("block %d with parent %s after %+v: %v; want %q", from, parent, at, err, want)
		}
	}

	f(at, 101, market.Hash{1}, "")
	f(at, 101, market.Hash{}, "")
	f(market.Head{Number: 100}, 101, market.Hash{2}, "")
	f(at, 101, market.Hash{2}, "the span from block 101 has the parent 0x02")
	f(at, 100, market.Hash{1}, "a span begins with block 100 after block 100")
	f(at, 102, market.Hash{1}, "a span begins with block 102 after block 100")
}

// A file of another kind, cut short or with a flipped byte is no segment.
func TestFileHeader(t *testing.T) {
	h := fileHeader{identity, market.Head{Number: 99, Hash: market.Hash{7}, Time: -5}}
	b := h.append([]byte("before"))[len("before"):]
	var got fileHeader
	if err := got.decode(b); err != nil || got != h {
		t.Errorf("read as %+v, %v; want %+v", got, err, h)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if new(fileHeader).decode(bad) == nil {
			t.Errorf("byte %d flipped passes", i)
		}
		if new(fileHeader).decode(b[:i]) == nil {
			t.Errorf("%d bytes pass", i)
		}
	}

	c := content{last: h.base, spans: 3, events: 4, finalized: 5}
	b = c.append([]byte("before"))[len("before"):]
	var back content
	if !back.decode(b) || back != c {
		t.Errorf("a footer is read as %+v; want %+v", back, c)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if new(content).decode(bad) || new(content).decode(b[:i]) {
			t.Errorf("a footer with byte %d flipped, or cut there, passes", i)
		}
	}
}

// A frame that says it is longer than the file, or whose spans cannot be, ends what can be
// used; where it can be read again is told by its offset.
func TestBrokenFrames(t *testing.T) {
	spans := line(100, 104)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans)
	path, size := a.active.path, a.active.size
	frames, _, err := a.active.frames()
	if err != nil || len(frames) != 5 {
		t.Fatal(len(frames), err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	f := func(what string, text []byte, want int) {
		t.Helper()
		name := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, damage, err := openSegment(name)
		if whole := len(text) == fileHead || int64(len(text)) == size && want == 5; err != nil || whole != (damage == nil) {
			t.Fatalf("%s: %v, %v", what, damage, err)
		}
		last, end := s.base, int64(fileHead)
		if want > 0 {
			last = spans[want-1].Head()
			end = frames[want-1].at + frameHead + int64(frames[want-1].packed)
		}
		if s.last != last || s.size != end || s.spans != uint64(want) || s.written != last.Number {
			t.Errorf("%s: %d spans to %+v in %d bytes; want %d to %+v in %d", what, s.spans, s.last, s.size, want, last, end)
		}
	}

	f("whole", whole, 5)
	f("without frames", whole[:fileHead], 0)
	for _, n := range []int{0, 1, fileHead - 1} {
		name := filepath.Join(t.TempDir(), "short")
		if err := os.WriteFile(name, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if s, damage, err := openSegment(name); s != nil || damage == nil || err != nil {
			t.Errorf("%d bytes of a header: %+v, %v, %v; want damage", n, s, damage, err)
		}
	}
	empty := content{last: spans[4].Head()}
	name := filepath.Join(t.TempDir(), "sealed")
	if err := os.WriteFile(name, empty.append(whole[:fileHead:fileHead]), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, damage, err := openSegment(name); err != nil || damage != nil || !s.sealed || s.last != empty.last || s.size != fileHead {
		t.Errorf("a footer without frames: %+v, %v, %v", s, damage, err)
	}
	f("a byte short", whole[:size-1], 4)
	f("a header and no more", whole[:frames[4].at+frameHead], 4)
	f("a byte of a header", whole[:frames[4].at+1], 4)
	f("bytes that are no frame", append(bytes.Clone(whole), 0), 5)
	long := bytes.Clone(whole)
	binary.BigEndian.PutUint32(long[frames[2].at+4:], maxFrame)
	head := long[frames[2].at:][:frameHead]
	binary.BigEndian.PutUint32(head[frameHead-4:], crc32.Checksum(head[:frameHead-4], castagnoli))
	f("longer than the file", long, 2)
	bad := bytes.Clone(whole)
	bad[frames[0].at+frameHead] ^= 1
	f("damaged at once", bad, 0)
}
