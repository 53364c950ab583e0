package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/value"
)

// showBatch asks for rows by their ids on the chain of the script.
func (s *stage) showBatch(words, fields []string) []string {
	s.publish()
	list, _ := strings.CutSuffix(words[0], "batch")
	var ids []string
	for id := range strings.SplitSeq(words[1], ",") {
		if list == "pools" {
			id = script.Pool(id).String()
		}
		ids = append(ids, fmt.Sprintf("%d-%s", s.at.id, id))
	}

	body := s.answered("/v1/"+list+"/batch", "ids="+strings.Join(ids, ","))
	var lines []string
	for _, row := range body[list].([]any) {
		s.checkRow(list, row.(map[string]any))
		lines = append(lines, show(row.(map[string]any), fields))
	}
	for _, id := range body["missing"].([]any) {
		_, id, _ := strings.Cut(id.(string), "-")
		lines = append(lines, "missing "+text(id))
	}
	return lines
}

// answered asks for an answer that has to be there.
func (s *stage) answered(path, asked string) map[string]any {
	a := s.ask(s, path, asked)
	if a.status != 200 {
		s.t.Fatalf("%s: answered %d %s", s.where, a.status, a.body)
	}
	return s.decode(a.body)
}

// plainBatch answers a batch from the views of its chains.
func (s *stage) plainBatch(list string, ids []query.BatchID, err error) answer {
	s.must(err)
	body, missing := []byte(`{"`+list+`":[`), []string(nil)
	for k := range ids {
		v, id := s.views(ids[k].Chain)[0], &ids[k]
		i, ok := v.Position(id.Position)
		if list == "pools" {
			i, ok = v.Pool(id.Pool)
		}
		if !ok || id.NoPosition {
			missing = append(missing, id.Text)
			continue
		}

		if body[len(body)-1] != '[' {
			body = append(body, ',')
		}
		if list == "pools" {
			body = render.AppendPool(body, render.NewPool(v.State, i), 0)
			continue
		}
		var m value.Metrics
		value.Position(v.State, i, &m)
		body = render.AppendPosition(body, v.State, i, &m, 0)
	}
	return answer{status: 200, body: string(append(render.AppendMissingIDs(append(body, ']'), missing), '}'))}
}

// showTicks asks for a page of a pool's ticks.
func (s *stage) showTicks(words, fields []string) []string {
	s.publish()
	asked := ""
	if len(words) > 2 {
		asked = words[2]
	}
	body := s.answered(s.detail("pools", script.Pool(words[1]).String())+"/ticks", asked)

	var lines []string
	for _, tick := range body["ticks"].([]any) {
		lines = append(lines, show(tick.(map[string]any), fields))
	}
	p := body["pagination"].(map[string]any)
	return append(lines, fmt.Sprintf("at %v of %v, total %v, more %v",
		body["currentTick"], body["liquidity"], p["total"], p["hasMore"]))
}

// plainTicks answers a page of ticks from the view of the pool's chain.
func (s *stage) plainTicks(path, asked string) answer {
	q, err := query.Ticks([]byte(asked))
	s.must(err)
	part := strings.Split(path, "/")
	chain, err := strconv.ParseUint(part[3], 10, 64)
	s.must(err)
	id, err := market.ParsePoolID(part[5])
	s.must(err)
	v := s.views(market.ChainID(chain))[0]
	i, ok := v.Pool(id)
	if !ok {
		return answer{status: 404}
	}

	refs := v.State.TickLists.At(i)
	from := min(rankings.Offset(q.Page, q.Limit), uint64(len(refs)))
	to := min(from+q.Limit, uint64(len(refs)))
	body := render.AppendPagination(render.AppendTicks(nil, v.State, i, refs[from:to]), &render.Pagination{
		Page: q.Page, Limit: q.Limit, Total: uint64(len(refs)), HasMore: to < uint64(len(refs)),
	})
	return answer{status: 200, body: string(body) + "}"}
}

// showOwner asks what a person holds.
func (s *stage) showOwner(words, fields []string) []string {
	s.publish()
	body := s.answered("/v1/owners/"+script.Person(words[1]).String(), "")
	var lines []string
	for _, chain := range body["chains"].([]any) {
		c := chain.(map[string]any)
		lines = append(lines, fmt.Sprint(c["chainId"])+": "+show(c, fields))
	}
	return append(lines, "total: "+show(body["total"].(map[string]any), fields))
}

// plainOwner answers what an owner holds from the views of all chains.
func (s *stage) plainOwner(address string) answer {
	owner, err := market.ParseAddress(address)
	s.must(err)
	var chains []render.Holdings
	for _, v := range s.views(0) {
		walk, err := v.Holdings(&owner)
		if errors.Is(err, rankings.ErrWarming) {
			return answer{warming: true}
		}
		s.must(err)

		for !walk.Step(3) {
		}
		chains = append(chains, render.Holdings{Chain: v.State.Chain, Holdings: walk.Sums()})
	}
	return answer{status: 200, body: string(render.AppendOwner(nil, &owner, chains)) + "}"}
}
