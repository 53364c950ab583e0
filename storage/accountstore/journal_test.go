package accountstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"tidemark/storage/accounts"
	"tidemark/storage/disktest"
)

// journalModel is a store under a random load, and the months that were acknowledged.
type journalModel struct {
	*rand.Rand
	*Store
	disk  *vfs.MemFS
	fails atomic.Bool // the proof file cannot be written
	want  map[monthID]MonthRecord
}

// TestJournalModel: whatever is flushed, posted, refused, closed and killed, every read has
// the months as they were last acknowledged.
func TestJournalModel(t *testing.T) {
	for seed := range uint64(disktest.Share(4, 20, 200)) {
		m := &journalModel{
			Rand: rand.New(rand.NewPCG(seed, 1)), disk: vfs.NewCrashableMem(), want: map[monthID]MonthRecord{},
		}
		m.open(t)
		most := 1 + m.IntN(400)

		for step := range 150 {
			m.flush(1 + m.IntN(most))
			switch m.IntN(30) {
			case 0:
				must(m.Close())
				m.open(t)
			case 1:
				killed := m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: m.IntN(101), RNG: m.Rand})
				must(m.Close())
				m.disk = killed
				m.open(t)
			case 2:
				must(m.db.Flush())
			case 3:
				m.check(t, fmt.Sprintf("seed %d, step %d", seed, step))
			}
		}
		m.check(t, fmt.Sprintf("seed %d", seed))
		must(m.Close())
	}
}

func (m *journalModel) open(t *testing.T) {
	t.Helper()
	m.Store = openAccounts(t, errorfs.Wrap(m.disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if m.fails.Load() && op.Kind == errorfs.OpFileWriteAt && strings.HasSuffix(op.Path, ".proof") {
			return errorfs.ErrInjected
		}
		return nil
	})))
}

// flush charges random accounts in this month and the last. A flush that fails is made
// again with more.
func (m *journalModel) flush(n int) {
	f := &Flush{}
	for _, account := range m.Perm(500)[:n] {
		row := MonthRecord{Account: uint64(account), Tally: accounts.Tally{Month: november - accounts.Month(m.IntN(2))}}
		row.Lease = m.Int64N(1 << 40)
		row.Routes[m.IntN(accounts.NumRoutes)].Units = m.Int64N(1 << 40)
		f.Months = append(f.Months, &row)
	}

	if m.IntN(10) == 0 {
		m.fails.Store(true)
		if m.Flush(&Flush{Months: f.Months[:1+m.IntN(n)]}) == nil {
			panic("a flush without a proof was acknowledged")
		}
		m.fails.Store(false)
	}
	must(m.Flush(f))
	for _, row := range f.Months {
		m.want[monthID{row.Month, row.Account}] = *row
	}
}

func (m *journalModel) check(t *testing.T, when string) {
	t.Helper()
	for _, month := range []accounts.Month{november - 1, november} {
		var want []MonthRecord
		for account := range uint64(500) {
			row, ok := m.want[monthID{month, account}]
			if ok {
				want = append(want, row)
			}
			row.Account, row.Month = account, month
			if got, err := m.Month(account, month); err != nil || got != row {
				t.Fatalf("%s: month %s of account %d = %+v, %v; want %+v", when, month, account, got, err, row)
			}
		}

		c, err := m.Load(month)
		if err != nil || !slices.Equal(c.Months, want) {
			t.Fatalf("%s: the months %s, %v (-want +got):\n%s", when, month, err, cmp.Diff(want, c.Months))
		}
	}
}

// records counts the records under a prefix.
func (a *Store) records(prefix byte) (n int) {
	must(a.forEach([]byte{prefix}, []byte{prefix + 1}, func(_, _ []byte) error {
		n++
		return nil
	}))
	return n
}

// TestJournalIsBounded: a month is posted once for many flushes of it, and the journal of a
// busy time ends when few accounts are busy.
func TestJournalIsBounded(t *testing.T) {
	a := openAccounts(t, vfs.NewMem())
	defer func() { must(a.Close()) }()
	flush := func(from, to int) {
		f := &Flush{}
		for account := from; account < to; account++ {
			f.Months = append(f.Months, &MonthRecord{
				Account: uint64(account), Tally: accounts.Tally{Month: november, Lease: int64(to)},
			})
		}
		must(a.Flush(f))
	}
	f := func(what string, least, most, posted int) {
		t.Helper()
		if j, p := a.records(journalPrefix), a.records(monthPrefix); j < least || j > most || p != posted {
			t.Errorf("%s: %d records are in the journal and %d months are posted; want %d to %d, and %d",
				what, j, p, least, most, posted)
		}
	}

	for range journalRecords + 1 {
		flush(0, 2000)
	}
	f("as long as none is due", journalRecords+1, journalRecords+1, 0)
	flush(0, 2000)
	f("when they are due", 1, 1, 2000)

	for i := range 10 {
		flush(10_000*i, 10_000*(i+1))
	}
	for range journalRecords + 100_000/leastPosts {
		flush(5, 6)
	}
	f("when one account is busy", 1, journalRecords+1, 100_000)
}

