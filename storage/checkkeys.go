package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/rankings/block"
	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// checkKey checks one key. Rows of tables were decoded when the State was loaded;
// here only their number is checked.
func (c *checker) checkKey(k keyKind, key, tail, value []byte) error {
	switch {
	case k.table >= 0:
		return checkOwner(binary.BigEndian.Uint32(tail), c.head.Rows[k.table])
	case k.series >= 0:
		return c.checkEntry(k.series, key, tail, value)
	case k.kind == kindCommit:
		_, err := c.s.readCommit(c.chain)
		return err
	case k.kind == kindPatch:
		return c.checkPatch(key, value)
	case k.kind == kindLeaf:
		return c.checkLeaf(binary.BigEndian.Uint64(tail), value)
	}

	return nil // head, directory and undos are checked elsewhere
}

// checkEntry checks an entry of a series.
func (c *checker) checkEntry(series int, key, tail, value []byte) error {
	s := allSeries[series]
	owner := c.head.Rows[s.about().owner.Index()]
	if err := checkOwner(s.about().ownerOf(tail), owner); err != nil {
		return err
	}
	switch series {
	case ledger.Transactions.Index():
		return c.countTransaction(key, value)
	case ledger.PoolDays.Index():
		return c.checkDay(key, value)
	}
	return s.checkRecord(value)
}

// checkDay checks a day of a pool: only the running one may be open.
func (c *checker) checkDay(key, value []byte) error {
	var d market.PoolDay
	dec := field.Reader(value)
	seriesFor(ledger.PoolDays).decode(key, new(bigEndian), &dec, &d)
	err := dec.Done()
	if running := market.DayOf(c.head.At.Time); err == nil && isOpen(&d) && d.Day != running {
		err = fmt.Errorf("day %d is open; the running one is %d", d.Day, running)
	}
	return err
}

func checkOwner(row, n uint32) error {
	if row >= n {
		return fmt.Errorf("belongs to row %d; the table has %d", row, n)
	}
	return nil
}

// countTransaction counts an entry of a position's history.
func (c *checker) countTransaction(key, value []byte) error {
	var t market.Transaction
	dec := field.Reader(value)
	seriesFor(ledger.Transactions).decode(key, new(bigEndian), &dec, &t)
	if err := dec.Done(); err != nil {
		return err
	}

	c.entries[t.Position]++
	if t.Block > c.head.At.Number {
		return fmt.Errorf("block %d is after the head %d", t.Block, c.head.At.Number)
	}
	return nil
}

// checkPatch checks a patch. One that counts was also applied when the State was loaded.
func (c *checker) checkPatch(key, value []byte) error {
	commit, err := c.s.readCommit(c.chain)
	if err != nil {
		return err
	}
	p, err := decodePatch(key, value, commit)
	if n := len(p.chunks); err == nil && n > 0 && commit-p.number < patchTurns {
		err = checkOwner(p.chunks[n-1].lastRow(), c.head.Rows[pricesIndex])
	}
	return err
}

func (c *checker) checkLeaf(number uint64, value []byte) error {
	use, known := c.leaves[number]
	if !known {
		return errors.New("the directory does not list this leaf")
	}

	use.seen = true
	c.leaves[number] = use
	ids, err := block.DecodeLeaf(value, nil, func(base uint64) ([]uint32, error) {
		return c.baseOf(&use, base)
	})
	switch {
	case err != nil || use.retired:
		return err
	case use.base && len(ids) != use.rows:
		return fmt.Errorf("base has %d rows; the directory says %d", len(ids), use.rows)
	case use.base:
		return nil
	}
	if len(ids) != use.rows {
		return fmt.Errorf("leaf has %d rows; the directory says %d", len(ids), use.rows)
	}
	if ids[0] != use.first {
		return fmt.Errorf("leaf begins with row %d; the directory says %d", ids[0], use.first)
	}

	for _, id := range ids {
		if id >= use.below {
			return fmt.Errorf("leaf has row %d; the table has %d", id, use.below)
		}
	}

	return nil
}

// baseOf returns the ids of a base of a leaf, which must be kept as long as the leaf.
func (c *checker) baseOf(use *leafUse, number uint64) ([]uint32, error) {
	is, known := c.leaves[number]
	switch {
	case use.base:
		return nil, errors.New("a base must be whole")
	case !known || is.retired && !use.retired:
		return nil, errors.New("the directory does not list it")
	}
	return c.s.WholeLeaf(c.chain, number)
}
