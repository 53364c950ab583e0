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

// names are the columns of flags.
func (f flags) names() (names []string) {
	for _, c := range conditions {
		if f.has(c.flag) {
			names = append(names, c.name)
		}
	}
	return names
}

// where spells flags as a condition; empty for none.
func (f flags) where() string { return strings.Join(f.names(), " AND ") }

// index is one of the indexes of positions.
type index struct {
	name    string
	order   []string
	carried []string // what it has besides, for those who look no further
	where   flags    // it has the rows with these alone
}

// indexes are what both databases have.
func indexes(chains []uint32) (all []index) {
	for sort, column := range sortColumns {
		l := list{sort: rankings.PositionSort(sort)}
		all = append(all, index{"of_" + column, []string{column, "row"},
			[]string{"value", "tvl", "in_range"}, l.needs()})
		if len(chains) > 1 {
			all = append(all, index{"of_chain_" + column, []string{"chain", column, "row"}, nil, l.needs()})
		}
		if !leavesOut(l.sort) {
			all = append(all, index{"of_every_" + column, []string{column, "row"}, nil, 0})
		}
	}
	return append(all, index{"of_value", []string{"value"}, []string{"tvl", "in_range"}, isOpen | isSafe})
}

// create spells the statement that makes an index of columns, as a database
// writes them.
func (x *index) create(columns string) string {
	text := "CREATE INDEX " + x.name + " ON position " + columns
	if x.where != 0 {
		text += " WHERE " + x.where.where()
	}
	return text
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

// pageRows is how many rows a page has when nobody says how many.
const pageRows = rankings.DefaultLimit
