package rankings

import (
	"fmt"
	"math"

	"tidemark/rankings/ahead"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Every sort value is mapped to a 64-bit key that ascends in the direction of
// the sort, so orders, directories and merges compare plain integers. Equal
// keys are ordered by chain and then by id. unknownKey, for a value that is not
// known, sorts last.
const unknownKey = math.MaxUint64

// descending returns the key of x for an order with the greatest value first. It has no
// branch on the sign, which cannot be predicted.
func descending(x float64) uint64 {
	// The bits of negative floats already ascend as the values fall, and are
	// above those of positive ones, which have to be reversed.
	bits := math.Float64bits(x + 0) // -0 becomes 0
	key := bits ^ math.MaxInt64&^uint64(int64(bits)>>63)
	if !market.Known(x) {
		key = unknownKey
	}
	return key
}

// orderID names a stored order. The numbers are part of the stored format: the
// directory lists the orders in this sequence.
type orderID uint8

const (
	openAPR orderID = iota
	openFeeAPR
	openROI
	openPnl
	openValue
	openAge
	openID
	closedPnl
	closedAge
	closedID
	poolTVL
	poolVolume
	poolFees
	poolFeeAPR
	poolAge
	orderCount
)

// ofPools reports whether the rows of the order are pools.
func (o orderID) ofPools() bool { return o >= poolTVL }

// ofClosed reports whether the rows of the order are closed positions.
func (o orderID) ofClosed() bool { return o >= closedPnl && o <= closedID }

// onlyValued reports whether the order leaves out positions whose value is 0
// or unknown.
func (o orderID) onlyValued() bool { return o <= openROI }

// sortKey returns the key of row in the order. It reads the columns, or the
// records while the view has no columns; both give the same key.
func (v *View) sortKey(o orderID, row uint32) uint64 {
	switch {
	case o.ofPools():
		return poolKey(v.State, o, row)
	case o == openID || o == closedID:
		return v.State.Positions.At(row).ID
	case v.columns != nil:
		return v.columns.sortKey(o, row, v.State.Now())
	case o == openAge || o == closedAge:
		return ageKey(v.State, row)
	}

	var m value.Metrics
	value.Position(v.State, row, &m)
	return descending(sortValue(o, &m))
}

// sortValue picks the number by which the order sorts.
func sortValue(o orderID, m *value.Metrics) float64 {
	switch o {
	case openAPR:
		return m.APR
	case openFeeAPR:
		return m.FeeAPR
	case openROI:
		return m.ROI
	case openPnl, closedPnl:
		return m.PnlUsd
	case openValue:
		return m.UnderlyingValueUsd
	}

	panic(fmt.Sprintf("BUG: order %d does not sort by a metric", o))
}

// sortKey returns the key of a position in any order except those by id.
func (c *columns) sortKey(o orderID, row uint32, now int64) uint64 {
	switch o {
	case openAge:
		return openAgeKey(c.age.At(row), now)
	case closedAge:
		return uint64(c.age.At(row))
	case closedPnl:
		return descending(math.Float64frombits(c.closedPnl.At(row)))
	case openAPR, openFeeAPR:
		perYear := value.PerYear(now - int64(c.age.At(row)))
		return descending(value.AnnualRate(c.floats(o)[c.open.Rank(row)], perYear))
	}
	return descending(c.floats(o)[c.open.Rank(row)])
}

// askKey asks for the memory that sortKey reads of an open position, in any order but by id.
func (c *columns) askKey(o orderID, row uint32) {
	if floats := c.floats(o); floats != nil {
		ahead.Line(&floats[c.open.Rank(row)])
	}
	if o == openAPR || o == openFeeAPR || o == openAge {
		ahead.Line(c.age.Ptr(row))
	}
}

// openAgeKey is ageKey of an open position that was minted then.
func openAgeKey(minted uint32, now int64) uint64 { return uint64(max(now-int64(minted), 0)) }

// floats returns the column that an order of open positions is sorted by, in a year's terms
// for the orders of annual rates; nil for one by age.
func (c *columns) floats(o orderID) []float64 {
	switch o {
	case openAPR, openROI:
		return c.roi
	case openFeeAPR:
		return c.feePercent
	case openPnl:
		return c.pnl
	case openValue:
		return c.value
	case openAge:
		return nil
	}

	panic(fmt.Sprintf("BUG: order %d has no column", o))
}

// ageKey returns a position's age in seconds, which stops when it closes.
func ageKey(st *market.State, row uint32) uint64 {
	p := st.Positions.At(row)
	end := st.Now()
	if !p.IsOpen() {
		end = int64(p.ClosedAt)
	}
	return uint64(max(end-int64(p.MintedAt), 0))
}

// poolKey returns the key of a pool in an order of pools.
func poolKey(st *market.State, o orderID, row uint32) uint64 {
	if o == poolAge {
		return uint64(max(st.Pools.At(row).CreatedAt, 0))
	}

	s := st.Stats.At(row)
	switch o {
	case poolTVL:
		return descending(s.TVLUsd)
	case poolVolume:
		return descending(s.VolumeUsd24h)
	case poolFees:
		return descending(s.FeesUsd24h)
	}
	return descending(s.FeeAPR)
}

// isRisky reports whether a token of the pool has no corroborated price.
func isRisky(st *market.State, pool uint32) bool {
	p := st.Pools.At(pool)
	return !st.Prices.At(p.Currency0).Corroborated || !st.Prices.At(p.Currency1).Corroborated
}

// isStandard reports whether the default filters admit the pool's positions.
func isStandard(st *market.State, pool uint32) bool {
	return st.Stats.At(pool).TVLUsd >= DefaultMinPoolTVLUsd && !isRisky(st, pool)
}
