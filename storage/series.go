package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The series, a line each, in the order in which the ledger defines them: kind,
// name, the table whose row a key begins with, key and record of an entry.
var allSeries = []anySeries{
	seriesOf(0x20, "transactions", ledger.Transactions, ledger.Positions, keyTransaction, codeTransaction),
	seriesOf(0x21, "pool days", ledger.PoolDays, ledger.Pools, keyPoolDay, codePoolDay),
	seriesOf(0x22, "tick days", ledger.TickDays, ledger.Pools, keyTickDay, codeTickDay),
	seriesOf(0x23, "hour prices", ledger.HourPrices, ledger.Tokens, keyHourPrice, codeHourPrice),
}

// anySeries is one of them, whatever its entries are.
type anySeries interface {
	about() *seriesLayout
	// put writes the entry of an operation on the series into the batch, or
	// deletes it.
	put(w *writer, op *ledger.Op)
	// code walks the fields of an operation inside an undo.
	code(c *coder, op *ledger.Op)
	// decodes reports why a record cannot be one of the series.
	decodes(value []byte) error
}

// seriesLayout describes a series without its entries.
type seriesLayout struct {
	layout
	owner indexed // the table whose row is first in the keys
}

// series is a series with entries of type E.
type series[E any] struct {
	seriesLayout
	ledger ledger.Series[E]
	key    func(keyWalk, *E)
	record func(*coder, *E) // without the fields of the key
}

func seriesOf[E any](
	k kind, name string, s ledger.Series[E], owner indexed,
	key func(keyWalk, *E), record func(*coder, *E),
) *series[E] {
	var walk bigEndian
	key(&walk, new(E))
	about := seriesLayout{layout{k, name, len(walk.buf)}, owner}
	return &series[E]{about, s, key, record}
}

// seriesFor returns the store's side of a series of the ledger.
func seriesFor[E any](s ledger.Series[E]) *series[E] { return allSeries[s.Index()].(*series[E]) }

func (s *series[E]) about() *seriesLayout { return &s.seriesLayout }

// appendKey appends the key of an entry.
func (s *series[E]) appendKey(dst []byte, chain market.ChainID, entry *E) []byte {
	k := bigEndian{buf: appendKind(dst, chain, s.kind)}
	s.key(&k, entry)
	return k.buf
}

// decode reads an entry that c is about to read the record of.
func (s *series[E]) decode(key []byte, c *coder, entry *E) {
	s.key(&bigEndian{buf: key[len(key)-s.tail:], read: true}, entry)
	s.record(c, entry)
}

func (s *series[E]) put(w *writer, op *ledger.Op) {
	entry := s.ledger.Entry(op)
	w.walk.buf = appendKind(w.key[:0], w.chain, s.kind)
	s.key(&w.walk, entry)
	if op.Drop {
		w.drop(w.walk.buf)
		return
	}
	put(w, w.walk.buf, entry, s.record)
}

func (s *series[E]) code(c *coder, op *ledger.Op) {
	if c.read {
		op.Entry = new(E)
	}
	entry := s.ledger.Entry(op)
	s.key(c, entry)
	if !op.Drop {
		s.record(c, entry)
	}
}

func (s *series[E]) decodes(value []byte) error {
	c := coder{buf: value, read: true}
	s.record(&c, new(E))
	return c.done()
}

// opPut marks the tag of an operation that puts; one that drops has the bare
// kind of its series.
const opPut = 0x80

// codeOp is an operation inside an undo: its tag, the fields of its key, and
// the record that it puts.
func codeOp(c *coder, op *ledger.Op) {
	var tag uint8
	if !c.read {
		tag = uint8(allSeries[op.Series].about().kind)
		if !op.Drop {
			tag |= opPut
		}
	}
	c.small("op", &tag, 255)

	for i, s := range allSeries {
		if uint8(s.about().kind) == tag&^opPut {
			op.Series, op.Drop = i, tag&opPut == 0
			s.code(c, op)
			return
		}
	}
	c.fail("op")
}

// Direction is the way in which a series is read.
type Direction bool

// The directions.
const (
	OldestFirst Direction = false
	NewestFirst Direction = true
)

// Series reads the entries of one series, one after the other:
//
//	it := store.PoolDays(chain, pool, from, to, storage.OldestFirst)
//	defer it.Close()
//	for it.Next() {
//		use(it.Entry())
//	}
//	return it.Err()
//
// It sees the store as it was when it was made, and keeps that on the disk
// until it is closed: it is for one request. It may not be shared.
type Series[E any] struct {
	s         *Store
	of        *series[E]
	chain     market.ChainID
	it        *pebble.Iterator
	direction Direction
	started   bool
	entry     E
	c         coder
	err       error
}

