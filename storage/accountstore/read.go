package accountstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/storage/accounts"
	"tidemark/storage/database"
)

// Content is everything that a node keeps of its accounts in memory.
type Content struct {
	Accounts []AccountRecord // by id
	Keys     []KeyRecord     // by id
	Months   []MonthRecord   // of the month asked for, by account
}

// LastMonth returns the newest month with a charge, 0 if there is none.
func (s *Store) LastMonth() (m accounts.Month, err error) {
	err = s.iterate([]byte{monthPrefix}, []byte{monthPrefix + 1}, func(it *pebble.Iterator) error {
		if !it.Last() {
			return nil
		}
		id, err := parseMonthKey(it.Key())
		m = id.month
		return err
	})
	return max(m, s.journal.lastMonth()), err
}

// Load reads all accounts and keys and one month of usage.
func (s *Store) Load(m accounts.Month) (*Content, error) {
	c, err := s.loadRecords()
	if err != nil {
		return nil, err
	}

	err = s.forEachMonth(appendMonthKey(nil, m, 0), appendMonthKey(nil, m+1, 0), func(row *MonthRecord) error {
		c.Months = append(c.Months, *row)
		return nil
	})
	slices.SortFunc(c.Months, func(a, b MonthRecord) int { return cmp.Compare(a.Account, b.Account) })
	return c, err
}

// forEachMonth calls f with every month whose key is from lower up to upper: first those that
// are put under their own key, then those of the journal. The row is valid during the call.
func (s *Store) forEachMonth(lower, upper []byte, f func(*MonthRecord) error) error {
	// They are copied before the table is read: what leaves the journal later is in it.
	journaled := s.journal.between(lower, upper)
	row := MonthRecord{}
	emit := func(id monthID, value []byte) error {
		row = MonthRecord{Account: id.account, Tally: accounts.Tally{Month: id.month}}
		if err := row.decode(value); err != nil {
			return err
		}
		return f(&row)
	}

	err := s.forEach(lower, upper, func(k, v []byte) error {
		id, err := parseMonthKey(k)
		if err != nil {
			return err
		}
		if newer, ok := journaled[id]; ok {
			v = newer
			delete(journaled, id)
		}
		return emit(id, v)
	})

	for _, id := range slices.SortedFunc(maps.Keys(journaled), monthID.compare) {
		if err == nil {
			err = emit(id, journaled[id])
		}
	}
	return err
}

// loadRecords reads all accounts and keys, and no month.
func (s *Store) loadRecords() (*Content, error) {
	c := new(Content)
	if err := s.loadAccounts(c); err != nil {
		return nil, err
	}
	if err := s.loadKeys(c); err != nil {
		return nil, err
	}
	return c, nil
}

func (s *Store) loadAccounts(c *Content) error {
	return s.forEach([]byte{accountPrefix}, []byte{accountPrefix + 1}, func(k, v []byte) (err error) {
		row := AccountRecord{}
		if row.ID, err = parseNumberedKey(k); err == nil {
			err = row.decode(v)
		}
		c.Accounts = append(c.Accounts, row)
		return err
	})
}

func (s *Store) loadKeys(c *Content) error {
	used := map[uint64]int64{}
	err := s.forEach([]byte{keyUsePrefix}, []byte{keyUsePrefix + 1}, func(k, v []byte) error {
		id, err := parseNumberedKey(k)
		r := recordReader{b: v}
		used[id] = r.number()
		if err != nil {
			return err
		}
		return r.err()
	})
	if err != nil {
		return err
	}

	return s.forEach([]byte{keyPrefix}, []byte{keyPrefix + 1}, func(k, v []byte) (err error) {
		row := KeyRecord{}
		if row.ID, err = parseNumberedKey(k); err == nil {
			err = row.decode(v)
		}
		row.UsedMinute = used[row.ID]
		c.Keys = append(c.Keys, row)
		return err
	})
}

// Month reads the usage of an account in a month; zero if there is none.
func (s *Store) Month(account uint64, m accounts.Month) (MonthRecord, error) {
	row := MonthRecord{Account: account, Tally: accounts.Tally{Month: m}}
	value, ok := s.journal.value(monthID{m, account})
	var err error
	if !ok {
		value, ok, err = s.get(appendMonthKey(nil, m, account))
	}

	if ok {
		err = row.decode(value)
	}
	if err != nil {
		return row, fmt.Errorf("cannot read month %s of account %d: %w", m, account, err)
	}
	return row, nil
}

// Days returns the days of a month on which the account was used, oldest first.
func (s *Store) Days(m *MonthRecord) ([]DayRecord, error) {
	if m.Day == 0 {
		return nil, nil
	}
	days, err := s.daysBefore(m, m.Day)
	if err != nil {
		return nil, err
	}
	return append(days, m.Newest()), nil
}

// daysBefore reads the records of the days of a month up to another day.
func (s *Store) daysBefore(m *MonthRecord, end accounts.Day) (days []DayRecord, err error) {
	from := accounts.DayAt(m.Month.Start().UnixNano(), m.Month)
	err = s.forEach(appendDayKey(nil, m.Account, from), appendDayKey(nil, m.Account, end),
		func(k, v []byte) (err error) {
			row := DayRecord{}
			if row.Account, row.Day, err = parseDayKey(k); err == nil {
				err = row.decode(v)
			}
			days = append(days, row)
			return err
		})
	return days, err
}

// forEach calls f with every record from lower up to upper. Key and value are
// valid during the call.
func (s *Store) forEach(lower, upper []byte, f func(key, value []byte) error) error {
	return s.iterate(lower, upper, func(it *pebble.Iterator) error {
		for ok := it.First(); ok; ok = it.Next() {
			value, err := it.ValueAndErr()
			if err == nil {
				err = f(it.Key(), value)
			}
			if err != nil {
				return fmt.Errorf("accounts record %x: %w", it.Key(), err)
			}
		}
		return nil
	})
}

// iterate calls f with an iterator and closes it.
func (s *Store) iterate(lower, upper []byte, f func(*pebble.Iterator) error) error {
	it := database.Iterate(s.db, lower, upper)
	err := f(it)
	if closeErr := it.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("cannot read accounts %s: %w", s.dir, s.asDamage(err))
	}
	return nil
}
