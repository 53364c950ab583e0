package actors

import (
	"context"
	"errors"
	"fmt"

	"tidemark/actors/chain"
	"tidemark/actors/cluster"
	"tidemark/storage"
)

// A node of a cluster whose data of a chain cannot be followed takes the chain from the
// newest sound snapshot: a node that is new, or was away for longer than cuts are kept, or
// has data of its own, or data that is damaged. What it has is dropped only once the
// snapshot is there as a whole.

// mustJoin reports whether the chain cannot be opened from what the store has.
func (a *chainActor) mustJoin() bool {
	if a.drops || a.Store.Damaged(a.id()) != nil {
		return true
	}
	place, err := a.Store.Place(a.id())
	return err != nil || place == nil
}

// startJoining makes the store's data that of the cluster, and then opens the chain. The
// generation that is shown stays until a snapshot replaces it.
func (a *chainActor) startJoining() {
	a.member.Resign()
	if a.chain == nil || !a.chain.Following() {
		a.chain = chain.Await(a.chainConfig, a.Store, a.Board)
	}

	epoch, needs := a.epoch, a.needs
	a.runCancellable(func(ctx context.Context) {
		a.joinMu.Lock()
		defer a.joinMu.Unlock()
		m := joined{epoch: epoch}
		m.err = guarded(func() (err error) {
			m.took, err = a.join(ctx, needs)
			return err
		})
		a.send(m)
	})
}

func (a *chainActor) handleJoined(m joined) {
	if m.err != nil {
		a.chain.Refuse(m.err)
		a.Log.Error("cannot take a chain from the cluster; trying again", "error", m.err)
		a.restoreLater()
		return
	}
	if m.took {
		a.pause = 0
	}
	a.drops = false
	a.openStored()
}

// join takes the newest sound snapshot that has cut number needs, and reports whether
// there is one. Otherwise it begins before the first cut, or stays with what the store has.
func (a *chainActor) join(ctx context.Context, needs uint64) (took bool, err error) {
	beginning, err := a.member.Beginning(ctx)
	if err != nil {
		return false, err
	}
	snapshots, err := a.member.Snapshots(ctx)
	if err != nil {
		return false, err
	}

	var refused error
	for _, s := range snapshots {
		if s.Place.Number < needs {
			break
		}
		err := a.takeSnapshot(ctx, s)
		if err == nil || ctx.Err() != nil || errors.Is(err, storage.ErrReadOnly) {
			return err == nil, err
		}
		a.Log.Error("a snapshot is refused", "cut", s.Place.Number, "error", err)
		refused = errors.Join(refused, err)
	}

	if needs > 0 {
		a.member.Want(needs)
		return false, nil
	}
	return false, a.joinWithout(beginning, len(snapshots) > 0, refused)
}

// joinWithout is join where there is no sound snapshot. damaged says that there are some.
func (a *chainActor) joinWithout(beginning cluster.Beginning, damaged bool, refused error) error {
	id := a.id()
	has := a.findStored()
	switch {
	case beginning == cluster.NoCuts && damaged, beginning == cluster.LaterCut:
		// The cuts alone do not give the chain: wait for a snapshot, below.
	case has == nothingStored, beginning == cluster.NoCuts && has == joinedStored:
		return nil
	case has != ownStored:
		return chain.Forget(a.Store, a.Board, id)
	case beginning == cluster.NoCuts && a.member.MayWrite():
		a.Log.Warn("no node of the cluster has the chain yet: the data of this node is its beginning")
		return a.Store.SetPlace(id, cluster.FreshPlace().Encode())
	}

	a.member.Want(1)
	if refused == nil {
		return fmt.Errorf("this node waits for a snapshot of chain %d: there is none yet", id)
	}
	return fmt.Errorf("this node waits for another snapshot of chain %d: %w", id, refused)
}

// stored is what the store has of a chain before it joins.
type stored int

const (
	nothingStored stored = iota
	ownStored            // data that was not made in this cluster
	joinedStored         // data of the cluster
	damagedStored
)

func (s stored) String() string {
	return [...]string{"nothing", "data of its own", "data of the cluster", "damaged data"}[s]
}

func (a *chainActor) findStored() stored {
	id := a.id()
	place, err := a.Store.Place(id)
	if err != nil || a.Store.Damaged(id) != nil {
		return damagedStored
	}
	if place != nil {
		return joinedStored
	}

	kept, err := a.Store.Restore(id)
	switch {
	case err != nil:
		return damagedStored
	case kept == nil:
		return nothingStored
	}
	return ownStored
}

// takeSnapshot replaces what the store has of the chain.
func (a *chainActor) takeSnapshot(ctx context.Context, s *cluster.Snapshot) error {
	id := a.id()
	content, err := a.member.OpenSnapshot(ctx, s)
	if err != nil {
		return a.member.CountRefused(err)
	}
	in, err := a.Store.Receive(id, content)
	if err != nil {
		return a.member.CountRefused(err)
	}

	replaced := a.findStored().String()
	a.Board.Withdraw(id)
	if err := errors.Join(in.Install(), in.Close()); err != nil {
		return err
	}
	a.member.CountTaken()
	a.Log.Warn("took a chain from a snapshot of the cluster; what the node had of it is replaced",
		"cut", s.Place.Number, "bytes", s.Bytes, "made", s.Made, "by", s.Node,
		"replaced", replaced)
	return nil
}
