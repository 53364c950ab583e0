package query

import "tidemark/rankings"

// maxLimit is the largest number of rows of a page.
const maxLimit = 100

// The parameters of the list of positions, as indexes into positionShape.names.
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
	posTokens
	posFee
	posHooks
	posCut
	posFormat
	posFields
	posAfter
)

var positionNames = []string{
	posChain: "chainId", posProtocol: "protocol", posSort: "sort", posPage: "page",
	posLimit: "limit", posStatus: "status", posRange: "range", posOwner: "owner",
	posPool: "poolId", posID: "positionId", posMinValue: "minValueUsd",
	posMinPoolTVL: "minPoolTvl", posRisky: "includeRisky",
	posTokens: "tokens", posFee: "fee", posHooks: "hooks", posCut: "generation",
	posFormat: "format", posFields: "fields", posAfter: "after",
}

// The list of positions and its export take the same parameters, but for those that
// say which part of the list is asked for.
var (
	positionShape = paramSet{
		names: positionNames, omitted: 1<<posFormat | 1<<posFields | 1<<posAfter,
	}
	positionExportShape = paramSet{names: positionNames, omitted: 1<<posPage | 1<<posLimit}
)

// Positions reads the query of the list of positions, and its options into o.
func (c Chains) Positions(raw []byte, o *Options) (rankings.PositionQuestion, error) {
	return c.readPositions(&positionShape, raw, o)
}

// PositionExport reads the query of the export of positions; see Positions.
func (c Chains) PositionExport(raw []byte, o *Options) (rankings.PositionQuestion, error) {
	return c.readPositions(&positionExportShape, raw, o)
}

func (c Chains) readPositions(
	shape *paramSet, raw []byte, o *Options,
) (rankings.PositionQuestion, error) {
	q := rankings.DefaultPositionQuestion()
	var buf valueBuffer
	for p := shape.readPairs(raw); ; {
		name, v, err := p.next(buf[:0])

		switch {
		case err != nil:
			return q, err
		case name == noMorePairs:
			return q, o.Cut.checkChain(q.Chain)
		case name >= posCut:
			err = c.setOption(o, name-posCut, shape.names[name], v)
		default:
			err = c.setPosition(&q, name, v)
		}
		if err != nil {
			return q, err
		}
	}
}

// setPosition sets the parameter with that index.
func (c Chains) setPosition(q *rankings.PositionQuestion, name int, v []byte) (err error) {
	as := positionNames[name]
	switch name {
	case posChain:
		q.Chain, err = c.parseChain(as, v)
	case posProtocol:
		err = checkProtocol(v)
	case posSort:
		err = parseName(&q.Sort, as, v, rankings.PositionSorts)
	case posPage:
		q.Page, err = parsePage(as, v)
	case posLimit:
		q.Limit, err = parseBetween(as, v, 1, maxLimit)
	case posStatus:
		err = parseName(&q.Status, as, v, rankings.Statuses)
	case posRange:
		err = parseName(&q.Range, as, v, rankings.Ranges)
	case posOwner:
		q.Owner, err = parseAddress(as, v)
	case posPool:
		id, bad := parsePool(v)
		q.Pool, err = &id, bad
	case posID:
		id, ok := parseTokenID(v)
		if q.ID = &id; !ok {
			q.ID, q.NoSuchID = nil, true
		}
	case posMinValue:
		q.MinValueUsd, err = parseFloor(as, v)
	case posMinPoolTVL:
		q.MinPoolTVLUsd, err = parseFloor(as, v)
	case posRisky:
		q.IncludeRisky, err = parseFlag(as, v)
	case posTokens:
		q.Key.Tokens, err = parseTokens(as, v)
	case posFee:
		q.Key.Fee, err = parseFee(as, v)
	case posHooks:
		err = setHooks(&q.Key, as, v)
	}

	return err
}

// noPosition is the positionId that AppendPositions prints for NoSuchID.
const noPosition = "none"

// AppendPositions appends the canonical query of q, which is the same for all
// queries that mean q: parameters in a fixed order, without those at their default.
func AppendPositions(dst []byte, q *rankings.PositionQuestion) []byte {
	d := rankings.DefaultPositionQuestion()
	out := queryPrinter{dst: dst, start: len(dst), names: positionNames}
	out.appendInteger(posChain, uint64(q.Chain), 0)
	if q.Sort != d.Sort {
		out.appendText(posSort, q.Sort.String())
	}
	out.appendInteger(posPage, q.Page, d.Page)
	out.appendInteger(posLimit, q.Limit, d.Limit)
	if q.Status != d.Status {
		out.appendText(posStatus, q.Status.String())
	}
	if q.Range != d.Range {
		out.appendText(posRange, q.Range.String())
	}

	if q.Owner != nil {
		out.dst = q.Owner.AppendHex(out.appendName(posOwner))
	}
	if q.Pool != nil {
		out.dst = q.Pool.AppendHex(out.appendName(posPool))
	}

	switch {
	case q.NoSuchID:
		out.appendText(posID, noPosition)
	case q.ID != nil:
		out.appendNumber(posID, *q.ID)
	}

	out.appendFloor(posMinValue, q.MinValueUsd, d.MinValueUsd)
	out.appendFloor(posMinPoolTVL, q.MinPoolTVLUsd, d.MinPoolTVLUsd)
	out.appendFlag(posRisky, q.IncludeRisky)
	out.appendKeyFilter(posTokens, &q.Key)
	return out.dst
}
