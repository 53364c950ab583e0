package actors

import (
	"errors"

	"tidemark/actors/feed"
	"tidemark/actors/verify"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
)

// healedByResync is how many transactions of positions a chain may have that is
// indexed anew, by itself, for a difference that lies too far back to be taken
// back: that is minutes, not hours.
const healedByResync = 20_000

// mending is what was last tried for a difference from the contracts.
type mending int

// The ways to mend, in the order in which they are tried.
const (
	notMended mending = iota
	reread            // everything that can be taken back is read again
	resynced          // the chain is indexed anew
)

// verified notes what a comparison with the contracts found. What differs is
// healed by reading the blocks again.
func (a *chainActor) verified(result *rankings.Verification) {
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

// mend has the blocks from..to read again: first those that can be taken back, and
// when that did not help all of them, where that is soon done.
func (a *chainActor) mend(from, to uint64) {
	id, stopped := a.config.Ledger.Chain, a.chain.Status().Stopped
	if a.mended == notMended && !stopped {
		a.mended = reread
		a.abandon()
		back := a.chain.Reread(from, to)
		if back {
			a.log.Warn("blocks are read again to mend a difference", "chain", id, "from", from, "to", to)
		}
		a.fetch()
		a.tick(a.every)
		if back {
			return
		}
	}

	if !a.resyncedToMend() {
		a.log.Error("a difference cannot be mended here; run `tidemark chains resync`",
			"chain", id, "from", from, "to", to)
	}
}

// resyncedToMend indexes the chain anew, once, where that is soon done.
func (a *chainActor) resyncedToMend() bool {
	if a.mended == resynced || a.chain.Transactions() > healedByResync {
		return false
	}

	a.mended = resynced
	a.log.Warn("the chain is indexed anew to mend a difference", "chain", a.config.Ledger.Chain)
	if err := a.resync(); err != nil {
		a.log.Error("cannot index a chain anew", "chain", a.config.Ledger.Chain, "error", err)
	}
	return true
}

// refused decides what follows a span that the ledger does not take: it is read
// again, or everything is, or the chain stops.
func (a *chainActor) refused(step feed.Step, err error) (goesOn bool) {
	if a.chain.Refused(step, err) {
		return true
	}

	var mismatch *ledger.Mismatch
	if a.config.WantsState || !errors.As(err, &mismatch) || !a.resyncedToMend() {
		a.chain.Stop(err)
	}
	return false
}
