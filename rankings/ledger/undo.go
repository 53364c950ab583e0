package ledger

import (
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// keepUndo keeps the undo of a span that was applied. A final span has none, so
// older ones cannot be reached and are dropped.
func (l *Ledger) keepUndo(s *market.Span) {
	if s.Final {
		l.dropOldestUndos(len(l.undos))
		return
	}

	l.undoTickDays()
	u := l.makeUndo()
	l.forgetAmounts(u)
	u.To, u.Hash, u.Drops = s.To, s.Hash, l.undoOps.clone()
	l.undos = append(l.undos, u)
}

// forgetAmounts clears what the saved days that were running have of amounts. They are
// filled in again after a Revert, from pool and ticks, and would be kept in the undo alone.
func (l *Ledger) forgetAmounts(u *Undo) {
	running, days := market.DayOf(u.Before.Time), Days.Saved(u)
	for i := range days {
		if d := &days[i].Row; d.Day == running {
			d.Amount0, d.Amount1 = clmath.U256{}, clmath.U256{}
		}
	}
}

// undoByDrop and undoByPut add an operation to the undo of the present span. For a final
// span they do nothing, which saves garbage while a chain catches up.
func undoByDrop[E any](l *Ledger, s Series[E], key *E) {
	if !l.final {
		drop(&l.undoOps, s, key)
	}
}

func undoByPut[E any](l *Ledger, s Series[E], entry *E) {
	if !l.final {
		put(&l.undoOps, s, entry)
	}
}

// abandonSpan reverts the span that is being applied, including its tokens.
func (l *Ledger) abandonSpan() {
	u := l.makeUndo()
	l.applyUndo(u)

	first := u.Rows[Tokens.index]
	for i := first; i < l.st.Tokens.Len(); i++ {
		l.tokenOf.remove(i)
	}
	Tokens.in(l).restore(new(Undo), first)
	l.findNative()
}

// Revert undoes the newest span, with the hour that began before it. Its tokens
// stay. An hour that was announced and not applied is discarded. The error is
// ErrNoUndo if the span's undo is not kept.
func (l *Ledger) Revert() error {
	n := len(l.undos)
	if n == 0 {
		return ErrNoUndo
	}

	u := l.undos[n-1]
	l.applyUndo(u)
	for op := range u.Drops.All() {
		l.ops.Add(op)
	}
	l.undos = l.undos[:n-1]
	if l.storedUndos == n {
		l.storedUndos--
		l.droppedUndos = append(l.droppedUndos, u.To)
	}

	l.hour, l.reverted = nil, u
	return nil
}

// Forget drops the undos of spans that no reorg can reach: those that are
// finalized and at least 256 blocks below the head.
func (l *Ledger) Forget(finalized uint64) {
	n := 0
	for i, u := range l.undos {
		if u.To > finalized || u.To+market.UndoBlocks > l.st.Head.Number {
			break
		}
		// A span that was cut at an hour has a known hash only at its end. The oldest
		// undo must lead back to a known hash, or no reorg could go back that far.
		if !u.Hash.IsZero() {
			n = i + 1
		}
	}
	l.dropOldestUndos(n)
}

// undoableTime returns the time of the oldest block that Revert can go back to.
func (l *Ledger) undoableTime() int64 {
	if len(l.undos) == 0 {
		return l.st.Head.Time
	}
	return l.undos[0].Before.Time
}

// dropOldestUndos drops the oldest n undos.
func (l *Ledger) dropOldestUndos(n int) {
	for _, u := range l.undos[:min(n, l.storedUndos)] {
		l.droppedUndos = append(l.droppedUndos, u.To)
	}
	l.storedUndos = max(l.storedUndos-n, 0)
	l.undos = slices.Delete(l.undos, 0, n)
}

// applyUndo restores the ledger at u.Before: first the indexes, which need the
// present rows, then the rows.
func (l *Ledger) applyUndo(u *Undo) {
	l.undoHoldings(u)
	l.undoNames(u)
	l.undoTicks(u)
	l.undoHours(u)
	l.undoPrices(u)
	l.undoQuarantines(u)

	l.restoreRows(u)
	l.undoBucketDays(u)

	// What is not in the journals: lists, stale days, head and clock.
	pools := u.Rows[Pools.index]
	l.tickRefs.truncate(pools)
	l.isStale = l.isStale[:pools]
	for _, d := range Days.Saved(u) {
		l.markDayStale(d.Index)
	}

	l.st.Head = u.Before
	l.setClock()
}

// undoPrices removes the price records of the tokens that the span added: the
// tokens stay, but the hour of the record may be undone.
func (l *Ledger) undoPrices(u *Undo) {
	for i := u.Rows[Tokens.index]; i < l.st.Tokens.Len(); i++ {
		t := Tokens.note(l, i)
		*t = l.newToken(market.TokenMeta{
			Address: t.Address, Symbol: t.Symbol, Name: t.Name,
			Decimals: t.Decimals, BadDecimals: t.BadDecimals,
		})
	}
}

// undoHoldings updates the holdings for positions that are restored: it adds each
// as it will be and subtracts each as it is. The pools' counts are restored with
// their rows.
func (l *Ledger) undoHoldings(u *Undo) {
	count := func(p *market.Position, one uint32) {
		if !p.IsOpen() {
			return
		}
		key := holding{p.Owner, p.Pool}
		if l.holdings[key] += one; l.holdings[key] == 0 {
			delete(l.holdings, key)
		}
	}

	saved := Positions.Saved(u)
	for i := range saved {
		count(&saved[i].Row, 1)
		count(l.st.Positions.At(saved[i].Index), ^uint32(0))
	}
	for i := u.Rows[Positions.index]; i < l.st.Positions.Len(); i++ {
		count(l.st.Positions.At(i), ^uint32(0))
	}
}

// undoNames removes dropped rows from the indexes by name.
func (l *Ledger) undoNames(u *Undo) {
	for i := u.Rows[Owners.index]; i < l.st.Owners.Len(); i++ {
		l.ownerOf.remove(i)
	}
	for i := u.Rows[Pools.index]; i < l.st.Pools.Len(); i++ {
		l.poolOf.remove(i)
	}
	for i := u.Rows[NonNFT.index]; i < l.st.NonNFT.Len(); i++ {
		delete(l.nonNFTOf, nonNFTKeyOf(l.st.NonNFT.At(i)))
	}
}

// undoTicks restores the lists of ticks and their free records. All ticks that
// differ leave their lists before any is inserted, because a tick may return to
// another record than it has now.
func (l *Ledger) undoTicks(u *Undo) {
	leave := func(i uint32) {
		if t := l.st.Ticks.At(i); t.Pool != market.NoIndex {
			l.tickRefs.remove(t.Pool, t.Tick)
		}
	}
	saved := Ticks.Saved(u)
	for i := range saved {
		if s := &saved[i]; !sameTick(&s.Row, l.st.Ticks.At(s.Index)) {
			leave(s.Index)
		}
	}
	for i := u.Rows[Ticks.index]; i < l.st.Ticks.Len(); i++ {
		leave(i)
		l.freeTicks.remove(i)
	}

	for i := range saved {
		s := &saved[i]
		if s.Row.Pool == market.NoIndex {
			l.freeTicks.add(s.Index)
			continue
		}
		l.freeTicks.remove(s.Index)
		if !sameTick(&s.Row, l.st.Ticks.At(s.Index)) {
			l.tickRefs.insert(s.Row.Pool, market.TickRef{Tick: s.Row.Tick, Slot: s.Index})
		}
	}
}

// undoHours restores the free records of hour buckets. Their lists are in the rows
// themselves.
func (l *Ledger) undoHours(u *Undo) {
	for i := u.Rows[Hours.index]; i < l.st.Hours.Len(); i++ {
		l.freeHours.remove(i)
	}
	saved := Hours.Saved(u)
	for i := range saved {
		if s := &saved[i]; s.Row.Pool == market.NoIndex {
			l.freeHours.add(s.Index)
		} else {
			l.freeHours.remove(s.Index)
		}
	}
}

func sameTick(a, b *market.Tick) bool { return a.Pool == b.Pool && a.Tick == b.Tick }
