package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	stored "tidemark/bench/corpus"
	"tidemark/bench/process"
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// corpus is what a peer loads. Rows are numbered from 0 by chain and then id, so
// that the number alone breaks ties as the API does.
type corpus struct {
	chains []uint32
	rows   []row
	// bodies tells the rest of every row's answer, from the comma after its rank
	// on, since a rank belongs to a page and not to a position.
	bodies func(tell func(body []byte) error) error
}

// row is a position as the peers sort and filter it.
type row struct {
	chain      uint32
	value, tvl float64 // unknown is NaN, which is below every floor
	scores     scores

	open     bool // has liquidity
	valued   bool // open, with a value that is known and not 0
	inRange  bool // by its ticks
	safe     bool // neither token is risky
	standard bool // safe, in a pool above the default floor
}

// scores are by what a row is sorted, ascending in every order: values are
// negated where the greatest comes first. What is not known is +Inf.
type scores [sortCount]float64

// sortCount is how many orders of positions there are.
const sortCount = 8

// rankMark stands before a row's rank.
const rankMark = `{"rank":`

// readCorpus reads the rows of a corpus that no node uses. Values and bytes are
// made by what makes them in the product, so that a peer's answer can be
// compared with the node's to the byte.
func readCorpus(ctx context.Context, dir string) (*corpus, error) {
	data, c := stored.DataDir(dir), new(corpus)
	err := stored.EachChain(data, func(st *market.State) error {
		c.chains = append(c.chains, uint32(st.Chain))
		var m value.Metrics
		for i := range st.Positions.Len() {
			value.Position(st, i, &m)
			c.rows = append(c.rows, rowOf(st, i, &m))
		}
		return nil
	})

	c.bodies = func(tell func([]byte) error) error {
		return stored.EachChain(data, func(st *market.State) error { return tellBodies(ctx, st, tell) })
	}
	return c, err
}

func tellBodies(ctx context.Context, st *market.State, tell func([]byte) error) error {
	var m value.Metrics
	var text []byte
	for i := range st.Positions.Len() {
		value.Position(st, i, &m)
		text = render.AppendPosition(text[:0], st, i, &m, 1)
		body, ok := bytes.CutPrefix(text, []byte(rankMark+"1"))
		if !ok {
			return fmt.Errorf("row %d begins with %.20q; the rank must be first", i, text)
		}

		if err := errors.Join(ctx.Err(), tell(body)); err != nil {
			return err
		}
	}
	return nil
}

// parser is the node's parser of questions about the corpus.
func (c *corpus) parser() (known query.Chains) {
	for _, id := range c.chains {
		known = append(known, query.Chain{ID: market.ChainID(id), Enabled: true})
	}
	return known
}

// rowOf says what a position is sorted and filtered by.
func rowOf(st *market.State, i uint32, m *value.Metrics) row {
	tvl := st.Stats.At(st.Positions.At(i).Pool).TVLUsd
	return row{
		chain: uint32(st.Chain), value: m.UnderlyingValueUsd, tvl: tvl,
		open: m.Open, inRange: m.InRange, safe: !m.Risky,
		valued:   m.Open && market.Known(m.UnderlyingValueUsd) && m.UnderlyingValueUsd != 0,
		standard: !m.Risky && tvl >= rankings.DefaultMinPoolTVLUsd,
		scores: scores{
			rankings.ByAPR: descendingScore(m.APR), rankings.ByFeeAPR: descendingScore(m.FeeAPR),
			rankings.ByROI: descendingScore(m.ROI), rankings.ByPnl: descendingScore(m.PnlUsd),
			rankings.ByUnderlyingValue: descendingScore(m.UnderlyingValueUsd),
			rankings.ByAge:             float64(m.AgeSeconds),
			rankings.ByIDAscending:     float64(st.Positions.At(i).ID),
			rankings.ByIDDescending:    -float64(st.Positions.At(i).ID),
		},
	}
}

// descendingScore is the score of a value where the greatest comes first.
func descendingScore(x float64) float64 {
	if !market.Known(x) {
		return math.Inf(1)
	}
	return 0 - x // never -0
}

