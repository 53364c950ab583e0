package storage

import (
	"errors"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// rowReader reads rows of one cut.
type rowReader struct {
	s     *Store
	chain market.ChainID
	head  *head
}

// poolDay reads the record of d.Pool and d.Day from the series.
func (f rowReader) poolDay(d *market.PoolDay) error {
	var buf [maxKeyLen]byte
	key := seriesFor(ledger.PoolDays).appendKey(buf[:0], f.chain, d)
	value, closer, err := f.s.db.Get(key)
	if err != nil {
		return err
	}
	c := field.Reader(value)
	codePoolDay(&c, d)
	return errors.Join(c.Done(), closer.Close())
}
