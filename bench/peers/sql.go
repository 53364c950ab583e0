package main

import (
	"fmt"
	"strings"

	"tidemark/rankings"
)

// What PostgreSQL and SQLite are asked. Both have the same tables:
//
//	position   what is sorted and filtered by, narrow, so that scans are short
//	body       the rest of the answer, by row
//	mark       see marks
//
// and the same indexes: for every list one in its order, partial where the list
// is. The lists of all chains also carry what filters look at, so that a filter
// walks an order without touching the table; and a count has an index of its
// own, by value.

// sortColumns are the columns of scores.
var sortColumns = rankings.PositionSorts

// conditions are the columns of flags.
var conditions = []struct {
	flag flags
	name string
}{
	{isOpen, "open"}, {isValued, "valued"}, {isInRange, "in_range"}, {isSafe, "safe"},
	{isStandard, "standard"},
}

// where spells flags as a condition; empty for none.
func (f flags) where() string {
	var terms []string
	for _, c := range conditions {
		if f.has(c.flag) {
			terms = append(terms, c.name)
		}
	}
	return strings.Join(terms, " AND ")
}

// createIndexes are the statements that make the indexes. include spells how
// an index carries further columns.
func createIndexes(chains []uint32, include func(order string, carried string) string) (all []string) {
	const carried = "value, tvl, in_range"
	add := func(name, columns, where string) {
		text := "CREATE INDEX " + name + " ON position " + columns
		if where != "" {
			text += " WHERE " + where
		}
		all = append(all, text)
	}
	for sort, column := range sortColumns {
		l := list{sort: rankings.PositionSort(sort)}
		where := l.needs().where()
		add("of_"+column, include(column+", row", carried), where)
		if len(chains) > 1 {
			add("of_chain_"+column, "(chain, "+column+", row)", where)
		}
		if !leavesOut(l.sort) {
			add("of_every_"+column, "("+column+", row)", "")
		}
	}
	add("of_value", include("value", "tvl, in_range"), "open AND safe")
	return all
}

// pageText asks for a page of a list: rows from a mark on, $1 and $2, of chain
// $3 if the list is of one, less the first ones, the last parameter. SQLite
// numbers parameters by first sight, so they are named in this sequence.
func pageText(l list, limit uint64) string {
	column := sortColumns[l.sort]
	terms, skip := fmt.Sprintf("(%s, row) >= ($1, $2)", column), "$3"
	if need := l.needs().where(); need != "" {
		terms = need + " AND " + terms
	}
	if l.chain != 0 {
		terms, skip = terms+" AND chain = $3", "$4"
	}
	return bodies(column, terms, fmt.Sprintf("LIMIT %d OFFSET %s", limit, skip))
}

// bodies joins the rows of a page with their bodies, in its order.
func bodies(column, terms, end string) string {
	return fmt.Sprintf("SELECT b.body FROM (SELECT row, %[1]s AS score FROM position WHERE %[2]s "+
		"ORDER BY %[1]s, row %[3]s) p JOIN body b ON b.row = p.row ORDER BY p.score, p.row",
		column, terms, end)
}

// countText counts a list, as far as totals are told; of chain $1.
func countText(l list) string {
	terms := l.needs().where()
	if terms == "" {
		terms = "true"
	}
	if l.chain != 0 {
		terms += " AND chain = $1"
	}
	return capped(terms)
}

func capped(terms string) string {
	return fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM position WHERE %s LIMIT %d) c", terms, totalCap+1)
}

// filterTexts ask for a page of open positions that are worth at least $1 in
// pools of at least $2, from row $3 of them on, and for their number. Where the
// floor of the pools is above the default, the rows are among those of a list,
// and are looked for in its words, so that the index alone has all there is to
// know.
func filterTexts(q *rankings.PositionQuestion) (page, count string) {
	floors := " AND value >= $1 AND tvl >= $2"
	switch q.Range {
	case rankings.InRange:
		floors += " AND in_range"
	case rankings.OutOfRange:
		floors += " AND NOT in_range"
	}
	counted := (isOpen | isSafe).where()
	among := counted
	if q.MinPoolTVLUsd >= rankings.DefaultMinPoolTVLUsd {
		among = list{sort: q.Sort}.needs().where()
	}
	end := fmt.Sprintf("LIMIT %d OFFSET $3", q.Limit)
	return bodies(sortColumns[q.Sort], among+floors, end), capped(counted + floors)
}

// filterable refuses filters that no scenario has.
func filterable(q *rankings.PositionQuestion) error {
	if q.Status != rankings.Active || q.IncludeRisky || q.Chain != 0 || q.Owner != nil || q.Pool != nil ||
		q.ID != nil || q.NoSuchID || q.MinValueUsd <= 0 || q.MinPoolTVLUsd <= 0 {
		return fmt.Errorf("no peer has this filter: %+v", *q)
	}
	return nil
}
