package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// marketDir is where a data directory has the chains.
const marketDir = "market"

// export writes the rows of a data directory that no node uses. Values and
// bytes are made by what makes them in the product, so that a peer's answer
// can be compared with the node's to the byte.
func export(data, to string) (err error) {
	store, err := storage.Open(filepath.Join(data, marketDir),
		storage.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	file, err := os.Create(to)
	if err != nil {
		return fmt.Errorf("cannot write rows: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	chains, err := store.Chains()
	if err != nil {
		return err
	}
	slices.Sort(chains)
	out := bufio.NewWriterSize(file, 1<<20)
	for _, id := range chains {
		kept, err := store.Restore(id)
		if err != nil {
			return fmt.Errorf("cannot restore chain %d: %w", id, err)
		}
		if kept == nil || !kept.Warm(func() bool { return false }) {
			return fmt.Errorf("chain %d has no positions", id)
		}
		if err := exportChain(out, kept.State); err != nil {
			return fmt.Errorf("cannot write the rows of chain %d: %w", id, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cannot write rows: %w", err)
	}
	return nil
}

func exportChain(out *bufio.Writer, st *market.State) error {
	var m value.Metrics
	var body, buf []byte
	for i := range st.Positions.Len() {
		value.Position(st, i, &m)
		body = render.AppendPosition(body[:0], st, i, &m, nil, 1)
		rest, ok := bytes.CutPrefix(body, []byte(rankMark+"1"))
		if !ok {
			return fmt.Errorf("row %d begins with %.20q; the rank must be first", i, body)
		}
		r := rowOf(st, i, &m)
		if _, err := out.Write(appendRow(buf[:0], &r, rest)); err != nil {
			return err
		}
	}
	return nil
}

// rankMark stands before a row's rank.
const rankMark = `{"rank":`

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
