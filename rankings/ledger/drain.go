package ledger

import "slices"

// Changes returns what happened since the last call, and forgets it. The rows
// it names are those of a Freeze at the same head. A State's TickLists are not
// among them, since they follow from its Ticks; a pool whose list changed is
// among Pools.
func (l *Ledger) Changes() *Changes {
	l.settleDays()
	c := &Changes{
		Head:   l.head,
		Tokens: l.tokens.drain(), Owners: l.owners.drain(), Pools: l.pools.drain(),
		Days: l.days.drain(), Minutes: l.minutes.drain(), Ticks: l.ticks.drain(),
		Positions: l.positions.drain(), Wides: l.wides.drain(), Directs: l.directs.drain(),
		Hours: l.hours.drain(),
		Ops:   l.ops, UndoPut: slices.Clone(l.undos[l.put:]), UndoDrop: l.gone,
	}
	for _, i := range c.Days {
		c.Ops = append(c.Ops, PutPoolDay{*l.days.At(i)})
	}
	c.UndoDrop = slices.DeleteFunc(c.UndoDrop, func(to uint64) bool {
		return slices.ContainsFunc(c.UndoPut, func(u *Undo) bool { return u.To == to })
	})
	l.ops, l.gone, l.put = nil, nil, len(l.undos)
	l.now.batch++
	return c
}
