package storage

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/block"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// rig generates random cuts of one chain: rows that change, are added and are
// reverted, series, undos, generations. The values mean nothing; only the
// references between rows are valid.
type rig struct {
	next numbers
	st   market.State // the newest frozen State

	tokens    market.Table[market.Token]
	owners    market.Table[market.Address]
	pools     market.Table[market.Pool]
	days      market.Table[market.PoolDay]
	minutes   market.Table[market.Minutes]
	ticks     market.Table[market.Tick]
	positions market.Table[market.Position]
	overflow  market.Table[market.Sums]
	nonNFT    market.Table[market.NonNFT]
	hours     market.Table[market.HourBucket]
	prices    market.Table[market.Price]
	stats     market.Table[market.PoolStats]

	now snapshot
}

// snapshot is the expected content of a store.
type snapshot struct {
	st           *market.State
	generation   uint64
	published    market.Head
	directory    string
	confirmed    int64
	leaves       map[uint64]string
	undos        map[uint64]ledger.Undo
	transactions map[[3]uint64]market.Transaction
	poolDays     map[[2]uint32]market.PoolDay
	tickDays     map[[3]int64]market.TickDay
	hourPrices   map[[2]uint32]ledger.HourEntry
}

func (p *snapshot) clone() *snapshot {
	c := *p
	c.leaves, c.undos = maps.Clone(p.leaves), maps.Clone(p.undos)
	c.transactions, c.poolDays = maps.Clone(p.transactions), maps.Clone(p.poolDays)
	c.tickDays, c.hourPrices = maps.Clone(p.tickDays), maps.Clone(p.hourPrices)
	return &c
}

// rounds returns n, or a fifth of it under -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

func newRig(seed uint64, chain market.ChainID) *rig {
	r := rand.New(rand.NewPCG(seed, uint64(chain)))
	g := &rig{st: market.State{Chain: chain, DaysFrom: 3, HoursFrom: 77}, now: snapshot{
		leaves: map[uint64]string{}, undos: map[uint64]ledger.Undo{},
		transactions: map[[3]uint64]market.Transaction{},
		poolDays:     map[[2]uint32]market.PoolDay{},
		tickDays:     map[[3]int64]market.TickDay{},
		hourPrices:   map[[2]uint32]ledger.HourEntry{},
	}}

	g.next = func(n uint64) uint64 {
		if n == 0 {
			return r.Uint64()
		}
		return r.Uint64N(n)
	}

	return g
}

// edit changes and appends rows of a table as a span does. It saves the old rows
// in the undo and marks all rows as changed.
func edit[T any](
	g *rig, t *ledger.Table[T], table *market.Table[T], grow int, u *ledger.Undo, ch *ledger.Changes,
	fix func(i uint32, row *T),
) {
	saved, dirty := touch(g, table, grow, t.Changed(ch), fix)
	if t.Index() != ledger.Owners.Index() && len(saved) > 0 {
		t.SetSaved(u, saved)
	}
	t.SetChanged(ch, dirty)
}

// touch changes and appends rows of a table. It returns the old rows, and dirty
// with the indexes added.
func touch[T any](
	g *rig, table *market.Table[T], grow int, dirty []uint32, fix func(i uint32, row *T),
) (saved []ledger.Saved[T], noted []uint32) {
	rows := map[uint32]bool{}
	before := table.Len()
	for range min(int(before), grow) {
		rows[g.below(before)] = true
	}
	for range grow {
		rows[table.Append(*new(T))] = true
	}

	for _, i := range slices.Sorted(maps.Keys(rows)) {
		old, row := *table.At(i), filled[T](g.next)
		if i < before {
			saved = append(saved, ledger.Saved[T]{Index: i, Row: old})
		}
		fix(i, &row)
		*table.Mut(i) = row
		dirty = append(dirty, i)
	}
	slices.Sort(dirty)
	return saved, slices.Compact(dirty)
}

func (g *rig) below(n uint32) uint32 { return uint32(g.next(uint64(n))) }

func (g *rig) maybe(n uint32) uint32 {
	if n == 0 || g.next(2) == 0 {
		return market.NoIndex
	}
	return g.below(n)
}

