package edge

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"tidemark/edge/render"
)

const (
	contentJSON      = "application/json"
	headerGeneration = "X-Generation"
)

// page is a finished body: a JSON object or array, less the flags that depend
// on when it is sent. It never changes and may be shared.
type page struct {
	key         string // canonical, compared on a hit of the cache
	body        []byte
	generations string // the X-Generation header
	free        bool   // costs nothing: partial
	packed      [numPackings]atomic.Pointer[[]byte]
}

// reply is an answer that is a 200.
type reply struct {
	*page
	asOf  int64 // unix milliseconds of its oldest data
	stale bool  // to be flagged whatever its age
	free  bool  // costs nothing
}

// send sends a 200. Its age is judged now, not when it was rendered.
func (s *Server) send(r *request, p *reply) {
	h := &r.ctx.Response.Header
	h.SetCanonical(contentType, jsonValue)
	if p.generations != "" {
		setHeader(r.ctx, headerGeneration, p.generations)
	}
	body, shared := p.body, true
	if p.stale || p.asOf != 0 && r.milli()-p.asOf > s.limits.Freshness.Milliseconds() {
		s.metrics.stale.Inc()
		body, shared = appendStale(p.body, p.asOf), false
	}
	if len(body) <= packFrom {
		setBody(r.ctx, body)
		return
	}
	setHeader(r.ctx, "Vary", "Origin, Accept-Encoding")
	if how := accepted(r.ctx.Request.Header.PeekCanonical(acceptEncoding)); how != plain {
		setHeader(r.ctx, "Content-Encoding", how.String())
		if shared {
			body = s.packedPage(p.page, how)
		} else {
			body = s.pack(body, how)
		}
	}
	setBody(r.ctx, body)
}

var (
	contentType    = []byte("Content-Type")
	jsonValue      = []byte(contentJSON)
	acceptEncoding = []byte("Accept-Encoding")
)

// appendStale returns a copy of an object's body with the flags of age.
func appendStale(body []byte, asOf int64) []byte {
	out := make([]byte, 0, len(body)+64)
	out = append(out, body[:len(body)-1]...)
	return append(render.AppendStale(out, asOf), '}')
}

// packing is a content coding.
type packing uint8

const (
	plain packing = iota
	gzipped
	zstandard
	numPackings
)

func (p packing) String() string { return [...]string{"identity", "gzip", "zstd"}[p] }

// accepted chooses the best coding that an Accept-Encoding header admits.
func accepted(header []byte) (best packing) {
	for len(header) > 0 {
		var part []byte
		part, header, _ = bytes.Cut(header, comma)
		name, params, _ := bytes.Cut(part, semicolon)
		var how packing
		switch name = bytes.TrimSpace(name); {
		case bytes.EqualFold(name, gzipName):
			how = gzipped
		case bytes.EqualFold(name, zstdName):
			how = zstandard
		}
		if how > best && !refused(params) {
			best = how
		}
	}
	return best
}

var (
	comma, semicolon = []byte{','}, []byte{';'}
	gzipName         = []byte("gzip")
	zstdName         = []byte("zstd")
)

// refused reports whether a coding's weight is 0.
func refused(params []byte) bool {
	name, value, _ := bytes.Cut(params, []byte{'='})
	if !bytes.EqualFold(bytes.TrimSpace(name), []byte{'q'}) {
		return false
	}
	weight, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
	return err == nil && weight == 0
}

// packedPage is the page's body in a coding, made at the first demand.
func (s *Server) packedPage(p *page, how packing) []byte {
	if kept := p.packed[how].Load(); kept != nil {
		return *kept
	}
	body := s.pack(p.body, how)
	p.packed[how].Store(&body)
	return body
}

// pack compresses a body with the fastest settings: pages live for seconds.
func (s *Server) pack(body []byte, how packing) []byte {
	if how == zstandard {
		return s.packer.EncodeAll(body, make([]byte, 0, len(body)/4))
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

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("BUG: the fastest level is refused")
	}
	return w
}}

func newPacker() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
}
