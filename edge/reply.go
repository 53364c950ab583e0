package edge

import (
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
)

const contentJSON = "application/json"

// sendReply sends a 200.
func (s *Server) sendReply(r *request, p *pages.Reply) {
	// A cached page may have become stale since it was rendered.
	page := p.Page
	if p.Stale || p.AsOf != 0 && s.isStale(r, p.AsOf) {
		s.metrics.stale.Inc()
		page = s.pages.Stale(p)
	}

	body := page.Body
	how, packable := pages.Identity, len(body) > packFrom
	if packable {
		how = chooseCoding(r.ctx.Request.Header.PeekAll("Accept-Encoding"))
	}
	if how != pages.Identity {
		body = s.pages.Packed(page, how)
	}

	buffer := p.Buffer
	if page != p.Page || how != pages.Identity { // body is not in it
		buffer.Release()
		buffer = nil
	}
	r.setHead(p.Generations, how, packable, len(body))
	sendBody(r.ctx, body, buffer)
}

// otherWaits is more than requests wait for leases, turns and generations, together: for
// what has no setting.
const otherWaits = 6 * time.Second

// isStale reports whether data of a time is too old when its answer is sent. The clock is read
// again only where a wait may have made it so.
func (s *Server) isStale(r *request, asOf int64) bool {
	l := s.pages.Limits()
	waits := l.CountWait + l.ScanWait + l.TransactionsWait + otherWaits
	age, fresh := r.Now-asOf, l.Freshness.Milliseconds()
	if age <= fresh && age > fresh-waits.Milliseconds() {
		age += time.Since(r.now).Milliseconds()
	}
	return age > fresh
}

// setHead sets the headers of a 200 with a body of so many bytes. Of most answers it renders
// them as lines, which the connection adds to what fasthttp writes: to set one header after
// the other there takes several times as long.
func (r *request) setHead(generations string, how pages.Coding, packable bool, length int) {
	r.ctx.Response.Header.SetContentType(contentJSON)
	if c := r.inserter(length); c != nil {
		c.lines = r.appendLines(c.lines[:0], generations, how, packable)
		return
	}

	var buf [1 << 10]byte
	gate.SetLines(r.ctx, r.appendLines(buf[:0], generations, how, packable))
}

// inserter returns the connection that can add lines to the head of an answer with a body
// of so many bytes, or nil: it needs a body behind the head, and the head to be the last
// thing in fasthttp's buffer and all of it there.
func (r *request) inserter(length int) *conn {
	c, ok := r.ctx.Conn().(*conn)
	if !ok || !r.alone || !isLongBody(length) || r.ctx.IsHead() {
		return nil
	}
	return c
}

// appendLines appends the lines of setHead.
func (r *request) appendLines(
	dst []byte, generations string, how pages.Coding, packable bool,
) []byte {
	vary := "Origin"
	if packable {
		vary = varyCoding
	}
	switch {
	case !r.basic:
		dst = gate.AppendLine(dst, gate.HeaderRequestID, r.answerID)
		dst = gate.AppendPrivate(dst, vary)
	case packable:
		dst = gate.AppendLine(dst, "Vary", vary)
	}

	if r.metered {
		dst = gate.AppendMeter(dst, &r.ticket, r.billed)
	}
	if generations != "" {
		dst = gate.AppendLine(dst, gate.HeaderGeneration, generations)
	}
	if how != pages.Identity {
		dst = gate.AppendLine(dst, "Content-Encoding", how.String())
	}
	return dst
}

// setBasics sets the headers that all answers have, once. Those of a reply are set by
// setHead.
func (r *request) setBasics() {
	if r.basic {
		return
	}

	r.basic = true
	if len(r.answerID) > 0 {
		r.ctx.Response.Header.SetCanonical([]byte(gate.HeaderRequestID), r.answerID)
	}
	if r.private {
		gate.SetPrivate(r.ctx)
	}
}

// varyCoding is the Vary of an answer that depends on the codings that the client takes.
const varyCoding = "Origin, Accept-Encoding"

// setVary sets it if it is that of an answer with a body of so many bytes.
func setVary(ctx *fasthttp.RequestCtx, length int) {
	if length > packFrom {
		gate.SetHeader(ctx, "Vary", varyCoding)
	}
}
