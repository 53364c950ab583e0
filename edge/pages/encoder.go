package pages

import (
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

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
