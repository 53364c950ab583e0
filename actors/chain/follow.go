package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// In a cluster one node writes a chain and the others follow it. A follower is a
// restart that never ends: it takes what the writer committed, and reads no feed. It
// may become the writer at any cut.

// note is what a follower needs of a refresh beside the batch.
type note struct {
	Reverted   bool              `json:",omitempty"` // blocks of the generation before were reverted
	At         int64             // when it was published, unix milliseconds of the writer's clock
	Clock      int64             `json:",omitempty"` // names that clock; see writerClock
	FeedPrices []value.FeedPrice `json:",omitempty"`
	Hints      int               // the form of the hints
}

// hintsForm is the form of the hints that this program tells and understands. A node whose
// form is another one does without, which takes longer.
const hintsForm = 3

// encode returns the note of a view that follows prev: JSON, and behind it the hints of the
// view.
func (n note) encode(view, prev *rankings.View) ([]byte, error) {
	n.Hints = hintsForm
	text, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("cannot note the answers of the price feed: %w", err)
	}
	return view.AppendHints(text, prev), nil
}

// decodeNote reads a note and returns the hints in it, if they have the form that this
// program knows; a commit without a generation has no note.
func decodeNote(text []byte) (n note, hints []byte, err error) {
	if len(text) == 0 {
		return n, nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&n); err != nil {
		return n, nil, fmt.Errorf("cannot read the note of a cut: %w", err)
	}
	if n.Hints != hintsForm {
		return n, nil, nil
	}
	return n, text[d.InputOffset():], nil
}

// Follow opens the chain as one that another node writes. It serves what the store has
// at once, as Open does. Load and Complete come next, then Take for every cut.
func Follow(cfg Config, store *storage.Store, board *rankings.Board) (*Chain, error) {
	c := &Chain{Config: cfg, store: store, board: board, following: true}
	c.status.Role = rankings.Follower
	if err := c.open(); err != nil {
		return nil, err
	}
	c.ledger = nil
	return c, nil
}

// Await opens a chain of which the store has nothing that could be served: this node
// takes it from the others of its cluster first.
func Await(cfg Config, store *storage.Store, board *rankings.Board) *Chain {
	c := &Chain{Config: cfg, store: store, board: board, following: true}
	c.status.Role, c.status.Offline = rankings.Follower, store.Offline(c.ID())
	c.beginAnew()
	c.ledger = nil
	c.Refuse(errors.New("this node takes the chain from the cluster"))
	return c
}

// Following reports whether another node writes the chain.
func (c *Chain) Following() bool { return c.following }

// loadReplica is Load of a chain that another node writes. It loads the records of the
// cut whose view may be on the board already: after the next cut the store has others.
func (c *Chain) loadReplica() (err error) {
	c.replica, err = c.store.Replica(c.ID(), c.kept)
	return err
}

// completeReplica is Complete of a chain that another node writes.
func (c *Chain) completeReplica(pause func()) {
	c.kept = nil
	cut := c.replica.Cut()
	if cut == nil || !cut.Current() {
		return
	}

	err := errors.New("its directory is damaged")
	view := c.view
	if view != nil {
		view, err = rankings.Complete(view, pause)
	}
	if err != nil {
		c.Log.Error("stored generation does not fit its records; waiting for the next one",
			"chain", c.ID(), "error", err)
		c.view = nil
		c.board.Withdraw(c.ID())
		return
	}
	view.Confirm(c.believeStored(cut.Confirmed))
	c.showNext(view)
}

// Take takes the next cut of the writer: into memory, which checks it, into the store
// with its place, and onto the board. After an error the chain has to be opened again.
func (c *Chain) Take(batch, text, place []byte, clock func() time.Time, pause func()) error {
	started := clock()
	n, hints, err := decodeNote(text)
	if err != nil {
		return err
	}
	if err := c.replica.ApplyBatch(batch); err != nil {
		return err
	}
	cut := c.replica.Cut()
	recall := c.announce(generationOf(cut), n.Reverted)
	if err := c.store.Follow(c.ID(), batch, place); err != nil {
		recall()
		return err
	}

	leaves, err := c.store.BatchLeaves(batch)
	if err == nil {
		err = c.showCut(cut, leaves, n, hints, started, pause)
	}
	if err != nil {
		return err
	}
	c.Metrics.follow.Update(clock().Sub(started).Seconds())
	return nil
}

// generationOf returns the generation of a cut; 0 of none, after the writer dropped the chain.
func generationOf(cut *storage.Restored) uint64 {
	if cut == nil {
		return 0
	}
	return cut.Generation
}

// showCut puts the view of a followed cut on the board, if it has a new generation.
func (c *Chain) showCut(
	cut *storage.Restored, leaves rankings.LeafReader, n note, hints []byte, now time.Time, pause func(),
) error {
	if cut == nil { // the writer dropped the chain
		c.view = nil
		c.board.Withdraw(c.ID())
		return nil
	}

	c.status.LastIndexed = cut.State.Head
	if c.status.ChainHead.Number < cut.State.Head.Number {
		c.status.ChainHead = cut.State.Head
	}
	at := c.onOwnClock(n.Clock, n.At, now)
	c.status.LastIndexedAt = at
	c.publishStatus()
	if !cut.Current() || c.view != nil && c.view.Generation == cut.Generation {
		return nil
	}

	view, err := rankings.Follow(c.view, cut.State, cut.Generation, cut.Directory, leaves, hints,
		pause)
	if err != nil {
		return err
	}
	view.FeedPrices = append([]value.FeedPrice{}, n.FeedPrices...)
	view.Changes = view.ChangesSince(c.view, n.Reverted, at, pause)
	view.Confirm(c.onOwnClock(n.Clock, cut.Confirmed, now))
	c.showNext(view)
	return nil
}

