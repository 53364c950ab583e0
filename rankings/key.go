package rankings

import (
	"math"

	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// A sort value becomes a key: 64 bits that ascend in the sort's direction, so
// that every order, every directory and every merge compares plain integers.
// Ties go by chain and then by row, which is by id. unknownKey is last.
const unknownKey = math.MaxUint64

// descending returns the key of x where the greatest value comes first.
func descending(x float64) uint64 {
	if !market.Known(x) {
		return unknownKey
	}
	bits := math.Float64bits(x + 0) // -0 becomes 0
	if bits>>63 != 0 {
		return bits
	}
	return bits ^ math.MaxInt64
}

// orderID names an order that is kept. The numbers are stored: the directory
// has the orders in this sequence.
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

// onlyValued reports whether the order leaves out positions without a value.
func (o orderID) onlyValued() bool { return o <= openROI }

// key returns the key that row has in the order: from the columns when they
// are there, else from its records, with the same result.
func (v *View) key(o orderID, row uint32) uint64 {
	switch {
	case o.ofPools():
		return poolKey(v.State, o, row)
	case o == openID || o == closedID:
		return v.State.Positions.At(row).ID
	case v.columns != nil:
		place := v.columns.open.Rank(row)
		if o.ofClosed() {
			place = row - place
		}
		return v.columns.key(o, place, v.State.Now())
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

	panic("BUG: the order sorts by no metric")
}

// key returns the key at a place among the open positions, or among the
// closed, for every order of positions but those by id.
func (c *columns) key(o orderID, place uint32, now int64) uint64 {
	switch o {
	case openAPR:
		return descending(c.apr[place])
	case openFeeAPR:
		return descending(c.feeAPR[place])
	case openROI:
		return descending(c.roi[place])
	case openPnl:
		return descending(c.pnl[place])
	case openValue:
		return descending(c.value[place])
	case openAge:
		return uint64(max(now-c.mintedAt[place], 0))
	case closedPnl:
		return descending(c.closedPnl[place])
	case closedAge:
		return uint64(c.closedAge[place])
	}

	panic("BUG: the order has no column")
}

// ageKey is the age in seconds: of a closed position, the age that it reached.
func ageKey(st *market.State, row uint32) uint64 {
	p := st.Positions.At(row)
	end := st.Now()
	if !p.IsOpen() {
		end = p.ClosedAt
	}
	return uint64(max(end-p.MintedAt, 0))
}

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