// between opens the entries with the keys of from to to, both inclusive.
func between[E any](
	s *Store, chain market.ChainID, of ledger.Series[E], from, to E, d Direction,
) *Series[E] {
	line := seriesFor(of)
	r := &Series[E]{s: s, of: line, chain: chain, direction: d}
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: line.appendKey(nil, chain, &from),
		UpperBound: append(line.appendKey(nil, chain, &to), 0),
	})

	if err != nil {
		r.err = s.damaged(chain, line.name, err)
	}
	r.it = it
	return r
}

// Next moves to the next entry and reports whether there is one.
func (r *Series[E]) Next() bool {
	if r.err != nil || !r.step() {
		return false
	}

	var zero E
	r.entry = zero
	r.c = coder{buf: r.it.Value(), read: true}
	r.of.decode(r.it.Key(), &r.c, &r.entry)
	if err := r.c.done(); err != nil {
		r.err = r.s.damaged(r.chain, r.of.name, fmt.Errorf("key %x: %w", r.it.Key(), err))
		return false
	}
	return true
}

func (r *Series[E]) step() bool {
	var ok bool
	switch {
	case !r.started && r.direction == NewestFirst:
		ok = r.it.Last()
	case !r.started:
		ok = r.it.First()
	case r.direction == NewestFirst:
		ok = r.it.Prev()
	default:
		ok = r.it.Next()
	}

	r.started = true
	if err := r.it.Error(); err != nil {
		r.err = r.s.damaged(r.chain, r.of.name, err)
		return false
	}

	return ok
}

// Entry returns the entry that Next moved to. It is overwritten by the next
// call of Next.
func (r *Series[E]) Entry() *E { return &r.entry }

// Err returns what ended the series, nil for its end.
func (r *Series[E]) Err() error { return r.err }

// Close frees what the series holds. The error of reading is Err's.
func (r *Series[E]) Close() {
	if r.it != nil {
		_ = r.it.Close()
	}
}

// one returns the first entry of a series and closes it.
func one[E any](r *Series[E]) (entry E, ok bool, err error) {
	defer r.Close()
	if ok = r.Next(); ok {
		entry = *r.Entry()
	}
	return entry, ok, r.Err()
}

// Place is where an entry of a position's history stands.
type Place struct {
	Block uint64
	Log   uint32
}

// End is after every place of a block.
func End(block uint64) Place { return Place{Block: block, Log: market.NoIndex} }

// Transactions are the entries of a position from one place to another, both
// inclusive. A reader of a State asks up to End(State.Head.Number), since the
// store may be a refresh ahead of its board; one that goes on later asks from,
// or up to, the place next to its last.
func (s *Store) Transactions(
	chain market.ChainID, position uint32, from, to Place, d Direction,
) *Series[market.Transaction] {
	key := func(p Place) market.Transaction {
		return market.Transaction{Position: position, Block: p.Block, LogIndex: p.Log}
	}
	return between(s, chain, ledger.Transactions, key(from), key(to), d)
}

// PoolDays are the days of a pool from one day to another, both inclusive.
// Days in which nothing happened have no entry.
func (s *Store) PoolDays(
	chain market.ChainID, pool, from, to uint32, d Direction,
) *Series[market.PoolDay] {
	key := func(day uint32) market.PoolDay { return market.PoolDay{Pool: pool, Day: day} }
	return between(s, chain, ledger.PoolDays, key(from), key(to), d)
}

// PoolDayAt returns the newest day of a pool that is not after day.
func (s *Store) PoolDayAt(chain market.ChainID, pool, day uint32) (market.PoolDay, bool, error) {
	return one(s.PoolDays(chain, pool, 0, day, NewestFirst))
}

// TickDays are the days of a tick from one day to another, both inclusive.
func (s *Store) TickDays(
	chain market.ChainID, pool uint32, tick int32, from, to uint32, d Direction,
) *Series[market.TickDay] {
	key := func(day uint32) market.TickDay {
		return market.TickDay{Pool: pool, Tick: tick, Day: day}
	}
	return between(s, chain, ledger.TickDays, key(from), key(to), d)
}

// TickDayAt returns the newest day of a tick that is not after day.
func (s *Store) TickDayAt(
	chain market.ChainID, pool uint32, tick int32, day uint32,
) (market.TickDay, bool, error) {
	return one(s.TickDays(chain, pool, tick, 0, day, NewestFirst))
}

// HourPrices are the price records of a token from one hour to another, both
// inclusive. A record values every hour until the next.
func (s *Store) HourPrices(
	chain market.ChainID, token, from, to uint32, d Direction,
) *Series[ledger.HourEntry] {
	key := func(hour uint32) ledger.HourEntry {
		return ledger.HourEntry{HourPrice: ledger.HourPrice{Token: token}, Hour: hour}
	}
	return between(s, chain, ledger.HourPrices, key(from), key(to), d)
}

// HourPriceAt returns the record that values an hour: the newest not after it.
func (s *Store) HourPriceAt(
	chain market.ChainID, token, hour uint32,
) (ledger.HourEntry, bool, error) {
	return one(s.HourPrices(chain, token, 0, hour, NewestFirst))
}
