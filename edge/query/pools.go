package query

import (
	"fmt"
	"unicode/utf8"

	"tidemark/rankings"
)

// maxSearch is the longest text of a search in characters.
const maxSearch = 64

// The parameters of the list of pools, as indexes into poolShape.names.
const (
	poolChain = iota
	poolProtocol
	poolSort
	poolPage
	poolLimit
	poolMinTVL
	poolRisky
	poolSearch
	poolTokens
	poolFee
	poolHooks
	poolCut
	poolFormat
	poolFields
	poolAfter
)

var poolNames = []string{
	poolChain: "chainId", poolProtocol: "protocol", poolSort: "sort",
	poolPage: "page", poolLimit: "limit", poolMinTVL: "minTvlUsd",
	poolRisky: "includeRisky", poolSearch: "search",
	poolTokens: "tokens", poolFee: "fee", poolHooks: "hooks",
	poolCut: "generation", poolFormat: "format", poolFields: "fields", poolAfter: "after",
}

// The list of pools and its export; see positionShape.
var (
	poolShape = paramSet{
		names: poolNames, mayEmpty: "search",
		omitted: 1<<poolFormat | 1<<poolFields | 1<<poolAfter,
	}
	poolExportShape = paramSet{
		names: poolNames, mayEmpty: "search", omitted: 1<<poolPage | 1<<poolLimit,
	}
)

// Pools reads the query of the list of pools, and its options into o.
func (c Chains) Pools(raw []byte, o *Options) (rankings.PoolQuestion, error) {
	return c.readPools(&poolShape, raw, o)
}

// PoolExport reads the query of the export of pools; see Pools.
func (c Chains) PoolExport(raw []byte, o *Options) (rankings.PoolQuestion, error) {
	return c.readPools(&poolExportShape, raw, o)
}

func (c Chains) readPools(
	shape *paramSet, raw []byte, o *Options,
) (rankings.PoolQuestion, error) {
	q := rankings.DefaultPoolQuestion()
	var buf valueBuffer
	for p := shape.readPairs(raw); ; {
		name, v, err := p.next(buf[:0])

		switch {
		case err != nil:
			return q, err
		case name == noMorePairs:
			return q, o.Cut.checkChain(q.Chain)
		case name >= poolCut:
			err = c.setOption(o, name-poolCut, shape.names[name], v)
		default:
			err = c.setPool(&q, name, v)
		}
		if err != nil {
			return q, err
		}
	}
}

// setPool sets the parameter with that index.
func (c Chains) setPool(q *rankings.PoolQuestion, name int, v []byte) (err error) {
	as := poolNames[name]
	switch name {
	case poolChain:
		q.Chain, err = c.parseChain(as, v)
	case poolProtocol:
		err = checkProtocol(v)
	case poolSort:
		err = parseName(&q.Sort, as, v, rankings.PoolSorts)
	case poolPage:
		q.Page, err = parsePage(as, v)
	case poolLimit:
		q.Limit, err = parseBetween(as, v, 1, maxLimit)
	case poolMinTVL:
		q.MinTVLUsd, err = parseFloor(as, v)
	case poolRisky:
		q.IncludeRisky, err = parseFlag(as, v)
	case poolSearch:
		q.Search, err = parseSearch(as, v)
	case poolTokens:
		q.Key.Tokens, err = parseTokens(as, v)
	case poolFee:
		q.Key.Fee, err = parseFee(as, v)
	case poolHooks:
		err = setHooks(&q.Key, as, v)
	}

	return err
}

// parseSearch reads the text of a search.
func parseSearch(name string, v []byte) (string, error) {
	if n := utf8.RuneCount(v); n > maxSearch {
		return "", fmt.Errorf("%s has %d characters; allowed are up to %d", name, n, maxSearch)
	}
	return string(v), nil
}

// AppendPools appends the canonical query of q; see AppendPositions.
func AppendPools(dst []byte, q *rankings.PoolQuestion) []byte {
	d := rankings.DefaultPoolQuestion()
	out := queryPrinter{dst: dst, start: len(dst), names: poolNames}
	out.appendInteger(poolChain, uint64(q.Chain), 0)
	if q.Sort != d.Sort {
		out.appendText(poolSort, q.Sort.String())
	}

	out.appendInteger(poolPage, q.Page, d.Page)
	out.appendInteger(poolLimit, q.Limit, d.Limit)
	out.appendFloor(poolMinTVL, q.MinTVLUsd, d.MinTVLUsd)
	out.appendFlag(poolRisky, q.IncludeRisky)
	if q.Search != "" {
		out.appendText(poolSearch, q.Search)
	}
	out.appendKeyFilter(poolTokens, &q.Key)

	return out.dst
}
