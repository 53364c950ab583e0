package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// The list of series, in the ledger's order: kind, name, the table whose row a
// key begins with, and the walks of an entry's key and record. The last two have
// keys that begin with a day, and keep keptDays of them.
var allSeries = []anySeries{
	seriesOf(0x20, "transactions", ledger.Transactions, ledger.Positions, keyTransaction, codeTransaction),
	seriesOf(0x21, "pool days", ledger.PoolDays, ledger.Pools, keyPoolDay, codeDayEntry).without(openDay, closeEntry),
	seriesOf(0x22, "tick days", ledger.TickDays, ledger.Pools, keyTickDay, codeTickDay),
	seriesOf(0x23, "hour prices", ledger.HourPrices, ledger.Tokens, keyHourPrice, codeHourPrice),
	seriesOf(0x24, "pool hours", ledger.PoolHours, ledger.Pools, keyPoolHour, codePoolHour).byDay(),
	seriesOf(0x25, "tick hours", ledger.TickHours, ledger.Pools, keyTickHour, codeTickHour).byDay(),
}

// anySeries is a series with entries of any type.
type anySeries interface {
	about() *seriesLayout
	// writeOp puts or deletes the entry of an operation of a cut with State st.
	writeOp(w *writer, st *market.State, op ledger.Op)
	// code walks the fields of an operation inside an undo.
	code(c *field.Coder, op *ledger.Op)
	// checkRecord returns an error if value is no record of the series.
	checkRecord(value []byte) error
}

// seriesLayout describes a series.
type seriesLayout struct {
	layout
	owner indexed // the table whose row is first in the keys, or first after the day
	daily bool    // the keys begin with the day
}

// ownerOf returns the row to which a key belongs, by what follows its kind.
func (l *seriesLayout) ownerOf(tail []byte) uint32 {
	if l.daily {
		tail = tail[4:]
	}
	return binary.BigEndian.Uint32(tail)
}

// series is a series with entries of type E.
type series[E any] struct {
	seriesLayout
	ledger ledger.Series[E]
	key    func(keyWalk, *E)
	record func(*field.Coder, *E) // without the fields of the key

	// Of a series whose entries are stored without what another row has: takes that out, in
	// a cut, and adds it again. nil: there is none.
	shorten func(*market.State, *E) *E
	restore func(*pebble.Iterator, market.ChainID, *E) error
}

func seriesOf[E any](
	k kind, name string, s ledger.Series[E], owner indexed,
	key func(keyWalk, *E), record func(*field.Coder, *E),
) *series[E] {
	var walk bigEndian
	key(&walk, new(E))
	about := seriesLayout{layout{k, name, len(walk.buf), 0}, owner, false}
	return &series[E]{seriesLayout: about, ledger: s, key: key, record: record}
}

// byDay marks a series whose keys begin with the day.
func (s *series[E]) byDay() *series[E] { s.daily = true; return s }

// without marks a series whose entries are stored without what another row has.
func (s *series[E]) without(
	shorten func(*market.State, *E) *E, restore func(*pebble.Iterator, market.ChainID, *E) error,
) *series[E] {
	s.shorten, s.restore = shorten, restore
	return s
}

// seriesFor returns the series in which the store keeps one of the ledger's.
func seriesFor[E any](s ledger.Series[E]) *series[E] { return allSeries[s.Index()].(*series[E]) }

func (s *series[E]) about() *seriesLayout { return &s.seriesLayout }

// appendKey appends the key of an entry.
func (s *series[E]) appendKey(dst []byte, chain market.ChainID, entry *E) []byte {
	k := bigEndian{buf: appendKind(dst, chain, s.kind)}
	s.key(&k, entry)
	return k.buf
}

// decode reads an entry from its key by k, and from c, which holds its record.
func (s *series[E]) decode(key []byte, k *bigEndian, c *field.Coder, entry *E) {
	*k = bigEndian{buf: key[len(key)-s.tail:], read: true}
	s.key(k, entry)
	s.record(c, entry)
}

func (s *series[E]) writeOp(w *writer, st *market.State, op ledger.Op) {
	entry := s.ledger.Entry(&op)
	w.walk.buf = appendKind(w.key[:0], w.chain, s.kind)
	s.key(&w.walk, entry)
	if op.Drop {
		w.deleteKey(w.walk.buf)
		return
	}
	if s.shorten != nil {
		entry = s.shorten(st, entry)
	}
	putRecord(w, w.walk.buf, entry, s.record)
}

func (s *series[E]) code(c *field.Coder, op *ledger.Op) {
	if c.Read {
		op.Entry = new(E)
	}
	entry := s.ledger.Entry(op)
	s.key(c, entry)
	if !op.Drop {
		s.record(c, entry)
	}
}

