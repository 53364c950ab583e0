package consistency

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The parameters of a list that the question left out.
const (
	defaultPage  = 1
	defaultLimit = 20
)

// CheckAnswer checks one complete answer by itself, for who reads answers under
// load: that it is JSON and has the fields of its route, each of its type, and
// that a list has the ranks, the order and the pagination that target asked for.
// The error is the first difference.
func CheckAnswer(status int, target string, body []byte) error {
	var decoded any
	if err := json.Unmarshal(body, &decoded); err != nil {
		return fmt.Errorf("not JSON: %w: %.100q", err, body)
	}
	m, _ := decoded.(map[string]any)
	if status != 200 {
		if text(m, "error") == "" {
			return fmt.Errorf("a %d without an error: %.100q", status, body)
		}
		return nil
	}

	route, query, _ := strings.Cut(target, "?")
	asked, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("cannot read the question %q: %w", query, err)
	}
	report := newReport()
	j := judge{report: report, rule: "answer", route: target}
	switch depth := strings.Count(route, "/"); {
	case route == "/v1/positions":
		j.ownList(m, "positions", positionOrders, positionFields, asked)
	case route == "/v1/pools":
		j.ownList(m, "pools", poolOrders, poolFields, asked)
	case depth == 5 && strings.HasPrefix(route, "/v1/positions/"):
		j.fieldsOf("", m, positionFields)
		j.fieldsOf("", m, map[string]kind{"transactions": isList})
	case depth == 5 && strings.HasPrefix(route, "/v1/pools/"):
		j.fieldsOf("", m, poolFields)
	case depth == 6 && strings.HasSuffix(route, "/charts"):
		j.fieldsOf("", m, chartFields)
	}

	if report.Different == 0 {
		return nil
	}
	return errors.New(report.Listed[0].String())
}

var chartFields = map[string]kind{
	"range": isText, "poolPrice": isList, "poolOverview": isGroup, "liquidityDistribution": isGroup,
}

// ownList checks a list by what it says itself: a page has the rows that its
// pagination promises, and no row is before one that its order puts first.
func (j judge) ownList(
	m map[string]any, name string, orders []*order, fields map[string]kind, asked url.Values,
) {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(asked.Get(name)); err == nil {
			return n
		}
		return otherwise
	}
	page, limit := number("page", defaultPage), number("limit", defaultLimit)
	j.fieldsOf("", m, map[string]kind{name: isList, "pagination": isGroup})
	rows := list(m, name)
	j.ownPagination(group(m, "pagination"), len(rows), page, limit)

	o := orders[0]
	if i := slices.IndexFunc(orders, func(o *order) bool { return o.name == asked.Get("sort") }); i >= 0 {
		o = orders[i]
	}
	for i, r := range rows {
		at := fmt.Sprintf("%s[%d]", name, i)
		j.fieldsOf(at, r, fields)
		j.equal(at+".rank", r["rank"], float64((page-1)*limit+i+1))
		if i > 0 {
			j.holds(at+" by "+o.name, o.allows(rows[i-1], r), o.value(r), "no row before it that is behind")
		}
	}
}

// ownPagination checks what can be known of a pagination from its page alone.
func (j judge) ownPagination(p map[string]any, rows, page, limit int) {
	j.equal("pagination.page", p["page"], float64(page))
	j.equal("pagination.limit", p["limit"], float64(limit))
	j.holds("pagination.limit", rows <= limit, float64(rows), fmt.Sprintf("at most %d rows", limit))

	ends := number(p, "total") <= float64(page*limit) && !flag(p, "totalCapped")
	if flag(p, "hasMore") {
		j.holds("pagination.hasMore", rows == limit && !ends, "true", "false, at the end of the list")
	}
}

// allows reports whether row b may follow row a. Values are what is shown, so
// equal neighbours and those that were cut off pass; unknown ones come last.
func (o *order) allows(a, b row) bool {
	x, y := o.value(a), o.value(b)
	if !known(x) || !known(y) {
		return !known(y)
	}
	if o.ascending {
		return x <= y
	}
	return x >= y
}