// TestJournalIsCleared: what was in the journal is gone with all else.
func TestJournalIsCleared(t *testing.T) {
	fs := vfs.NewMem()
	a := openAccounts(t, fs)
	must(errors.Join(a.Put(sampleAccounts()), a.Flush(sampleFlush()), a.Clear()))
	none := MonthRecord{Account: 2, Tally: accounts.Tally{Month: november}}

	for range 2 {
		if last, err := a.LastMonth(); last != 0 || err != nil {
			t.Errorf("the last month is %s, %v; want none", last, err)
		}
		if m, err := a.Month(2, november); m != none || err != nil {
			t.Errorf("month %+v, %v; want none", m, err)
		}
		must(a.Close())
		a = openAccounts(t, fs)
	}
	must(a.Close())
}

// TestBadJournal: a record that no build writes is an error of the start.
func TestBadJournal(t *testing.T) {
	f := func(what string, key, value []byte, want string) {
		t.Helper()
		fs := vfs.NewMem()
		a := openAccounts(t, fs)
		must(errors.Join(a.Flush(sampleFlush()), a.db.Set(key, value, pebble.Sync), a.Close()))
		if _, err := Open("accounts", quietAccounts(fs)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %q", what, err, want)
		}
	}

	record := (&usageJournal{}).encode(sampleFlush().Months, nil)
	key := appendNumberedKey(nil, journalPrefix, 2)
	f("a key", key[:8], record, "bad key 12")
	f("a torn record", key, record[:len(record)-1], "accounts record 120000000000000002: record is truncated")
	f("a month's number", key, []byte{7, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, "record is truncated")
	f("a month", key, []byte{7, 1, 1, 0xff}, "cannot read month 0000-02 of account 7 in the journal of accounts accounts")
}

// TestOlderFormat: a store without a journal is read as it is, and raised by
// the first start that may write, in a table: a format in the log would hide that the
// tables are gone.
func TestOlderFormat(t *testing.T) {
	disk := vfs.NewCrashableMem()
	a := openAccounts(t, disk)
	must(errors.Join(a.Put(sampleAccounts()), a.db.Set(formatKey, []byte{1}, pebble.Sync), a.Close()))

	o := quietAccounts(disk)
	for _, readOnly := range []bool{true, false} {
		o.ReadOnly = readOnly
		a, err := Open("accounts", o)
		must(err)
		format, _, err := a.get(formatKey)
		if want := map[bool]byte{true: 1, false: Format}[readOnly]; err != nil || format[0] != want {
			t.Errorf("read-only %t: format %d, %v; want %d", readOnly, format, err, want)
		}
		if c, err := a.Load(november); err != nil || len(c.Accounts) != 2 {
			t.Errorf("read-only %t: %+v, %v", readOnly, c, err)
		}
		if !readOnly && string(formatInTables(t, disk)) != string(format) {
			t.Errorf("the format is in the log alone")
		}
		must(a.Close())
	}
}

// TestFormatIsNotRaisedOnAFullDisk: there the start is refused, and no table is written.
func TestFormatIsNotRaisedOnAFullDisk(t *testing.T) {
	disk := &smallDisk{vfs.NewMem(), 1 << 40}
	a := openAccounts(t, disk)
	must(errors.Join(a.db.Set(formatKey, []byte{1}, pebble.Sync), a.Close()))
	tables := func() int { return strings.Count(strings.Join(filesOf(t, disk), " "), ".sst") }

	before := tables()
	disk.free = defaultMinFreeBytes - 1
	if _, err := Open("accounts", quietAccounts(disk)); !errors.Is(err, ErrNoSpace) || tables() != before {
		t.Errorf("opened with %v, and %d tables for %d; want %v and as many", err, tables(), before, ErrNoSpace)
	}
	disk.free = 1 << 40
	must(openAccounts(t, disk).Close())
}

// formatInTables reads the format from a copy of the disk without the logs.
func formatInTables(t *testing.T, disk *vfs.MemFS) []byte {
	t.Helper()
	copied := disk.CrashClone(vfs.CrashCloneCfg{})
	for _, path := range filesOf(t, copied) {
		if strings.HasSuffix(path, ".log") {
			must(copied.Remove(path))
		}
	}

	o := quietAccounts(copied)
	db, err := pebble.Open("accounts", o.pebble())
	must(err)

	value, closer, err := db.Get(formatKey)
	must(err)
	value = slices.Clone(value)
	must(errors.Join(closer.Close(), db.Close()))
	return value
}

// FuzzJournalRecord: what is read from a record comes back from the record made of it.
func FuzzJournalRecord(f *testing.F) {
	f.Add((&usageJournal{}).encode(sampleFlush().Months, nil))
	f.Fuzz(func(t *testing.T, record []byte) {
		months, err := readJournalRecord(record)
		if err != nil {
			return
		}
		again, err := readJournalRecord((&usageJournal{}).encode(months, nil))
		if diff := cmp.Diff(months, again); err != nil || diff != "" {
			t.Errorf("record %x came back, %v (-want +got):\n%s", record, err, diff)
		}
	})
}

// readJournalRecord reads the months of a record, each once.
func readJournalRecord(record []byte) (months []*MonthRecord, err error) {
	j := usageJournal{months: map[monthID]*journalMonth{}}
	err = j.apply(1, record)
	for _, m := range j.queue {
		row := &MonthRecord{Account: m.account, Tally: accounts.Tally{Month: m.month}}
		err = errors.Join(err, row.decode(m.value))
		months = append(months, row)
	}
	return months, err
}
