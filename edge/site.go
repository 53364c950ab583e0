package edge

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/edge/ui"
)

// previewQuery is what the front page shows to everyone, where the node says so.
var previewQuery = []byte("sort=pnl&limit=5")

// sendFile answers with a file of the site, or with 304 to one who has it.
func (s *Server) sendFile(ctx *fasthttp.RequestCtx, f *ui.File) {
	h := &ctx.Response.Header
	h.Set("ETag", f.ETag)
	h.Set("Cache-Control", f.CacheControl)
	h.Set("Vary", "Accept, Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	if f.Policy != "" {
		h.Set("Content-Security-Policy", f.Policy)
		h.Set("Referrer-Policy", "no-referrer")
	}
	if has(ctx.Request.Header.Peek("If-None-Match"), f.ETag) {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}

	h.SetContentType(f.ContentType)
	body := f.Body
	how := accepted(ctx.Request.Header.PeekCanonical(acceptEncoding))
	packed := map[packing]func() []byte{gzipped: f.Gzip, zstandard: f.Zstd}[how]
	if packed != nil && packed() != nil {
		body = packed()
		h.Set("Content-Encoding", how.String())
	}
	setBody(ctx, body)
}

// has reports whether an If-None-Match header names a tag.
func has(header []byte, tag string) bool {
	return bytes.Contains(header, []byte(tag)) || string(header) == "*"
}

// wantsPage reports whether a request for / comes from a browser.
func wantsPage(ctx *fasthttp.RequestCtx) bool {
	return bytes.Contains(ctx.Request.Header.Peek("Accept"), []byte("text/html"))
}

// index is / to a program: where everything is, and the head of one ranking
// where the node shows it to everyone.
func (s *Server) index(r *request) *page {
	body := append([]byte(nil), `{"name":"tidemark","version":`...)
	body = render.String(body, s.cfg.Version)
	body = append(body, `,"links":{"docs":"/docs","reference":"/openapi.json","dashboard":"/ui",`...)
	body = append(body, `"health":"/health","chains":"/v1/chains","plans":"/v1/plans",`...)
	body = append(body, `"positions":"/v1/positions","pools":"/v1/pools"}`...)
	if s.cfg.Preview {
		if top := s.preview(r); top != nil {
			body = append(append(body, `,"preview":`...), top...)
		}
	}
	return &page{body: append(body, '}')}
}

// preview is the head of one ranking, or nil while there is none.
func (s *Server) preview(r *request) []byte {
	var err error
	if r.positions, err = s.queryChains.Positions(previewQuery); err != nil {
		panic("BUG: the preview's question is refused: " + err.Error())
	}
	top, refused := s.listPositions(r)
	if refused != nil {
		return nil
	}
	return top.body
}
