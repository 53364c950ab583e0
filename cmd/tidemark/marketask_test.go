package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/value"
)

// answer is a body, or why there is none.
type answer struct {
	status  int
	body    string
	warming bool // the records that it needs are not loaded yet
}

// asks are the questions: each returns the lines that it shows.
var asks map[string]func(s *stage, words, fields []string) []string

func init() {
	asks = map[string]func(*stage, []string, []string) []string{
		"positions":      (*stage).showPage,
		"pools":          (*stage).showPage,
		"positionsbatch": (*stage).showBatch,
		"poolsbatch":     (*stage).showBatch,
		"ticks":          (*stage).showTicks,
		"owner":          (*stage).showOwner,
		"tokens":         (*stage).showTokens,
		"priced":         (*stage).showToken,
		"position": func(s *stage, words, fields []string) []string {
			return s.showOne("positions", words[1], fields)
		},
		"pool": func(s *stage, words, fields []string) []string {
			return s.showOne("pools", script.Pool(words[1]).String(), fields)
		},
	}
}

func (s *stage) missing(words []string) {
	s.publish()
	if a := s.ask(s, s.detail("positions", words[0]), ""); a.status != 404 {
		s.t.Errorf("%s: answered %d", s.where, a.status)
	}
}

func (s *stage) showPage(words, fields []string) []string {
	s.publish()
	asked := ""
	if len(words) > 1 {
		asked = s.named(words[1])
	}

	rows, p := s.page(words[0], asked)
	var lines []string
	for _, row := range rows {
		lines = append(lines, show(row, fields))
	}

	total := fmt.Sprintf("total %v", p["total"])
	if p["totalCapped"] == true {
		total += " capped"
	}
	if p["hasMore"] == true {
		total += " more"
	}
	return append(lines, total)
}

func (s *stage) showOne(list, id string, fields []string) []string {
	s.publish()
	a := s.ask(s, s.detail(list, id), "")
	if a.status != 200 {
		s.t.Fatalf("%s: answered %d %s", s.where, a.status, a.body)
	}
	row := s.decode(a.body)
	s.checkRow(list, row)
	return []string{show(row, fields)}
}

func (s *stage) detail(list, id string) string {
	return fmt.Sprintf("/v1/%s/%d/%s/%s", list, s.at.id, market.Protocol, id)
}

// page asks for a page of a list, whose rows all have to add up.
func (s *stage) page(list, asked string) (rows []map[string]any, pagination map[string]any) {
	a := s.ask(s, "/v1/"+list, asked)
	if a.status != 200 {
		s.t.Fatalf("%s: answered %d %s", s.where, a.status, a.body)
	}
	body := s.decode(a.body)
	for _, row := range body[list].([]any) {
		rows = append(rows, row.(map[string]any))
		s.checkRow(list, row.(map[string]any))
	}
	return rows, body["pagination"].(map[string]any)
}

// decode reads a body. JSON has no way to say NaN or infinity.
func (s *stage) decode(body string) (m map[string]any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		s.t.Fatalf("%s: %s: %.300s", s.where, err, body)
	}
	return m
}

// askPlainly answers from the board without anything of the edge but the
// reading of questions and the rendering of rows.
func (s *stage) askPlainly(path, asked string) answer {
	chains := query.Chains{}
	for _, sc := range s.scenes {
		chains = append(chains, query.Chain{ID: sc.id, Enabled: true})
	}

	switch path {
	case "/v1/positions":
		q, err := chains.Positions([]byte(asked), new(query.Options))
		s.must(err)
		search, err := rankings.SearchPositions(s.views(q.Chain), &q)
		return s.plainPage("positions", search, err, q.Offset(), q.Page, q.Limit,
			func(dst []byte, row *rankings.Row) []byte {
				var m value.Metrics
				value.Position(row.View.State, row.Index, &m)
				return render.AppendPosition(dst, row.View.State, row.Index, &m, row.Rank)
			})
	case "/v1/pools":
		q, err := chains.Pools([]byte(asked), new(query.Options))
		s.must(err)
		search, err := rankings.SearchPools(s.views(q.Chain), &q)
		return s.plainPage("pools", search, err, q.Offset(), q.Page, q.Limit,
			func(dst []byte, row *rankings.Row) []byte {
				return render.AppendPool(dst, render.NewPool(row.View.State, row.Index), row.Rank)
			})
	case "/v1/tokens":
		return s.plainTokens(chains.Tokens([]byte(asked)))
	case "/v1/positions/batch":
		ids, err := chains.PositionBatch([]byte(asked))
		return s.plainBatch("positions", ids, err)
	case "/v1/pools/batch":
		ids, err := chains.PoolBatch([]byte(asked))
		return s.plainBatch("pools", ids, err)
	}

	if owner, ok := strings.CutPrefix(path, "/v1/owners/"); ok {
		return s.plainOwner(owner)
	}
	if strings.HasPrefix(path, "/v1/tokens/") {
		return s.plainToken(path)
	}
	if strings.HasSuffix(path, "/ticks") {
		return s.plainTicks(path, asked)
	}
	return s.plainDetail(path)
}

