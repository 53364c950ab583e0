package query

import (
	"strconv"

	"tidemark/rankings"
)

// maxLimit is the most rows of a page.
const maxLimit = 100

// The parameters of the list of positions, as indexes into its shape.
const (
	posChain = iota
	posProtocol
	posSort
	posPage
	posLimit
	posStatus
	posRange
	posOwner
	posPool
	posID
	posMinValue
	posMinPoolTVL
	posRisky
)

var positionShape = shape{names: []string{
	posChain: "chainId", posProtocol: "protocol", posSort: "sort", posPage: "page",
	posLimit: "limit", posStatus: "status", posRange: "range", posOwner: "owner",
	posPool: "poolId", posID: "positionId", posMinValue: "minValueUsd",
	posMinPoolTVL: "minPoolTvl", posRisky: "includeRisky",
}}

// Positions reads the query of the list of positions.
func (c Chains) Positions(raw []byte) (rankings.PositionQuestion, error) {
	q := rankings.DefaultPositionQuestion()
	var buf scratch
	for p := positionShape.pairs(raw); ; {
		name, v, err := p.next(buf[:0])
		if err != nil || name == end {
			return q, err
		}
		if err = c.setPosition(&q, name, v); err != nil {
			return q, err
		}
	}
}

func (c Chains) setPosition(q *rankings.PositionQuestion, name int, v []byte) (err error) {
	as := positionShape.names[name]
	switch name {
	case posChain:
		q.Chain, err = c.chain(as, v)
	case posProtocol:
		err = served(v)
	case posSort:
		err = set(&q.Sort, as, v, rankings.PositionSorts)
	case posPage:
		q.Page, err = page(as, v)
	case posLimit:
		q.Limit, err = between(as, v, 1, maxLimit)
	case posStatus:
		err = set(&q.Status, as, v, rankings.Statuses)
	case posRange:
		err = set(&q.Range, as, v, rankings.Ranges)
	case posOwner:
		q.Owner, err = address(as, v)
	case posPool:
		id, bad := pool(v)
		q.Pool, err = &id, bad
	case posID:
		id, ok := tokenID(v)
		if q.ID = &id; !ok {
			q.ID, q.NoSuchID = nil, true
		}
	case posMinValue:
		q.MinValueUsd, err = floor(as, v)
	case posMinPoolTVL:
		q.MinPoolTVLUsd, err = floor(as, v)
	case posRisky:
		q.IncludeRisky, err = flag(as, v)
	}

	return err
}

// nobody is a positionId that every NoSuchID question prints as.
const nobody = "none"

// AppendPositions appends the one query that every way to ask q comes to:
// parameters in a fixed order, defaults left out.
func AppendPositions(dst []byte, q *rankings.PositionQuestion) []byte {
	d := rankings.DefaultPositionQuestion()
	out := printer{dst: dst, start: len(dst), names: positionShape.names}
	out.integer(posChain, uint64(q.Chain), 0)
	if q.Sort != d.Sort {
		out.text(posSort, q.Sort.String())
	}
	out.integer(posPage, q.Page, d.Page)
	out.integer(posLimit, q.Limit, d.Limit)
	if q.Status != d.Status {
		out.text(posStatus, q.Status.String())
	}
	if q.Range != d.Range {
		out.text(posRange, q.Range.String())
	}

	if q.Owner != nil {
		out.dst = q.Owner.AppendHex(out.name(posOwner))
	}
	if q.Pool != nil {
		out.dst = q.Pool.AppendHex(out.name(posPool))
	}

	switch {
	case q.NoSuchID:
		out.text(posID, nobody)
	case q.ID != nil:
		out.dst = strconv.AppendUint(out.name(posID), *q.ID, 10)
	}

	out.floor(posMinValue, q.MinValueUsd, d.MinValueUsd)
	out.floor(posMinPoolTVL, q.MinPoolTVLUsd, d.MinPoolTVLUsd)
	out.flag(posRisky, q.IncludeRisky)
	return out.dst
}
