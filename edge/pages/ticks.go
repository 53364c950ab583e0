package pages

import (
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// appendTicks appends a page of the initialised ticks of a pool.
func appendTicks(dst []byte, q *Question, st *market.State, pool uint32) []byte {
	refs := st.TickLists.At(pool)
	total := uint64(len(refs))
	from := min(rankings.Offset(q.Paging.Page, q.Paging.Limit), total)
	to := min(from+q.Paging.Limit, total)

	dst = render.AppendTicks(dst, st, pool, refs[from:to])
	dst = render.AppendPagination(dst, &render.Pagination{
		Page: q.Paging.Page, Limit: q.Paging.Limit, Total: total, HasMore: to < total,
	})
	return append(dst, '}')
}
