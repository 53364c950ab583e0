package pages

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"tidemark/edge/render"
)

// Page is a finished body: a JSON object or array, without the flags that
// depend on when it is sent. It never changes and may be shared.
type Page struct {
	Body        []byte
	Generations string // the X-Generation header

	key    string // canonical; compared on a hit of the cache
	free   bool   // costs nothing: partial or degraded
	packed [numCodings]atomic.Pointer[[]byte]
}

// Reply is an answer that is a 200.
type Reply struct {
	*Page
	AsOf  int64 // unix milliseconds of its oldest data; 0: it has no age
	Stale bool  // to be flagged stale whatever its age
	Free  bool  // costs nothing
}

// StaleBody returns a copy of the body with the flags of age.
func (r *Reply) StaleBody() []byte {
	out := make([]byte, 0, len(r.Body)+staleBytes)
	out = append(out, r.Body[:len(r.Body)-1]...)
	return append(render.AppendStale(out, r.AsOf), '}')
}

// staleBytes holds the flags of age.
const staleBytes = 64

// Coding is a content coding.
type Coding uint8

// The content codings. Of those that a client weighs equally, the last is best.
const (
	Identity Coding = iota
	Gzip
	Zstd
	numCodings
)

func (c Coding) String() string { return [...]string{"identity", "gzip", "zstd"}[c] }

// Packed returns the page's body in a coding. It is compressed at the first
// demand and then kept with the page.
func (p *Page) Packed(c Coding) []byte {
	if kept := p.packed[c].Load(); kept != nil {
		return *kept
	}
	body := Pack(p.Body, c)
	p.packed[c].Store(&body)
	return body
}

// Pack compresses a body with the fastest settings: pages live for seconds.
func Pack(body []byte, c Coding) []byte {
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

// zstdEncoder returns the one encoder; its EncodeAll may run concurrently.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("BUG: the options of the zstd encoder are refused")
	}
	return e
})

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("BUG: the fastest level is refused")
	}
	return w
}}
