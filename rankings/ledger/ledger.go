package ledger

import (
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Config is what a ledger knows of its chain from the start.
type Config struct {
	Chain           market.ChainID
	PositionManager market.Address
	// Start is the first block that can have events; 0 counts as 1, since a
	// genesis block has none.
	Start uint64
}

// Ledger is the exact state of one chain. It has a single writer.
type Ledger struct {
	cfg  Config
	head market.Head
	now  mark

	tokens    rows[market.Token]
	owners    rows[market.Address]
	pools     rows[market.Pool]
	days      rows[market.PoolDay]
	minutes   rows[market.Minutes]
	ticks     rows[market.Tick]
	positions rows[market.Position]
	wides     rows[market.Sums]
	directs   rows[market.Direct]
	hours     rows[market.HourBucket]
	lists     lists

	native       uint32
	openCount    uint32
	transactions uint64

	// Indexes: all of them follow from the tables.
	tokenOf   map[market.Address]uint32
	ownerOf   map[market.Address]uint32
	poolOf    map[market.PoolID]uint32
	directOf  map[directKey]uint32
	holdings  map[holding]uint32 // open positions of an owner in a pool
	freeTicks slots
	freeHours slots

	ops   []Op
	undos []*Undo  // oldest first
	put   int      // how many of them an earlier Changes has handed over
	gone  []uint64 // To of handed over ones that are no longer in force

	unsettled []uint32 // pools whose running day lacks its end
	isStale   []bool   // by pool: it is in unsettled

	pending
}

// pending is what belongs to the span that is being applied.
type pending struct {
	at      place
	time    int64
	day     uint32 // of time
	moves   []move
	gas     gas
	drops   []Op     // take back what the span put into the series
	written []uint32 // ticks whose fee growth outside changed today
	replay  clmath.Replay
	hour    *hourRecord // announced for the next span
}

type hourRecord struct {
	hour   uint32
	prices []HourPrice
}

// New returns a ledger that has applied nothing.
func New(c Config) *Ledger {
	c.Start = max(c.Start, 1)
	return From(c, &market.State{
		Chain: c.Chain, Head: market.Head{Number: c.Start - 1}, Native: market.NoIndex,
	}, nil)
}

// From returns a ledger that continues st, all of which is in memory. The
// undos, oldest first, are those in force at its head.
func From(c Config, st *market.State, undos []*Undo) *Ledger {
	c.Start = max(c.Start, 1)
	l := &Ledger{
		cfg: c, head: st.Head, now: mark{1, 1}, undos: slices.Clone(undos), put: len(undos),
		native: st.Native, openCount: st.OpenCount, transactions: st.Transactions,
	}
	l.tokens.thaw(&l.now, st.Tokens)
	l.owners.thaw(&l.now, st.Owners)
	l.pools.thaw(&l.now, st.Pools)
	l.days.thaw(&l.now, st.Days)
	l.minutes.thaw(&l.now, st.Minutes)
	l.ticks.thaw(&l.now, st.Ticks)
	l.positions.thaw(&l.now, st.Positions)
	l.wides.thaw(&l.now, st.Wides)
	l.directs.thaw(&l.now, st.Directs)
	l.hours.thaw(&l.now, st.Hours)
	l.lists.thaw(st.TickLists)
	l.isStale = make([]bool, st.Pools.Len())
	l.time, l.day = st.Head.Time, market.DayOf(st.Head.Time)
	l.index()
	return l
}

// index builds the indexes from the tables: half a second or so at a million
// positions, once a start.
func (l *Ledger) index() {
	l.tokenOf = make(map[market.Address]uint32, l.tokens.Len())
	for i := range l.tokens.Len() {
		l.tokenOf[l.tokens.At(i).Address] = i
	}
	l.ownerOf = make(map[market.Address]uint32, l.owners.Len())
	for i := range l.owners.Len() {
		l.ownerOf[*l.owners.At(i)] = i
	}
	l.poolOf = make(map[market.PoolID]uint32, l.pools.Len())
	for i := range l.pools.Len() {
		l.poolOf[l.pools.At(i).ID] = i
	}
	l.directOf = make(map[directKey]uint32, l.directs.Len())
	for i := range l.directs.Len() {
		l.directOf[keyOf(l.directs.At(i))] = i
	}
	l.holdings = make(map[holding]uint32)
	for i := range l.positions.Len() {
		if p := l.positions.At(i); p.IsOpen() {
			l.holdings[holding{p.Owner, p.Pool}]++
		}
	}
	for i := range l.ticks.Len() {
		if l.ticks.At(i).Pool == market.NoIndex {
			l.freeTicks.put(i)
		}
	}
	for i := range l.hours.Len() {
		if l.hours.At(i).Pool == market.NoIndex {
			l.freeHours.put(i)
		}
	}
}

// Head returns the last block of the newest span.
func (l *Ledger) Head() market.Head { return l.head }

// Anchors returns the heads that the ledger can be at, newest first: its own,
// whatever is known of it, then those that Revert can return to and whose hash
// is known, or that are the start.
func (l *Ledger) Anchors() []market.Head {
	heads := []market.Head{l.head}
	for i := len(l.undos) - 1; i >= 0; i-- {
		if h := l.undos[i].Before; !h.Hash.IsZero() || h.Number == l.cfg.Start-1 {
			heads = append(heads, h)
		}
	}
	return heads
}

// Freeze returns the state at the head, with Prices and Stats left empty. It
// never changes; the ledger copies what it writes to afterwards. Not to be
// called between BeginHour and Apply. It costs a pointer per 64 records, and a
// walk over the ticks of every pool touched since the last call.
func (l *Ledger) Freeze() *market.State {
	l.settleDays()
	return &market.State{
		Chain: l.cfg.Chain, Head: l.head,
		Tokens: l.tokens.Freeze(), Owners: l.owners.Freeze(), Pools: l.pools.Freeze(),
		TickLists: l.lists.freeze(), Days: l.days.Freeze(), Minutes: l.minutes.Freeze(),
		Ticks: l.ticks.Freeze(), Positions: l.positions.Freeze(), Wides: l.wides.Freeze(),
		Directs: l.directs.Freeze(), Hours: l.hours.Freeze(),
		Native: l.native, Transactions: l.transactions, OpenCount: l.openCount,
	}
}
