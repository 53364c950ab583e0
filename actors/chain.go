package actors

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/anthdm/hollywood/actor"

	"tidemark/actors/chain"
	"tidemark/actors/cluster"
	"tidemark/actors/feed"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/pace"
)

// paceFactor is the minimum ratio of the pause after a refresh to the length of the
// refresh, so that refreshing takes at most a sixth of a core.
const paceFactor = 5

// chainActor drives one chain.Chain.
type chainActor struct {
	Config
	chainConfig chain.Config
	feed        feed.Feed
	slot        chan struct{} // of capacity 1, shared: one chain refreshes at a time
	panics      func()        // counts a panic
	send        func(any)
	// readOnly reports whether the disk has too little space for writes.
	readOnly    func() bool
	ledgerPacer *pace.Pacer // of the work for which the ledger is called now; see beginPace

	ctx    context.Context // ends when the node stops
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines that read the store or the feed

	// member is the chain in the cluster; nil without one.
	member  *cluster.Chain
	refused refusals
	keeper  rankings.Keeper // of what other nodes have pinned
	drops   bool            // the next open takes the chain from the cluster again
	needs   uint64          // in a snapshot that has this cut; 0: in any
	joinMu  sync.Mutex      // held while it is taken

	snapshot      snapshotting
	snapshotEvery time.Duration

	chain *chain.Chain
	epoch uint64
	pause time.Duration // before the next restore
	took  time.Duration // the work of the last refresh
	// parked: the disk is full and events wait for a commit, so nothing is fetched.
	parked bool

	ticks     uint64    // how many were set; the newest counts
	refreshAt time.Time // when the next refresh is allowed

	mended   mending       // since the last comparison that found no difference
	patience time.Duration // before a stopped chain is tried again

	feedFailures int       // since the last warning
	warned       time.Time // when the last warning was
	feedPatience time.Duration
	failing      time.Time // since when the feed fails, or a node was last asked to write; see yields

	feedMu      sync.Mutex         // held during a call of the feed
	cancelFetch context.CancelFunc // of this epoch
}

// frozenFeed is a feed whose head may never move.
type frozenFeed interface {
	FrozenHead() (head market.Head, frozen bool)
}

// Receive handles one message.
func (a *chainActor) Receive(c *actor.Context) {
	switch m := c.Message().(type) {
	case actor.Started:
		a.openChain()
	case open:
		a.ifCurrent(m.epoch, a.openChain)
	case loaded:
		a.ifCurrent(m.epoch, func() { a.finishLoading(m.err) })
	case fetched:
		a.ifCurrent(m.epoch, func() { a.handleStep(m.step, m.err) })
	case retry:
		a.ifCurrent(m.epoch, a.tryAgain)
	case refresh:
		if m.tick == a.ticks {
			a.ifCurrent(m.epoch, a.handleTick)
		}
	case heard:
		a.ifCurrent(m.epoch, func() { a.handleHeard(m) })
	case joined:
		a.ifCurrent(m.epoch, func() { a.handleJoined(m) })
	case snapshotted:
		a.handleSnapshotted(m)
	case verified:
		a.handleVerification(m.result)

	// Commands run here too, so that no other code uses the chain meanwhile.
	case command:
		m.run(a)
	}
}

// ifCurrent drops messages of an earlier epoch.
func (a *chainActor) ifCurrent(epoch uint64, do func()) {
	if epoch == a.epoch && a.ctx.Err() == nil {
		do()
	}
}

// beginEpoch starts a new epoch: messages of the last one will be dropped.
func (a *chainActor) beginEpoch() {
	a.epoch++
	a.parked = false
	if a.cancelFetch != nil {
		a.cancelFetch()
	}
}

func (a *chainActor) openChain() {
	if a.chain != nil {
		_ = a.chain.Settle() // what it could not write is fetched again
	}
	if a.member != nil && a.mustJoin() {
		a.startJoining()
		return
	}
	a.openStored()
}

// openStored opens the chain from what the store has.
func (a *chainActor) openStored() {
	config := a.chainConfig
	config.Opened = a.now()
	opened, err := a.openOrRebuild(config)
	if err != nil {
		a.Log.Error("cannot open a chain", "error", err)
		a.recoverFrom(err)
		return
	}
	a.chain = opened

	// The feed is first asked after loading. Until then, a generation of a head that
	// never moves would look as old as its last commit.
	if f, ok := a.feed.(frozenFeed); ok {
		if head, frozen := f.FrozenHead(); frozen {
			opened.Confirm(head, a.now())
		}
	}

	epoch := a.epoch
	a.work.Go(func() {
		pacer := pace.New(a.Board.Requests)
		err := guarded(func() error {
			return opened.Load(func() bool {
				pacer.Pause()
				return a.ctx.Err() != nil
			})
		})
		a.send(loaded{epoch, err})
	})
}

