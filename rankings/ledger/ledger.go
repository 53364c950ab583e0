package ledger

import (
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Config is the configuration of a ledger.
type Config struct {
	Chain           market.ChainID
	PositionManager market.Address
	// Start is the first block that can have events; 0 means 1, since a genesis
	// block has none.
	Start uint64
	// Stables are tokens that are worth 1 USD until an hour's record prices them.
	Stables []market.Address
	// WrappedNative has the price of the native currency, which may have no pool.
	WrappedNative market.Address
	// Pause is called about every 100 µs while events are applied and while the state is
	// frozen; nil: never.
	Pause func()
}

// Ledger is the exact state of one chain. It has a single writer.
type Ledger struct {
	cfg Config
	// st is the present state. Rows are read from it, and written through the
	// journals of their tables.
	st       market.State
	journals []journaled // by table

	// Indexes, which follow from the tables.
	tokenOf   *rowIndex[market.Token]
	ownerOf   *rowIndex[market.Address]
	poolOf    *rowIndex[market.Pool]
	nonNFTOf  map[nonNFTKey]uint32
	holdings  map[holding]uint32 // open positions of an owner in a pool
	tickRefs  tickLists
	freeTicks freeSlots
	freeHours freeSlots
	buckets   bucketDays

	quarantined int // number of pools

	ops          Ops      // since the last Changes
	undos        []*Undo  // oldest first
	storedUndos  int      // how many of undos an earlier Changes returned
	droppedUndos []uint64 // Undo.To of returned ones that were reverted or dropped since
	learnedToken bool     // since the last Changes; see there
	reverted     *Undo    // that the last Revert applied; nil: an Apply followed

	hourDays  uint32   // the first day whose hours are put; see SkipHours
	staleDays []uint32 // pools whose running day has out-of-date closing values
	isStale   []bool   // by pool: it is in staleDays

	writtenTicks  []uint32 // whose fee growth outside changed since TickDays was written
	writtenBefore int      // how many of them before the present span

	pending
}

// pending is the state of the span that is being applied.
type pending struct {
	openBefore         uint32 // State.OpenCount when the span began
	transactionsBefore uint64

	final   bool                   // no undo is kept for the span
	blamed  map[market.PoolID]bool // pools that the next run is to quarantine
	at      eventPlace             // the event being applied
	time    int64                  // of its block, unix seconds
	day     uint32                 // of time
	hourNow uint32                 // of time; an announced hour begins before its first block
	moves   []nftMove              // that wait for a change of liquidity
	gas     gas                    // of the transaction being applied
	undoOps Ops                    // revert what the span put into the series
	replay  clmath.Replay          // of the swap being applied
	hour    *hourRecord            // announced for the next span, or nil
}

// hourRecord is the arguments of BeginHour.
type hourRecord struct {
	hour   uint32
	prices []HourPrice
	pools  []market.HeldPool
}

// New returns a ledger that has applied nothing.
func New(c Config) *Ledger {
	c.Start = max(c.Start, 1)
	return From(c, &market.State{
		Head: market.Head{Number: c.Start - 1}, Native: market.NoIndex, DaysFrom: 1, HoursFrom: 1,
	}, nil, func() {})
}

// From returns a ledger that continues from st, all of which must be in memory.
// undos, oldest first, are those that can be reverted at its head. pause is called
// about every 100 µs of work.
func From(c Config, st *market.State, undos []*Undo, pause func()) *Ledger {
	c.Start = max(c.Start, 1)
	l := &Ledger{
		cfg: c, st: *st, undos: slices.Clone(undos), storedUndos: len(undos),
	}
	l.st.Chain = c.Chain
	if l.st.DaysFrom == 0 { // a store that kept HourlyDays only
		l.st.DaysFrom = market.OldestHour(market.DayOf(st.Head.Time))/24 + 1
	}
	if l.st.HoursFrom == 0 { // a store that kept none, which begins with the next day
		l.st.HoursFrom = (market.DayOf(st.Head.Time)+1)*market.HoursOfDay + 1
	}
	l.st.Prices, l.st.Stats = market.Frozen[market.Price]{}, market.Frozen[market.PoolStats]{}

	l.openJournals()
	l.tickRefs.open(&l.st.TickLists)
	l.isStale = make([]bool, st.Pools.Len())
	l.setClock()
	l.buildIndexes(pause)
	l.findNative()
	return l
}

// setClock sets the clock to the head.
func (l *Ledger) setClock() {
	l.time = l.st.Head.Time
	l.day, l.hourNow = market.DayOf(l.time), market.HourOf(l.time)
}

// buildIndexes builds the indexes from the tables. It takes about half a second
// at a million positions, once a start.
func (l *Ledger) buildIndexes(pause func()) {
	st := &l.st
	l.tokenOf = indexRows(&st.Tokens, pause, func(t *market.Token) []byte { return t.Address[:] })
	l.ownerOf = indexRows(&st.Owners, pause, func(a *market.Address) []byte { return a[:] })
	l.nonNFTOf = make(map[nonNFTKey]uint32, st.NonNFT.Len())
	eachRow(&st.NonNFT, pause, func(i uint32, n *market.NonNFT) { l.nonNFTOf[nonNFTKeyOf(n)] = i })

	l.poolOf = newRowIndex(&st.Pools, func(p *market.Pool) []byte { return p.ID[:] })
	eachRow(&st.Pools, pause, func(i uint32, p *market.Pool) {
		l.poolOf.add(i)
		if p.Quarantined {
			l.quarantined++
		}
	})

	l.holdings = make(map[holding]uint32)
	eachRow(&st.Positions, pause, func(_ uint32, p *market.Position) {
		if p.IsOpen() {
			l.holdings[holding{p.Owner, p.Pool}]++
		}
	})

	eachRow(&st.Ticks, pause, func(i uint32, t *market.Tick) {
		if t.Pool == market.NoIndex {
			l.freeTicks.add(i)
		}
	})
	l.buckets = bucketDays{
		rows: &st.Hours, days: make(map[uint32][]uint32), newer: make([]uint32, 0, st.Hours.Len()),
	}
	eachRow(&st.Hours, pause, func(i uint32, h *market.HourBucket) {
		if h.Pool == market.NoIndex {
			l.freeHours.add(i)
		} else {
			l.buckets.add(i)
		}
	})
}

// indexRows returns an index of all rows of a table.
func indexRows[T any](
	table *market.Frozen[T], pause func(), keyOf func(row *T) []byte,
) *rowIndex[T] {
	x := newRowIndex(table, keyOf)
	eachRow(table, pause, func(i uint32, _ *T) { x.add(i) })
	return x
}

// strideIndexed is how many rows are indexed between two pauses; each takes some
// 100 ns.
const strideIndexed = 512

// eachRow calls do for every row of a table, and pause now and then.
func eachRow[T any](table *market.Frozen[T], pause func(), do func(i uint32, row *T)) {
	for i := range table.Len() {
		if i%strideIndexed == 0 {
			pause()
		}
		do(i, table.At(i))
	}
}

// Head returns the last block of the newest span.
func (l *Ledger) Head() market.Head { return l.st.Head }

// Anchors returns the heads that the ledger can return to, newest first. The
// first is its present head. The others are those before kept undos that have a
// known hash, or that are the start.
func (l *Ledger) Anchors() []market.Head {
	heads := []market.Head{l.st.Head}
	for i := len(l.undos) - 1; i >= 0; i-- {
		if h := l.undos[i].Before; !h.Hash.IsZero() || h.Number == l.cfg.Start-1 {
			heads = append(heads, h)
		}
	}
	return heads
}

// Present returns the state at the head for a reading that is over before the next call
// of the ledger, with empty Prices and Stats. The closing values of running days may be
// out of date. It costs nothing, and what is written next is not copied, as it is
// after Freeze: an hour of a few events would copy a chunk for each of their rows.
func (l *Ledger) Present() *market.State { return &l.st }

// Freeze returns the state at the head, with empty Prices and Stats. It is
// immutable: the ledger copies a chunk before it writes to it again. It must not
// be called between BeginHour and Apply. It costs a pointer per 64 records, and
// a walk over the ticks of every pool with events since the last call.
func (l *Ledger) Freeze() *market.State {
	l.fillStaleDays()
	st := l.st
	for _, j := range l.journals {
		j.freeze(&st)
		l.pause()
	}
	st.TickLists = l.tickRefs.freeze()
	l.pause()
	return &st
}

func (l *Ledger) pause() {
	if l.cfg.Pause != nil {
		l.cfg.Pause()
	}
}
