package pages

import (
	"tidemark/edge/query"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// The lists of positions and of pools differ only here, and in how renderList renders their
// rows.

// listing is a question for a page of positions or pools that is not in the page
// cache.
type listing struct {
	*Question
	page, limit, offset uint64
	totalCap            uint64 // limits.total-cap when it was asked, which may be changed meanwhile
	text                []byte // the canonical question
	filtered            bool   // counts and selections of the filter are kept
}

func newListing(q *Question, text []byte) *listing {
	l := &listing{
		Question: q, text: text, page: q.Positions.Page, limit: q.Positions.Limit,
		filtered: q.Positions.IsFiltered(),
	}
	if q.listsPools() {
		l.page, l.limit, l.filtered = q.Pools.Page, q.Pools.Limit, q.Pools.IsFiltered()
	}
	l.offset = rankings.Offset(l.page, l.limit)
	return l
}

// listsPools reports whether the list is of pools; otherwise it is of positions.
func (q *Question) listsPools() bool {
	return q.Route == accounts.RoutePools || q.Route == accounts.RoutePoolExport
}

// listChain returns the chain of a list, or 0 for all chains.
func (q *Question) listChain() market.ChainID {
	if q.listsPools() {
		return q.Pools.Chain
	}
	return q.Positions.Chain
}

// appendList appends the canonical text of a list's question.
func (q *Question) appendList(dst []byte) []byte {
	if q.listsPools() {
		return query.AppendPools(append(dst, "pools?"...), &q.Pools)
	}
	return query.AppendPositions(append(dst, "positions?"...), &q.Positions)
}

// filter returns the canonical question without page and limit.
func (l *listing) filter() []byte { return l.appendPage(nil, 1, rankings.DefaultLimit) }

// appendPage appends the canonical question for another page of the list.
func (l *listing) appendPage(dst []byte, page, limit uint64) []byte {
	if l.listsPools() {
		other := l.Pools
		other.Page, other.Limit = page, limit
		return query.AppendPools(append(dst, "pools?"...), &other)
	}
	other := l.Positions
	other.Page, other.Limit = page, limit
	return query.AppendPositions(append(dst, "positions?"...), &other)
}

// search prepares a search of the list in views.
func (l *listing) search(views []*rankings.View) (*rankings.Search, error) {
	if l.listsPools() {
		return rankings.SearchPools(views, &l.Pools)
	}
	return rankings.SearchPositions(views, &l.Positions)
}
