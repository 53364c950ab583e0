package actors

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tidemark/actors/verify"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// contracts is a feed that can call the contracts.
type contracts interface {
	verify.Caller
	// Finalized returns the newest finalized block.
	Finalized() uint64
}

const (
	// verifyEvery is how often a sample is verified, and verifySample how many
	// pools and positions it has, each: a few dozen calls an hour.
	verifyEvery  = time.Hour
	verifySample = 200
	// pollEvery is the interval at which the board is polled for a newer state.
	pollEvery = 2 * time.Second
	// verifyAgain is the pause after a verification that failed.
	verifyAgain = time.Minute
	// mendWait is how long a difference may take to be corrected before it is
	// verified again, and mendTries how many times in a row that is done before the
	// hour is over: once for each of the two ways to correct it, and once more.
	mendWait  = 10 * time.Minute
	mendTries = 3
	// verifyTries is how many states one verification tries, until a node still has
	// the contracts' state at that block.
	verifyTries = 3
)

// verifier verifies one chain: all of it when the process first reaches the head, a
// sample every hour, and on an operator's command. So blocks that the feed still had
// to read again when the last process ended are found after a restart.
type verifier struct {
	chain  market.ChainID
	config verify.Config
	ask    contracts
	board  *rankings.Board
	log    *slog.Logger
	tell   func(*rankings.Verification) // the chain's actor

	mu    sync.Mutex // held during a verification
	good  uint64     // the last block at which everything was compared and nothing differed
	round uint64     // number of the verification; it selects the sample

	statesMu sync.Mutex
	ready    *market.State // the newest finalized state
	coming   *market.State // the next one, not finalized yet

	differed   *market.State // the last one that differed; nil: none
	differedAt time.Time
}

// run verifies until ctx ends.
func (v *verifier) run(ctx context.Context) {
	polls := time.NewTicker(pollEvery)
	defer polls.Stop()
	var next time.Time
	sample, different := 0, 0

	for {
		select {
		case <-ctx.Done():
			return
		case <-polls.C:
		}
		if !v.keepStates() || time.Now().Before(next) || different > 0 && !v.isMended() {
			continue
		}
		next = time.Now().Add(verifyEvery)
		result, err := v.verify(ctx, sample)
		if err != nil {
			v.log.Warn("cannot verify a chain; retrying", "error", err)
			next = time.Now().Add(verifyAgain)
			continue
		}

		// After a difference, verify everything again soon.
		sample, different = verifySample, different+1
		if result.Different == 0 {
			different = 0
		} else if sample = 0; different <= mendTries {
			next = time.Now()
		}
	}
}

// isMended reports whether a state may be verified again after one that differed: another
// state of the same block or of a later one is published, so its blocks were read again. It
// also reports true once mendWait is over, unless the ledger has gone back and is still
// before that block: until it is there, the state that differs is served.
func (v *verifier) isMended() bool {
	v.statesMu.Lock()
	defer v.statesMu.Unlock()
	if v.differed == nil {
		return true
	}
	c, ok := v.board.Load().Chain(v.chain)
	reading := ok && c.Status.LastIndexed.Number > 0 && c.Status.LastIndexed.Number < v.differed.Head.Number
	if !reading && time.Since(v.differedAt) > mendWait {
		return true
	}
	return ok && c.View != nil && c.View.State != v.differed &&
		c.View.State.Head.Number >= v.differed.Head.Number
}

// dropState forgets a state that differs from the contracts, and the states kept
// to be verified later: they have the same fault.
func (v *verifier) dropState(st *market.State) {
	v.statesMu.Lock()
	defer v.statesMu.Unlock()
	v.ready, v.coming = nil, nil
	v.differed, v.differedAt = st, time.Now()
}

// keepStates keeps a state until its block is finalized, and then the next one. It
// reports whether the chain can be verified.
func (v *verifier) keepStates() bool {
	c, ok := v.board.Load().Chain(v.chain)
	if !ok || c.View == nil || !c.View.Warm() || c.Status.Syncing {
		return false
	}
	v.statesMu.Lock()
	defer v.statesMu.Unlock()

	if v.coming != nil && v.coming.Head.Number > c.View.State.Head.Number {
		v.coming = nil // the chain was reverted
	}
	if v.coming == nil {
		v.coming = c.View.State
	}
	if v.coming.Head.Number <= v.ask.Finalized() {
		v.ready, v.coming = v.coming, nil
	}
	return true
}

// state returns the state to verify: first a finalized one, then the newest.
func (v *verifier) state(try int) *market.State {
	v.statesMu.Lock()
	defer v.statesMu.Unlock()
	if try == 0 && v.ready != nil {
		return v.ready
	}
	if c, ok := v.board.Load().Chain(v.chain); ok && c.View != nil {
		return c.View.State
	}
	return nil
}

// verify compares a sample, or everything if it is 0. If no node has the contracts'
// state at that block any more, it tries a newer one.
func (v *verifier) verify(ctx context.Context, sample int) (*rankings.Verification, error) {
	v.mu.Lock()
	defer v.mu.Unlock()

	v.round++
	config := v.config
	config.Sample, config.Turn, config.Good = sample, v.round, v.good
	failed := refuse("nothing is published yet")

	for try := range verifyTries {
		st := v.state(try)
		if st == nil {
			break
		}
		result, err := verify.Compare(ctx, v.ask, st, config)
		if err != nil {
			if failed = err; ctx.Err() != nil {
				break
			}
			continue
		}
		if result.Different > 0 {
			v.dropState(st)
		}
		result.At = time.Now().UnixMilli()
		v.report(result, sample == 0)
		return result, nil
	}
	return nil, failed
}

func (v *verifier) report(result *rankings.Verification, whole bool) {
	if result.Different == 0 {
		if whole {
			v.good = result.Block
		}
		v.log.Info("the ledger equals the contracts", "block", result.Block, "values", result.Compared)
	}

	for i, d := range result.Differences {
		if i == maxDifferenceLines {
			break
		}
		v.log.Error("the ledger differs from a contract", "what", d.What, "id", d.ID,
			"field", d.Field, "ledger", d.Ledger, "contract", d.Contract,
			"blocks", fmt.Sprintf("%d to %d", d.FromBlock, d.ToBlock))
	}

	v.tell(result)
}

// maxDifferenceLines bounds the log lines of one verification.
const maxDifferenceLines = 10
