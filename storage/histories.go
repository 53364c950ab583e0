package storage

import (
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

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
