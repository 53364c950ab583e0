package storage

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/database"
)

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
