package render

import "tidemark/rankings/market"

// Pagination is how a list stands to its whole.
type Pagination struct {
	Page, Limit, Total uint64
	HasMore            bool
	Capped             bool // Total is a floor
}

// AppendPagination appends the field that follows a list's rows.
func AppendPagination(dst []byte, p *Pagination) []byte {
	dst = integer(append(dst, `,"pagination":{"page":`...), p.Page)
	dst = integer(append(dst, `,"limit":`...), p.Limit)
	dst = integer(append(dst, `,"total":`...), p.Total)
	dst = integer(append(dst, `,"totalPages":`...), (p.Total+p.Limit-1)/p.Limit)
	dst = boolean(append(dst, `,"hasMore":`...), p.HasMore)
	if p.Capped {
		dst = append(dst, `,"totalCapped":true`...)
	}
	return append(dst, '}')
}

// AppendMissing appends the flags of a list without some chains; nothing when
// none is missing.
func AppendMissing(dst []byte, missing []market.ChainID) []byte {
	if len(missing) == 0 {
		return dst
	}
	return append(chainIDs(append(dst, `,"partial":true,"missingChains":[`...), missing), ']')
}

// AppendStale appends the flags of an answer from data of that unix
// millisecond, which was found too old when it was sent.
func AppendStale(dst []byte, dataAsOf int64) []byte {
	return moment(append(dst, `,"stale":true,"dataAsOf":`...), dataAsOf)
}

func chainIDs(dst []byte, ids []market.ChainID) []byte {
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = integer(dst, id)
	}
	return dst
}
