package storage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
		id, err := parseMonthKey(it.Key())
		m = id.month
		return err
	})
	return max(m, a.journal.lastMonth()), err
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

	err := a.forEachMonth(appendMonthKey(nil, m, 0), appendMonthKey(nil, m+1, 0), func(row *AccountMonth) error {
		c.Months = append(c.Months, *row)
		return nil
	})
	slices.SortFunc(c.Months, func(a, b AccountMonth) int { return cmp.Compare(a.Account, b.Account) })
	return c, err
}

// forEachMonth calls f with every month whose key is from lower up to upper: first those that
// are put under their own key, then those of the journal. The row is valid during the call.
func (a *Accounts) forEachMonth(lower, upper []byte, f func(*AccountMonth) error) error {
	// They are copied before the table is read: what leaves the journal later is in it.
	journaled := a.journal.between(lower, upper)
	row := AccountMonth{}
	emit := func(id monthID, value []byte) error {
		row = AccountMonth{Account: id.account, Tally: accounts.Tally{Month: id.month}}
		if err := row.decode(value); err != nil {
			return err
		}
		return f(&row)
	}

	err := a.forEach(lower, upper, func(k, v []byte) error {
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
