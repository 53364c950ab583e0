package edge

import (
	"errors"
	"strconv"
	"time"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// The trailer of an export: what it cost, and its last line, which CSV has nowhere
// else.
const (
	trailerUnits  = "X-Units-Charged"
	trailerEnd    = "X-Export-End"
	exportTrailer = trailerEnd + ", " + trailerUnits
)

// errCSVVersion is the 400 of a CSV export by HTTP/1.0.
var errCSVVersion = errors.New(
	"format csv needs HTTP/1.1, whose trailer says whether the export is complete; " +
		"ndjson says so in its last line, and is sent by HTTP/1.0 too")

// exportTypes are the content types of the forms of an export.
var exportTypes = [...]string{
	query.NDJSON: "application/x-ndjson",
	query.CSV:    "text/csv; charset=utf-8; header=present",
}

// export is one export while it is sent, in parts. The units of a part are held before
// it is rendered, and billed when the kernel has taken it all.
type export struct {
	server *Server
	rows   *pages.Export
	ticket gate.Ticket
	route  route
	format query.Format
	stale  bool // the data was too old when the export began

	coding      pages.Coding
	held        bool // the units of the next part are held
	sent, units int64
}

// parseExport parses the parameters of an export.
func (r *request) parseExport(chains query.Chains) (err error) {
	paths := render.PositionFields
	if r.route == routePoolExport {
		paths = render.PoolFields
		r.Pools, err = chains.PoolExport(r.query, &r.Options)
	} else {
		r.Positions, err = chains.PositionExport(r.query, &r.Options)
	}
	if err != nil {
		return err
	}

	// CSV says only in the trailer whether it is complete, and HTTP/1.0 has no trailers:
	// an export that was cut would look like a whole one.
	if r.Format == query.CSV && !r.takesChunks() {
		return errCSVVersion
	}
	r.fields, err = render.SelectFields(paths, r.Options.Fields)
	return err
}

// answerExport begins an export: what keeps it from beginning is an ordinary error.
func (s *Server) answerExport(r *request) *render.Error {
	if err := s.gate.Reserve(&r.ticket, r.Route.Units()); err != nil {
		return err
	}
	rows, err := s.pages.OpenExport(&r.Question, r.fields)
	if err != nil {
		return err
	}

	r.admitted = false
	r.setBasics()
	gate.SetAccount(r.ctx, &r.ticket)
	gate.SetHeader(r.ctx, gate.HeaderGeneration, rows.Generations)
	gate.SetHeader(r.ctx, "Content-Type", exportTypes[r.Format])
	gate.SetHeader(r.ctx, "Vary", varyCoding)
	how := s.packers.choose(r.ctx.Request.Header.PeekAll("Accept-Encoding"))
	if how != pages.Identity {
		gate.SetHeader(r.ctx, "Content-Encoding", how.String())
	}
	e := &export{
		server: s, rows: rows, ticket: r.ticket, route: r.route, format: r.Format,
		stale: rows.Stale(r.Now), coding: how, held: true,
	}
	until := r.now.Add(s.pages.Limits().ExportTime)
	s.sendLong(r, e.ticket.Key, until, exportTrailer, e.run)
	return nil
}

// run sends the export.
func (e *export) run(long *longWriter) {
	defer e.rows.Close()
	w := e.server.packers.pack(long, e.coding)
	defer e.server.packers.close(w)
	problem := e.sendRows(w)
	e.settle(0) // what was held for rows that were not sent

	end := e.appendEnd(nil, problem)
	last := append(end, '\n')
	if e.format == query.CSV {
		last = nil
	}
	// An error means that the client is gone: what it got has no end.
	_ = w.End(last, trailerEnd+": "+string(end)+crlf+
		trailerUnits+": "+strconv.FormatInt(e.units, 10)+crlf)
}

// appendEnd appends the last line of the export.
func (e *export) appendEnd(dst []byte, problem error) []byte {
	if problem != nil {
		return render.AppendExportCut(dst, problem.Error())
	}
	return render.AppendExportEnd(dst, &render.ExportEnd{
		Rows: e.sent, Generations: e.rows.Generations, More: e.rows.More(),
		Stale: e.stale, AsOf: e.rows.AsOf,
	})
}

// sendRows sends all rows, and returns why it could not.
func (e *export) sendRows(w *packer) error {
	// The head is shorter than a flush, so that this write waits for nothing.
	_, _ = w.Write(e.rows.AppendHead(w.AvailableBuffer()))

	for groups := uint64(1); e.rows.Left() > 0; {
		if err := e.reserve(&groups); err != nil {
			return errors.New(err.Message)
		}
		most := groups * accounts.RowsPerUnit
		out, rows, problem := e.rows.AppendRows(w.AvailableBuffer(), most, w.Ended())
		if problem != nil {
			return errors.New(problem.Message)
		}
		if rows == 0 { // the answer has to end
			return w.Reason()
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		e.sent += int64(rows)
		e.settle(e.price(rows))

		// As many rows at once as one flush takes. A lease may have room for no more
		// than MaxUnits.
		mostGroups := uint64(accounts.MaxUnits / e.price(1))
		groups = min(max(groups*longFlush/uint64(len(out)), 1), mostGroups)
	}
	return nil
}

// price returns what rows cost.
func (e *export) price(rows uint64) int64 {
	groups := (rows + accounts.RowsPerUnit - 1) / accounts.RowsPerUnit
	return int64(groups) * routes[e.route].meter.Units()
}

// reserve holds the units of the next groups of rows, or of one when the quota has no
// more.
func (e *export) reserve(groups *uint64) *render.Error {
	if e.held { // those of the first group
		return nil
	}

	rows := min(*groups*accounts.RowsPerUnit, e.rows.Left())
	err := e.server.gate.ReservePart(&e.ticket, time.Now(), e.price(rows))
	if err != nil && err.Quota && *groups > 1 {
		*groups = 1
		return e.reserve(groups)
	}
	e.held = err == nil
	return err
}

// settle bills units of those that are held, and releases the others.
func (e *export) settle(units int64) {
	e.units += e.server.settleUnits(&e.ticket, e.route, units)
	e.held = false
}
