package ledger

import (
	"slices"

	"tidemark/rankings/market"
)

// keptBlocks is how far back a reorganisation can be followed even where the
// chain says that it has finalized more.
const keptBlocks = 256

// keep turns what the span saved into its undo. A final span ends all undos: it
// has none itself, so older ones cannot be reached.
func (l *Ledger) keep(s *market.Span) {
	if s.Final {
		l.forget(len(l.undos))
		return
	}

	l.oldTickDays()
	u := l.saved()
	u.To, u.Hash, u.Drops = s.To, s.Hash, l.drops
	l.undos = append(l.undos, u)
}

// onUndo notes an operation that the undo of the present span is to do. A final
// span gets none, and so makes no garbage of them while a chain catches up.
func onUndo[E any](l *Ledger, op func(E) Op, entry E) {
	if !l.final {
		l.drops = append(l.drops, op(entry))
	}
}

// abandon takes back the span that is being applied, its tokens too.
func (l *Ledger) abandon() {
	u := l.saved()
	l.undo(u)

	first := u.Rows[Tokens.index]
	for i := first; i < l.st.Tokens.Len(); i++ {
		delete(l.tokenOf, l.st.Tokens.At(i).Address)
		if i == l.st.Native {
			l.st.Native = market.NoIndex
		}
	}
	Tokens.in(l).restore(new(Undo), first)
}

// Revert takes back the newest span, with the hour that began before it. The
// tokens that it taught stay. ErrNoUndo when its inverse is not kept.
func (l *Ledger) Revert() error {
	n := len(l.undos)
	if n == 0 {
		return ErrNoUndo
	}

	u := l.undos[n-1]
	l.undo(u)
	l.ops = append(l.ops, u.Drops...)
	l.undos = l.undos[:n-1]
	if l.put == n {
		l.put--
		l.gone = append(l.gone, u.To)
	}

	l.hour = nil
	return nil
}

// Forget drops the inverses of spans that no reorganisation can reach: those
// both finalized and at least 256 blocks below the head.
func (l *Ledger) Forget(finalized uint64) {
	n := 0
	for n < len(l.undos) {
		if to := l.undos[n].To; to > finalized || to+keptBlocks > l.st.Head.Number {
			break
		}
		n++
	}
	l.forget(n)
}

// forget drops the oldest n undos.
func (l *Ledger) forget(n int) {
	for _, u := range l.undos[:min(n, l.put)] {
		l.gone = append(l.gone, u.To)
	}
	l.put = max(l.put-n, 0)
	l.undos = slices.Delete(l.undos, 0, n)
}

// undo puts everything back as it was at u.Before: the indexes first, while
// the rows still show what they hold, then the rows.
func (l *Ledger) undo(u *Undo) {
	l.undoHoldings(u)
	l.undoNames(u)
	l.undoTicks(u)
	l.undoHours(u)
	l.undoPrices(u)
	l.undoQuarantines(u)

	l.restore(u)

	pools := u.Rows[Pools.index]
	l.lists.truncate(pools)
	l.isStale = l.isStale[:pools]
	for _, d := range Days.Saved(u) {
		l.unsettle(d.Index)
	}

	l.st.Head = u.Before
	l.time, l.day = l.st.Head.Time, market.DayOf(l.st.Head.Time)
}

// undoPrices takes the price records from the tokens that the span taught:
// they stay, and the hours whose records they had may not.
func (l *Ledger) undoPrices(u *Undo) {
	for i := u.Rows[Tokens.index]; i < l.st.Tokens.Len(); i++ {
		t := Tokens.note(l, i)
		*t = unpriced(market.TokenMeta{
			Address: t.Address, Symbol: t.Symbol, Name: t.Name,
			Decimals: t.Decimals, BadDecimals: t.BadDecimals,
		})
	}
}

// undoHoldings corrects the holdings for the positions that change back: it adds
// each as it will be and subtracts each as it is. The counts in the pools come
// back with their rows.
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

// undoNames removes the rows that are dropped from the indexes by name.
func (l *Ledger) undoNames(u *Undo) {
	for i := u.Rows[Owners.index]; i < l.st.Owners.Len(); i++ {
		delete(l.ownerOf, *l.st.Owners.At(i))
	}
	for i := u.Rows[Pools.index]; i < l.st.Pools.Len(); i++ {
		delete(l.poolOf, l.st.Pools.At(i).ID)
	}
	for i := u.Rows[NonNFT.index]; i < l.st.NonNFT.Len(); i++ {
		delete(l.nonNFTOf, keyOf(l.st.NonNFT.At(i)))
	}
}

// undoTicks brings the lists of ticks and their free records back. All ticks
// that differ leave their lists before any comes back: one may return to
// another record than it has now.
func (l *Ledger) undoTicks(u *Undo) {
	leave := func(i uint32) {
		if t := l.st.Ticks.At(i); t.Pool != market.NoIndex {
			l.lists.remove(t.Pool, t.Tick)
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
		l.freeTicks.drop(i)
	}

	for i := range saved {
		s := &saved[i]
		if s.Row.Pool == market.NoIndex {
			l.freeTicks.put(s.Index)
			continue
		}
		l.freeTicks.drop(s.Index)
		if !sameTick(&s.Row, l.st.Ticks.At(s.Index)) {
			l.lists.insert(s.Row.Pool, market.TickRef{Tick: s.Row.Tick, Slot: s.Index})
		}
	}
}

// undoHours brings the free records of the buckets back; their lists are in
// the rows themselves.
func (l *Ledger) undoHours(u *Undo) {
	for i := u.Rows[Hours.index]; i < l.st.Hours.Len(); i++ {
		l.freeHours.drop(i)
	}
	saved := Hours.Saved(u)
	for i := range saved {
		if s := &saved[i]; s.Row.Pool == market.NoIndex {
			l.freeHours.put(s.Index)
		} else {
			l.freeHours.drop(s.Index)
		}
	}
}

func sameTick(a, b *market.Tick) bool { return a.Pool == b.Pool && a.Tick == b.Tick }
