package rankings

import (
	"errors"
	"sync/atomic"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// LeafReader returns the decoded ids of a leaf. They are shared: the caller must
// not change them. The error for a deleted leaf is block.ErrLeafGone.
type LeafReader interface {
	Leaf(chain market.ChainID, number uint64) ([]uint32, error)
}

// ErrWarming reports a filter that needs columns. A restarted chain has none
// until its records are loaded.
var ErrWarming = errors.New("records of the chain are still loading")

// View is one published generation of one chain.
type View struct {
	State      *market.State
	Generation uint64
	// FeedPrices are the answers of the price feed that State.Prices were solved
	// with. They are not stored: nil in a view that was restored.
	FeedPrices []value.FeedPrice
	// Changes is what changed since the generation before; nil if the view was
	// restored. Only the log of the board keeps it.
	Changes *Changes

	orders  []block.Order // by orderID
	retired []block.Retired
	costs   [orderCount]baseCost
	columns *columns // nil until the records of a restarted chain are loaded
	shared  *viewState
	older   []*viewState // of earlier generations that may still be pinned
}

// viewState is the mutable state of a generation. The view without columns and
// the one that Complete returns share it.
type viewState struct {
	generation uint64
	confirmed  atomic.Int64 // unix milliseconds
	pins       atomic.Int64
}

// Confirm notes that the view's block was the chain's head at that time. Earlier
// times than the last one are ignored.
func (v *View) Confirm(unixMilli int64) {
	for {
		old := v.shared.confirmed.Load()
		if unixMilli <= old || v.shared.confirmed.CompareAndSwap(old, unixMilli) {
			return
		}
	}
}

// Confirmed returns the last time at which the view's block was known to be
// the chain's head, in unix milliseconds: the dataAsOf of every answer that is
// computed from the view.
func (v *View) Confirmed() int64 { return v.shared.confirmed.Load() }

// Pin keeps the leaves of the view in the store until Unpin, however many
// generations follow. It must be called while the view's leaves are kept anyway,
// that is until two generations later.
func (v *View) Pin() { v.shared.pins.Add(1) }

// Unpin takes one Pin back.
func (v *View) Unpin() { v.shared.pins.Add(-1) }

// Pinned reports whether the view has a Pin.
func (v *View) Pinned() bool { return v.shared.pins.Load() > 0 }

// keepPinned notes the generations before that may be pinned: those of prev's that are
// still, and prev's own.
func (v *View) keepPinned(prev *View) {
	for _, older := range prev.older {
		if older.pins.Load() > 0 {
			v.older = append(v.older, older)
		}
	}
	v.older = append(v.older, prev.shared)
}

// KeepPins has v, which was opened anew, keep what an earlier view of its chain keeps for
// pins: its own, if it is of the same generation, and those of generations before. It must
// be called before others see v.
func (v *View) KeepPins(earlier *View) {
	if earlier.Generation != v.Generation {
		v.keepPinned(earlier)
		return
	}

	confirmed := v.Confirmed()
	v.shared, v.older = earlier.shared, earlier.older
	v.Confirm(confirmed)
}

// hasQuarantined reports whether a pool of the view is quarantined. Before the
// columns are there it looks at every pool.
func (v *View) hasQuarantined() bool {
	if v.columns != nil {
		return v.columns.someQuarantined
	}
	for i := range v.State.Pools.Len() {
		if v.State.Pools.At(i).Quarantined {
			return true
		}
	}
	return false
}

// Warm reports whether the view has its columns and can answer every question.
func (v *View) Warm() bool { return v.columns != nil }

// CompletedBy reports whether now is v with its columns, which the view of a restarted
// chain gets once its records are loaded. Both have the same leaves and pins.
func (v *View) CompletedBy(now *View) bool {
	return now != nil && !v.Warm() && now.Warm() && now.shared == v.shared
}
