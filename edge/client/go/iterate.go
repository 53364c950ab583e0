package tidemark

import (
	"cmp"
	"context"
	"iter"
)

// largestPage is the largest limit that the API allows.
const largestPage = 100

// pin asks for the newest generations, and for them to be kept.
const pin = "pin"

// AllPositions iterates over a ranking of positions, page by page. It begins at
// the page of the query. All pages are from the generations of the first one, so that
// no row is missing or comes twice. An error ends the iteration.
func (c *Client) AllPositions(ctx context.Context, q PositionsQuery) iter.Seq2[*Position, error] {
	q.Page, q.Limit = max(1, q.Page), cmp.Or(q.Limit, largestPage)
	q.Generation = cmp.Or(q.Generation, pin)
	return func(yield func(*Position, error) bool) {
		for q := q; ; q.Page++ {
			page, generation, err := getFrom[PositionList](ctx, c, "/v1/positions", q.values())
			if err != nil {
				yield(nil, err)
				return
			}
			q.Generation = generation

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
	q.Page, q.Limit = max(1, q.Page), cmp.Or(q.Limit, largestPage)
	q.Generation = cmp.Or(q.Generation, pin)
	return func(yield func(*Pool, error) bool) {
		for q := q; ; q.Page++ {
			page, generation, err := getFrom[PoolList](ctx, c, "/v1/pools", q.values())
			if err != nil {
				yield(nil, err)
				return
			}
			q.Generation = generation

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