// span adds a span that changes n rows of every table.
func (g *rig) span(ch *ledger.Changes, n int) {
	pools, ticks := &g.pools.Frozen, &g.ticks.Frozen
	u := filledUndo(g.next)
	u = ledger.Undo{
		Hash: u.Hash, Rows: u.Rows, OpenCount: u.OpenCount, Transactions: u.Transactions,
		Drops: u.Drops, Before: g.st.Head,
	}

	edit(g, ledger.Tokens, &g.tokens, 1+n/4, &u, ch, func(uint32, *market.Token) {})
	edit(g, ledger.Owners, &g.owners, n, &u, ch, func(uint32, *market.Address) {})
	edit(g, ledger.Hours, &g.hours, n, &u, ch, func(_ uint32, h *market.HourBucket) {
		h.Prev = g.maybe(g.hours.Len())
	})
	edit(g, ledger.Pools, &g.pools, n, &u, ch, func(_ uint32, p *market.Pool) {
		p.Currency0, p.Currency1 = g.below(g.tokens.Len()), g.below(g.tokens.Len())
		p.LastHour = g.maybe(g.hours.Len())
	})

	edit(g, ledger.Days, &g.days, n, &u, ch, func(i uint32, d *market.PoolDay) {
		d.Pool, d.Day = i, 1000+g.below(3)
	})
	edit(g, ledger.Minutes, &g.minutes, n, &u, ch, func(uint32, *market.Minutes) {})
	edit(g, ledger.Ticks, &g.ticks, n, &u, ch, func(_ uint32, t *market.Tick) {
		t.Pool = g.maybe(pools.Len())
	})
	edit(g, ledger.Overflow, &g.overflow, n, &u, ch, func(uint32, *market.Sums) {})
	edit(g, ledger.Positions, &g.positions, n, &u, ch, func(_ uint32, p *market.Position) {
		p.Pool, p.Owner = g.below(pools.Len()), g.below(g.owners.Len())
		p.LowerSlot, p.UpperSlot = g.below(ticks.Len()), g.below(ticks.Len())
		p.Overflow = g.maybe(g.overflow.Len())
	})

	edit(g, ledger.NonNFT, &g.nonNFT, n, &u, ch, func(_ uint32, d *market.NonNFT) {
		d.Pool = g.below(pools.Len())
	})
	g.series(ch, n)
	g.st.Head.Number += 1 + g.next(3)
	g.st.Head.Hash = filled[market.Hash](g.next)
	g.st.Head.Time += 12
	u.To = g.st.Head.Number
	ch.UndoPut = append(ch.UndoPut, &u)
	g.now.undos[u.To] = u
}

// revert removes half of the positions, and every undo.
func (g *rig) revert(ch *ledger.Changes) {
	g.positions.Truncate(g.positions.Len() / 2)
	g.nonNFT.Truncate(g.nonNFT.Len() / 2)
	g.dropUndos(ch, g.st.Head.Number)
}

func (g *rig) dropUndos(ch *ledger.Changes, upTo uint64) {
	for _, to := range slices.Sorted(maps.Keys(g.now.undos)) {
		if to <= upTo {
			ch.UndoDrop = append(ch.UndoDrop, to)
			delete(g.now.undos, to)
		}
	}
}

// cut adds a few spans that change n rows of every table, and optionally publishes
// a generation.
func (g *rig) cut(n int, publish bool) *Cut {
	ch := &ledger.Changes{}
	g.dropUndos(ch, max(g.st.Head.Number, 20)-20)
	if g.next(4) == 0 {
		g.revert(ch)
	}

	for range 1 + g.next(3) {
		g.span(ch, n)
	}

	cut := &Cut{Changes: ch}
	_, cut.Prices = touch(g, &g.prices, 1+n/4, nil, func(_ uint32, p *market.Price) {
		p.OnlyPool = g.maybe(g.pools.Len())
	})
	if g.next(2) == 0 {
		cut.Prices = g.moveExits()
	}
	_, cut.Stats = touch(g, &g.stats, n, nil, func(_ uint32, s *market.PoolStats) {
		*s = storedStats(g.next)
		if g.next(4) == 0 {
			*s = earlierStats(g.next)
		}
	})
	g.putDays(ch)
	g.freeze()
	ch.Head, cut.State = g.st.Head, g.now.st
	cut.Confirmed = g.st.Head.Time * 1000
	g.now.confirmed = cut.Confirmed
	if publish {
		cut.Publication = g.publish()
	}
	return cut
}

// moveExits moves what selling each token yields, most by so little that a patch has it, and
// returns all rows.
func (g *rig) moveExits() (rows []uint32) {
	for i := range g.prices.Len() {
		rows = append(rows, i)
		p := g.prices.Mut(i)
		by := g.next(1 << 20)
		if g.next(8) == 0 {
			by = g.next(1 << 50)
		}
		if moved := math.Float64frombits(math.Float64bits(p.ExitUsd) ^ by); market.Known(p.ExitUsd) && market.Known(moved) {
			p.ExitUsd = moved
		}
	}
	return rows
}

// putDays also puts most running days into the series.
func (g *rig) putDays(ch *ledger.Changes) {
	for _, i := range ledger.Days.Changed(ch) {
		if d := withoutHour(*g.days.At(i)); g.next(4) > 0 {
			ch.Ops.Add(ledger.PoolDays.Put(d))
			g.now.poolDays[[2]uint32{d.Pool, d.Day}] = d
		}
	}
}