// Promote makes this node the writer of the chain. It must have taken every cut of the
// writer before it. pause is called every 100 µs or so of work. After an error, which is
// damage of the store, the chain follows as before.
func (c *Chain) Promote(pause func()) error {
	cut := c.replica.Cut()
	var undos []*ledger.Undo
	if cut != nil {
		var err error
		if undos, err = c.store.Undos(cut.State, pause); err != nil {
			return err
		}
	}

	c.following, c.replica = false, nil
	c.status.Role = rankings.Writer
	c.forgetWriter()
	c.generation = c.store.LastGeneration(c.ID())
	if cut == nil {
		c.beginAnew()
		return nil
	}

	c.generation = max(c.generation, cut.Generation)
	c.continueFrom(cut.State, undos, pause)
	c.everything = c.view == nil || c.view.State != cut.State // the view may be of an earlier cut
	c.confirmed = confirmation{}
	c.publishStatus()
	return nil
}

// forgetWriter drops what the writer before this node told of itself: its feed's failures,
// and why it stopped.
func (c *Chain) forgetWriter() {
	s := &c.status
	s.Stopped, s.StopReason, s.FailingSince, s.FeedError = false, "", 0, ""
	s.ETASeconds, s.Progress = 0, nil
}

// continueFrom makes the ledger that continues from st, all of which is in memory.
func (c *Chain) continueFrom(st *market.State, undos []*ledger.Undo, pause func()) {
	c.ledger = ledger.From(c.ledgerConfig(), st, undos, pause)
	c.missing = nil
	for i := range st.Tokens.Len() {
		if t := st.Tokens.At(i); !t.DecimalsKnown() {
			c.missing = append(c.missing, t.Address)
		}
	}
	c.prices, c.stats = market.Thaw(st.Prices), market.Thaw(st.Stats)

	// Stats of an earlier format have no windows of an hour, or not what the pool holds.
	c.due, c.pricer = make([]dueStats, st.Pools.Len()), value.Pricer{}
	for i := range min(c.stats.Len(), st.Pools.Len()) {
		if s := c.stats.At(i); !market.Known(s.VolumeUsd1h) || !market.Known(s.Holdings[0]) {
			c.due[i] = dueHeld
		}
	}
}

// beat is what the writer of a chain tells between two cuts. Times are of its clock.
type beat struct {
	Clock, Sent   int64       // names the clock, and when this was told; see writerClock
	Head          market.Head // of the chain, as its feed saw it
	LastIndexedAt int64
	ConfirmedAt   int64
	FailingSince  int64
	FeedError     string
	Syncing       bool
	Stopped       bool
	StopReason    string
	Quarantined   int
	ETASeconds    int64
	Progress      *rankings.Progress
	Verified      *rankings.Verification

	Generation, Confirmed int64 // of the view, and when its block was last the chain's head
}

// Beat returns what followers are told of the chain between two cuts.
func (c *Chain) Beat(now time.Time) ([]byte, error) {
	s := &c.status
	b := beat{
		Clock: c.Opened.UnixMilli(), Sent: now.UnixMilli(),
		Head: s.ChainHead, LastIndexedAt: s.LastIndexedAt, ConfirmedAt: s.ConfirmedAt,
		FailingSince: s.FailingSince, FeedError: s.FeedError, Syncing: s.Syncing,
		Stopped: s.Stopped, StopReason: s.StopReason, Quarantined: s.QuarantinedPools,
		ETASeconds: s.ETASeconds, Progress: s.Progress, Verified: s.Verified,
	}
	if c.view != nil {
		b.Generation, b.Confirmed = int64(c.view.Generation), c.view.Confirmed()
	}
	return json.Marshal(&b)
}

// Hear takes what the writer told, which was heard at now. LastIndexed stays what this node
// has: the difference is how far it is behind.
func (c *Chain) Hear(text []byte, now time.Time) error {
	var b beat
	if err := json.Unmarshal(text, &b); err != nil {
		return fmt.Errorf("cannot read what the writer of a chain tells: %w", err)
	}

	if b.Clock != 0 {
		c.writer.hear(b.Clock, b.Sent, now)
	}
	own := func(milli int64) int64 { return c.onOwnClock(b.Clock, milli, now) }

	s := &c.status
	s.ChainHead, s.LastIndexedAt, s.ConfirmedAt = b.Head, own(b.LastIndexedAt), own(b.ConfirmedAt)
	s.FailingSince, s.FeedError, s.Syncing = own(b.FailingSince), b.FeedError, b.Syncing
	s.Stopped, s.StopReason, s.QuarantinedPools = b.Stopped, b.StopReason, b.Quarantined
	s.ETASeconds, s.Progress, s.Verified = b.ETASeconds, b.Progress, b.Verified
	if c.view != nil && int64(c.view.Generation) == b.Generation {
		c.view.Confirm(own(b.Confirmed))
	}
	c.publishStatus()
	return nil
}

// Refuse notes in the status that this node cannot follow the writer. The next Hear
// replaces the note.
func (c *Chain) Refuse(err error) {
	c.status.Stopped, c.status.StopReason = true, err.Error()
	c.publishStatus()
}

// Forget drops the data that this node has of the chain, so that it can be taken from
// the cluster again.
func Forget(store *storage.Store, board *rankings.Board, id market.ChainID) error {
	board.Withdraw(id)
	return store.ForgetChain(id)
}
