package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

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
type Series[T any] struct {
	s         *Store
	chain     market.ChainID
	k         kind
	it        *pebble.Iterator
	direction Direction
	started   bool
	entry     T
	c         coder
	err       error
	decode    func(key []byte, c *coder, entry *T)
}

// series opens the entries with from <= key < to.
func series[T any](
	s *Store, chain market.ChainID, k kind, from, to []byte, d Direction,
	decode func(key []byte, c *coder, entry *T),
) *Series[T] {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		err = s.damaged(chain, k.String(), err)
	}
	return &Series[T]{
		s: s, chain: chain, k: k, it: it, direction: d, err: err, decode: decode,
	}
}

// Next moves to the next entry and reports whether there is one.
func (r *Series[T]) Next() bool {
	if r.err != nil || !r.step() {
		return false
	}
	var zero T
	r.entry = zero
	r.c = coder{buf: r.it.Value(), read: true}
	r.decode(r.it.Key(), &r.c, &r.entry)
	if err := r.c.done(); err != nil {
		r.err = r.s.damaged(r.chain, r.k.String(), fmt.Errorf("key %x: %w", r.it.Key(), err))
		return false
	}
	return true
}

func (r *Series[T]) step() bool {
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
		r.err = r.s.damaged(r.chain, r.k.String(), err)
		return false
	}
	return ok
}

// Entry returns the entry that Next moved to. It is overwritten by the next
// call of Next.
func (r *Series[T]) Entry() *T { return &r.entry }

// Err returns what ended the series, nil for its end.
func (r *Series[T]) Err() error { return r.err }

// Close frees what the series holds. The error of reading is Err's.
func (r *Series[T]) Close() {
	if r.it != nil {
		_ = r.it.Close()
	}
}

// one returns the first entry of a series and closes it.
func one[T any](r *Series[T]) (entry T, ok bool, err error) {
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
	lower := appendTransaction(nil, chain, position, from.Block, from.Log)
	upper := append(appendTransaction(nil, chain, position, to.Block, to.Log), 0)
	return series(s, chain, kindTransaction, lower, upper, d, decodeTransaction)
}

func decodeTransaction(key []byte, c *coder, t *market.Transaction) {
	tail := key[len(key)-16:]
	t.Position = binary.BigEndian.Uint32(tail)
	t.Block = binary.BigEndian.Uint64(tail[4:])
	t.LogIndex = binary.BigEndian.Uint32(tail[12:])
	codeTransaction(c, t)
}

// PoolDays are the days of a pool from one day to another, both inclusive.
// Days in which nothing happened have no entry.
func (s *Store) PoolDays(
	chain market.ChainID, pool, from, to uint32, d Direction,
) *Series[market.PoolDay] {
	lower := appendPoolDay(nil, chain, pool, from)
	upper := append(appendPoolDay(nil, chain, pool, to), 0)
	return series(s, chain, kindPoolDay, lower, upper, d, decodePoolDay)
}

func decodePoolDay(key []byte, c *coder, p *market.PoolDay) {
	tail := key[len(key)-8:]
	p.Pool = binary.BigEndian.Uint32(tail)
	p.Day = binary.BigEndian.Uint32(tail[4:])
	codePoolDay(c, p)
}

// PoolDayAt returns the newest day of a pool that is not after day.
func (s *Store) PoolDayAt(chain market.ChainID, pool, day uint32) (market.PoolDay, bool, error) {
	return one(s.PoolDays(chain, pool, 0, day, NewestFirst))
}

// TickDays are the days of a tick from one day to another, both inclusive.
func (s *Store) TickDays(
	chain market.ChainID, pool uint32, tick int32, from, to uint32, d Direction,
) *Series[market.TickDay] {
	lower := appendTickDay(nil, chain, pool, tick, from)
	upper := append(appendTickDay(nil, chain, pool, tick, to), 0)
	return series(s, chain, kindTickDay, lower, upper, d, decodeTickDay)
}

func decodeTickDay(key []byte, c *coder, t *market.TickDay) {
	tail := key[len(key)-12:]
	t.Pool = binary.BigEndian.Uint32(tail)
	t.Tick = int32(binary.BigEndian.Uint32(tail[4:]) ^ 1<<31)
	t.Day = binary.BigEndian.Uint32(tail[8:])
	codeTickDay(c, t)
}

// TickDayAt returns the newest day of a tick that is not after day.
func (s *Store) TickDayAt(
	chain market.ChainID, pool uint32, tick int32, day uint32,
) (market.TickDay, bool, error) {
	return one(s.TickDays(chain, pool, tick, 0, day, NewestFirst))
}

// HourPrice is an entry of the series of hour prices.
type HourPrice struct {
	ledger.HourPrice
	Hour uint32
}

// HourPrices are the price records of a token from one hour to another, both
// inclusive. A record values every hour until the next.
func (s *Store) HourPrices(
	chain market.ChainID, token, from, to uint32, d Direction,
) *Series[HourPrice] {
	lower := appendHourPrice(nil, chain, token, from)
	upper := append(appendHourPrice(nil, chain, token, to), 0)
	return series(s, chain, kindHourPrice, lower, upper, d, decodeHourPrice)
}

func decodeHourPrice(key []byte, c *coder, p *HourPrice) {
	tail := key[len(key)-8:]
	p.Token = binary.BigEndian.Uint32(tail)
	p.Hour = binary.BigEndian.Uint32(tail[4:])
	codeHourPrice(c, &p.HourPrice)
}

// HourPriceAt returns the record that values an hour: the newest not after it.
func (s *Store) HourPriceAt(chain market.ChainID, token, hour uint32) (HourPrice, bool, error) {
	return one(s.HourPrices(chain, token, 0, hour, NewestFirst))
}
