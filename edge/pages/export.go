package pages

import (
	"errors"
	"sync"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/value"
)

// Export is the rows of a list from one cut, in order. It is used by one goroutine,
// which may take as long as its client reads: meanwhile it holds the cut and the
// search of its rows, and nothing that other requests wait for.
type Export struct {
	Generations string // the X-Generation header
	AsOf        int64  // unix milliseconds of its oldest data

	pages  *Pages
	list   *listing
	fields *render.Fields
	scope  scope
	search *rankings.Search

	next, end uint64       // the rows still to come, by rank - 1
	pageEnd   rankings.End // where the rows that were read last end
	more      bool         // rows follow the last one
	row       []byte       // buffer of a rendered row
	metrics   value.Metrics
}

// exports are the exports under way: how many, and of which cut, by account.
type exports struct {
	mu        sync.Mutex
	all       int
	byAccount map[uint64]*accountExports
}

type accountExports struct {
	cut     *cut
	running int
}

var (
	errManyExports = render.Busy("too many exports are under way; retry when one has ended",
		exportRetry)
	errOtherExport = render.Busy("this account has an export of other generations under way; "+
		"name these, or retry when it has ended", exportRetry)
)

// begin counts an export of a cut. An account may keep one cut by exports, since there
// is room for few, and each may be kept for long.
func (e *exports) begin(account uint64, c *cut) *render.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := e.byAccount[account]
	if of == nil {
		of = &accountExports{cut: c}
	}
	switch {
	case of.cut != c:
		return errOtherExport
	case of.running >= maxAccountExports || e.all >= maxExports:
		return errManyExports
	}

	e.all++
	of.running++
	e.byAccount[account] = of
	return nil
}

// end ends an export.
func (e *exports) end(account uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all--
	of := e.byAccount[account]
	if of.running--; of.running == 0 {
		delete(e.byAccount, account)
	}
}

// OpenExport prepares the export that a question asks for. Without generations in the
// question it pins the newest. The caller must close it.
func (p *Pages) OpenExport(q *Question, fields *render.Fields) (*Export, *render.Error) {
	own := *q // q is reused when its request is answered
	if !own.Cut.IsSet() {
		own.Cut.Pin = true
	}
	before := p.pins.pinOf(own.Account)
	sc, err := p.listScope(&own)
	if err != nil {
		return nil, err
	}

	e := &Export{
		Generations: formatGenerations(sc.views...), AsOf: oldestConfirmed(sc.views),
		pages: p, fields: fields, scope: sc,
	}
	if len(sc.missing) > 0 {
		err = errUnavailableChain(sc.missing[0])
	} else {
		err = p.exports.begin(own.Account, sc.cut)
	}
	if err != nil {
		p.pins.giveBack(own.Account, before)
		p.release(&sc)
		return nil, err
	}

	e.list = newListing(&own, own.appendList(nil))
	if err := e.findRows(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// findRows finds out where the rows are: by the directories, or by a selection of the
// filter, for which it waits.
func (e *Export) findRows() *render.Error {
	p := e.pages
	search, err := e.list.search(e.scope.views)
	if err != nil {
		return listError(err)
	}
	if _, known := search.Total(); !known {
		key := string(e.scope.appendChainKey(nil, e.list.filter()))
		sel, ok := p.jobs.findSelection(key)
		if !ok {
			sel = p.jobs.startSelection(key, e.scope.views, search)
		}
		if sel == nil || !await(sel.done, p.limits.Load().ScanWait) || sel.search == nil {
			p.metrics.unselected.Inc()
			return errReaching
		}
		search = sel.search
	}

	e.search = search
	total, _ := search.Total()
	e.next = min(e.list.After, total)
	e.end = min(total, e.next+uint64(p.limits.Load().ExportRows))
	e.more = e.end < total
	return nil
}

// Left returns how many rows are still to come.
func (e *Export) Left() uint64 { return e.end - e.next }

// More reports whether the list has rows behind the last one of the export.
func (e *Export) More() bool { return e.more }

// Stale reports whether the data was too old at a time, in unix milliseconds.
func (e *Export) Stale(now int64) bool {
	return now-e.AsOf > e.pages.limits.Load().Freshness.Milliseconds()
}

// AppendHead appends what stands before the rows.
func (e *Export) AppendHead(dst []byte) []byte {
	if e.list.Format == query.CSV {
		return e.fields.AppendCSVHeader(dst)
	}
	return dst
}

// AppendRows appends the next rows, n at most. It waits for its turn while as many
// exports as there are processors are being rendered. When ended closes meanwhile, it
// appends none.
func (e *Export) AppendRows(
	dst []byte, n uint64, ended <-chan struct{},
) (out []byte, rows uint64, err *render.Error) {
	p := e.pages
	select {
	case p.exporting <- struct{}{}:
		defer func() { <-p.exporting }()
	case <-ended:
		return dst, 0, nil
	}

	page, cause := e.search.PageAfter(p.leaves, e.pageEnd, e.next, min(n, e.Left()))
	switch {
	case errors.Is(cause, block.ErrLeafGone):
		return dst, 0, errGone
	case cause != nil:
		return dst, 0, errUnreadable(cause)
	}
	for i := range page.Rows {
		dst = e.appendRow(dst, &page.Rows[i])
	}
	e.next, e.pageEnd = e.next+uint64(len(page.Rows)), page.End
	return dst, uint64(len(page.Rows)), nil
}

// appendRow appends a row in the form of the export.
func (e *Export) appendRow(dst []byte, row *rankings.Row) []byte {
	if e.list.Format == query.NDJSON && len(e.list.Fields) == 0 {
		return append(e.appendObject(dst, row), '\n')
	}

	e.row = e.appendObject(e.row[:0], row)
	if e.list.Format == query.CSV {
		return e.fields.AppendCSV(dst, e.row)
	}
	return append(e.fields.AppendJSON(dst, e.row), '\n')
}

// appendObject appends a row as lists have it.
func (e *Export) appendObject(dst []byte, row *rankings.Row) []byte {
	return e.pages.appendRow(dst, e.list.listsPools(), row, &e.metrics)
}

// Close ends the export. Its cut is kept for as long as behind any answer.
func (e *Export) Close() {
	e.pages.exports.end(e.list.Account)
	e.pages.release(&e.scope)
}
