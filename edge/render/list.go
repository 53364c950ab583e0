package render

import "tidemark/rankings/market"

// Pagination is the pagination object of a list.
type Pagination struct {
	Page, Limit, Total uint64
	HasMore            bool
	Capped             bool // Total is a floor
}

// CapTotal makes the total of a page a lower bound, since counting stops at limit: it
// is at least the number of rows that are known to exist. Before the page are offset
// rows, and on it some.
func (p *Pagination) CapTotal(offset, rows, limit uint64) {
	p.Capped, p.Total = true, min(p.Total, limit)
	if rows == 0 {
		return
	}

	// Every row up to this page exists, and one more when HasMore says so.
	seen := offset + rows
	if p.HasMore {
		seen++
	}
	p.Total = max(p.Total, seen)
}

// AppendPagination appends the field pagination, which follows a list's rows.
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

// AppendMissing appends the flags of a list in which some chains are missing, and
// nothing if none is.
func AppendMissing(dst []byte, missing []market.ChainID) []byte {
	if len(missing) == 0 {
		return dst
	}
	return append(appendChainIDs(append(dst, `,"partial":true,"missingChains":[`...), missing), ']')
}

// AppendMissingIDs appends the field missing, which follows a batch's rows: the
// ids of nothing that exists.
func AppendMissingIDs(dst []byte, ids []string) []byte {
	dst = append(dst, `,"missing":[`...)
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(dst, id)
	}
	return append(dst, ']')
}

// AppendStale appends the flags of an answer whose data, of that unix time in
// milliseconds, is too old.
func AppendStale(dst []byte, dataAsOf int64) []byte {
	return moment(append(dst, `,"stale":true,"dataAsOf":`...), dataAsOf)
}

// AppendAsOf appends the field asOf, a unix time in milliseconds.
func AppendAsOf(dst []byte, asOf int64) []byte { return moment(append(dst, `,"asOf":`...), asOf) }

func appendChainIDs(dst []byte, ids []market.ChainID) []byte {
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = integer(dst, id)
	}
	return dst
}
