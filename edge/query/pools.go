package query

import (
	"fmt"
	"unicode/utf8"

	"tidemark/rankings"
)

// maxSearch bounds the text of a search, in characters.
const maxSearch = 64

// The parameters of the list of pools, as indexes into its shape.
const (
	poolChain = iota
	poolProtocol
	poolSort
	poolPage
	poolLimit
	poolMinTVL
	poolRisky
	poolSearch
)

var poolShape = shape{
	names: []string{
		poolChain: "chainId", poolProtocol: "protocol", poolSort: "sort",
		poolPage: "page", poolLimit: "limit", poolMinTVL: "minTvlUsd",
		poolRisky: "includeRisky", poolSearch: "search",
	},
	mayEmpty: "search",
}

// Pools reads the query of the list of pools.
func (c Chains) Pools(raw []byte) (rankings.PoolQuestion, error) {
	q := rankings.DefaultPoolQuestion()
	var buf scratch
	for p := poolShape.pairs(raw); ; {
		name, v, err := p.next(buf[:0])
		if err != nil || name == end {
			return q, err
		}
		if err = c.setPool(&q, name, v); err != nil {
			return q, err
		}
	}
}

func (c Chains) setPool(q *rankings.PoolQuestion, name int, v []byte) (err error) {
	as := poolShape.names[name]
	switch name {
	case poolChain:
		q.Chain, err = c.chain(as, v)
	case poolProtocol:
		err = served(v)
	case poolSort:
		err = set(&q.Sort, as, v, rankings.PoolSorts)
	case poolPage:
		q.Page, err = page(as, v)
	case poolLimit:
		q.Limit, err = between(as, v, 1, maxLimit)
	case poolMinTVL:
		q.MinTVLUsd, err = floor(as, v)
	case poolRisky:
		q.IncludeRisky, err = flag(as, v)
	case poolSearch:
		q.Search, err = search(as, v)
	}

	return err
}

func search(name string, v []byte) (string, error) {
	if n := utf8.RuneCount(v); n > maxSearch {
		return "", fmt.Errorf("%s has %d characters; allowed are up to %d", name, n, maxSearch)
	}
	return string(v), nil
}

// AppendPools appends the one query that every way to ask q comes to.
func AppendPools(dst []byte, q *rankings.PoolQuestion) []byte {
	d := rankings.DefaultPoolQuestion()
	out := printer{dst: dst, start: len(dst), names: poolShape.names}
	out.integer(poolChain, uint64(q.Chain), 0)
	if q.Sort != d.Sort {
		out.text(poolSort, q.Sort.String())
	}

	out.integer(poolPage, q.Page, d.Page)
	out.integer(poolLimit, q.Limit, d.Limit)
	out.floor(poolMinTVL, q.MinTVLUsd, d.MinTVLUsd)
	out.flag(poolRisky, q.IncludeRisky)
	if q.Search != "" {
		out.text(poolSearch, q.Search)
	}

	return out.dst
}