func (g *rig) freeze() {
	st := g.st
	st.Tokens, st.Owners, st.Pools = g.tokens.Freeze(), g.owners.Freeze(), g.pools.Freeze()
	st.Days, st.Minutes, st.Ticks = g.days.Freeze(), g.minutes.Freeze(), g.ticks.Freeze()
	st.Positions, st.Overflow = g.positions.Freeze(), g.overflow.Freeze()
	st.NonNFT, st.Hours = g.nonNFT.Freeze(), g.hours.Freeze()

	st.Prices = g.prices.Freeze()
	for i := range g.stats.Len() {
		deriveStats(&st, i, g.stats.Mut(i))
	}
	st.Stats = g.stats.Freeze()
	st.Native, st.Transactions = g.maybe(g.tokens.Len()), uint64(len(g.now.transactions))
	st.OpenCount = g.positions.Len()
	g.now.st = &st
}

// series appends operations, some of which overwrite or drop others of the same
// cut, and applies them to the snapshot.
func (g *rig) series(ch *ledger.Changes, n int) {
	for range n {
		tx := filled[market.Transaction](g.next)
		tx.Position, tx.Block, tx.LogIndex = g.below(5), g.next(50), g.below(4)
		k := [3]uint64{uint64(tx.Position), tx.Block, uint64(tx.LogIndex)}
		ch.Ops.Add(ledger.Transactions.Put(tx))
		g.now.transactions[k] = tx
		day := endedDay(g.next)
		day.Pool, day.Day = g.below(5), 100+g.below(9)
		ch.Ops.Add(ledger.PoolDays.Put(day))
		g.now.poolDays[[2]uint32{day.Pool, day.Day}] = day
		tick := filled[market.TickDay](g.next)
		tick.Pool, tick.Tick, tick.Day = g.below(5), int32(g.below(5))-2, 100+g.below(9)
		ch.Ops.Add(ledger.TickDays.Put(tick))

		g.now.tickDays[[3]int64{int64(tick.Pool), int64(tick.Tick), int64(tick.Day)}] = tick
		price := ledger.HourEntry{HourPrice: filled[ledger.HourPrice](g.next)}
		price.Token = g.below(5)
		price.Hour = 1000 + g.below(9)
		ch.Ops.Add(ledger.HourPrices.Put(price))
		g.now.hourPrices[[2]uint32{price.Token, price.Hour}] = price
		if g.next(3) == 0 {
			ch.Ops.Add(ledger.Transactions.Drop(tx), ledger.PoolDays.Drop(day),
				ledger.TickDays.Drop(tick), ledger.HourPrices.Drop(price))
			delete(g.now.transactions, k)
			delete(g.now.poolDays, [2]uint32{day.Pool, day.Day})
			delete(g.now.tickDays, [3]int64{int64(tick.Pool), int64(tick.Tick), int64(tick.Day)})
			delete(g.now.hourPrices, [2]uint32{price.Token, price.Hour})
		}
	}
}

// publish makes a generation with leaves of random bytes.
func (g *rig) publish() *block.Publication {
	g.now.generation++
	p := &block.Publication{Generation: g.now.generation, First: g.next(8) == 0}
	if p.First {
		clear(g.now.leaves)
	}

	for _, number := range slices.Sorted(maps.Keys(g.now.leaves)) {
		if g.next(3) == 0 {
			p.Dead = append(p.Dead, number, number+1<<40) // and one that never existed
			delete(g.now.leaves, number)
		}
	}

	for i := range 1 + g.next(4) {
		leaf := block.NewLeaf{Number: g.now.generation<<8 + i, Bytes: make([]byte, 1+g.next(300))}
		for k := range leaf.Bytes {
			leaf.Bytes[k] = byte(g.next(256))
		}
		p.Leaves = append(p.Leaves, leaf)
		g.now.leaves[leaf.Number] = string(leaf.Bytes)
	}

	p.Directory = []byte("directory " + leafString(g.now.leaves))
	g.now.directory, g.now.published = string(p.Directory), g.now.st.Head
	return p
}

func leafString(leaves map[uint64]string) (s string) {
	for _, number := range slices.Sorted(maps.Keys(leaves)) {
		s += leaves[number]
	}
	return s
}

// commit commits the next cut and returns the expected content of the store.
func (g *rig) commit(t *testing.T, s *Store, n int, publish bool) *snapshot {
	t.Helper()
	if err := s.Commit(g.cut(n, publish)); err != nil {
		t.Fatal(err)
	}
	return g.now.clone()
}