func (s *series[E]) checkRecord(value []byte) error {
	c := field.Reader(value)
	s.record(&c, new(E))
	return c.Done()
}

// Direction is the order in which a series is read.
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
// It reads the store as of its creation. Until it is closed the disk space of
// that version is not freed, so use it for one request. It is not for concurrent
// use.
type Series[E any] struct {
	s         *Store
	of        *series[E]
	chain     market.ChainID
	it        *pebble.Iterator
	direction Direction
	lead      []byte // the series begins with the newest entry before this key; nil: with the first
	started   bool
	key       []byte // a buffer for backTo
	entry     E
	k         bigEndian
	c         field.Coder
	err       error
}

// openSeries opens the entries between two keys, both inclusive.
func openSeries[E any](
	s *Store, chain market.ChainID, of ledger.Series[E], from, to E, d Direction,
) *Series[E] {
	line := seriesFor(of)
	it := database.Iterate(s.db, line.appendKey(nil, chain, &from), append(line.appendKey(nil, chain, &to), 0))
	return &Series[E]{s: s, of: line, chain: chain, it: it, direction: d}
}

// ledTo has the series begin with the newest entry before one.
func (r *Series[E]) ledTo(entry *E) *Series[E] {
	r.lead = r.of.appendKey(nil, r.chain, entry)
	return r
}

// Next moves to the next entry and reports whether there is one.
func (r *Series[E]) Next() bool {
	return r.err == nil && r.move()
}

// decodeEntry decodes the entry at which the iterator stands.
func (r *Series[E]) decodeEntry() bool {
	var zero E
	r.entry = zero
	r.c = field.Reader(r.it.Value())
	r.of.decode(r.it.Key(), &r.k, &r.c, &r.entry)

	err := r.c.Done()
	if err == nil && r.of.restore != nil {
		err = r.of.restore(r.it, r.chain, &r.entry)
	}
	if err != nil {
		r.err = r.s.reportDamage(r.chain, r.of.name, fmt.Errorf("key %x: %w", r.it.Key(), err))
		return false
	}
	return true
}

