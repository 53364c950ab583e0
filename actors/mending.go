package actors

import (
	"errors"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/verify"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
)

// maxAutoResync is the number of transactions up to which a chain is resynced
// automatically, because of a difference that is too old to revert. Indexing that
// many takes minutes, not hours.
const maxAutoResync = 20_000

// mending is what was tried last to correct a difference from the contracts.
type mending int

// The ways to mend, in the order in which they are tried.
const (
	notMended mending = iota
	reread            // what can be reverted was read again
	resynced          // the chain was resynced
)

// handleVerification records the result of a comparison with the contracts. To
// correct a difference, the blocks are read again.
func (a *chainActor) handleVerification(result *rankings.Verification) {
	if a.chain == nil || !a.chain.Loaded() {
		return
	}
	a.chain.SetVerified(result)
	if result.Different == 0 {
		a.mended = notMended
		return
	}
	a.mend(verify.Earliest(result.Differences), result.Block)
}

// mend reads the blocks from..to again. It first reverts what can be reverted; if
// that does not help, it resyncs a small chain.
func (a *chainActor) mend(from, to uint64) {
	stopped := a.chain.Status().Stopped
	if a.mended == reread && !stopped && a.chain.Status().LastIndexed.Number < to {
		return // they are being read again
	}
	if a.mended == notMended && !stopped {
		a.mended = reread
		a.beginEpoch()
		back := a.chain.Reread(from, to)
		a.startFetch()
		a.scheduleTick(a.Every)
		if back {
			a.Log.Warn("reading blocks again to correct a difference", "from", from, "to", to)
			return
		}
	}

	if !a.resyncedToMend() {
		a.Log.Error("a difference cannot be corrected automatically; run `tidemark chains resync`",
			"from", from, "to", to)
	}
}

// resyncedToMend resyncs the chain, once, if that takes minutes only.
func (a *chainActor) resyncedToMend() bool {
	if a.mended == resynced || a.chain.Transactions() > maxAutoResync {
		return false
	}

	a.mended = resynced
	a.Log.Warn("resyncing the chain to correct a difference")
	if err := a.resync(); err != nil {
		a.Log.Error("cannot resync a chain", "error", err)
	}
	return true
}

// handleRefused decides what follows a span that the ledger refuses: it is read
// again, or the chain is resynced, or the chain stops, and is tried again later.
func (a *chainActor) handleRefused(step feed.Step, err error) (goesOn bool) {
	if a.chain.Refused(step, err) {
		return true
	}

	// A chain that is tried again was resynced before it stopped, or is too large for that.
	var mismatch *ledger.Mismatch
	stopped := a.chain.Status().Stopped
	if !stopped && !a.chainConfig.WantsState && errors.As(err, &mismatch) && a.resyncedToMend() {
		return false
	}

	if !stopped {
		a.patience = 0
	}
	a.chain.Stop(err)
	if !a.chainConfig.WantsState { // what a feed computes is the same the next time
		a.tryAgainLater()
	}
	return false
}

// The pause before a stopped chain is tried again doubles from firstRetry to lastRetry: a
// provider is asked for the same blocks each time, and for their receipts.
const (
	firstRetry = time.Minute
	lastRetry  = time.Hour
)

// tryAgainLater asks the feed of a stopped chain again, after a pause. What it said may have
// been wrong, or of a block that is replaced since.
func (a *chainActor) tryAgainLater() {
	a.patience = min(max(2*a.patience, firstRetry), lastRetry)
	a.Log.Info("a stopped chain is tried again", "in", a.patience)
	epoch := a.epoch
	time.AfterFunc(a.patience, func() { a.send(retry{epoch}) })
}

func (a *chainActor) tryAgain() {
	a.chain.TryAgain()
	a.startFetch()
}
