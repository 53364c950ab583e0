package rankings

import (
	"time"

	"tidemark/rankings/market"
)

// ChangeLog is the newest publications of all chains, with what each changed. It
// is immutable: a Snapshot has one that agrees with its views, so a reader that
// loads the board sees views and log of the same moment, and no writer waits for
// it.
type ChangeLog struct {
	steps   []*Step // in order of publication
	next    uint64  // Step.Seq of the next one
	changes int     // of all steps
}

// Step is one publication of a chain that followed another one.
type Step struct {
	Seq        uint64 // counts the steps of all chains
	Chain      market.ChainID
	Generation uint64
	*Changes
}

// What a log holds, apart from its window.
const (
	maxLogged = 4 * maxChanges // 8 MB, and twice that if all are of positions that changed hands
	maxSteps  = 8192           // ten minutes of three chains that publish four times a second
)

// defaultWindow is how long changes are kept unless SetWindow says otherwise.
const defaultWindow = 10 * time.Minute

// SetWindow sets how long the changes of a publication are kept. Those of the
// newest one are kept in any case.
func (b *Board) SetWindow(window time.Duration) { b.windowMs.Store(window.Milliseconds()) }

func (b *Board) window() int64 {
	if ms := b.windowMs.Load(); ms > 0 {
		return ms
	}
	return defaultWindow.Milliseconds()
}

// with returns the log with a step added, without those that are too old.
func (l *ChangeLog) with(v *View, windowMs int64) *ChangeLog {
	if l == nil {
		l = new(ChangeLog)
	}

	step := &Step{l.next, v.State.Chain, v.Generation, v.Changes}
	next := &ChangeLog{next: l.next + 1, changes: l.changes + step.Len()}
	old := l.steps
	for len(old) > 0 && (old[0].At < step.At-windowMs || next.changes > maxLogged || len(old) >= maxSteps) {
		next.changes -= old[0].Len()
		old = old[1:]
	}

	next.steps = append(append(make([]*Step, 0, len(old)+1), old...), step)
	return next
}

// After returns the steps from seq on, oldest first. The first may be a later one.
func (l *ChangeLog) After(seq uint64) []*Step {
	if l == nil || len(l.steps) == 0 {
		return nil
	}
	first := l.steps[0].Seq
	return l.steps[min(max(seq, first)-first, uint64(len(l.steps))):]
}

// Next returns the Seq of the step that will be added next.
func (l *ChangeLog) Next() uint64 {
	if l == nil {
		return 0
	}
	return l.next
}

// Find returns the step that published a generation, or nil if it is not kept.
func (l *ChangeLog) Find(chain market.ChainID, generation uint64) *Step {
	for _, s := range l.After(0) {
		if s.Chain == chain && s.Generation == generation {
			return s
		}
	}
	return nil
}
