package pages

import (
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// renderTicks renders a page of the initialised ticks of a pool.
func renderTicks(q *Question, st *market.State, pool uint32) *Page {
	refs := st.TickLists.At(pool).Refs
	total := uint64(len(refs))
	from := min(rankings.Offset(q.Paging.Page, q.Paging.Limit), total)
	to := min(from+q.Paging.Limit, total)

	body := make([]byte, 0, tickBytes*(to-from+1))
	body = render.AppendTicks(body, st, pool, refs[from:to])
	body = render.AppendPagination(body, &render.Pagination{
		Page: q.Paging.Page, Limit: q.Paging.Limit, Total: total, HasMore: to < total,
	})
	return &Page{Body: append(body, '}')}
}
