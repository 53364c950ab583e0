package rankings_test

import (
	"math"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// TestFilteredQuestions: whatever a filter leaves out has to be counted by a search; the
// default questions, and those that leave nothing out but by status, are counted ahead.
func TestFilteredQuestions(t *testing.T) {
	f := func(name string, want bool, change func(q *rankings.PositionQuestion)) {
		t.Helper()
		for _, status := range []rankings.Status{rankings.Active, rankings.Inactive, rankings.AnyStatus} {
			q := rankings.DefaultPositionQuestion()
			q.Status = status
			change(&q)
			valued := q.Sort == rankings.ByUnderlyingValue && status != rankings.Active
			if got := q.IsFiltered(); got != (want || valued) {
				t.Errorf("%s, status %d: filtered %t", name, status, got)
			}
		}
	}

	type question = rankings.PositionQuestion
	f("default", false, func(*question) {})
	f("by value", false, func(q *question) { q.Sort = rankings.ByUnderlyingValue })
	f("by age", false, func(q *question) { q.Sort = rankings.ByAge })
	f("a page", false, func(q *question) { q.Page, q.Limit, q.Chain = 7, 100, 5 })
	for _, floor := range []float64{0, -1} {
		f("all", false, func(q *question) { q.IncludeRisky, q.MinPoolTVLUsd = true, floor })
		f("all but the risky", true, func(q *question) { q.MinPoolTVLUsd = floor })
	}
	f("the risky too", true, func(q *question) { q.IncludeRisky = true })
	f("a floor of a dollar", true, func(q *question) { q.IncludeRisky, q.MinPoolTVLUsd = true, 1 })
	f("a higher floor", true, func(q *question) { q.MinPoolTVLUsd++ })

	owner, pool, id, fee, hooks := market.Address{1}, market.PoolID{1}, uint64(1), uint32(0), market.Address{}
	for _, open := range []bool{false, true} {
		filter := func(name string, want bool, change func(q *question)) {
			t.Helper()
			f(name, want, func(q *question) {
				if change(q); open {
					q.IncludeRisky, q.MinPoolTVLUsd = true, 0
				}
			})
		}
		filter("in range", true, func(q *question) { q.Range = rankings.InRange })
		filter("out of range", true, func(q *question) { q.Range = rankings.OutOfRange })
		filter("an owner", true, func(q *question) { q.Owner = &owner })
		filter("a pool", true, func(q *question) { q.Pool = &pool })
		filter("an id", true, func(q *question) { q.ID = &id })
		filter("an id that cannot be", true, func(q *question) { q.NoSuchID = true })
		filter("a value", true, func(q *question) { q.MinValueUsd = math.SmallestNonzeroFloat64 })
		filter("a value of 0", false, func(q *question) { q.MinValueUsd = 0 })
		filter("a value below 0", false, func(q *question) { q.MinValueUsd = -1 })
		filter("a token", true, func(q *question) { q.Key.Tokens = []market.Address{owner} })
		filter("a fee", true, func(q *question) { q.Key.Fee = &fee })
		filter("no hooks", true, func(q *question) { q.Key.Hooks = &hooks })
		filter("any hooks", true, func(q *question) { q.Key.Hooked = true })
	}
}

// TestFilteredPools: the same of pools, of which the default leaves out the risky ones.
func TestFilteredPools(t *testing.T) {
	f := func(name string, want bool, change func(q *rankings.PoolQuestion)) {
		t.Helper()
		for _, risky := range []bool{false, true} {
			q := rankings.DefaultPoolQuestion()
			q.IncludeRisky = risky
			change(&q)
			if got := q.IsFiltered(); got != want {
				t.Errorf("%s, risky %t: filtered %t", name, risky, got)
			}
		}
	}

	type question = rankings.PoolQuestion
	fee := uint32(0)
	f("default", false, func(*question) {})
	f("a page by age", false, func(q *question) { q.Page, q.Limit, q.Chain, q.Sort = 7, 100, 5, rankings.ByPoolAge })
	f("a floor of 0", false, func(q *question) { q.MinTVLUsd = 0 })
	f("a floor below 0", false, func(q *question) { q.MinTVLUsd = -1 })
	f("a floor", true, func(q *question) { q.MinTVLUsd = math.SmallestNonzeroFloat64 })
	f("a search", true, func(q *question) { q.Search = "x" })
	f("a fee", true, func(q *question) { q.Key.Fee = &fee })
}

// TestDefaultQuestions: what a question without a parameter asks for.
func TestDefaultQuestions(t *testing.T) {
	q := rankings.DefaultPositionQuestion()
	if q.Page != 1 || q.Limit != 20 || q.MinPoolTVLUsd != 1000 || q.IncludeRisky || q.Sort != rankings.ByAPR ||
		q.Status != rankings.Active || q.Range != rankings.AnyRange || q.Chain != 0 || q.Offset() != 0 {
		t.Errorf("positions: %+v", q)
	}
	p := rankings.DefaultPoolQuestion()
	if p.Page != 1 || p.Limit != 20 || p.MinTVLUsd != 0 || p.IncludeRisky || p.Sort != rankings.ByTVL || p.Search != "" ||
		p.Chain != 0 || p.Key.IsSet() || p.Offset() != 0 {
		t.Errorf("pools: %+v", p)
	}
}

// TestOffsets: pages follow each other, and no page is so far that counting to it
// overflows.
func TestOffsets(t *testing.T) {
	const most = 1 << 60
	f := func(page, limit, want uint64) {
		t.Helper()
		if got := rankings.Offset(page, limit); got != want {
			t.Errorf("page %d of %d rows begins at %d; want %d", page, limit, got, want)
		}
	}

	f(0, 20, 0)
	f(1, 20, 0)
	f(2, 20, 20)
	f(3, 1, 2)
	f(5, 0, 0)
	f(most+1, 1, most)
	f(most+2, 1, most)
	f(most/4+1, 4, most)
	f(most/4+2, 4, most)
	f(most/4, 4, most-4)
	f(math.MaxUint64, math.MaxUint64, most)
}
