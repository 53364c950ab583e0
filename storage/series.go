package storage

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
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
