package ledger

import (
	"slices"

	"tidemark/rankings/market"
)

// keptBlocks is how far back a reorganisation can be followed even where the
// chain says that it has finalized more.
const keptBlocks = 256

// keep turns what the span saved into its undo. After a final span the older
// ones have nothing left to lead back from.
func (l *Ledger) keep(s *market.Span, before Lens) {
	if s.Final {
		l.forget(len(l.undos))
		return
	}
	l.oldTickDays()
	l.undos = append(l.undos, &Undo{
		Before: l.head, To: s.To, Hash: s.Hash, Lens: before,
		Tokens: slices.Clone(l.tokens.saved), Pools: slices.Clone(l.pools.saved),
		Days: slices.Clone(l.days.saved), Minutes: slices.Clone(l.minutes.saved),
		Ticks: slices.Clone(l.ticks.saved), Positions: slices.Clone(l.positions.saved),
		Wides: slices.Clone(l.wides.saved), Directs: slices.Clone(l.directs.saved),
		Hours: slices.Clone(l.hours.saved),
		Drops: l.drops,
	})
}

// abandon takes back the span that is being applied, its tokens too.
func (l *Ledger) abandon(before Lens) {
	l.undo(&Undo{
		Before: l.head, Lens: before,
		Tokens: l.tokens.saved, Pools: l.pools.saved, Days: l.days.saved,
		Minutes: l.minutes.saved, Ticks: l.ticks.saved, Positions: l.positions.saved,
		Wides: l.wides.saved, Directs: l.directs.saved, Hours: l.hours.saved,
	})
	for i := before.Tokens; i < l.tokens.Len(); i++ {
		delete(l.tokenOf, l.tokens.At(i).Address)
		if i == l.native {
			l.native = market.NoIndex
		}
	}
	l.tokens.restore(nil, before.Tokens)
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
// both finalized and 256 blocks under the head.
func (l *Ledger) Forget(finalized uint64) {
	n := 0
	for n < len(l.undos) {
		if to := l.undos[n].To; to > finalized || to+keptBlocks > l.head.Number {
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
	for i := u.Lens.Tokens; i < l.tokens.Len(); i++ {
		t := l.tokens.note(i)
		*t = market.Token{
			Address: t.Address, Symbol: t.Symbol, Name: t.Name,
			Decimals: t.Decimals, BadDecimals: t.BadDecimals,
			HourUsd: market.Unknown, HourOnlyPool: market.NoIndex, HourReason: market.ReasonNoMarket,
		}
	}
	l.tokens.restore(u.Tokens, l.tokens.Len())
	l.owners.restore(nil, u.Lens.Owners)
	l.pools.restore(u.Pools, u.Lens.Pools)
	l.days.restore(u.Days, u.Lens.Pools)
	l.minutes.restore(u.Minutes, u.Lens.Pools)
	l.ticks.restore(u.Ticks, u.Lens.Ticks)
	l.positions.restore(u.Positions, u.Lens.Positions)
	l.wides.restore(u.Wides, u.Lens.Wides)
	l.directs.restore(u.Directs, u.Lens.Directs)
	l.hours.restore(u.Hours, u.Lens.Hours)
	l.lists.truncate(u.Lens.Pools)
	l.isStale = l.isStale[:u.Lens.Pools]
	for i := range u.Days {
		l.unsettle(u.Days[i].Index)
	}
	l.openCount, l.transactions = u.Lens.OpenCount, u.Lens.Transactions
	l.head = u.Before
	l.time, l.day = l.head.Time, market.DayOf(l.head.Time)
}

// undoHoldings counts the holdings of the positions that change back: each as
// it will be, less each as it is. The pools' counts come with their rows.
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
	for i := range u.Positions {
		count(&u.Positions[i].Row, 1)
		count(l.positions.At(u.Positions[i].Index), ^uint32(0))
	}
	for i := u.Lens.Positions; i < l.positions.Len(); i++ {
		count(l.positions.At(i), ^uint32(0))
	}
}

// undoNames forgets the names of the records that vanish.
func (l *Ledger) undoNames(u *Undo) {
	for i := u.Lens.Owners; i < l.owners.Len(); i++ {
		delete(l.ownerOf, *l.owners.At(i))
	}
	for i := u.Lens.Pools; i < l.pools.Len(); i++ {
		delete(l.poolOf, l.pools.At(i).ID)
	}
	for i := u.Lens.Directs; i < l.directs.Len(); i++ {
		delete(l.directOf, keyOf(l.directs.At(i)))
	}
}

// undoTicks brings the lists of ticks and their free records back. All ticks
// that differ leave their lists before any comes back: one may return to
// another record than it has now.
func (l *Ledger) undoTicks(u *Undo) {
	leave := func(i uint32) {
		if t := l.ticks.At(i); t.Pool != market.NoIndex {
			l.lists.remove(t.Pool, t.Tick)
		}
	}
	for i := range u.Ticks {
		if s := &u.Ticks[i]; !sameTick(&s.Row, l.ticks.At(s.Index)) {
			leave(s.Index)
		}
	}
	for i := u.Lens.Ticks; i < l.ticks.Len(); i++ {
		leave(i)
		l.freeTicks.drop(i)
	}
	for i := range u.Ticks {
		s := &u.Ticks[i]
		if s.Row.Pool == market.NoIndex {
			l.freeTicks.put(s.Index)
			continue
		}
		l.freeTicks.drop(s.Index)
		if !sameTick(&s.Row, l.ticks.At(s.Index)) {
			l.lists.insert(s.Row.Pool, market.TickRef{Tick: s.Row.Tick, Slot: s.Index})
		}
	}
}

// undoHours brings the free records of the buckets back; their lists are in
// the rows themselves.
func (l *Ledger) undoHours(u *Undo) {
	for i := u.Lens.Hours; i < l.hours.Len(); i++ {
		l.freeHours.drop(i)
	}
	for i := range u.Hours {
		if s := &u.Hours[i]; s.Row.Pool == market.NoIndex {
			l.freeHours.put(s.Index)
		} else {
			l.freeHours.drop(s.Index)
		}
	}
}

func sameTick(a, b *market.Tick) bool { return a.Pool == b.Pool && a.Tick == b.Tick }