func (r *Series[E]) move() bool {
	var ok bool
	switch {
	case !r.started && r.lead != nil:
		if ok = r.it.SeekLT(r.lead); !ok && r.it.Error() == nil {
			ok = r.it.First()
		}
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
	return r.arrive(ok)
}

// arrive decodes the entry that the iterator has moved to, if there is one: an iterator
// that cannot read says that there is none, too.
func (r *Series[E]) arrive(ok bool) bool {
	if err := r.it.Error(); err != nil {
		r.err = r.s.reportDamage(r.chain, r.of.name, err)
		return false
	}
	return ok && r.decodeEntry()
}

// backTo moves back to the newest entry that is not after the given one, and reports
// whether there is one. It steps over those between and does not decode them: a seek costs
// as much as fifty steps.
func (r *Series[E]) backTo(entry *E) bool {
	r.key = append(r.of.appendKey(r.key[:0], r.chain, entry), 0)
	ok := r.it.Prev()
	for ok && bytes.Compare(r.it.Key(), r.key) >= 0 {
		ok = r.it.Prev()
	}
	return r.arrive(ok)
}

// Entry returns the current entry. The next call of Next overwrites it.
func (r *Series[E]) Entry() *E { return &r.entry }

// Err returns the error that ended the series, nil if it was read to its end.
func (r *Series[E]) Err() error { return r.err }

// Close releases the iterator. Errors of reading are returned by Err.
func (r *Series[E]) Close() { _ = r.it.Close() }

// readFirst returns the first entry of a series and closes it.
func readFirst[E any](r *Series[E]) (entry E, ok bool, err error) {
	defer r.Close()
	if ok = r.Next(); ok {
		entry = *r.Entry()
	}
	return entry, ok, r.Err()
}

// Place is the position of an entry in a position's history.
type Place struct {
	Block uint64
	Log   uint32
}

// End is after every place of a block.
func End(block uint64) Place { return Place{Block: block, Log: market.NoIndex} }

// Transactions returns the entries of a position between two places, both
// inclusive. A reader of a State should read up to End(State.Head.Number), because
// the store may be one refresh ahead of the State.
func (s *Store) Transactions(
	chain market.ChainID, position uint32, from, to Place, d Direction,
) *Series[market.Transaction] {
	key := func(p Place) market.Transaction {
		return market.Transaction{Position: position, Block: p.Block, LogIndex: p.Log}
	}
	return openSeries(s, chain, ledger.Transactions, key(from), key(to), d)
}

// PoolDays returns the days of a pool between two days, both inclusive. A day
// without events has no entry.
func (s *Store) PoolDays(
	chain market.ChainID, pool, from, to uint32, d Direction,
) *Series[market.PoolDay] {
	key := func(day uint32) market.PoolDay { return market.PoolDay{Pool: pool, Day: day} }
	return openSeries(s, chain, ledger.PoolDays, key(from), key(to), d)
}

// PoolDaysFrom returns the days of a pool between two days, both inclusive, oldest first.
// The newest day before them leads them.
func (s *Store) PoolDaysFrom(chain market.ChainID, pool, from, to uint32) *Series[market.PoolDay] {
	return s.PoolDays(chain, pool, 0, to, OldestFirst).ledTo(&market.PoolDay{Pool: pool, Day: from})
}

// PoolDayAt returns the newest day of a pool that is not after day.
func (s *Store) PoolDayAt(chain market.ChainID, pool, day uint32) (market.PoolDay, bool, error) {
	return readFirst(s.PoolDays(chain, pool, 0, day, NewestFirst))
}

// TickDays returns the days of a tick between two days, both inclusive.
func (s *Store) TickDays(
	chain market.ChainID, pool uint32, tick int32, from, to uint32, d Direction,
) *Series[market.TickDay] {
	key := func(day uint32) market.TickDay {
		return market.TickDay{Pool: pool, Tick: tick, Day: day}
	}
	return openSeries(s, chain, ledger.TickDays, key(from), key(to), d)
}

// TickDaysFrom returns the days of a tick between two days, both inclusive, oldest first.
// The newest day before them leads them.
func (s *Store) TickDaysFrom(
	chain market.ChainID, pool uint32, tick int32, from, to uint32,
) *Series[market.TickDay] {
	first := market.TickDay{Pool: pool, Tick: tick, Day: from}
	return s.TickDays(chain, pool, tick, 0, to, OldestFirst).ledTo(&first)
}

// TickDayAt returns the newest day of a tick that is not after day.
func (s *Store) TickDayAt(
	chain market.ChainID, pool uint32, tick int32, day uint32,
) (market.TickDay, bool, error) {
	return readFirst(s.TickDays(chain, pool, tick, 0, day, NewestFirst))
}

// HourPrices returns the price records of a token between two hours, both
// inclusive. A record is valid until the next one.
func (s *Store) HourPrices(
	chain market.ChainID, token, from, to uint32, d Direction,
) *Series[ledger.HourEntry] {
	key := func(hour uint32) ledger.HourEntry {
		return ledger.HourEntry{HourPrice: ledger.HourPrice{Token: token}, Hour: hour}
	}
	return openSeries(s, chain, ledger.HourPrices, key(from), key(to), d)
}

// DayPrices returns, for every day between two days, the record that is valid in
// the day's last hour. Before the first record a price is unknown. It costs a step
// for every record.
func (s *Store) DayPrices(
	chain market.ChainID, token, from, to uint32,
) ([]ledger.HourPrice, error) {
	return s.stepPrices(chain, token, from, to, market.HoursOfDay)
}

// PricesByHour returns, for every hour between two hours, the record that is valid
// in it. It costs a step for every record.
func (s *Store) PricesByHour(
	chain market.ChainID, token, from, to uint32,
) ([]ledger.HourPrice, error) {
	return s.stepPrices(chain, token, from, to, 1)
}

// stepPrices returns the records that are valid in the last hours of steps of so many
// hours.
func (s *Store) stepPrices(
	chain market.ChainID, token, from, to, hours uint32,
) ([]ledger.HourPrice, error) {
	lastHour := func(n uint32) uint32 { return (n+1)*hours - 1 }
	prices := make([]ledger.HourPrice, to-from+1)
	it := s.HourPrices(chain, token, 0, lastHour(to), NewestFirst)
	defer it.Close()

	known := it.Next()
	for n := len(prices) - 1; n >= 0; n-- {
		hour := lastHour(from + uint32(n))
		switch {
		case !known || it.Entry().Hour <= hour:
		case hours == 1:
			known = it.Next() // the record is of the hour after this one
		default:
			known = it.backTo(&ledger.HourEntry{HourPrice: ledger.HourPrice{Token: token}, Hour: hour})
		}
		if prices[n] = it.Entry().HourPrice; !known {
			prices[n] = ledger.HourPrice{
				Token: token, Usd: market.Unknown, OnlyPool: market.NoIndex,
				Reason: market.ReasonNoMarket,
			}
		}
	}
	return prices, it.Err()
}