// clock is the CPU time of a database while it loads: of a server all, and of
// one in this process what it spends within run.
type clock struct {
	server *process.Child // nil: the database is in this process
	began  time.Duration
	within time.Duration
}

func startClock(server *process.Child) *clock { return &clock{server: server, began: server.CPU()} }

func (w *clock) run(f func() error) error {
	before := process.Own()
	err := f()
	w.within += process.Own() - before
	return err
}

func (w *clock) spent() time.Duration {
	if w.server == nil {
		return w.within
	}
	return w.server.CPU() - w.began
}

// list is a ranking that is asked for without a filter of its own: an order of
// one chain or of all, of what the default filters admit or of every row.
type list struct {
	every bool   // of all rows; else of those that the default filters admit
	chain uint32 // 0: all chains
	sort  rankings.PositionSort
}

// listOf returns the list that answers a question, or that it has a filter of
// open and safe positions by value and pool; errCannot for any other.
func listOf(q *rankings.PositionQuestion) (l list, filtered bool, err error) {
	l = list{chain: uint32(q.Chain), sort: q.Sort}
	active := q.Status == rankings.Active && !q.IncludeRisky
	plain := q.Range == rankings.AnyRange && q.MinValueUsd <= 0

	switch {
	case q.Owner != nil || q.Pool != nil || q.ID != nil || q.NoSuchID:
		err = errCannot
	case plain && active && q.MinPoolTVLUsd == rankings.DefaultMinPoolTVLUsd:
	case plain && q.Status == rankings.AnyStatus && q.IncludeRisky && q.MinPoolTVLUsd <= 0 &&
		q.Chain == 0 && !leavesOut(q.Sort):
		l.every = true
	case active && q.Chain == 0 && q.MinValueUsd > 0 && q.MinPoolTVLUsd > 0:
		filtered = true
	default:
		err = errCannot
	}
	return l, filtered, err
}

// leavesOut reports whether an order has only positions with a value.
func leavesOut(s rankings.PositionSort) bool { return s <= rankings.ByROI }

// has reports whether a row is in the list.
func (l list) has(r *row) bool {
	switch {
	case l.every:
		return true
	case l.chain != 0 && l.chain != r.chain:
		return false
	case leavesOut(l.sort):
		return r.valued && r.standard
	}
	return r.open && r.standard
}

// listsOf returns all that are kept of some chains.
func listsOf(chains []uint32) (all []list) {
	for sort := range rankings.PositionSort(sortCount) {
		for _, chain := range append([]uint32{0}, chains...) {
			all = append(all, list{chain: chain, sort: sort})
		}
		if !leavesOut(sort) {
			all = append(all, list{every: true, sort: sort})
		}
	}
	return all
}

// place is a row in an order.
type place struct {
	score float64
	row   uint32
}

// sorted returns the rows of a list in their order.
func (c *corpus) sorted(l list) []place {
	var places []place
	for i := range c.rows {
		if r := &c.rows[i]; l.has(r) {
			places = append(places, place{r.scores[l.sort], uint32(i)})
		}
	}

	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.row, b.row))
	})
	return places
}

// marks make the n-th row of a list found without walking to it, in a database
// whose indexes do not count: every markEvery-th row of the list, so that a
// page begins at most so many behind one that is known. With them is the
// total: a count cache. Both are made anew with every refresh.
type marks struct {
	total uint64
	every []place
}

// markEvery is ten pages: a few microseconds to walk, for 16 bytes of memory.
const markEvery = 200

func markList(sorted []place) *marks {
	m := &marks{total: uint64(len(sorted))}
	for i := 0; i < len(sorted); i += markEvery {
		m.every = append(m.every, sorted[i])
	}
	return m
}

// before returns the last mark at or before an offset into the list, and how
// many rows lie between; false when the offset is at or behind the end.
func (m *marks) before(offset uint64) (from place, skip uint64, ok bool) {
	if m == nil || offset >= m.total {
		return place{}, 0, false
	}
	return m.every[offset/markEvery], offset % markEvery, true
}
