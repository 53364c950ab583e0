package edge

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/query"
	"tidemark/edge/ui"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// request is one request on its way through serve. It and what it points at
// are good until the handler returns.
type request struct {
	ctx *fasthttp.RequestCtx
	now time.Time // with a monotonic reading
	target
	query []byte

	ticket   ticket
	admitted bool // the ticket has to be settled or refused

	// What is asked, by route.
	chain      market.ChainID
	positions  rankings.PositionQuestion
	pools      rankings.PoolQuestion
	pool       market.PoolID
	position   uint64
	noPosition bool // the id names none
	chartRange query.ChartRange

	// Room for unescaped segments of the path, for the question and its key,
	// and for a scope.
	segments [192]byte
	room     [512]byte
	file     *ui.File // of the site
	views    [4]*rankings.View
	missing  [4]market.ChainID
}

// milli is the time of the request in unix milliseconds.
func (r *request) milli() int64 { return r.now.UnixMilli() }

// read checks that the request is sound HTTP, which fasthttp leaves open in
// places, and finds where it leads.
func (r *request) read() *Error {
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
	path, raw, _ := bytes.Cut(uri, question)
	r.query = raw
	r.target = match(path, r.segments[:0])
	return nil
}

// readSite finds the page or file that a path without a route names. A program
// that asks for / is told where everything is instead.
func (s *Server) readSite(r *request) {
	if r.access != free || r.route != routeNone && (r.route != routeIndex || !wantsPage(r.ctx)) {
		return
	}
	path, _, _ := bytes.Cut(r.ctx.Request.Header.RequestURI(), question)
	if r.file = s.site.Find(path); r.file != nil {
		r.route = routeSite
	}
}

var (
	question         = []byte{'?'}
	closeWord        = []byte("close")
	schemeMark       = []byte("://")
	lengthHeader     = []byte("Content-Length")
	encodingHeader   = []byte("Transfer-Encoding")
	connectionHeader = []byte("Connection")
)

// frame refuses what makes it unsure where a request ends. It reads the raw
// lines: fasthttp joins folded ones, forgets an encoding once it is undone, and
// knows "Connection: close" in lower case only; closing tells of any.
func frame(h *fasthttp.RequestHeader) (closing bool, err *Error) {
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
func relative(uri, host []byte) ([]byte, *Error) {
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
func (r *request) exists() (done bool, err *Error) {
	uri := r.ctx.Request.Header.RequestURI()
	star := r.ctx.IsOptions() && string(uri) == "*"
	if r.route == routeNone && !star {
		return false, notFound("no such route")
	}
	if r.ctx.IsGet() || r.ctx.IsHead() {
		return false, nil
	}
	setHeader(r.ctx, "Allow", allowedMethods)
	if !r.ctx.IsOptions() {
		return false, errMethod
	}
	r.ctx.SetStatusCode(fasthttp.StatusNoContent)
	return true, nil
}

// ask reads the parameters of a metered route.
func (s *Server) ask(r *request) *Error {
	var err error
	switch r.route {
	case routePositions:
		r.positions, err = s.queryChains.Positions(r.query)
	case routePools:
		r.pools, err = s.queryChains.Pools(r.query)
	case routePool, routePoolCharts:
		if r.pool, err = query.PoolID(r.protocol, r.id); err == nil {
			err = s.askPlace(r)
		}
	case routePosition, routePositionCharts, routeExplain:
		var ok bool
		r.position, ok = query.PositionID(r.id)
		r.noPosition = !ok
		err = s.askPlace(r)
	default:
		err = query.None(r.query)
	}
	if err != nil {
		return &Error{Code: fasthttp.StatusBadRequest, Message: err.Error()}
	}
	return nil
}

// askPlace reads the chain and protocol of a detail and its parameters.
func (s *Server) askPlace(r *request) (err error) {
	if r.chain, err = s.queryChains.Place(r.target.chain, r.protocol); err != nil {
		return err
	}
	if r.route == routePositionCharts || r.route == routePoolCharts {
		r.chartRange, err = query.Charts(r.query)
		return err
	}
	return query.None(r.query)
}
