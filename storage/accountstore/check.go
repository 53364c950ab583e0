package accountstore

import (
	"fmt"

	"tidemark/storage/accounts"
)

// Check verifies every invariant of the accounts and returns a line for each
// violation:
//
//   - names of accounts and hashes of keys are unique, keys have an account;
//   - a browser key lists an origin, a server key none;
//   - the units billed in a month are within its lease;
//   - every day belongs to a month, and the days of a month add up to the month, for
//     every route.
//
// It reads every record, and returns Damage if one is damaged.
func (s *Store) Check() (findings []string, err error) {
	c, err := s.loadRecords()
	if err != nil {
		return nil, err
	}
	report := func(format string, args ...any) {
		findings = append(findings, "accounts: "+fmt.Sprintf(format, args...))
	}

	known := checkNames(c.Accounts, report)
	checkKeys(c.Keys, known, report)

	months := map[monthID]bool{}
	err = s.forEachMonth([]byte{monthPrefix}, []byte{monthPrefix + 1}, func(row *MonthRecord) error {
		if !known[row.Account] {
			report("month %s belongs to account %d, which does not exist", row.Month, row.Account)
		}
		months[monthID{row.Month, row.Account}] = true
		return s.checkMonth(row, report)
	})
	if err != nil {
		return findings, err
	}

	err = s.forEach([]byte{dayPrefix}, []byte{dayPrefix + 1}, func(k, _ []byte) error {
		account, day, err := parseDayKey(k)
		if err == nil && !months[monthID{day.Month(), account}] {
			report("account %d was used on %s, and not in that month", account, day)
		}
		return err
	})
	return findings, err
}

func checkNames(records []AccountRecord, report func(string, ...any)) map[uint64]bool {
	known, names := map[uint64]bool{}, map[string]uint64{}
	for _, r := range records {
		if other, taken := names[r.Name]; taken {
			report("accounts %d and %d are both named %q", other, r.ID, r.Name)
		}
		known[r.ID], names[r.Name] = true, r.ID
	}
	return known
}

func checkKeys(keys []KeyRecord, known map[uint64]bool, report func(string, ...any)) {
	hashes := map[accounts.Hash]uint64{}
	for _, k := range keys {
		if other, taken := hashes[k.Hash]; taken {
			report("keys %d and %d have the same hash", other, k.ID)
		}

		hashes[k.Hash] = k.ID
		if !known[k.Account] {
			report("key %d belongs to account %d, which does not exist", k.ID, k.Account)
		}
		if (k.Kind == accounts.Browser) != (len(k.Origins) > 0) {
			report("key %d is a %s key with %d origins", k.ID, k.Kind, len(k.Origins))
		}
	}
}

func (s *Store) checkMonth(m *MonthRecord, report func(string, ...any)) error {
	if billed := m.Billed(); billed > m.Lease {
		report("account %d, month %s: %d units billed, %d leased",
			m.Account, m.Month, billed, m.Lease)
	}

	days, err := s.daysBefore(m, accounts.DayAt(m.Month.End().UnixNano(), m.Month)+1)
	if err != nil {
		return err
	}
	if m.Day != 0 {
		days = append(days, m.Newest())
	}

	var sum [accounts.NumRoutes]accounts.Count
	for _, d := range days {
		for i, c := range d.Routes {
			sum[i].Requests += c.Requests
			sum[i].Units += c.Units
		}
	}
	for i := range sum {
		if sum[i] != m.Routes[i] {
			report("account %d, month %s, %s: the days have %+v, the month %+v", m.Account,
				m.Month, accounts.Route(i).Path(), sum[i], m.Routes[i])
		}
	}
	return nil
}
