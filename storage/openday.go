package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The series has the running day of a pool too, and every swap writes it. Price, tick,
// liquidity and fee growths of the running day equal those of the pool until the day ends:
// the ledger changes none of them without the day. So they are stored once, in the pool's row,
// and the series has the day open, without them. When the day ends it is written whole. Who
// reads an open day completes it from the pool of the same cut.

// openDayMark stands in place of the hour, of 1 to 24, that an ended day may have.
const openDayMark = market.HoursOfDay + 1

// codeOpenDay is codePoolDay without what the pool has.
func codeOpenDay(c *field.Coder, d *market.PoolDay) {
	codeExtremes(c, d)
	c.U256("amount0", &d.Amount0)
	c.U256("amount1", &d.Amount1)
	codeDaySums(c, d)
}

// openDay returns a day as the series has it after a cut.
func openDay(st *market.State, d *market.PoolDay) *market.PoolDay {
	if d.EventHour != 0 || d.Day != market.DayOf(st.Head.Time) || d.Pool >= st.Pools.Len() ||
		!d.ClosesWith(st.Pools.At(d.Pool)) {
		return d
	}
	open := *d
	open.CloseWith(new(market.Pool))
	return &open
}

// isOpen reports whether a day lacks what it has of its pool. No price is 0.
func isOpen(d *market.PoolDay) bool {
	return d.Close.IsZero() && d.ClosesWith(new(market.Pool))
}

// closeRow closes the day of a pool in a State that was read. A pool that never had one has
// day 0.
func closeRow(st *market.State, pool uint32, d *market.PoolDay) {
	if d.Day != 0 && isOpen(d) && pool < st.Pools.Len() {
		d.CloseWith(st.Pools.At(pool))
	}
}

// closeDays closes the days that the last batch set. All other tables are finished.
func (r *Replica) closeDays() {
	days := replicaTable[market.PoolDay](r, ledger.Days.Index())
	pools := replicaTable[market.Pool](r, ledger.Pools.Index())
	for _, i := range days.last {
		if d := days.table.At(i); d.Day != 0 && isOpen(d) && i < pools.table.Len() {
			days.table.Mut(i).CloseWith(pools.table.At(i))
		}
	}
}

// closeEntry closes an open day at which an iterator of the series stands, with the pool
// that the same version of the store has.
func closeEntry(it *pebble.Iterator, chain market.ChainID, d *market.PoolDay) (err error) {
	if !isOpen(d) {
		return nil
	}
	kind := tables[ledger.Pools.Index()].about().kind
	rows, err := it.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{
		LowerBound: appendRow(nil, chain, kind, d.Pool), UpperBound: appendRow(nil, chain, kind, d.Pool+1),
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()

	var pool market.Pool
	if !rows.First() {
		return errors.Join(fmt.Errorf("pool %d of an open day is missing", d.Pool), rows.Error())
	}
	for ok, part := true, 0; ok; ok, part = rows.Next(), part+1 {
		c := field.Reader(rows.Value())
		if _, err := (poolForm{}).read(nil, nil, &c, part, &pool); err != nil {
			return fmt.Errorf("pool %d of an open day: %w", d.Pool, err)
		}
	}
	d.CloseWith(&pool)
	return rows.Error()
}
