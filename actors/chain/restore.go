package chain

import (
	"errors"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// Open finds what the store has of the chain and serves it at once: the last
// generation stands on the board before any of its records is in memory. A
// generation that is damaged is not served; Load and Refresh build another.
func Open(cfg Config, store *storage.Store, board *rankings.Board) (*Chain, error) {
	c := &Chain{Config: cfg, store: store, board: board, everything: true}
	if err := c.open(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Chain) open() error {
	c.status.Enabled, c.status.Offline = true, c.store.Offline(c.ID())
	kept, err := c.store.Restore(c.ID())
	if err != nil {
		return err
	}

	// Generations of commits that the store has lost are not numbered again.
	c.generation = c.store.LastGeneration(c.ID())
	if r := c.store.Rollback(c.ID()); r != nil {
		c.status.Repair, c.repairTo = r.String(), r.Block
	}
	if kept == nil {
		c.beginAnew()
		return nil
	}

	c.kept, c.generation = kept, max(c.generation, kept.Generation)
	c.status.LastIndexed, c.status.ChainHead = kept.State.Head, kept.State.Head
	if kept.Current() {
		if view, err := rankings.Open(kept.State, kept.Generation, kept.Directory); err != nil {
			c.Log.Error("stored generation is damaged and will be built anew", "chain", c.ID(), "error", err)
		} else {
			view.Confirm(c.believeStored(kept.Confirmed))
			c.showStored(view)
		}
	}

	c.publishStatus()
	return nil
}

// showStored puts the view of stored data on the board, without its records. Of a chain that
// is opened again it keeps what is pinned of the view that is there. A node that stops to
// write a chain goes on to serve that one, if it is the same.
func (c *Chain) showStored(view *rankings.View) {
	on, ok := c.board.Load().Chain(c.ID())
	there := ok && on.View != nil
	if there && c.following && on.View.Generation == view.Generation && on.View.Warm() {
		c.view = on.View
		return
	}

	if there {
		view.KeepPins(on.View)
	}
	c.view = view
	c.board.Publish(view)
}

// Rebuild drops the damaged data of a chain and opens it empty.
func Rebuild(
	cfg Config, store *storage.Store, board *rankings.Board, damage error,
) (*Chain, error) {
	board.Withdraw(cfg.Ledger.Chain)
	if err := store.DropChain(cfg.Ledger.Chain); err != nil {
		return nil, err
	}
	c, err := Open(cfg, store, board)
	if err != nil {
		return nil, err
	}

	c.status.Repair, c.repairTo = damage.Error(), 0
	c.publishStatus()
	return c, nil
}

// endRepair ends a repair once the blocks that were missing are published.
func (c *Chain) endRepair() {
	if c.status.Repair == "" || c.view.State.Head.Number < c.repairTo {
		return
	}
	c.Log.Info("chain is repaired", "chain", c.ID(), "block", c.view.State.Head.Number)
	c.status.Repair = ""
	c.publishStatus()
}

// believeStored returns when stored data was confirmed; see believe.
func (c *Chain) believeStored(milli int64) int64 {
	if c.Opened.IsZero() {
		return milli
	}
	return c.believe(milli, c.Opened)
}

// believe returns a time at which data was confirmed. One that is yet to come is of a clock
// that was ahead: the data is served as stale until it is confirmed again.
func (c *Chain) believe(milli int64, now time.Time) int64 {
	if milli <= now.UnixMilli() {
		return milli
	}
	return now.Add(-c.UnavailableAfter / 2).UnixMilli()
}

// beginAnew starts from nothing. The generation goes on counting: leaves are kept
// by numbers that begin with it, and readers may still have old ones.
func (c *Chain) beginAnew() {
	c.kept, c.view, c.everything = nil, nil, true
	c.ledger = ledger.New(c.ledgerConfig())
	c.prices, c.stats = market.Table[market.Price]{}, market.Table[market.PoolStats]{}
	c.due, c.pricer = nil, value.Pricer{}
	c.confirmed, c.refused, c.reverted = confirmation{}, refusal{}, false
	c.unkept, c.failed = nil, nil
	c.status = rankings.ChainStatus{
		Enabled: true, Offline: c.status.Offline, Repair: c.status.Repair, Role: c.status.Role,
	}
	c.publishStatus()
}

// ledgerConfig is what the ledger knows from the start, the anchors included.
func (c *Chain) ledgerConfig() ledger.Config {
	cfg := c.Config.Ledger
	cfg.Stables, cfg.WrappedNative = c.Prices.Stables, c.Prices.WrappedNative
	return cfg
}

// Load brings the records into memory; stop ends it early, and is called every
// 100 µs or so of work. It changes nothing that a reader sees, so readers may run at the
// same time; other calls may not.
func (c *Chain) Load(stop func() bool) error {
	if c.ledger != nil {
		return nil
	}
	if c.kept != nil && !c.kept.Warm(stop) {
		return errors.New("stopped while loading")
	}
	if c.following {
		return c.loadReplica()
	}

	pause := func() { stop() }
	undos, err := c.store.Undos(c.kept.State, pause)
	if err != nil {
		return err
	}

	c.continueFrom(c.kept.State, undos, pause)
	return nil
}

// Complete gives the view of the loaded records what every question needs. pause is
// called every 100 µs or so of work.
func (c *Chain) Complete(pause func()) {
	if c.following {
		c.completeReplica(pause)
		return
	}
	c.kept = nil
	c.status.QuarantinedPools = c.ledger.QuarantinedPools()
	c.publishStatus()
	if c.view == nil || c.view.Warm() {
		return
	}

	view, err := rankings.Complete(c.view, pause)
	if err != nil {
		c.Log.Error("stored generation does not fit its records and will be built anew",
			"chain", c.ID(), "error", err)
		c.view = nil
		c.board.Withdraw(c.ID())
		return
	}

	c.view, c.everything = view, false
	c.board.Publish(view)
	c.endRepair()
}

// Resync forgets everything kept of the chain, its archive too, and starts from its
// first block. The archive goes last: it stays where the data cannot be dropped, as on a full
// disk, and is never behind the store.
func (c *Chain) Resync() error {
	if err := c.drop(); err != nil {
		return err
	}
	if c.Archive != nil {
		if err := c.Archive.Drop(); err != nil {
			return err
		}
	}
	c.beginAnew()
	return nil
}

// Restart drops the chain's data and starts from its first block: from the archive,
// as far as there is one.
func (c *Chain) Restart() error {
	if err := c.drop(); err != nil {
		return err
	}
	c.beginAnew()
	return nil
}

// drop drops the chain's data.
func (c *Chain) drop() error {
	_ = c.Settle() // what could not be written is dropped anyway
	c.board.Withdraw(c.ID())
	return c.store.DropChain(c.ID())
}
