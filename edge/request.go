package edge

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/edge/ui"
)

// request is the state of one request. It and everything it points to is valid
// until the handler returns.
type request struct {
	ctx *fasthttp.RequestCtx
	now time.Time // has a monotonic reading
	target
	path, query []byte // as they were sent

	pages.Question
	fields   *render.Fields // of an export
	stream   query.Stream
	ticket   gate.Ticket
	admitted bool  // the ticket still has to be settled
	metered  bool  // it was settled, and a reply says so
	billed   int64 // then

	answerID []byte // empty until it is chosen
	ownID    [requestIDLen]byte
	private  bool // the answer needs a key
	basic    bool // setBasics was called
	// largeHead is set where fasthttp has more room for heads than is worth keeping.
	largeHead bool
	alone     bool // fasthttp's buffer has no other answer

	file     *ui.File  // the file of routeSite
	segments [192]byte // buffer for decoded segments of the path
}

// requestID returns the id that the answer has, empty before it has one.
func (r *request) requestID() string { return string(r.answerID) }

// takesChunks reports whether the answer may come in chunks with trailers, which HTTP/1.0 has
// not.
func (r *request) takesChunks() bool {
	return string(r.ctx.Request.Header.Protocol()) == "HTTP/1.1"
}

// parseTarget makes the HTTP checks that the framer and fasthttp do not make, and
// finds the route.
func (r *request) parseTarget() *render.Error {
	h := &r.ctx.Request.Header
	closing, chunked, room := scanHeaders(h)
	// The trailers of a chunked body are in the same table.
	r.largeHead = chunked || room > keptHeaders || len(h.RawHeaders()) > keptHead

	if p := string(h.Protocol()); p != "HTTP/1.1" && p != "HTTP/1.0" {
		return errVersion
	}

	// No request is read behind a body, so none can be smuggled in one.
	body := chunked || h.ContentLength() > 0
	if body && (h.IsGet() || h.IsHead() || h.IsOptions()) {
		return errBody
	}
	if body || closing {
		r.ctx.SetConnectionClose()
	}

	var err *render.Error
	uri := h.RequestURI()
	if len(uri) > 0 && uri[0] != '/' {
		if uri, err = trimAuthority(uri, h.Host()); err != nil {
			return err
		}
	}

	r.path, r.query, _ = bytes.Cut(uri, questionMark)
	if len(r.path) == 0 { // of a URL that ends with its host
		r.path = slash
	}
	r.target = matchRoute(r.path, r.segments[:0])
	r.Route = routes[r.route].meter
	return nil
}

var (
	questionMark     = []byte{'?'}
	schemeMark       = []byte("://")
	connectionHeader = []byte("Connection")
	closeWord        = []byte("close")
	lineFeed         = []byte{'\n'}

	httpScheme, httpsScheme = []byte("http"), []byte("https")
)

// scanHeaders reads from the raw headers what fasthttp does not report: whether a
// Connection header has the option close, in any case and among others, whether the
// body came chunked, and the most room that fasthttp's table of the headers may have
// grown to by heads that were no longer and had no more lines.
func scanHeaders(h *fasthttp.RequestHeader) (closing, chunked bool, room int) {
	lines, longest := 0, 0
	for raw := h.RawHeaders(); len(raw) > 0; {
		var line []byte
		line, raw, _ = bytes.Cut(raw, lineFeed)
		lines, longest = lines+1, max(longest, len(line))

		name, value, _ := bytes.Cut(line, colon)
		if bytes.EqualFold(name, encodingHeader) {
			chunked = true
		}
		if bytes.EqualFold(name, connectionHeader) {
			closing = closing || listContains(value, closeWord)
		}
	}
	return closing, chunked, lines * (longest + headerRoom)
}

// dropHead gives back the room that fasthttp has for the heads of a connection, and leaves
// what it looks at behind the handler.
func dropHead(h *fasthttp.RequestHeader) {
	method, protocol := string(h.Method()), string(h.Protocol())
	*h = fasthttp.RequestHeader{}
	h.SetMethod(method)
	h.SetProtocol(protocol)
}

// listContains reports whether a comma-separated list has a word, ignoring case.
func listContains(list, word []byte) bool {
	for len(list) > 0 {
		var option []byte
		option, list, _ = bytes.Cut(list, comma)
		if bytes.EqualFold(bytes.TrimSpace(option), word) {
			return true
		}
	}
	return false
}

// trimAuthority removes scheme and host from an absolute target. The host must be
// the one in the Host header, which only a request of HTTP/1.0 can do without.
func trimAuthority(uri, host []byte) ([]byte, *render.Error) {
	if string(uri) == "*" {
		return uri, nil
	}
	scheme, rest, ok := bytes.Cut(uri, schemeMark)
	if !ok || !bytes.EqualFold(scheme, httpScheme) && !bytes.EqualFold(scheme, httpsScheme) {
		return nil, errTarget
	}

	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if len(host) > 0 && !bytes.EqualFold(rest[:end], host) {
		return nil, errHost
	}
	return rest[end:], nil
}

// checkRoute returns the 404 or 405 of a request. It answers an OPTIONS itself,
// with a 204, and then returns done.
func (r *request) checkRoute() (done bool, err *render.Error) {
	uri := r.ctx.Request.Header.RequestURI()
	star := r.ctx.IsOptions() && string(uri) == "*"
	if r.route == routeNone && !star {
		return false, errNoRoute(string(r.ctx.Path()))
	}
	if r.ctx.IsGet() || r.ctx.IsHead() && !r.route.isLong() {
		return false, nil
	}

	allowed := r.route.methods()
	gate.SetHeader(r.ctx, "Allow", allowed)
	if !r.ctx.IsOptions() {
		return false, errMethod(allowed)
	}

	r.ctx.SetStatusCode(fasthttp.StatusNoContent)
	return true, nil
}
