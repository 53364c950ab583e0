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

// poolDay reads the record of d.Pool and d.Day from the series, except for its hour.
func (f rowReader) poolDay(d *market.PoolDay) error {
	var buf [maxKeyLen]byte
	key := seriesFor(ledger.PoolDays).appendKey(buf[:0], f.chain, d)
	value, closer, err := f.s.db.Get(key)
	if err != nil {
		return err
	}
	return errors.Join(readDay(value, d), closer.Close())
}

// readDay reads a day as the series has it. The hour of d stays as it is.
func readDay(value []byte, d *market.PoolDay) error {
	entry := market.PoolDay{Pool: d.Pool, Day: d.Day}
	c := field.Reader(value)
	codeDayEntry(&c, &entry)
	entry.EventHour, entry.HourHigh, entry.HourLow = d.EventHour, d.HourHigh, d.HourLow
	entry.HourVolumeUsd, entry.HourFeesUsd = 0, 0
	*d = entry
	return c.Done()
}
