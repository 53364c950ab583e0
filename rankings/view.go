package rankings

import (
	"errors"
	"sync/atomic"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// LeafReader gives the decoded ids of a leaf. They are shared: the caller
// must not change them. A number that is not there any more is ErrLeafGone.
type LeafReader interface {
	Leaf(chain market.ChainID, number uint64) ([]uint32, error)
}

// ErrLeafGone reports that a leaf was deleted: the view is too old to be read.
// The cure is to load the board again.
var ErrLeafGone = errors.New("leaf of an old generation is gone")

// ErrWarming reports a filter that needs columns which are not there until
// the records of a restarted chain are loaded.
var ErrWarming = errors.New("records of the chain are still loading")

// View is one published generation of one chain.
type View struct {
	State      *market.State
	Generation uint64
	// FeedPrices are the answers of the price feed that State.Prices were solved
	// with. They are not stored: nil in a view that was restored.
	FeedPrices []value.FeedPrice

	orders  []block.Order // by orderID
	retired []block.Retired
	columns *columns // nil until the records of a restarted chain are loaded
	life    *life
	older   []*life // of generations that may still be pinned
}

// life is what changes around a view that itself never does. The cold and the
// warmed view of a generation share it.
type life struct {
	generation uint64
	confirmed  atomic.Int64 // unix milliseconds
	pins       atomic.Int64
}

// Confirm notes that the view's block was the chain's head at that time.
func (v *View) Confirm(unixMilli int64) {
	for {
		old := v.life.confirmed.Load()
		if unixMilli <= old || v.life.confirmed.CompareAndSwap(old, unixMilli) {
			return
		}
	}
}

// Confirmed returns the last time at which the view's block was known to be
// the chain's head, in unix milliseconds: the dataAsOf of every answer that is
// computed from the view.
func (v *View) Confirmed() int64 { return v.life.confirmed.Load() }

// Pin keeps the leaves of the view in the store until Unpin, however many
// generations follow. Call it before the view is out of date.
func (v *View) Pin() { v.life.pins.Add(1) }

// Unpin takes one Pin back.
func (v *View) Unpin() { v.life.pins.Add(-1) }

// hasQuarantined reports whether a pool of the view is quarantined. Before the
// columns are there it asks every pool.
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

// Warm reports whether the view has its columns, so that it can answer every
// question.
func (v *View) Warm() bool { return v.columns != nil }
