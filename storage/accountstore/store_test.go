package accountstore

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"tidemark/storage/accounts"
)

const november = accounts.Month(2026*12 + 10)

func openAccounts(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	a, err := Open("accounts", quietAccounts(fs))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func quietAccounts(fs vfs.FS) Options {
	return Options{
		FS: fs, Logger: slog.New(slog.DiscardHandler), Exit: func() { panic("the store ended the process") },
	}
}

func sampleAccounts() ([]AccountRecord, []KeyRecord) {
	return []AccountRecord{
			{ID: 1, Name: "demo", Plan: "unlimited", CreatedAt: 1_795_000_000_000},
			{ID: 2, Name: "acme", Plan: "growth", Suspended: true, CreatedAt: 1_795_000_000_001},
		}, []KeyRecord{
			{ID: 1, Account: 1, Hash: accounts.Hash{1, 2, 3}, Prefix: "tm_srv_012345678", CreatedAt: 7},
			{
				ID: 2, Account: 2, Hash: accounts.Hash{31: 9}, Kind: accounts.Browser, Label: "shop «neu»",
				Origins: []string{"https://app.example.com", "http://localhost:3000"},
				Prefix:  "tm_web_abcdefghi", CreatedAt: 8, RevokedAt: 9, UsedMinute: 29_900_000,
			},
		}
}

func sampleFlush() *Flush {
	routes := [accounts.NumRoutes]accounts.Count{
		accounts.RoutePositions:  {Requests: 12, Units: 10},
		accounts.RoutePoolCharts: {Requests: 3, Units: 30},
	}

	first := routes
	first[accounts.RoutePositions] = accounts.Count{Requests: 4, Units: 3}
	day := accounts.DayAt(november.Start().UnixNano(), november)
	return &Flush{
		Months: []*MonthRecord{
			{Account: 2, Tally: accounts.Tally{Month: november - 1, Lease: 77}},
			{
				Account: 2, Tally: accounts.Tally{Month: november, Lease: 150, Routes: routes},
				Day: day + 5, Before: first,
			},
		},
		Days: []DayRecord{{2, day, first}},
		Keys: []KeyUse{{2, 29_900_000}},
	}
}

func TestReadBack(t *testing.T) {
	fs := vfs.NewMem()
	a := openAccounts(t, fs)
	records, keys := sampleAccounts()
	flush := sampleFlush()
	for _, err := range []error{a.Put(records, keys), a.Flush(flush), a.Flush(flush), a.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}

	a = openAccounts(t, fs)
	defer a.Close()
	got, err := a.Load(november)
	if err != nil {
		t.Fatal(err)
	}
	want := &Content{Accounts: records, Keys: keys, Months: []MonthRecord{*flush.Months[1]}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}

	if m, err := a.LastMonth(); m != november || err != nil {
		t.Errorf("last month = %s, %v; want %s", m, err, november)
	}

	newest := DayRecord{Account: 2, Day: flush.Days[0].Day + 5}
	newest.Routes[accounts.RoutePositions] = accounts.Count{Requests: 8, Units: 7}
	if days, err := a.Days(flush.Months[1]); err != nil || !slices.Equal(days, []DayRecord{flush.Days[0], newest}) {
		t.Errorf("days = %+v, %v; want %+v and %+v", days, err, flush.Days, newest)
	}

	if m, err := a.Month(2, november-1); err != nil || m != *flush.Months[0] {
		t.Errorf("last month's row = %+v, %v; want %+v", m, err, flush.Months[0])
	}
	if m, err := a.Month(9, november); err != nil || m != (MonthRecord{Account: 9, Tally: accounts.Tally{Month: november}}) {
		t.Errorf("a month of nobody = %+v, %v; want none", m, err)
	}

	if findings, err := a.Check(); err != nil || len(findings) > 0 {
		t.Errorf("findings = %q, %v; want none", findings, err)
	}
}

func TestFindings(t *testing.T) {
	a := openAccounts(t, vfs.NewMem())
	defer a.Close()
	if err := a.Put(
		[]AccountRecord{{ID: 1, Name: "twin"}, {ID: 2, Name: "twin"}},
		[]KeyRecord{{ID: 1, Account: 1, Origins: []string{"https://x.example"}}, {ID: 2, Account: 9}},
	); err != nil {
		t.Fatal(err)
	}

	flush := sampleFlush()
	flush.Months[1].Lease = 39
	flush.Days[0].Routes[0].Units--

	// A month without a newest day, and a day after it: the month's last.
	one := [accounts.NumRoutes]accounts.Count{{Requests: 1, Units: 1}}
	flush.Months = append(flush.Months, &MonthRecord{
		Account: 1, Tally: accounts.Tally{Month: november, Lease: 1, Routes: one},
	}, &MonthRecord{Account: 7, Tally: accounts.Tally{Month: november}})
	last := accounts.DayAt(november.End().UnixNano(), november)
	flush.Days = append(flush.Days, DayRecord{1, last, [accounts.NumRoutes]accounts.Count{{Requests: 1, Units: 2}}})

	// Days of months without usage: the ones before and after.
	flush.Days = append(flush.Days, DayRecord{1, last - 30, one}, DayRecord{2, last + 1, one})
	if err := a.Flush(flush); err != nil {
		t.Fatal(err)
	}

	findings, err := a.Check()
	if err != nil {
		t.Fatal(err)
	}

	want := []string{
		`accounts: accounts 1 and 2 are both named "twin"`,
		`accounts: key 1 is a server key with 1 origins`,
		`accounts: keys 1 and 2 have the same hash`,
		`accounts: key 2 belongs to account 9, which does not exist`,
		`accounts: account 1, month 2026-11, /v1/positions: the days have {Requests:1 Units:2}, ` +
			`the month {Requests:1 Units:1}`,
		`accounts: account 2, month 2026-11: 40 units billed, 39 leased`,
		`accounts: account 2, month 2026-11, /v1/positions: the days have {Requests:12 Units:9}, ` +
			`the month {Requests:12 Units:10}`,
		`accounts: month 2026-11 belongs to account 7, which does not exist`,
		`accounts: account 1 was used on 2026-10-31, and not in that month`,
		`accounts: account 2 was used on 2026-12-01, and not in that month`,
	}

	if diff := cmp.Diff(want, findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// smallDisk is a file system that says how much room it has.
type smallDisk struct {
	vfs.FS
	free uint64
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free, TotalBytes: 1 << 40}, nil
}

func TestFullDisk(t *testing.T) {
	disk := &smallDisk{vfs.NewMem(), 1 << 40}
	a := openAccounts(t, disk)
	defer a.Close()

	disk.free = defaultMinFreeBytes - 1
	if err := a.Flush(sampleFlush()); !errors.Is(err, ErrNoSpace) {
		t.Errorf("a write on a full disk: %v; want ErrNoSpace", err)
	}
	if m, err := a.LastMonth(); m != 0 || err != nil {
		t.Errorf("last month = %v, %v; want none", m, err)
	}
	disk.free = defaultMinFreeBytes
	if err := a.Flush(sampleFlush()); err != nil {
		t.Errorf("a write with room again: %v", err)
	}
}

func TestRefused(t *testing.T) {
	fs := vfs.NewMem()
	a := openAccounts(t, fs)
	b := a.db.NewBatch()
	b.Set(formatKey, []byte{Format + 1}, nil)
	if err := errors.Join(a.commit(b), b.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("accounts", quietAccounts(fs)); err == nil {
		t.Error("a store that is open was opened again")
	}

	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("accounts", quietAccounts(fs)); err == nil {
		t.Error("a store of another format was opened")
	}

	o := quietAccounts(vfs.NewMem())
	o.ReadOnly = true
	if _, err := Open("accounts", o); err == nil {
		t.Error("a store that is not there was opened to read")
	}
}

func TestCheckpoint(t *testing.T) {
	fs := vfs.NewMem()
	a := openAccounts(t, fs)
	defer a.Close()
	if err := errors.Join(a.Put(sampleAccounts()), a.Checkpoint("copy")); err != nil {
		t.Fatal(err)
	}

	if err := a.Flush(sampleFlush()); err != nil {
		t.Fatal(err)
	}
	if err := a.Checkpoint("copy"); err == nil || !strings.Contains(err.Error(), "cannot copy accounts to copy") {
		t.Errorf("a copy over another: %v; want an error", err)
	}

	copied, err := Open("copy", quietAccounts(fs))
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	c, err := copied.Load(november)
	if err != nil || len(c.Accounts) != 2 || len(c.Keys) != 2 || len(c.Months) != 0 {
		t.Errorf("the copy has %+v, %v; want what was there when it was made", c, err)
	}
}

func FuzzRecords(f *testing.F) {
	_, keys := sampleAccounts()
	f.Add(keys[1].append(nil))
	f.Add(sampleFlush().Months[1].append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var account AccountRecord
		var key KeyRecord
		var month MonthRecord
		var day DayRecord
		if account.decode(b) == nil {
			var again AccountRecord
			if again.decode(account.append(nil)) != nil || again != account {
				t.Errorf("account %+v came back as %+v", account, again)
			}
		}

		if key.decode(b) == nil {
			var again KeyRecord
			if again.decode(key.append(nil)) != nil || !cmp.Equal(again, key) {
				t.Errorf("key %+v came back as %+v", key, again)
			}
		}
		if month.decode(b) == nil {
			var again MonthRecord
			if again.decode(month.append(nil)) != nil || again != month {
				t.Errorf("month %+v came back as %+v", month, again)
			}
		}
		if day.decode(b) == nil {
			var again DayRecord
			if again.decode(day.append([]byte("prefix"))[6:]) != nil || again != day {
				t.Errorf("day %+v came back as %+v", day, again)
			}
		}
	})
}

func BenchmarkFlush(b *testing.B) {
	a, err := Open(b.TempDir(), Options{Logger: slog.New(slog.DiscardHandler), MinFreeBytes: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()

	flush, row := new(Flush), *sampleFlush().Months[1]
	for i := range uint64(1000) {
		month := row
		month.Account = i
		flush.Months = append(flush.Months, &month)
	}

	began := time.Now()
	for b.Loop() {
		if err := a.Flush(flush); err != nil {
			b.Fatal(err)
		}
	}

	b.ReportMetric(float64(time.Since(began).Microseconds())/float64(b.N)/1000, "µs/account")
}

// must panics if what a test needs fails.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
