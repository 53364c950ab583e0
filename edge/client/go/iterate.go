package tidemark

import (
	"context"
	"iter"
)

// largestPage is the largest limit that the API allows.
const largestPage = 100

// AllPositions iterates over a ranking of positions, page by page. It begins at
// the page of the query. An error ends the iteration.
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

// AllPools iterates over a ranking of pools like AllPositions.
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
