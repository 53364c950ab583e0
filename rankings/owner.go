package rankings

import (
	"math"

	"tidemark/rankings/index"
	"tidemark/rankings/market"
)

// Holdings is what an owner's positions come to. A sum leaves out the values that
// are not known.
type Holdings struct {
	Open, Closed       uint64
	Unknown            uint64 // positions of which a value is missing in a sum
	UnderlyingValueUsd Sum
	PendingFeesUsd     Sum
	PnlUsd             Sum
}

// Sum adds up values of which some may not be known.
type Sum struct {
	usd            float64
	known, unknown uint64
}

// Add adds a value and reports whether it is known.
func (s *Sum) Add(usd float64) bool {
	if !market.Known(usd) {
		s.unknown++
		return false
	}
	s.usd += usd
	s.known++
	return true
}

// Usd returns the sum of the known values. It is Unknown if no value is known, and 0
// if there are none.
func (s *Sum) Usd() float64 {
	if s.known == 0 && s.unknown > 0 {
		return market.Unknown
	}
	return s.usd
}

func (s *Sum) merge(t *Sum) {
	s.usd += t.usd
	s.known += t.known
	s.unknown += t.unknown
}

// Add adds what an owner holds on another chain.
func (h *Holdings) Add(other *Holdings) {
	h.Open += other.Open
	h.Closed += other.Closed
	h.Unknown += other.Unknown
	h.UnderlyingValueUsd.merge(&other.UnderlyingValueUsd)
	h.PendingFeesUsd.merge(&other.PendingFeesUsd)
	h.PnlUsd.merge(&other.PnlUsd)
}

// OwnerWalk adds up the positions of an owner in a view, in steps. It reads columns
// only: less than 100 ns a position.
type OwnerWalk struct {
	columns *columns
	rows    index.GroupRows
	sums    Holdings
}

// Holdings starts to add up an owner's positions. A cold view answers ErrWarming.
func (v *View) Holdings(owner *market.Address) (*OwnerWalk, error) {
	if v.columns == nil {
		return nil, ErrWarming
	}

	w := &OwnerWalk{columns: v.columns}
	if group, found := v.owner(owner); found {
		w.rows = v.columns.byOwner.RowsOf(&v.columns.owner, group)
	}
	return w, nil
}

// Left returns up to how many rows are still to be read.
func (w *OwnerWalk) Left() int { return w.rows.Left() }

// Sums returns the sums so far.
func (w *OwnerWalk) Sums() Holdings { return w.sums }

// Step reads up to budget rows and reports whether all are read.
func (w *OwnerWalk) Step(budget int) (done bool) {
	for ; budget > 0; budget-- {
		row, ok := w.rows.Next()
		if !ok {
			return true
		}
		w.add(row)
	}
	return w.rows.Left() == 0
}

// add adds one position, in the order of rows, so that a sum does not depend on how
// the view came about.
func (w *OwnerWalk) add(row uint32) {
	c, s := w.columns, &w.sums
	place := c.open.Rank(row)
	value, fees, pnl := 0.0, 0.0, 0.0
	if c.open.Has(row) {
		s.Open++
		value, fees, pnl = c.value[place], c.pendingFees[place], c.pnl[place]
	} else {
		s.Closed++
		pnl = math.Float64frombits(c.closedPnl.At(row))
		if c.someQuarantined && c.quarantined.Has(c.pool.At(row)) {
			value, fees = market.Unknown, market.Unknown
		}
	}

	known := s.UnderlyingValueUsd.Add(value)
	known = s.PendingFeesUsd.Add(fees) && known
	known = s.PnlUsd.Add(pnl) && known
	if !known {
		s.Unknown++
	}
}
