package pages

import (
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/value"
)

// answerTokens answers a question for a page of tokens.
func (p *Pages) answerTokens(q *Question) (Reply, *render.Error) {
	sc, err := p.scopeOf(q, q.Tokens.Chain)
	if err != nil {
		return Reply{}, err
	}

	text := query.AppendTokens(append(q.text[:0], "tokens?"...), &q.Tokens)
	key := sc.appendKey(text[len(text):], text)
	page, ok := p.cache.get(key)
	if !ok {
		found, total, err := rankings.PageTokens(sc.views, &q.Tokens)
		if err != nil {
			return Reply{}, listError(err)
		}
		page = renderTokens(q, &sc, &found, total)
		page.key = string(key)
		p.cache.put(page)
	}
	return p.listReply(page, sc.views), nil
}

// renderTokens renders a page of tokens.
func renderTokens(q *Question, sc *scope, found *rankings.Page, total uint64) *Page {
	dst := append(make([]byte, 0, tokenBytes*(len(found.Rows)+1)), `{"tokens":[`...)
	for i := range found.Rows {
		r := &found.Rows[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		pools := r.View.PoolsOfToken(r.Index)
		dst = render.AppendTokenRow(dst, r.View.State, r.Index, pools, r.Rank)
	}

	dst = render.AppendPagination(append(dst, ']'), &render.Pagination{
		Page: q.Tokens.Page, Limit: q.Tokens.Limit, Total: total, HasMore: found.HasMore,
	})
	return &Page{
		Body: append(render.AppendMissing(dst, sc.missing), '}'), free: len(sc.missing) > 0,
		Generations: formatGenerations(sc.views...),
	}
}

// answerToken answers a question about one token. Solving its price takes what an
// explanation does.
func (p *Pages) answerToken(q *Question) (Reply, *render.Error) {
	sc, err := p.scopeOf(q, q.Chain)
	if err != nil {
		return Reply{}, err
	}

	v := sc.views[0]
	token, ok := v.Token(*q.Token)
	if !ok {
		return Reply{}, absentToken(v)
	}
	text := q.Token.AppendHex(append(append(q.text[:0], q.Route.Path()...), ' '))
	key := sc.appendKey(text[len(text):], text)
	page, ok := p.cache.get(key)
	if !ok {
		pools := rankings.PoolsOfToken(v.State, token)
		if pools.Pools == 0 { // a reorganisation took them back
			return Reply{}, absentToken(v)
		}
		page = &Page{
			Body: p.renderToken(v, token, pools), Generations: formatGenerations(v), key: string(key),
		}
		p.cache.put(page)
	}
	return Reply{Page: page, AsOf: v.Confirmed()}, nil
}

func absentToken(v *rankings.View) *render.Error {
	return render.AbsentToken(formatGenerations(v), v.State.Chain)
}

func (p *Pages) renderToken(v *rankings.View, token uint32, pools rankings.TokenPools) []byte {
	params, answers := p.pricesOf(v)
	e := value.ExplainToken(v.State, params, answers, token)
	return render.AppendToken(nil, v.State, &e, pools)
}

// pricesOf returns the thresholds and the feed's answers that the prices of a view
// were solved with. A view that was restored has the present answers.
func (p *Pages) pricesOf(v *rankings.View) (*value.Params, []value.FeedPrice) {
	params, answers := p.cfg.Prices(v.State.Chain)
	if v.FeedPrices != nil {
		answers = v.FeedPrices
	}
	return params, answers
}
