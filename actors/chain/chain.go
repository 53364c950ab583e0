package chain

import (
	"log/slog"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// Config is what a chain needs to know of itself.
type Config struct {
	Ledger ledger.Config
	Prices value.Params
	// External returns the answers of the configured price feed; nil: none.
	External func() []value.FeedPrice
	// WantsState: the feed computes what happens next from the market.
	WantsState bool
	// Archive gets every span before the state after it is committed; nil: none.
	Archive *archive.Archive
	// UnavailableAfter is how far behind its chain's head, in the chain's own
	// time, a ledger may be and still publish generations.
	UnavailableAfter time.Duration
	// Background runs do concurrently with the chain and sends its error, or that of a panic,
	// once. While the chain catches up, its cuts are written this way. nil: the chain
	// waits for every cut.
	Background func(do func() error) <-chan error
	// Shared: other nodes follow the commits of this one.
	Shared bool
	// Opened is when the chain is opened, by the clock by which readers judge how old
	// data is; zero: stored times are believed as they are.
	Opened  time.Time
	Log     *slog.Logger
	Metrics *Metrics
}

// Chain is one chain. Before Load it only serves what it found in the store.
type Chain struct {
	Config
	store *storage.Store
	board *rankings.Board

	kept       *storage.Restored // what the store held; nil once Complete is through
	view       *rankings.View    // the newest generation, also while its records load
	ledger     *ledger.Ledger    // nil until Load is through
	generation uint64
	prices     market.Table[market.Price]     // of the newest generation, by token
	stats      market.Table[market.PoolStats] // of the newest generation, by pool
	due        []dueStats                     // by pool: what of its stats is to be computed again
	pricer     value.Pricer                   // of the ledger's pools
	hourPrices []ledger.HourPrice             // memory of beginHour
	everything bool                           // all stats are to be computed again
	backlog    int                            // events applied and not given to be written
	unkept     error                          // why the archive lacks a span; nil: it does not

	writing <-chan error  // gives the error of the cut that is being written; nil: none is
	failed  error         // why a cut could not be written: no other is until a restore
	waited  time.Duration // for cuts to be written, in the last refresh

	following bool             // another node writes the chain
	replica   *storage.Replica // what that node has committed; nil before Load
	writer    writerClock      // of that node

	confirmed confirmation
	refused   refusal
	corrected bool             // blocks were read again: the same head may have other rows
	reverted  bool             // blocks of the newest generation were reverted
	missing   []market.Address // tokens of the store with unknown decimals; nil once told
	status    rankings.ChainStatus
	repairTo  uint64 // status.Repair stands until a generation of this block
}

// confirmation is a block and the last time at which the feed saw that it was
// the chain's head.
type confirmation struct {
	head  market.Head
	milli int64 // unix
}

// ID returns the chain's id.
func (c *Chain) ID() market.ChainID { return c.Config.Ledger.Chain }

// Status returns what the board last heard.
func (c *Chain) Status() rankings.ChainStatus { return c.status }

// Transactions returns how many entries the histories of its positions have.
func (c *Chain) Transactions() uint64 { return c.ledger.Present().Transactions }

// Loaded reports whether the chain can advance. One that another node writes cannot.
func (c *Chain) Loaded() bool { return c.ledger != nil }

// Cursor returns where the feed goes on. It must not be called before Load.
func (c *Chain) Cursor() feed.Cursor {
	cursor := feed.Cursor{
		Anchors: c.ledger.Anchors(), Refused: c.refused.to, MissingTokens: c.missingTokens(),
	}
	if c.WantsState {
		cursor.State = c.ledger.Freeze()
	}
	return cursor
}

// missingTokens returns the currencies of unknown decimals that the store held: once,
// since the feed remembers those and knows of the ones that it brought itself.
func (c *Chain) missingTokens() []market.Address {
	list := c.missing
	c.missing = nil
	return list
}

// SetOffline leaves the chain out of every answer, or takes it in again. It
// is kept in the store.
func (c *Chain) SetOffline(offline bool) error {
	if err := c.store.SetOffline(c.ID(), offline); err != nil {
		return err
	}
	c.status.Offline = offline
	c.publishStatus()
	return nil
}

// SetVerified notes what a comparison with the contracts found.
func (c *Chain) SetVerified(v *rankings.Verification) {
	c.status.Verified = v
	c.publishStatus()
}

// Stop marks the chain as stopped: it goes on only after a resync, or when the blocks are
// read again (TryAgain) and can be applied.
func (c *Chain) Stop(reason error) {
	c.Log.Error("chain stopped; if it does not go on, it needs `tidemark chains resync`",
		"chain", c.ID(), "reason", reason)
	c.status.Stopped, c.status.StopReason = true, reason.Error()
	c.publishStatus()
}

// FeedFailed notes that the feed could not say what comes next, and why.
func (c *Chain) FeedFailed(err error, now time.Time) {
	s := &c.status
	if s.FailingSince != 0 && s.FeedError == err.Error() {
		return
	}
	if s.FailingSince == 0 {
		s.FailingSince = now.UnixMilli()
	}
	s.FeedError = err.Error()
	c.publishStatus()
}

func (c *Chain) publishStatus() { c.board.SetStatus(c.ID(), c.status) }
