package main

import (
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"tidemark/bench/load"
	"tidemark/rankings"
)

// site is what there is to ask about.
type site struct {
	chains []uint32
	rows   uint64
	totals map[list]uint64
}

// pages returns how many pages a list has; at least one.
func (s *site) pages(l list) uint64 { return max(1, (s.totals[l]+pageRows-1)/pageRows) }

// question is one kind of question, asked of a node and of a peer alike.
type question struct {
	name, what string
	row        int  // of the table of goals
	counted    bool // a peer counts now, and looks nothing up
	alone      bool // by one connection
	// ask appends the query of the n-th question; n is asked once.
	ask func(s *site, dst []byte, n uint64, r *rand.Rand) []byte
}

// deepPage is the page that the table of goals is about.
const deepPage = 40_000

var questions = []question{
	{name: "page 1, counted", what: "the first page, its count made now", row: 1, counted: true, ask: firstPage},
	{name: "page 1", what: "the first page, its count kept from the refresh", row: 1, ask: firstPage},
	{name: "any page", what: "any page of any order and chain", row: 3, ask: anyPage},
	{name: "deep page", what: "page 40,000 of all chains, or the last ones", row: 4, ask: lastPages},
	{name: "new filter", what: "a filter never seen before, with its count, one at a time", row: 5,
		counted: true, alone: true, ask: newFilter},
}

// refreshName is the question that is no request.
const refreshName = "refresh"

func firstPage(_ *site, dst []byte, _ uint64, _ *rand.Rand) []byte { return dst }

func anyPage(s *site, dst []byte, _ uint64, r *rand.Rand) []byte {
	l := list{sort: rankings.PositionSort(r.IntN(sortCount))}
	if n := r.IntN(len(s.chains) + 1); n > 0 {
		l.chain = s.chains[n-1]
	}
	dst = append(append(dst, "?sort="...), l.sort.String()...)
	dst = strconv.AppendUint(append(dst, "&page="...), 1+r.Uint64N(s.pages(l)), 10)
	if l.chain != 0 {
		dst = strconv.AppendUint(append(dst, "&chainId="...), uint64(l.chain), 10)
	}
	return dst
}

// lastPages walks the pages up to page 40,000, of the orders that leave
// nothing out and without any filter.
func lastPages(s *site, dst []byte, n uint64, _ *rand.Rand) []byte {
	const many = 400
	orders := rankings.PositionSorts[rankings.ByPnl:]
	last := min(deepPage, max(1, s.rows/pageRows))
	sort := orders[n%uint64(len(orders))]
	page := last - n/uint64(len(orders))%min(many, last)
	dst = append(append(dst, "?sort="...), sort...)
	dst = append(dst, "&status=all&minPoolTvl=0&includeRisky=true&page="...)
	return strconv.AppendUint(dst, page, 10)
}

// newFilter never repeats a filter: two floors, and the range. They are those
// of the bench suite.
func newFilter(_ *site, dst []byte, n uint64, _ *rand.Rand) []byte {
	ranges := []string{"", "&range=in", "&range=out"}
	mixed := (n + 1) * 0x9e3779b97f4a7c15 // so that neighbours differ in everything
	dst = append(append(dst, "?sort="...), rankings.PositionSorts[mixed>>8%6]...)
	dst = append(dst, ranges[mixed>>16%3]...)
	value := math.Exp(float64(mixed>>40) / float64(1<<24) * math.Log(20_000))
	dst = append(dst, "&minValueUsd="...)
	dst = strconv.AppendFloat(dst, value, 'f', 3, 64)
	dst = append(dst, "&minPoolTvl="...)
	dst = strconv.AppendUint(dst, mixed>>20%50_000, 10)
	return strconv.AppendUint(append(dst, '.'), n+1, 10)
}

// mix is a question as a load. Sides that begin at the same n are asked the
// same.
func (q *question) mix(s *site, path string, from uint64) load.Mix {
	var next atomic.Uint64
	next.Store(from)
	return load.Mix{{Name: q.name, Weight: 1, Path: func(dst []byte, r *rand.Rand) []byte {
		return q.ask(s, append(dst, path...), next.Add(1), r)
	}}}
}

// peerPath is where a front has the question.
func (q *question) peerPath() string {
	if q.counted {
		return countedPath
	}
	return listPath
}

// Numbers of questions: those that are compared are not those that are timed,
// and every peer's are new to the node.
const (
	comparedFrom = 1 << 40
	peerNumbers  = 1 << 32
)
