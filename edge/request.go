package edge

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/query"
	"tidemark/edge/render"
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

	segments [192]byte // room for unescaped segments of the path
}

// read checks that the request is sound HTTP, which fasthttp leaves open in
// places, and finds where it leads.
func (r *request) read() *render.Error {
	h := &r.ctx.Request.Header
	if p := string(h.Protocol()); p != "HTTP/1.1" && p != "HTTP/1.0" {
		return errVersion
	}
	closing, err := frame(h)
	if err != nil {
		return err
	}
	if closing {
		r.ctx.SetConnectionClose()
	}
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
	closeWord        = []byte("close")
	schemeMark       = []byte("://")
	lengthHeader     = []byte("Content-Length")
	encodingHeader   = []byte("Transfer-Encoding")
	connectionHeader = []byte("Connection")
)

// frame refuses what makes it unsure where a request ends. It reads the raw
// lines: fasthttp joins folded ones, forgets an encoding once it is undone, and
// knows "Connection: close" in lower case only; closing tells of any.
func frame(h *fasthttp.RequestHeader) (closing bool, err *render.Error) {
	length, encoding := false, false
	for raw := h.RawHeaders(); len(raw) > 0; {
		var line []byte
		line, raw, _ = bytes.Cut(raw, newline)
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			return false, errFolded
		}
		name, value, _ := bytes.Cut(line, colon)
		if bytes.IndexByte(name, ' ') >= 0 {
			return false, errSpace
		}
		length = length || bytes.EqualFold(name, lengthHeader)
		encoding = encoding || bytes.EqualFold(name, encodingHeader)
		closing = closing || bytes.EqualFold(name, connectionHeader) &&
			bytes.EqualFold(bytes.TrimSpace(value), closeWord)
	}
	if length && encoding {
		return false, errFrame
	}
	if (encoding || h.ContentLength() > 0) && (h.IsGet() || h.IsHead() || h.IsOptions()) {
		return false, errBody
	}
	return closing, nil
}

var newline, colon = []byte{'\n'}, []byte{':'}

// relative takes the host off an absolute-form target, which must be the one
// in the Host header.
func relative(uri, host []byte) ([]byte, *render.Error) {
	if string(uri) == "*" {
		return uri, nil
	}
	_, rest, ok := bytes.Cut(uri, schemeMark)
	if !ok {
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
		return false, render.NoRoute()
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
