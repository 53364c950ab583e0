package edge

import (
	"bytes"
	"strconv"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
)

const contentJSON = "application/json"

var (
	contentType    = []byte("Content-Type")
	jsonValue      = []byte(contentJSON)
	acceptEncoding = []byte("Accept-Encoding")
)

// send sends a 200. Its age is judged now, not when it was rendered.
func (s *Server) send(r *request, p *pages.Reply) {
	r.ctx.Response.Header.SetCanonical(contentType, jsonValue)
	if p.Generations != "" {
		gate.SetHeader(r.ctx, gate.HeaderGeneration, p.Generations)
	}

	body, shared := p.Body, true
	if p.Stale || p.AsOf != 0 && r.Now-p.AsOf > s.cfg.Limits.Freshness.Milliseconds() {
		s.metrics.stale.Inc()
		body, shared = p.StaleBody(), false
	}

	if len(body) > packFrom {
		gate.SetHeader(r.ctx, "Vary", "Origin, Accept-Encoding")
		how := acceptedCoding(r.ctx.Request.Header.PeekCanonical(acceptEncoding))
		if how != pages.Identity {
			gate.SetHeader(r.ctx, "Content-Encoding", how.String())
		}
		switch {
		case how == pages.Identity:
		case shared:
			body = p.Packed(how)
		default:
			body = pages.Pack(body, how)
		}
	}
	setBody(r.ctx, body)
}

// acceptedCoding chooses the best coding that an Accept-Encoding header admits.
func acceptedCoding(header []byte) (best pages.Coding) {
	for len(header) > 0 {
		var part []byte
		part, header, _ = bytes.Cut(header, comma)
		name, params, _ := bytes.Cut(part, semicolon)
		var how pages.Coding
		switch name = bytes.TrimSpace(name); {
		case bytes.EqualFold(name, gzipName):
			how = pages.Gzip
		case bytes.EqualFold(name, zstdName):
			how = pages.Zstd
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