func (s *stage) views(id market.ChainID) (views []*rankings.View) {
	for _, sc := range s.scenes {
		if c, ok := s.board.Load().Chain(sc.id); ok && c.View != nil && (id == 0 || id == sc.id) {
			views = append(views, c.View)
		}
	}
	return views
}

func (s *stage) plainPage(
	list string, search *rankings.Search, err error, offset, number, limit uint64,
	row func([]byte, *rankings.Row) []byte,
) answer {
	if errors.Is(err, rankings.ErrWarming) {
		return answer{warming: true}
	}

	s.must(err)
	p := render.Pagination{Page: number, Limit: limit}
	var known bool
	if p.Total, known = search.Total(); !known {
		c := search.Count(math.MaxUint32)
		for !c.Step(1000) {
		}
		p.Total = c.Rows()
	}

	page, err := search.Page(s.store, offset, limit)
	s.must(err)
	body := []byte(`{"` + list + `":[`)
	for i := range page.Rows {
		if i > 0 {
			body = append(body, ',')
		}
		body = row(body, &page.Rows[i])
	}

	p.HasMore = page.HasMore
	return answer{status: 200, body: string(render.AppendPagination(append(body, ']'), &p)) + "}"}
}

func (s *stage) plainDetail(path string) answer {
	part := strings.Split(path, "/")
	id, err := strconv.ParseUint(part[3], 10, 64)
	s.must(err)
	st := s.views(market.ChainID(id))[0].State
	if part[2] == "pools" {
		for i := range st.Pools.Len() {
			if st.Pools.At(i).ID.String() == part[5] {
				return answer{status: 200, body: string(render.AppendPoolDetail(nil, render.NewPool(st, i)))}
			}
		}
		return answer{status: 404}
	}

	for i := range st.Positions.Len() {
		if strconv.FormatUint(st.Positions.At(i).ID, 10) == part[5] {
			var m value.Metrics
			value.Position(st, i, &m)
			return answer{status: 200, body: string(render.AppendPosition(nil, st, i, &m, 0))}
		}
	}

	return answer{status: 404}
}

// groups are where a field of a row is looked for that is not its own.
var groups = []string{"metrics", "amounts", "pricing", "poolStats"}

// show prints fields of a row.
func show(row map[string]any, fields []string) string {
	var words []string
	for _, field := range fields {
		words = append(words, text(find(row, field)))
	}
	return strings.Join(words, " ")
}

func find(row map[string]any, path string) any {
	first, rest, deeper := strings.Cut(path, ".")
	v, ok := row[first]
	for _, group := range groups {
		if inner, is := row[group].(map[string]any); is && !ok {
			v, ok = inner[first]
		}
	}

	if inner, is := v.(map[string]any); is && deeper {
		return find(inner, rest)
	}
	if !ok {
		return "no-such-field:" + first
	}

	return v
}

// text prints a value: an integer as it is, another number to six digits, an
// id by its name.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		if size := math.Abs(short); size != 0 && (size < 1e-4 || size >= 1e12) {
			return strconv.FormatFloat(short, 'g', -1, 64)
		}
		return strconv.FormatFloat(short, 'f', -1, 64)
	case string:
		if strings.HasPrefix(v, "0x") && len(v) > 20 {
			return nameOf(v)
		}
		return v
	case map[string]any:
		encoded, _ := json.Marshal(v)
		return string(encoded)
	}

	return fmt.Sprint(v)
}

// nameOf reads the name at the end of an id or an address.
func nameOf(id string) string {
	var name []byte
	for i := len(id); i > 2; i -= 2 {
		b, err := strconv.ParseUint(id[i-2:i], 16, 8)
		if err != nil || b < ' ' || b > '~' {
			break
		}
		name = append(name, byte(b))
	}

	if len(name) == 0 {
		return id
	}
	slices.Reverse(name)
	return string(name)
}
