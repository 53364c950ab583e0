package pages

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Coding is a content coding.
type Coding uint8

// The content codings, in ascending order of preference when a client accepts
// several equally.
const (
	Identity Coding = iota
	Gzip
	Zstd
	numCodings
)

func (c Coding) String() string { return [...]string{"identity", "gzip", "zstd"}[c] }

// pack compresses a body with the fastest settings, since a page lives for a few
// seconds only.
func pack(body []byte, c Coding) []byte {
	if c == Zstd {
		return zstdEncoder().EncodeAll(body, make([]byte, 0, len(body)/4))
	}

	var out bytes.Buffer
	out.Grow(len(body) / 4)
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)

	w.Reset(&out)
	if _, err := w.Write(body); err != nil {
		panic("BUG: compressing into memory failed")
	}
	if err := w.Close(); err != nil {
		panic("BUG: compressing into memory failed")
	}
	return out.Bytes()
}

// zstdEncoder returns the shared encoder, whose EncodeAll is safe for concurrent
// use.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("BUG: the zstd encoder refuses its options: " + err.Error())
	}
	return e
})

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("BUG: gzip refuses its fastest level: " + err.Error())
	}
	return w
}}

// Encoder compresses a body that is sent in parts. Flush passes on all that was
// written, so that a client can read it; Close ends the body.
type Encoder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// OpenEncoder returns an encoder that writes to w, in a coding other than Identity. It
// has some hundred KB, and is to be given back with CloseEncoder.
func OpenEncoder(c Coding, w io.Writer) Encoder {
	e := encoders[c].Get().(Encoder)
	e.Reset(w)
	return e
}

// CloseEncoder gives an encoder back, whether or not its body was ended.
func CloseEncoder(c Coding, e Encoder) {
	e.Reset(io.Discard) // it must not keep the writer
	encoders[c].Put(e)
}

var encoders = [numCodings]*sync.Pool{Gzip: &gzipWriters, Zstd: &zstdStreams}

// zstdWindow is how far back a stream refers: some fifty rows, which repeat each other.
const zstdWindow = 128 << 10

// zstdStreams work in the goroutine that writes, since there is one for every export.
var zstdStreams = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow))
	if err != nil {
		panic("BUG: the zstd encoder refuses its options: " + err.Error())
	}
	return e
}}
