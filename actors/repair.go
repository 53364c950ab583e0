package actors

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/anthdm/hollywood/actor"

	"tidemark/actors/chain"
	"tidemark/storage"
)

// The pause before a chain is restored doubles from firstPause to lastPause, so that
// a permanent fault costs little and a chain recovers quickly from a passing one.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// recovering is a middleware that restores the chain after a panic.
func (a *chainActor) recovering(next actor.ReceiveFunc) actor.ReceiveFunc {
	return func(c *actor.Context) {
		defer func() {
			if r := recover(); r != nil {
				a.panics()
				a.Log.Error("chain panicked", "panic", r, "stack", string(debug.Stack()))
				a.recoverFrom(asError(r))
			}
		}()
		next(c)
	}
}

// recoverFrom restores the chain after an error. If its stored data is damaged, the
// chain is built again from its feed, and is unavailable until then.
func (a *chainActor) recoverFrom(err error) {
	var damage *storage.Damage
	if errors.As(err, &damage) && damage.Lasts() {
		a.Log.Error("the stored data of a chain is damaged; building it again from its feed", "error", damage)
		a.Board.Withdraw(a.id())
	}
	a.restoreLater()
}

// restoreLater opens the chain from the store again, after a pause. In a cluster the others
// may write it at once: what failed here may fail again, and they need not wait for it.
func (a *chainActor) restoreLater() {
	a.beginEpoch()
	if a.member != nil {
		a.member.Resign()
	}
	a.pause = nextPause(a.pause)
	epoch := a.epoch
	time.AfterFunc(a.pause, func() { a.send(open{epoch}) })
}

// nextPause doubles the pause before a restore.
func nextPause(last time.Duration) time.Duration {
	return min(max(2*last, firstPause), lastPause)
}

// openOrRebuild opens the chain, or builds it again if its stored data is damaged: the
// store remembers that until the data is dropped.
func (a *chainActor) openOrRebuild(config chain.Config) (*chain.Chain, error) {
	if a.member != nil {
		return a.openMember(config)
	}
	if damage := a.Store.Damaged(config.Ledger.Chain); damage != nil {
		return chain.Rebuild(config, a.Store, a.Board, damage)
	}
	return chain.Open(config, a.Store, a.Board)
}

// inBackground runs work of the chain concurrently with its actor. Stop waits for it.
func (a *chainActor) inBackground(do func() error) <-chan error { return runInBackground(&a.work, do) }

// Background is a chain.Config.Background for a caller that drives a chain without an actor.
func Background(do func() error) <-chan error { return runInBackground(new(sync.WaitGroup), do) }

func runInBackground(work *sync.WaitGroup, do func() error) <-chan error {
	done := make(chan error, 1)
	work.Go(func() { done <- guarded(do) })
	return done
}

// guarded turns a panic into an error, for work outside Receive.
func guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = asError(r)
		}
	}()
	return do()
}

// panicked is the error of a panic.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// asError returns the error of a panic.
func asError(value any) error {
	if damage, ok := value.(*storage.Damage); ok {
		return damage // of a row that was read from the store
	}
	return &panicked{value, debug.Stack()}
}
