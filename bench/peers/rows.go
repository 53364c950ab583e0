package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
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
	flags      flags
	value, tvl float64 // unknown is NaN, which is below every floor
	scores     scores
}

// scores are by what a row is sorted, ascending in every order: values are
// negated where the greatest comes first. What is not known is +Inf.
type scores [sortCount]float64

// sortCount is how many orders of positions there are.
const sortCount = 8

// flags are what a filter asks of a row.
type flags uint8

const (
	isOpen     flags = 1 << iota // has liquidity
	isValued                     // open, with a value that is known and not 0
	isInRange                    // by its ticks
	isSafe                       // neither token is risky
	isStandard                   // safe, in a pool above the default floor
)

func (f flags) has(all flags) bool { return f&all == all }

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
		text = render.AppendPosition(text[:0], st, i, &m, nil, 1)
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
	p := st.Positions.At(i)
	r := row{
		chain: uint32(st.Chain), value: m.UnderlyingValueUsd, tvl: st.Stats.At(p.Pool).TVLUsd,
		scores: scores{
			rankings.ByAPR: descending(m.APR), rankings.ByFeeAPR: descending(m.FeeAPR),
			rankings.ByROI: descending(m.ROI), rankings.ByPnl: descending(m.PnlUsd),
			rankings.ByUnderlyingValue: descending(m.UnderlyingValueUsd),
			rankings.ByAge:             float64(m.AgeSeconds),
			rankings.ByIDAscending:     float64(p.ID), rankings.ByIDDescending: -float64(p.ID),
		},
	}

	set := func(f flags, on bool) {
		if on {
			r.flags |= f
		}
	}
	set(isOpen, m.Open)
	set(isValued, m.Open && market.Known(m.UnderlyingValueUsd) && m.UnderlyingValueUsd != 0)
	set(isInRange, m.InRange)
	set(isSafe, !m.Risky)
	set(isStandard, !m.Risky && r.tvl >= rankings.DefaultMinPoolTVLUsd)
	return r
}

// descending is the score of a value where the greatest comes first.
func descending(x float64) float64 {
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
