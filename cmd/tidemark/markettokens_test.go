package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// showTokens asks for a page of tokens.
func (s *stage) showTokens(words, fields []string) []string {
	s.publish()
	asked := ""
	if len(words) > 1 {
		asked = words[1]
	}
	body := s.answered("/v1/tokens", asked)

	var lines []string
	for _, token := range body["tokens"].([]any) {
		lines = append(lines, show(token.(map[string]any), fields))
	}
	p := body["pagination"].(map[string]any)
	return append(lines, fmt.Sprintf("total %v, more %v", p["total"], p["hasMore"]))
}

// showToken asks for one token: its fields, its markets, and the checks that failed.
func (s *stage) showToken(words, fields []string) []string {
	s.publish()
	address := s.tokens(words[1:2])[0]
	body := s.answered(fmt.Sprintf("/v1/tokens/%d/%s", s.at.id, address), "")
	lines := []string{show(body, fields)}
	failed := func(of map[string]any) (names string) {
		for _, each := range of["checks"].([]any) {
			if check := each.(map[string]any); check["passed"] == false {
				names += ", fails " + check["name"].(string)
			}
		}
		return names
	}

	for _, each := range body["markets"].([]any) {
		m := each.(map[string]any)
		lines = append(lines, show(m, []string{"poolId", "priceUsd", "depthUsd", "used", "reason"})+failed(m))
	}
	return append(lines, fmt.Sprintf("checks of the token: %d%s", len(body["checks"].([]any)), failed(body)))
}

// plainTokens answers a page of tokens from the views of its chains.
func (s *stage) plainTokens(q rankings.TokenQuestion, err error) answer {
	s.must(err)
	page, total, err := rankings.PageTokens(s.views(q.Chain), &q)
	if errors.Is(err, rankings.ErrWarming) {
		return answer{warming: true}
	}
	s.must(err)

	body := []byte(`{"tokens":[`)
	for i := range page.Rows {
		r := &page.Rows[i]
		if i > 0 {
			body = append(body, ',')
		}
		body = render.AppendTokenRow(body, r.View.State, r.Index, r.View.PoolsOfToken(r.Index), r.Rank)
	}
	return answer{status: 200, body: string(render.AppendPagination(append(body, ']'), &render.Pagination{
		Page: q.Page, Limit: q.Limit, Total: total, HasMore: page.HasMore,
	})) + "}"}
}

// plainToken answers a question about one token.
func (s *stage) plainToken(path string) answer {
	part := strings.Split(path, "/")
	chain, err := strconv.ParseUint(part[3], 10, 64)
	s.must(err)
	address, err := market.ParseAddress(part[4])
	s.must(err)
	st := s.views(market.ChainID(chain))[0].State

	for i := range st.Tokens.Len() {
		if st.Tokens.At(i).Address == address {
			e := value.ExplainToken(st, &s.params, s.answers, i)
			pools := rankings.PoolsOfToken(st, i)
			return answer{status: 200, body: string(render.AppendToken(nil, st, &e, pools))}
		}
	}
	return answer{status: 404}
}
