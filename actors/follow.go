package actors

import (
	"context"
	"time"

	"tidemark/actors/chain"
	"tidemark/actors/cluster"
	"tidemark/storage/pace"
)

// In a cluster the actor of a chain begins as a follower of the node that writes it. It
// waits for cuts as it otherwise waits for its feed. Once it is elected it goes on as the
// writer, until another node writes.

// openMember opens a chain that this node shares with others.
func (a *chainActor) openMember(config chain.Config) (*chain.Chain, error) {
	place, err := a.Store.Place(config.Ledger.Chain)
	if err == nil {
		err = a.member.Start(place)
	}
	if err != nil {
		a.drops = true
		return nil, err
	}
	return chain.Follow(config, a.Store, a.Board)
}

// startListening waits for what comes next from the writer of the chain.
func (a *chainActor) startListening() {
	epoch := a.epoch
	a.runCancellable(func(ctx context.Context) {
		var event cluster.Event
		err := guarded(func() (err error) {
			event, err = a.member.Next(ctx)
			return err
		})
		a.send(heard{epoch, event, err})
	})
}

func (a *chainActor) handleHeard(m heard) {
	switch {
	case m.err != nil:
		a.refuseCut(m.err)
		return
	case m.event.Elect:
		a.promote()
		return
	case m.event.Cut != nil && a.readOnly():
		time.AfterFunc(watchEvery, func() { a.send(m) }) // until the disk has room
		return

	case m.event.Cut != nil:
		if err := a.takeCut(m.event.Cut); err != nil {
			a.refuseCut(err)
			return
		}
	default:
		if err := a.chain.Hear(m.event.Beat, a.now()); err != nil {
			a.Log.Warn("cannot understand the writer of a chain", "error", err)
		}
	}
	a.sharePins()
	a.startListening()
}

// sharePins keeps the leaves of generations that other nodes have pinned, as long as they
// say so, and tells them of those that are pinned here.
func (a *chainActor) sharePins() {
	if a.member == nil {
		return
	}
	c, ok := a.Board.Load().Chain(a.id())
	if !ok || c.View == nil {
		return
	}
	a.keeper.Keep(c.View, a.member.PinnedElsewhere())
	if own := a.keeper.Pinned(c.View); len(own) > 0 {
		a.member.TellPinned(own)
	}
}

// takeCut takes a cut once no other chain is refreshing.
func (a *chainActor) takeCut(cut *cluster.Cut) error {
	if !a.takeSlot() {
		return a.ctx.Err()
	}
	defer a.leaveSlot()

	pause := pace.Background(a.Board.Requests).Pause
	if err := a.chain.Take(cut.Batch, cut.Note, cut.Place.Encode(), a.now, pause); err != nil {
		return err
	}
	a.pause, a.refused.times = 0, 0
	return nil
}

// refusals counts how often the next cut was refused.
type refusals struct {
	number  uint64 // of that cut
	times   int    // in a row
	dropped uint64 // the cut for which the data was dropped before; 0: none
}

// refuseCut opens the chain again after a cut that cannot be taken. If it cannot be
// taken then either, the chain is taken from a snapshot: once from any of them, because
// what this node has may be at fault, and then from one that has the cut.
func (a *chainActor) refuseCut(err error) {
	a.Log.Error("cannot follow the writer of a chain", "error", err)
	a.chain.Refuse(err)

	r := &a.refused
	if number := a.nextCut(); number != r.number {
		r.number, r.times = number, 0
	}
	if r.times++; r.times > 1 {
		a.drops, a.needs = true, 0
		if r.dropped == r.number {
			a.needs = r.number
		}
		r.dropped = r.number
	}
	a.recoverFrom(err)
}

// nextCut returns the number of the cut that follows what the store has.
func (a *chainActor) nextCut() uint64 {
	stored, err := a.Store.Place(a.id())
	if err != nil {
		return 0
	}
	place, err := cluster.DecodePlace(stored)
	if err != nil {
		return 0
	}
	return place.Number + 1
}

// promote makes this node the writer of the chain. One whose store is damaged takes the
// chain from a snapshot instead, and another one writes meanwhile.
func (a *chainActor) promote() {
	if err := a.chain.Promote(pace.Background(a.Board.Requests).Pause); err != nil {
		a.Log.Error("this node cannot write the chain", "error", err)
		a.recoverFrom(err)
		return
	}
	a.Log.Info("this node writes the chain", "after", a.nextCut()-1)
	a.pause, a.snapshot.due, a.failing = 0, time.Time{}, time.Time{}
	a.tellFollowers()
	a.startFetch()
	a.scheduleTick(a.Every)
}

// replaced reports whether another node may write the chain that this one has written. One
// whose disk has no room leaves it to the others.
func (a *chainActor) replaced() bool {
	return a.member != nil && a.chain.Loaded() && !a.member.Leads()
}

// feedPatience is how long the feed of a writer may fail before another node is asked to
// write: longer than most providers are away, and shorter than data is fresh.
const feedPatience = 20 * time.Second

// yields reports whether another node is to write the chain, because the feed of this one
// has failed for long: that one may have a provider that answers.
func (a *chainActor) yields() bool {
	if a.member == nil {
		return false
	}

	now := time.Now()
	if a.failing.IsZero() {
		a.failing = now
	}
	if now.Sub(a.failing) < a.feedPatience {
		return false
	}
	a.failing = now
	return a.member.Yield()
}

// stepDown follows the chain from now on.
func (a *chainActor) stepDown(reason string) {
	a.Log.Warn("this node no longer writes the chain; following", "reason", reason)
	a.beginEpoch()
	a.openChain()
}

// tellFollowers tells the others where the chain stands, if this node writes it.
func (a *chainActor) tellFollowers() {
	if a.member == nil {
		return
	}
	text, err := a.chain.Beat(a.now())
	if err != nil {
		a.Log.Error("cannot tell followers", "error", err)
		return
	}
	a.member.Tell(text)
}

// errFollows is the error of a command that the writer of the chain has to run.
func (a *chainActor) errFollows() error {
	ctx, cancel := context.WithTimeout(a.ctx, writerTimeout)
	defer cancel()
	name, err := a.member.Writer(ctx)
	if err != nil || name == "" {
		name = "none at the moment"
	}
	return refuse("this node follows chain %d; run the command on the node that writes it: %s",
		a.id(), name)
}

// writerTimeout bounds the question who writes a chain.
const writerTimeout = time.Second
