package edge

import (
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
	body, shared := p.Body, true
	if p.Stale || p.AsOf != 0 && r.Now-p.AsOf > s.pages.Limits().Freshness.Milliseconds() {
		s.metrics.stale.Inc()
		body, shared = p.StaleBody(), false
	}

	if len(body) > packFrom {
		gate.SetHeader(r.ctx, "Vary", "Origin, Accept-Encoding")
		how := chooseCoding(r.ctx.Request.Header.PeekAll("Accept-Encoding"))
		if how != pages.Identity {
			gate.SetHeader(r.ctx, "Content-Encoding", how.String())
		}
		switch {
		case how == pages.Identity:
		case shared:
			body, shared = p.Packed(how), false
		default:
			body = pages.Pack(body, how)
		}
	}

	if shared {
		sendBody(r.ctx, body, p.Buffer)
		return
	}
	p.Buffer.Release()
	sendBody(r.ctx, body, nil)
}
