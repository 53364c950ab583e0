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
	cfg Config
	// st is the market as it is now. Rows are read from it, and written through
	// the journals of their tables.
	st       market.State
	journals []journaled // by table
	now      mark

	// Indexes: all of them follow from the tables.
	tokenOf   map[market.Address]uint32
	ownerOf   map[market.Address]uint32
	poolOf    map[market.PoolID]uint32
	nonNFTOf  map[nonNFTKey]uint32
	holdings  map[holding]uint32 // open positions of an owner in a pool
	lists     lists
	freeTicks slots
	freeHours slots

	quarantined int // pools

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
	openBefore         uint32 // State.OpenCount when the span began
	transactionsBefore uint64

	final     bool                   // no undo is kept for the span
	condemned map[market.PoolID]bool // pools that the span is to quarantine
	at        place
	time      int64
	day       uint32 // of time
	moves     []move
	gas       gas
	drops     []Op     // take back what the span put into the series
	written   []uint32 // ticks whose fee growth outside changed today
	replay    clmath.Replay
	hour      *hourRecord // announced for the next span
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
	l := &Ledger{cfg: c, st: *st, now: mark{1, 1}, undos: slices.Clone(undos), put: len(undos)}
	l.st.Chain = c.Chain
	l.st.Prices, l.st.Stats = market.Frozen[market.Price]{}, market.Frozen[market.PoolStats]{}
	l.open()
	l.lists.open(&l.st.TickLists)
	l.isStale = make([]bool, st.Pools.Len())
	l.time, l.day = st.Head.Time, market.DayOf(st.Head.Time)
	l.index()
	return l
}

// index builds the indexes from the tables: half a second or so at a million
// positions, once a start.
func (l *Ledger) index() {
	l.tokenOf = make(map[market.Address]uint32, l.st.Tokens.Len())
	for i := range l.st.Tokens.Len() {
		l.tokenOf[l.st.Tokens.At(i).Address] = i
	}

	l.ownerOf = make(map[market.Address]uint32, l.st.Owners.Len())
	for i := range l.st.Owners.Len() {
		l.ownerOf[*l.st.Owners.At(i)] = i
	}

	l.poolOf = make(map[market.PoolID]uint32, l.st.Pools.Len())
	for i := range l.st.Pools.Len() {
		p := l.st.Pools.At(i)
		l.poolOf[p.ID] = i
		if p.Quarantined {
			l.quarantined++
		}
	}

	l.nonNFTOf = make(map[nonNFTKey]uint32, l.st.NonNFT.Len())
	for i := range l.st.NonNFT.Len() {
		l.nonNFTOf[keyOf(l.st.NonNFT.At(i))] = i
	}

	l.holdings = make(map[holding]uint32)
	for i := range l.st.Positions.Len() {
		if p := l.st.Positions.At(i); p.IsOpen() {
			l.holdings[holding{p.Owner, p.Pool}]++
		}
	}

	for i := range l.st.Ticks.Len() {
		if l.st.Ticks.At(i).Pool == market.NoIndex {
			l.freeTicks.put(i)
		}
	}

	for i := range l.st.Hours.Len() {
		if l.st.Hours.At(i).Pool == market.NoIndex {
			l.freeHours.put(i)
		}
	}
}

// Head returns the last block of the newest span.
func (l *Ledger) Head() market.Head { return l.st.Head }

// Anchors returns the heads that the ledger can be at, newest first: its own,
// whatever is known of it, then those that Revert can return to and whose hash
// is known, or that are the start.
func (l *Ledger) Anchors() []market.Head {
	heads := []market.Head{l.st.Head}
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
	st := l.st
	for _, j := range l.journals {
		j.freeze(&st)
	}
	st.TickLists = l.lists.freeze()
	return &st
}
