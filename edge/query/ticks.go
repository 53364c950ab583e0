package query

// maxTicks is the largest number of ticks of a page. Most pools have fewer, and a
// page of them is shorter than one of 100 positions.
const maxTicks = 1000

// Paging is which part of a list without a ranking is asked for.
type Paging struct{ Page, Limit uint64 }

// The parameters of the ticks of a pool, as indexes into tickShape.names.
const (
	tickPage = iota
	tickLimit
)

var tickShape = paramSet{names: []string{tickPage: "page", tickLimit: "limit"}}

// Ticks reads the query of the ticks of a pool.
func Ticks(raw []byte) (Paging, error) {
	q := Paging{Page: 1, Limit: maxLimit}
	var buf valueBuffer
	for p := tickShape.readPairs(raw); ; {
		name, v, err := p.next(buf[:0])

		switch {
		case err != nil || name == noMorePairs:
			return q, err
		case name == tickPage:
			q.Page, err = parsePage(tickShape.names[name], v)
		default:
			q.Limit, err = parseBetween(tickShape.names[name], v, 1, maxTicks)
		}
		if err != nil {
			return q, err
		}
	}
}