// id returns the chain's id.
func (a *chainActor) id() market.ChainID { return a.chainConfig.Ledger.Chain }

// now returns the time of the node's clock, which readers compare with the age of
// data.
func (a *chainActor) now() time.Time { return a.Clock.Time(time.Now()) }

// onClock converts a feed's time to the node's clock. Zero stays zero.
func (a *chainActor) onClock(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return a.Clock.Time(t)
}

func (a *chainActor) finishLoading(err error) {
	if err != nil {
		a.Log.Error("cannot load a chain", "error", err)
		a.recoverFrom(err)
		return
	}
	a.chain.Complete(pace.Background(a.Board.Requests).Pause)
	if a.member != nil {
		a.startListening()
	} else {
		a.startFetch()
	}
	a.scheduleTick(a.Every)
}

// handleTick refreshes the chain, if nothing keeps this node from writing it.
func (a *chainActor) handleTick() {
	if !a.mayRefresh() {
		return
	}

	fresh := a.chain.Unpublished()
	a.sharePins()
	a.took = 0
	if (a.parked || !a.chain.Waiting() || a.chain.Failed()) && !a.publish() {
		return
	}
	a.tellFollowers()
	a.snapshotIfDue()

	if a.parked {
		a.parked = false
		a.startFetch()
	}
	rest := pauseAfter(a.Every, a.took)
	if fresh {
		a.refreshAt = time.Now().Add(rest)
	}
	a.scheduleTick(rest)
}

// mayRefresh reports whether this tick may refresh the chain. If not, it has begun or
// scheduled what comes instead.
func (a *chainActor) mayRefresh() bool {
	switch {
	case a.readOnly() && a.replaced():
		a.stepDown("its disk has no room")
		return false
	case a.readOnly():
		a.scheduleTick(min(a.Every, watchEvery))
		return false
	}

	// A request or a compaction may have found damage since the last tick.
	if damage := a.Store.Damaged(a.id()); damage != nil {
		a.recoverFrom(damage)
		return false
	}

	switch {
	case a.chain.Following():
		a.scheduleTick(a.Every)
		return false
	case a.replaced():
		a.stepDown("another node may write it")
		return false
	}
	return true
}

// pauseAfter returns how long after a refresh of some length the next one begins.
func pauseAfter(every, took time.Duration) time.Duration { return max(every, paceFactor*took) }

// publish refreshes the chain once no other chain is refreshing. If that fails, the
// chain will be restored, and publish returns false.
func (a *chainActor) publish() bool {
	if !a.takeSlot() {
		return false
	}
	defer a.leaveSlot()

	started := time.Now()
	a.beginPace()
	if err := a.chain.Refresh(a.now, pace.Background(a.Board.Requests).Pause); err != nil {
		a.Log.Error("cannot refresh a chain", "error", err)
		switch {
		case errors.Is(err, cluster.ErrOutdated):
			a.stepDown(err.Error())
			return false
		case errors.Is(err, storage.ErrReadOnly):
			a.pause = 0 // the disk is full; the chain is not at fault
		}
		a.recoverFrom(err)
		return false
	}
	a.pause, a.took = 0, time.Since(started)
	if waited := a.chain.Waited(); waited > hungCommit {
		a.took -= waited
	}
	return true
}

// takeSlot waits until no other chain is refreshing. It returns false if the node stops
// before. After true the caller must leave the slot.
func (a *chainActor) takeSlot() bool {
	select {
	case a.slot <- struct{}{}:
		return true
	case <-a.ctx.Done():
		return false
	}
}

func (a *chainActor) leaveSlot() { <-a.slot }

// hungCommit is how long a refresh must have waited for the disk for the wait not to count
// as work. The pause after a refresh is a multiple of its work: if a disk that hung counted,
// no data would be published for a multiple of that time after it works again.
const hungCommit = time.Second

func (a *chainActor) scheduleTick(after time.Duration) {
	a.ticks++
	epoch, tick := a.epoch, a.ticks
	time.AfterFunc(after, func() { a.send(refresh{epoch, tick}) })
}
