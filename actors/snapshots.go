package actors

import (
	"io"
	"time"

	"tidemark/storage/pace"
)

// The node that writes a chain stores a snapshot of it from time to time. It reads a
// frozen copy of the store beside the actor, with pauses, so that neither requests nor
// refreshes wait for it. If that fails, the chain goes on, and it is tried again.

// snapshotRetry is the pause after a snapshot that failed, and the shortest one between
// snapshots that other nodes ask for.
const snapshotRetry = time.Minute

// snapshotting says when the next snapshot is due.
type snapshotting struct {
	running bool
	due     time.Time // zero: it has to be found out
	last    time.Time // when the last one began
	newest  uint64    // cut of the newest one that this node knows of
}

// snapshotIfDue begins a snapshot of a chain that this node writes.
func (a *chainActor) snapshotIfDue() {
	s := &a.snapshot
	if a.member == nil || s.running {
		return
	}
	now := time.Now()
	wanted := a.member.Wanted() > s.newest && now.Sub(s.last) >= min(snapshotRetry, a.snapshotEvery)
	if now.Before(s.due) && !wanted {
		return
	}

	s.running, s.last = true, now
	a.work.Go(func() {
		m := snapshotted{}
		m.err = guarded(func() (err error) {
			m.newest, m.due, err = a.makeSnapshot(wanted)
			return err
		})
		a.send(m)
	})
}

func (a *chainActor) handleSnapshotted(m snapshotted) {
	s := &a.snapshot
	s.running = false
	if m.err == nil {
		s.due, s.newest = m.due, m.newest
		return
	}

	s.due = time.Now().Add(min(snapshotRetry, a.snapshotEvery))
	if a.ctx.Err() == nil {
		a.member.CountFailed()
		a.Log.Error("cannot store a snapshot of a chain; trying again", "error", m.err)
	}
}

// makeSnapshot stores a snapshot, unless another node has stored one lately. It returns
// the cut of the newest one, and when the next one is due.
func (a *chainActor) makeSnapshot(wanted bool) (newest uint64, due time.Time, err error) {
	all, err := a.member.Snapshots(a.ctx)
	if err != nil {
		return 0, due, err
	}
	if len(all) > 0 {
		s := all[0]
		a.member.NoteSnapshot(s)
		newest, due = s.Place.Number, s.Made.Add(a.snapshotEvery)
		if !wanted && time.Now().Before(due) {
			return newest, due, a.member.Prune(a.ctx)
		}
	}

	id, started := a.id(), time.Now()
	export := a.Store.Export(id)
	defer export.Close()
	place, err := export.Place()
	if err != nil || place == nil { // nothing is committed yet
		return 0, started.Add(a.Every), err
	}
	pause := pace.Background(a.Board.Requests).Pause
	s, err := a.member.PutSnapshot(a.ctx, place, func(w io.Writer) error { return export.Write(w, pause) })
	if err != nil {
		return 0, due, err
	}

	a.Log.Info("stored a snapshot of a chain", "cut", s.Place.Number,
		"bytes", s.Bytes, "unpacked", s.Unpacked, "took", time.Since(started))
	return s.Place.Number, started.Add(a.snapshotEvery), a.member.Prune(a.ctx)
}
