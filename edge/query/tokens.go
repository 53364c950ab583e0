package query

import "tidemark/rankings"

// The parameters of the list of tokens, as indexes into tokenShape.names.
const (
	tokenChain = iota
	tokenSearch
	tokenPage
	tokenLimit
)

var tokenShape = paramSet{
	names: []string{
		tokenChain: "chainId", tokenSearch: "search", tokenPage: "page", tokenLimit: "limit",
	},
	mayEmpty: "search",
}

// Tokens reads the query of the list of tokens.
func (c Chains) Tokens(raw []byte) (rankings.TokenQuestion, error) {
	q := rankings.DefaultTokenQuestion()
	var buf valueBuffer
	for p := tokenShape.readPairs(raw); ; {
		name, v, err := p.next(buf[:0])
		if err != nil || name == noMorePairs {
			return q, err
		}

		switch as := tokenShape.names[name]; name {
		case tokenChain:
			q.Chain, err = c.parseChain(as, v)
		case tokenSearch:
			q.Search, err = parseSearch(as, v)
		case tokenPage:
			q.Page, err = parsePage(as, v)
		case tokenLimit:
			q.Limit, err = parseBetween(as, v, 1, maxLimit)
		}
		if err != nil {
			return q, err
		}
	}
}

// AppendTokens appends the canonical query of q; see AppendPositions.
func AppendTokens(dst []byte, q *rankings.TokenQuestion) []byte {
	d := rankings.DefaultTokenQuestion()
	out := queryPrinter{dst: dst, start: len(dst), names: tokenShape.names}
	out.appendInteger(tokenChain, uint64(q.Chain), 0)
	if q.Search != "" {
		out.appendText(tokenSearch, q.Search)
	}
	out.appendInteger(tokenPage, q.Page, d.Page)
	out.appendInteger(tokenLimit, q.Limit, d.Limit)
	return out.dst
}
