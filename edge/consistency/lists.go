package consistency

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// order is one way to sort a list.
type order struct {
	name      string
	ascending bool
	value     func(row) float64 // NaN comes last
	wants     func(row) bool    // nil: every row
	cut       bool              // rows show the value cut off at mostPercent
}

// question is one list with its filters, and the rows that it should have.
type question struct {
	list, query string
	order       *order
	admits      func(row) bool
}

// expectedRows returns the rows of a question in order, of one snapshot or of
// several.
func (q *question) expectedRows(snapshots ...*snapshot) (rows []row) {
	for _, s := range snapshots {
		all := s.positions
		if q.list == "pools" {
			all = s.pools
		}
		for _, r := range all {
			if q.admits(r) && (q.order.wants == nil || q.order.wants(r)) {
				rows = append(rows, r)
			}
		}
	}

	q.order.sort(rows)
	return rows
}

// sort orders rows of one chain or of several.
func (o *order) sort(rows []row) {
	// The values are read once: sorting asks for them n log n times.
	values := make(map[string]float64, len(rows))
	for _, r := range rows {
		values[keyOf(r)] = o.value(r)
	}

	slices.SortFunc(rows, func(a, b row) int {
		x, y := values[keyOf(a)], values[keyOf(b)]
		if !known(x) || !known(y) {
			return cmp.Or(-cmp.Compare(known01(x), known01(y)), compareIDs(a, b))
		}
		if !o.ascending {
			x, y = y, x
		}
		return cmp.Or(cmp.Compare(x, y), compareIDs(a, b))
	})
}

func known01(x float64) int {
	if known(x) {
		return 1
	}
	return 0
}

// idOf is a position's or a pool's own id.
func idOf(r row) string {
	if id := text(r, "positionId"); id != "" {
		return id
	}
	return text(r, "poolId")
}

func keyOf(r row) string { return integer(number(r, "chainId")) + "-" + idOf(r) }

// compareIDs orders rows of equal value: by chain, then by id.
func compareIDs(a, b row) int {
	return cmp.Or(
		cmp.Compare(number(a, "chainId"), number(b, "chainId")),
		cmp.Compare(len(idOf(a)), len(idOf(b))), cmp.Compare(idOf(a), idOf(b)))
}

// path is the question as it is asked; chain 0 is all.
func (q *question) path(chain int64, page, limit int) string {
	path := fmt.Sprintf("/v1/%s?%s&page=%d&limit=%d", q.list, q.query, page, limit)
	if chain != 0 {
		path += fmt.Sprintf("&chainId=%d", chain)
	}
	return path
}

// walkList asks for every page of a question, or for the first, the last and the
// one after it.
func (c *checker) walkList(chain int64, q question, limit int, every bool) error {
	var rows []row
	var of *snapshot
	for page, last := 1, 1; page <= last+1; page++ {
		err := c.with(chain, q.path(chain, page, limit), func(s *snapshot, a *answer) {
			if of != s {
				rows, of = q.expectedRows(s), s
			}
			c.judge("list", a.path).checkPage(a, &q, rows, page, limit)
		})
		if err != nil {
			return err
		}

		last = max((len(rows)+limit-1)/limit, 1)
		if !every && page == 1 {
			page = max(page, last-1)
		}
	}
	return nil
}

// checkPage checks one page: its rows, their order and values, and the pagination.
func (j judge) checkPage(a *answer, q *question, rows []row, page, limit int) {
	got := list(a.object(), q.list)
	from := min((page-1)*limit, len(rows))
	j.checkPagination(group(a.object(), "pagination"), len(rows), len(got), page, limit)
	j.checkRows(q, got, rows[from:min(from+limit, len(rows))], from)
}

// checkRows checks the rows of a page, so many of which stand before it.
func (j judge) checkRows(q *question, got, want []row, from int) {
	j.by("list").holds(q.list, len(got) == len(want), len(got), fmt.Sprintf("%d rows", len(want)))

	for i := range min(len(got), len(want)) {
		at := fmt.Sprintf("%s[%d]", q.list, i)
		j.by("rank").equal(at+".rank", got[i]["rank"], float64(from+i+1))
		value, wanted := q.order.value(got[i]), q.order.value(want[i])
		j.by("order").near(at+" by "+q.order.name, value, wanted, 0)
		if keyOf(got[i]) == keyOf(want[i]) {
			j.by("row in list").leaves(at, got[i], want[i], "rank")
			continue
		}

		// The order is by the value before it was cut off, which no answer has.
		if !q.order.cut || !(math.Abs(value) >= mostPercent) {
			j.by("order").equal(at, keyOf(got[i]), keyOf(want[i]))
		}
	}
}

// checkPagination checks the counts of a page that has so many of all rows.
func (j judge) checkPagination(p map[string]any, all, rows, page, limit int) {
	j = j.by("pagination")
	j.equal("pagination.page", p["page"], float64(page))
	j.equal("pagination.limit", p["limit"], float64(limit))
	j.equal("pagination.hasMore", p["hasMore"], page*limit < all)

	total := all
	if flag(p, "totalCapped") || all > j.totalCap {
		j.equal("pagination.totalCapped", flag(p, "totalCapped"), all > j.totalCap)
		total = min(all, j.totalCap)
		if rows > 0 {
			total = max(total, min(page*limit+1, all))
		}
	}
	j.equal("pagination.total", p["total"], float64(total))
	j.equal("pagination.totalPages", p["totalPages"], float64((total+limit-1)/limit))
}

// digits is an integer in a string as a float, for orders.
func digits(text string) float64 {
	v := integerOf(text)
	if v == nil {
		return math.NaN()
	}
	x, _ := new(big.Float).SetInt(v).Float64()
	return x
}
