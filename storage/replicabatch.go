package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// replicaBatch is the state of one ApplyBatch.
type replicaBatch struct {
	r         *Replica
	days      batchDays
	head      head
	hasHead   bool
	reset     bool // the chain was dropped
	directory []byte
	whole     []byte // the directory of which there are deltas
}

// splitKey returns the kind of a key and what follows it.
func (b *replicaBatch) splitKey(key []byte) (k kind, tail []byte, err error) {
	chain, rest, ok := parseChain(key)
	if !ok || chain != b.r.chain {
		return 0, nil, errors.New("the key belongs to another chain")
	}
	return kind(rest[0]), rest[1:], nil
}

// batchDays are the pool days that a batch puts into the series, by key.
type batchDays map[[2]uint32][]byte

func (d batchDays) poolDay(day *market.PoolDay) error {
	value, ok := d[[2]uint32{day.Pool, day.Day}]
	if !ok {
		return errors.New("the batch does not contain the record of that day")
	}
	return readDay(value, day)
}

// readSeries collects the days that the batch puts into the series.
func (b *replicaBatch) readSeries(op pebble.InternalKeyKind, key, value []byte) error {
	if op == pebble.InternalKeyKindRangeDelete {
		return nil
	}

	s := seriesFor(ledger.PoolDays)
	k, tail, err := b.splitKey(key)
	if err != nil || k != s.kind || len(tail) != s.tail {
		return err
	}

	var day market.PoolDay
	s.key(&bigEndian{buf: tail, read: true}, &day)
	if at := [2]uint32{day.Pool, day.Day}; op == pebble.InternalKeyKindSet {
		b.days[at] = value
	} else {
		delete(b.days, at)
	}

	return nil
}

// applyRecord applies a record. It ignores deletions of rows, because the head has
// the lengths of the tables.
func (b *replicaBatch) applyRecord(op pebble.InternalKeyKind, key, value []byte) error {
	if op == pebble.InternalKeyKindRangeDelete {
		return b.deleteRange(key, value)
	}
	k, tail, err := b.splitKey(key)
	if err != nil {
		return err
	}
	l, known := kinds[k]
	switch {
	case !known || !l.fits(len(tail)):
		return errors.New("unknown key")
	case op == pebble.InternalKeyKindDelete:
		return nil
	}

	switch k {
	case kindHead:
		c := field.Reader(value)
		codeHead(&c, &b.head)
		b.hasHead = true
		return c.Done()
	case kindDirectory:
		b.whole = slices.Clone(value)
		b.directory = b.whole
	case kindDelta:
		b.directory, err = applyPacked(b.whole, value)
		return err
	case kindPatch:
		return b.r.applyPatch(value)
	}
	if l.table >= 0 {
		part := 0
		if len(tail) > 4 {
			part = int(tail[4])
		}
		return b.r.tables[l.table].setPart(b.days, binary.BigEndian.Uint32(tail), part, value)
	}
	return nil
}

// deleteRange applies the range deletions that are ever written: of the whole chain,
// of all leaves before a first generation, and of old days of a series, of which a
// replica has none.
func (b *replicaBatch) deleteRange(from, to []byte) error {
	chain := b.r.chain
	leaves := appendKind(nil, chain, kindLeaf)
	switch {
	case string(from) == string(leaves) && string(to) == string(appendKind(nil, chain, kindLeaf+1)):
	case string(from) == string(appendChain(nil, chain)) &&
		string(to) == string(appendChainEnd(nil, chain)):
		b.reset, b.directory, b.whole = true, nil, nil
		b.r.cut = nil
		b.r.thaw(&market.State{Chain: chain})
	case isPrune(chain, from, to):
	default:
		return fmt.Errorf("unknown range deletion, ending at %x", to)
	}

	return nil
}

// makeCut makes the next cut from the records of the batch.
func (b *replicaBatch) makeCut() error {
	h := &b.head
	for _, t := range b.r.tables {
		if err := t.finish(h); err != nil {
			return err
		}
	}

	b.r.closeDays()
	st := h.emptyState(b.r.chain)
	for _, t := range b.r.tables[:statsIndex] {
		t.freeze(st)
	}
	b.r.deriveStats(st)
	b.r.tables[statsIndex].freeze(st)

	b.r.listTicks(st)
	b.r.cut = &Restored{
		State: st, Generation: h.Generation, Published: h.PublishedAt,
		Directory: b.directory, whole: b.whole, Confirmed: h.Confirmed,
	}
	return nil
}
