package edge

import (
	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
)

const contentJSON = "application/json"

var (
	contentType = []byte("Content-Type")
	jsonValue   = []byte(contentJSON)
)

// sendReply sends a 200.
func (s *Server) sendReply(r *request, p *pages.Reply) {
	r.ctx.Response.Header.SetCanonical(contentType, jsonValue)
	if p.Generations != "" {
		gate.SetHeader(r.ctx, gate.HeaderGeneration, p.Generations)
	}

	// A cached page may have become stale since it was rendered.
	body, replaced := p.Body, false // replaced: body is not in p.Buffer
	if p.Stale || p.AsOf != 0 && r.Now-p.AsOf > s.pages.Limits().Freshness.Milliseconds() {
		s.metrics.stale.Inc()
		body, replaced = p.StaleBody(), true
	}

	if how := negotiate(r.ctx, len(body)); how != pages.Identity {
		if replaced {
			body = pages.Pack(body, how)
		} else {
			body, replaced = s.pages.Packed(p.Page, how), true
		}
	}

	buffer := p.Buffer
	if replaced {
		buffer.Release()
		buffer = nil
	}
	sendBody(r.ctx, body, buffer)
}

// negotiate chooses the coding of a body of so many bytes, and sets the headers that tell
// of it.
func negotiate(ctx *fasthttp.RequestCtx, length int) pages.Coding {
	if !setVary(ctx, length) {
		return pages.Identity
	}

	how := chooseCoding(ctx.Request.Header.PeekAll("Accept-Encoding"))
	if how != pages.Identity {
		gate.SetHeader(ctx, "Content-Encoding", how.String())
	}
	return how
}

// setVary says that a body of so many bytes depends on the codings that the client takes,
// if it does.
func setVary(ctx *fasthttp.RequestCtx, length int) bool {
	if length <= packFrom {
		return false
	}
	gate.SetHeader(ctx, "Vary", "Origin, Accept-Encoding")
	return true
}
