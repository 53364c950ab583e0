package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tidemark/actors/verify"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// contracts is a feed through which the contracts can be asked.
type contracts interface {
	verify.Caller
	// Finalized returns the newest block out of reach of reorganisations.
	Finalized() uint64
}

const (
	// verifyEvery is how often a sample is verified, and verifySample how many
	// pools and positions it has, each: a few dozen calls an hour.
	verifyEvery  = time.Hour
	verifySample = 200
	// lookEvery is how often the board is looked at for a state to keep.
	lookEvery = 2 * time.Second
	// verifyAgain is the pause after a verification that could not be finished.
	verifyAgain = time.Minute
	// mendWait is how long blocks that differ may take to be read again, and
	// mendTries how often in a row they are: once for every way to mend them.
	mendWait  = 10 * time.Minute
	mendTries = 3
	// verifyTries is how many states one verification takes until a node has the
	// contracts' state at that block.
	verifyTries = 3
)

// verifier verifies one chain: all of it when the process has reached the head for
// the first time, a sample every hour, and what an operator asks for. So what the
// feed was still to read again when the process ended is found after a restart.
type verifier struct {
	chain  market.ChainID
	config verify.Config
	ask    contracts
	board  *rankings.Board
	log    *slog.Logger
	tell   func(*rankings.Verification) // the chain's actor

	mu            sync.Mutex    // held by the verification that runs
	ready, coming *market.State // the newest that was finalized, and the next
	good          uint64        // the last block at which nothing differed
	turn          uint64

	held       sync.Mutex // of ready, coming and these
	differed   *market.State
	differedAt time.Time
}

// run verifies until ctx ends.
func (v *verifier) run(ctx context.Context) {
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	var next time.Time
	sample, different := 0, 0

	for {
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
		}
		if !v.keepStates() || time.Now().Before(next) || different > 0 && !v.isMended() {
			continue
		}
		next = time.Now().Add(verifyEvery)
		result, err := v.verify(ctx, sample)
		if err != nil {
			v.log.Warn("cannot verify a chain; it is tried again", "chain", v.chain, "error", err)
			next = time.Now().Add(verifyAgain)
			continue
		}

		// Whether a difference was mended is seen soon.
		sample, different = verifySample, different+1
		if result.Different == 0 {
			different = 0
		} else if sample = 0; different <= mendTries {
			next = time.Now()
		}
	}
}

// isMended reports whether the blocks that differed were read again: another state
// of them, or of later ones, is published. After mendWait it is not waited for.
func (v *verifier) isMended() bool {
	v.held.Lock()
	defer v.held.Unlock()
	c, ok := v.board.Load().Chain(v.chain)
	return v.differed == nil || time.Since(v.differedAt) > mendWait ||
		ok && c.View != nil && c.View.State != v.differed &&
			c.View.State.Head.Number >= v.differed.Head.Number
}

// drop forgets a state that differs from the contracts, and those kept to be
// verified later: they have the same fault.
func (v *verifier) drop(st *market.State) {
	v.held.Lock()
	defer v.held.Unlock()
	v.ready, v.coming = nil, nil
	v.differed, v.differedAt = st, time.Now()
}

// keepStates holds on to a state until its block is finalized, then to the
// next, and reports whether there is one to verify.
func (v *verifier) keepStates() bool {
	c, ok := v.board.Load().Chain(v.chain)
	if !ok || c.View == nil || !c.View.Warm() || c.Status.Syncing {
		return false
	}
	v.held.Lock()
	defer v.held.Unlock()

	if v.coming != nil && v.coming.Head.Number > c.View.State.Head.Number {
		v.coming = nil // the chain was taken back
	}
	if v.coming == nil {
		v.coming = c.View.State
	}
	if v.coming.Head.Number <= v.ask.Finalized() {
		v.ready, v.coming = v.coming, nil
	}
	return true
}

// state returns the one to verify: a finalized one, later the newest there is.
func (v *verifier) state(try int) *market.State {
	v.held.Lock()
	defer v.held.Unlock()
	if try == 0 && v.ready != nil {
		return v.ready
	}
	if c, ok := v.board.Load().Chain(v.chain); ok && c.View != nil {
		return c.View.State
	}
	return nil
}

// verify compares a sample, or everything where it is 0. Where no node has the
// contracts' state at the block any more, a newer one is taken.
func (v *verifier) verify(ctx context.Context, sample int) (*rankings.Verification, error) {
	v.mu.Lock()
	defer v.mu.Unlock()

	v.turn++
	config := v.config
	config.Sample, config.Turn, config.Good = sample, v.turn, v.good
	failed := errors.New("nothing is published yet")
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
			v.drop(st)
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
		v.log.Info("the ledger is as the contracts have it", "chain", v.chain,
			"block", result.Block, "values", result.Compared)
	}

	for i, d := range result.Differences {
		if i == maxDifferenceLines {
			break
		}
		v.log.Error("the ledger differs from a contract", "chain", v.chain, "what", d.What, "id", d.ID,
			"field", d.Field, "ledger", d.Ledger, "contract", d.Contract,
			"blocks", fmt.Sprintf("%d to %d", d.FromBlock, d.ToBlock))
	}

	v.tell(result)
}

// maxDifferenceLines bounds the log lines of one verification.
const maxDifferenceLines = 10
