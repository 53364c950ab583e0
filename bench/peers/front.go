package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// front stands before a loaded peer as edge stands before the rankings.
type front struct {
	peer   peer
	chains query.Chains
	about  []byte         // what it serves, and what loading took
	book   *accounts.Book // of the keys
}

// handle answers the node's own path, before which may stand /keyed and /counted.
func (f *front) handle(ctx *fasthttp.RequestCtx) {
	path, raw, _ := bytes.Cut(ctx.Request.Header.RequestURI(), []byte{'?'})
	path, keyed := bytes.CutPrefix(path, []byte("/keyed"))
	path, counted := bytes.CutPrefix(path, []byte("/counted"))
	switch string(path) {
	case "/v1/positions":
	case "/about":
		ctx.SetBody(f.about)
		return
	default:
		ctx.Error(`{"error":"no such route"}`, fasthttp.StatusNotFound)
		return
	}
	var ticket accounts.Ticket
	if keyed && !f.admit(ctx.Request.Header.Peek("KC-APIKey"), &ticket) {
		ctx.Error(`{"error":"no key"}`, fasthttp.StatusUnauthorized)
		return
	}

	q := asked{counted: counted}
	var err error
	if q.PositionQuestion, err = f.chains.Positions(raw, new(query.Options)); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}

	p := page{body: &ctx.Response}
	p.begin(&q)
	if err := f.peer.answer(&p, &q); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	p.end(&q)
	ctx.SetContentType("application/json")
	if keyed {
		f.book.Settle(&ticket, accounts.RoutePositions, 1)
	}
}

// readBook makes a book of the keys of a file, ten an account that never runs out.
func readBook(path string) (*accounts.Book, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the keys: %w", err)
	}

	const each, units = 10, 1 << 50
	now := time.Now().UnixNano()
	plan := accounts.Plan{ID: "bench", MonthlyUnits: units, RequestsPerSecond: 1e6, Burst: 1e6}
	terms, month := accounts.NewTerms(&plan, false), accounts.MonthAt(now)
	book := accounts.NewBook(accounts.NewTurner(now, 0).Step(now, now))
	book.SetAlive(now + int64(24*time.Hour))
	var cell *accounts.Cell
	for i, key := range bytes.Fields(text) {
		if i%each == 0 {
			cell = accounts.NewCell(uint64(i+1), fmt.Sprint("account", i), 0, terms)
			cell.Begin(month)
			cell.Open(month, units)
		}
		book.Add(&accounts.Issued{
			ID: uint64(i + 1), Hash: accounts.HashKey(key), Prefix: accounts.PrefixOf(string(key)), Cell: cell,
		}, 0, 0)
	}
	return book, nil
}

// admit checks a key as the node does.
func (f *front) admit(header []byte, t *accounts.Ticket) bool {
	key, why := f.book.Resolve(header)
	if why != accounts.Accepted {
		return false
	}
	*t = f.book.Admit(key, time.Now().UnixNano())
	return t.TakeToken() && f.book.Reserve(t, 1) == accounts.Granted
}

// totalCap is where counting rows stops, as in the node's limits.
const totalCap = 25_000

// asked is a question to a peer.
type asked struct {
	rankings.PositionQuestion
	counted bool // the peer counts now; else it may know the count beforehand
}

// page is an answer while it grows. A peer adds its rows and says how many
// there are in all, of which it need not count more than totalCap+1.
type page struct {
	body  *fasthttp.Response
	rank  [len(rankMark) + 20]byte // of a row, with its mark
	first uint64                   // rank of the first row
	rows  uint64
	total uint64
}

func (p *page) begin(q *asked) {
	p.body.AppendBodyString(`{"positions":[`)
	p.first = q.Offset() + 1
}

// add adds a row as it was kept, with its rank.
func (p *page) add(rest []byte) {
	if p.rows > 0 {
		p.body.AppendBodyString(",")
	}
	p.body.AppendBody(strconv.AppendUint(append(p.rank[:0], rankMark...), p.first+p.rows, 10))
	p.body.AppendBody(rest)
	p.rows++
}

// end adds what a list says of the whole: to the letter what the node says.
func (p *page) end(q *asked) {
	e := render.Pagination{
		Page: q.Page, Limit: q.Limit, Total: p.total, HasMore: q.Offset()+p.rows < p.total,
	}
	if p.total > totalCap {
		e.CapTotal(q.Offset(), p.rows, totalCap)
	}
	p.body.AppendBody(append(render.AppendPagination([]byte{']'}, &e), '}'))
}
