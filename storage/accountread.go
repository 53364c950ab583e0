package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/storage/accounts"
)

// AccountsContent is everything that a node keeps of its accounts in memory.
type AccountsContent struct {
	Accounts []AccountRecord // by id
	Keys     []KeyRecord     // by id
	Months   []AccountMonth  // of the month asked for, by account
}

// LastMonth returns the newest month with a charge, 0 if there is none.
func (a *Accounts) LastMonth() (m accounts.Month, err error) {
	err = a.iterate([]byte{monthPrefix}, []byte{monthPrefix + 1}, func(it *pebble.Iterator) error {
		if !it.Last() {
			return nil
		}
		m, _, err = parseMonthKey(it.Key())
		return err
	})
	return m, err
}

// Load reads all accounts and keys and one month of usage.
func (a *Accounts) Load(m accounts.Month) (*AccountsContent, error) {
	c := new(AccountsContent)
	if err := a.loadAccounts(c); err != nil {
		return nil, err
	}
	if err := a.loadKeys(c); err != nil {
		return nil, err
	}

	err := a.forEach(appendMonthKey(nil, m, 0), appendMonthKey(nil, m+1, 0), func(k, v []byte) error {
		row := AccountMonth{}
		var err error
		if row.Month, row.Account, err = parseMonthKey(k); err == nil {
			err = row.decode(v)
		}
		c.Months = append(c.Months, row)
		return err
	})
	return c, err
}

func (a *Accounts) loadAccounts(c *AccountsContent) error {
	return a.forEach([]byte{accountPrefix}, []byte{accountPrefix + 1}, func(k, v []byte) (err error) {
		row := AccountRecord{}
		if row.ID, err = parseNumberedKey(k); err == nil {
			err = row.decode(v)
		}
		c.Accounts = append(c.Accounts, row)
		return err
	})
}

func (a *Accounts) loadKeys(c *AccountsContent) error {
	used := map[uint64]int64{}
	err := a.forEach([]byte{keyUsePrefix}, []byte{keyUsePrefix + 1}, func(k, v []byte) error {
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

	return a.forEach([]byte{keyPrefix}, []byte{keyPrefix + 1}, func(k, v []byte) (err error) {
		row := KeyRecord{}
		if row.ID, err = parseNumberedKey(k); err == nil {
			err = row.decode(v)
		}
		row.UsedMinute = used[row.ID]
		c.Keys = append(c.Keys, row)
		return err
	})
}

// Days returns the days of a month on which the account was used, oldest first.
func (a *Accounts) Days(m *AccountMonth) ([]AccountDay, error) {
	if m.Day == 0 {
		return nil, nil
	}
	days, err := a.daysBefore(m, m.Day)
	if err != nil {
		return nil, err
	}
	return append(days, m.Newest()), nil
}

// daysBefore reads the records of the days of a month up to another day.
func (a *Accounts) daysBefore(m *AccountMonth, end accounts.Day) (days []AccountDay, err error) {
	from := accounts.DayAt(m.Month.Start().UnixNano(), m.Month)
	err = a.forEach(appendAccountDayKey(nil, m.Account, from), appendAccountDayKey(nil, m.Account, end),
		func(k, v []byte) (err error) {
			row := AccountDay{}
			if row.Account, row.Day, err = parseAccountDayKey(k); err == nil {
				err = row.decode(v)
			}
			days = append(days, row)
			return err
		})
	return days, err
}

// forEach calls f with every record from lower up to upper. Key and value are
// valid during the call.
func (a *Accounts) forEach(lower, upper []byte, f func(key, value []byte) error) error {
	return a.iterate(lower, upper, func(it *pebble.Iterator) error {
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
func (a *Accounts) iterate(lower, upper []byte, f func(*pebble.Iterator) error) error {
	it := iterate(a.db, lower, upper)
	err := f(it)
	if closeErr := it.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("cannot read accounts %s: %w", a.dir, a.asDamage(err))
	}
	return nil
}
