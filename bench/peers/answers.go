package main

import (
	"strconv"

	"tidemark/edge/render"
	"tidemark/rankings"
)

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
	body  []byte
	first uint64 // rank of the first row
	rows  uint64
	total uint64
}

const bodyStart = `{"positions":[`

func (p *page) begin(q *asked) {
	p.body = append(p.body[:0], bodyStart...)
	p.first, p.rows, p.total = q.Offset()+1, 0, 0
}

// add adds a row as it was kept, with its rank.
func (p *page) add(rest []byte) {
	if p.rows > 0 {
		p.body = append(p.body, ',')
	}
	p.body = strconv.AppendUint(append(p.body, rankMark...), p.first+p.rows, 10)
	p.body = append(p.body, rest...)
	p.rows++
}

// end adds what a list says of the whole: to the letter what the node says.
func (p *page) end(q *asked) {
	offset := p.first - 1
	e := render.Pagination{
		Page: q.Page, Limit: q.Limit, Total: p.total,
		HasMore: offset+p.rows < p.total, Capped: p.total > totalCap,
	}
	if e.Capped {
		e.Total = totalCap
		if p.rows > 0 {
			seen := offset + p.rows
			if e.HasMore {
				seen++
			}
			e.Total = max(e.Total, seen)
		}
	}
	p.body = append(render.AppendPagination(append(p.body, ']'), &e), '}')
}
