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

// request is one request on its way through serve. It and what it points at
// are good until the handler returns.
type request struct {
	ctx *fasthttp.RequestCtx
	now time.Time // with a monotonic reading
	target
	query []byte

	pages.Question
	ticket   gate.Ticket
	admitted bool // the ticket has to be settled or refused

	file     *ui.File  // of the site
	segments [192]byte // room for unescaped segments of the path
}

// read checks what the framer and fasthttp leave open, and finds where the
// request leads.
func (r *request) read() *render.Error {
	h := &r.ctx.Request.Header
	if p := string(h.Protocol()); p != "HTTP/1.1" && p != "HTTP/1.0" {
		return errVersion
	}

	// Nothing is read behind a body, so that it cannot hold a request.
	closing, chunked := connectionOptions(h)
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
		if uri, err = relative(uri, h.Host()); err != nil {
			return err
		}
	}

	var path []byte
	path, r.query, _ = bytes.Cut(uri, questionMark)
	r.target = match(path, r.segments[:0])
	r.Route = routes[r.route].meter
	return nil
}

var (
	questionMark     = []byte{'?'}
	schemeMark       = []byte("://")
	connectionHeader = []byte("Connection")
	closeWord        = []byte("close")
	newline          = []byte{'\n'}

	httpScheme, httpsScheme = []byte("http"), []byte("https")
)

// connectionOptions reads off the raw headers what fasthttp does not tell:
// whether a Connection header has the option close, in any case and among
// others, and whether the body came chunked.
func connectionOptions(h *fasthttp.RequestHeader) (closing, chunked bool) {
	for raw := h.RawHeaders(); len(raw) > 0; {
		var line []byte
		line, raw, _ = bytes.Cut(raw, newline)
		name, value, _ := bytes.Cut(line, colon)
		if bytes.EqualFold(name, encodingHeader) {
			chunked = true
		}
		if bytes.EqualFold(name, connectionHeader) {
			closing = closing || hasOption(value, closeWord)
		}
	}
	return closing, chunked
}

// hasOption reports whether a comma-separated list has a word, in any case.
func hasOption(list, word []byte) bool {
	for len(list) > 0 {
		var option []byte
		option, list, _ = bytes.Cut(list, comma)
		if bytes.EqualFold(bytes.TrimSpace(option), word) {
			return true
		}
	}
	return false
}

// relative takes scheme and host off an absolute target. The host must be the
// one in the Host header.
func relative(uri, host []byte) ([]byte, *render.Error) {
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
	if !bytes.EqualFold(rest[:end], host) {
		return nil, errHost
	}
	return rest[end:], nil
}

// exists answers 404 and 405, and 204 to a plain OPTIONS; done tells that the
// request has its answer.
func (r *request) exists() (done bool, err *render.Error) {
	uri := r.ctx.Request.Header.RequestURI()
	star := r.ctx.IsOptions() && string(uri) == "*"
	if r.route == routeNone && !star {
		return false, noRoute(string(r.ctx.Path()))
	}
	if r.ctx.IsGet() || r.ctx.IsHead() {
		return false, nil
	}

	gate.SetHeader(r.ctx, "Allow", gate.AllowedMethods)
	if !r.ctx.IsOptions() {
		return false, errMethod
	}
	r.ctx.SetStatusCode(fasthttp.StatusNoContent)
	return true, nil
}

// ask reads the parameters of a metered route.
func (r *request) ask(chains query.Chains) *render.Error {
	var err error
	switch r.route {
	case routePositions:
		r.Positions, err = chains.Positions(r.query)
	case routePools:
		r.Pools, err = chains.Pools(r.query)
	case routePool, routePoolCharts:
		if r.Pool, err = query.PoolID(r.protocol, r.id); err == nil {
			err = r.askPlace(chains)
		}
	case routePosition, routePositionCharts, routeExplain:
		var ok bool
		r.Position, ok = query.PositionID(r.id)
		r.NoPosition = !ok
		err = r.askPlace(chains)
	default:
		err = query.None(r.query)
	}

	if err != nil {
		return render.BadRequest(err)
	}

	return nil
}

// askPlace reads the chain and protocol of a detail and its parameters.
func (r *request) askPlace(chains query.Chains) (err error) {
	if r.malformed != nil {
		return r.malformed
	}
	if r.Chain, err = chains.Place(r.chain, r.protocol); err != nil {
		return err
	}
	if r.route == routePositionCharts || r.route == routePoolCharts {
		r.Range, err = query.Charts(r.query)
		return err
	}
	return query.None(r.query)
}
