package tidemark

import (
	"context"
	"iter"
)

// largestPage is the most rows that a page may have.
const largestPage = 100

// AllPositions reads a ranking page by page until there are no more. The page
// of the query is where it begins. A failure is the last pair.
func (c *Client) AllPositions(ctx context.Context, q PositionsQuery) iter.Seq2[*Position, error] {
	q.Page, q.Limit = max(1, q.Page), orLargest(q.Limit)
	return func(yield func(*Position, error) bool) {
		for q := q; ; q.Page++ {
			page, err := c.Positions(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Positions {
				if !yield(&page.Positions[i], nil) {
					return
				}
			}
			if !page.Pagination.HasMore {
				return
			}
		}
	}
}

// AllPools reads a ranking of pools as AllPositions does one of positions.
func (c *Client) AllPools(ctx context.Context, q PoolsQuery) iter.Seq2[*Pool, error] {
	q.Page, q.Limit = max(1, q.Page), orLargest(q.Limit)
	return func(yield func(*Pool, error) bool) {
		for q := q; ; q.Page++ {
			page, err := c.Pools(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Pools {
				if !yield(&page.Pools[i], nil) {
					return
				}
			}
			if !page.Pagination.HasMore {
				return
			}
		}
	}
}

func orLargest(limit int64) int64 {
	if limit == 0 {
		return largestPage
	}
	return limit
}
