package edge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/render"
	"tidemark/edge/ui"
	"tidemark/storage/accounts"
)

// documentCache lets a client cache a document for a minute and then revalidate
// it by its ETag.
const documentCache = "public, max-age=60"

// previewQuery is the ranking whose first rows the front page shows without a
// key, if the node is configured so.
var previewQuery = []byte("sort=pnl&limit=5")

// tagDocuments makes the ETags of the documents that only the configuration
// changes: a client may keep them.
func (s *Server) tagDocuments() {
	tags := map[*pages.Page]string{}
	for _, p := range []*pages.Page{s.openAPI, s.pages.Chains, s.pages.Protocols, s.pages.Plans()} {
		sum := sha256.Sum256(p.Body)
		tags[p] = `W/"` + hex.EncodeToString(sum[:8]) + `"`
	}
	s.tags.Store(&tags)
}

// findFile sets the file of a path that is not an API route. For / only browsers
// get a file; programs get the JSON index.
func (s *Server) findFile(r *request) {
	accept := r.ctx.Request.Header.Peek("Accept")
	page := r.route == routeIndex && bytes.Contains(accept, []byte("text/html"))
	if r.route != routeNone && !page || r.access != free {
		return
	}

	if r.file = s.site.Find(r.path); r.file != nil {
		r.route = routeSite
	}
}

// answerNotModified sets the caching headers of an answer. If the client already
// has it, it answers 304 and returns true.
func answerNotModified(ctx *fasthttp.RequestCtx, tag, cache string) bool {
	gate.SetHeader(ctx, "Etag", tag)
	gate.SetHeader(ctx, "Cache-Control", cache)
	if !knownTag(ctx.Request.Header.PeekAll("If-None-Match"), tag) {
		return false
	}
	ctx.SetStatusCode(fasthttp.StatusNotModified)
	return true
}

// knownTag reports whether the values of If-None-Match have a tag. Tags are equal if
// what they quote is, with W/ before it or without (RFC 9110, 13.1.2): proxies take
// it away or add it.
func knownTag(known [][]byte, tag string) bool {
	quoted := []byte(strings.TrimPrefix(tag, "W/"))
	for _, tags := range known {
		if bytes.Contains(tags, quoted) || string(tags) == "*" {
			return true
		}
	}
	return false
}

// sendFile sends a file of the site.
func (s *Server) sendFile(ctx *fasthttp.RequestCtx, f *ui.File) {
	gate.SetHeader(ctx, "Vary", "Accept, Accept-Encoding")
	gate.SetHeader(ctx, "X-Content-Type-Options", "nosniff")
	if f.Policy != "" {
		gate.SetHeader(ctx, "Content-Security-Policy", f.Policy)
		gate.SetHeader(ctx, "Referrer-Policy", "no-referrer")
	}
	if answerNotModified(ctx, f.ETag, f.CacheControl) {
		return
	}

	ctx.SetContentType(f.ContentType)
	body := f.Body
	how := chooseCoding(ctx.Request.Header.PeekAll("Accept-Encoding"))
	if packed := f.Packed(how == pages.Zstd); how != pages.Identity && packed != nil {
		body = packed
		gate.SetHeader(ctx, "Content-Encoding", how.String())
	}
	sendBody(ctx, body, nil)
}

// answerIndex answers / to a program: links to everything, and the preview if it
// is configured.
func (s *Server) answerIndex(r *request) pages.Reply {
	gate.SetHeader(r.ctx, "Cache-Control", "no-store")
	body := append([]byte(nil), `{"name":"tidemark","version":`...)
	body = render.String(body, s.cfg.Version)
	body = append(body, `,"links":{"docs":"/docs","reference":"/openapi.json","dashboard":"/ui",`...)
	body = append(body, `"health":"/health","chains":"/v1/chains","plans":"/v1/plans",`...)
	body = append(body, `"positions":"/v1/positions","pools":"/v1/pools"}`...)
	if !s.cfg.Preview {
		return pages.Reply{Page: &pages.Page{Body: append(body, '}')}}
	}

	var err error
	if r.Positions, err = s.chains.Positions(previewQuery, &r.Options); err != nil {
		panic("BUG: the query of the preview is refused: " + err.Error())
	}
	r.Route = accounts.RoutePositions
	if top, refused := s.pages.Answer(&r.Question); refused == nil {
		body = append(append(body, `,"preview":`...), top.Body...)
		top.Buffer.Release()
	}
	return pages.Reply{Page: &pages.Page{Body: append(body, '}')}}
}
