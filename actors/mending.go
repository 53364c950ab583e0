package actors

import (
	"errors"

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
	id, stopped := a.config.Ledger.Chain, a.chain.Status().Stopped
	if a.mended == notMended && !stopped {
		a.mended = reread
		a.beginEpoch()
		back := a.chain.Reread(from, to)
		a.startFetch()
		a.scheduleTick(a.every)
		if back {
			a.log.Warn("reading blocks again to correct a difference", "chain", id, "from", from, "to", to)
			return
		}
	}

	if !a.resyncedToMend() {
		a.log.Error("a difference cannot be corrected automatically; run `tidemark chains resync`",
			"chain", id, "from", from, "to", to)
	}
}

// resyncedToMend resyncs the chain, once, if that takes minutes only.
func (a *chainActor) resyncedToMend() bool {
	if a.mended == resynced || a.chain.Transactions() > maxAutoResync {
		return false
	}

	a.mended = resynced
	a.log.Warn("resyncing the chain to correct a difference", "chain", a.config.Ledger.Chain)
	if err := a.resync(); err != nil {
		a.log.Error("cannot resync a chain", "chain", a.config.Ledger.Chain, "error", err)
	}
	return true
}

// handleRefused decides what follows a span that the ledger refuses: it is read
// again, or the chain is resynced, or the chain stops.
func (a *chainActor) handleRefused(step feed.Step, err error) (goesOn bool) {
	if a.chain.Refused(step, err) {
		return true
	}

	var mismatch *ledger.Mismatch
	if a.config.WantsState || !errors.As(err, &mismatch) || !a.resyncedToMend() {
		a.chain.Stop(err)
	}
	return false
}
