package accountstore

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/storage/accounts"
	"tidemark/storage/database"
)

// TestBadRecords: a key or a value that no build writes is an error of
// every read that comes to it, and never a row.
func TestBadRecords(t *testing.T) {
	day := accounts.DayAt(november.Start().UnixNano(), november)
	bad := []byte{0xff}
	f := func(what string, key, value []byte, reads ...string) {
		t.Helper()
		a := openAccounts(t, vfs.NewMem())
		defer a.Close()
		must(errors.Join(a.Put(sampleAccounts()), a.Flush(sampleFlush()), a.db.Set(key, value, pebble.Sync)))

		if findings, err := a.Check(); err == nil {
			t.Errorf("%s: the check finds %q; want an error", what, findings)
		}
		_, load := a.Load(november)
		_, last := a.LastMonth()
		_, month := a.Month(1, november)
		_, days := a.Days(sampleFlush().Months[1])
		for name, err := range map[string]error{"load": load, "last": last, "month": month, "days": days} {
			if want := strings.Contains(strings.Join(reads, " "), name); (err != nil) != want {
				t.Errorf("%s: %s gave %v; want an error: %t", what, name, err, want)
			}
		}
	}

	f("an account's key", append(appendNumberedKey(nil, accountPrefix, 1), 0), nil, "load")
	f("an account", appendNumberedKey(nil, accountPrefix, 1), bad, "load")
	f("a key's key", []byte{keyPrefix, 1}, nil, "load")
	f("a key", appendNumberedKey(nil, keyPrefix, 1), bad, "load")
	f("a use's key", []byte{keyUsePrefix, 1}, []byte{1}, "load")
	f("a use", appendNumberedKey(nil, keyUsePrefix, 1), bad, "load")
	f("a month's key", append(appendMonthKey(nil, november, 9), 0), []byte{0, 0, 0, 0}, "load", "last")
	f("a month's key behind all others", []byte{monthPrefix, 0xff}, []byte{0, 0, 0, 0}, "last")
	f("a month", appendMonthKey(nil, november, 1), bad, "load", "month")
	f("a day's key", append(appendDayKey(nil, 2, day), 0), []byte{0}, "days")
	f("a day", appendDayKey(nil, 2, day), bad, "days")

	a := openAccounts(t, vfs.NewMem())
	defer a.Close()
	must(a.Flush(sampleFlush()))
	if days, err := a.Days(&MonthRecord{Account: 2, Tally: accounts.Tally{Month: november}}); days != nil || err != nil {
		t.Errorf("a month without a day has the days %+v, %v", days, err)
	}
}

// proofDisk counts what is written to the proof file, and may refuse it.
type proofDisk struct {
	vfs.FS
	writes int
}

type proofFile struct {
	vfs.File
	disk *proofDisk
}

func (d *proofDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, c, o...)
	if err == nil && strings.HasSuffix(name, ".proof") {
		f = proofFile{f, d}
	}
	return f, err
}

func (f proofFile) WriteAt(b []byte, at int64) (int, error) {
	f.disk.writes++
	return f.File.WriteAt(b, at)
}

// TestMarksAndProofsOfBatches: every batch is proved by one write, and leaves its own
// mark and no other, so that a gap between batches shows.
func TestMarksAndProofsOfBatches(t *testing.T) {
	disk := &proofDisk{FS: vfs.NewMem()}
	a := openAccounts(t, disk)
	defer func() { must(a.Close()) }()

	f := func(write func() error, proofs int) {
		t.Helper()
		disk.writes = 0
		must(write())
		marks, err := database.ReadMarks(a.db, batchMarks, batchMarksEnd)
		if err != nil || len(marks) != 1 || marks[0] != a.head.sequence {
			t.Errorf("batch %d leaves the marks %v, %v", a.head.sequence, marks, err)
		}
		acknowledged, err := readProof(disk, a.proofPath)
		if err != nil || acknowledged.proof != a.head || disk.writes != proofs {
			t.Errorf("batch %d is proved by %+v, %v, in %d writes; want %d",
				a.head.sequence, acknowledged, err, disk.writes, proofs)
		}
	}
	f(func() error { return nil }, 0)
	f(func() error { return a.Put(sampleAccounts()) }, 1)
	f(func() error { return a.Flush(sampleFlush()) }, 1)
	f(func() error { return a.Flush(sampleFlush()) }, 1)
	f(func() error { return errors.Join(a.Flush(sampleFlush()), a.Flush(sampleFlush())) }, 2)
	f(func() (err error) {
		must(a.Close())
		a, err = Open("accounts", quietAccounts(disk))
		return err
	}, 0)
	f(func() error { return a.Flush(sampleFlush()) }, 1)
}

// TestGapBetweenBatches: a mark that its own batch did not take away means that a batch
// between is missing, which can be accepted; without a mark of the last batch, an earlier
// build left it.
func TestGapBetweenBatches(t *testing.T) {
	f := func(what string, change func(a *Store), lost bool) {
		t.Helper()
		fs := vfs.NewMem()
		a := openAccounts(t, fs)
		must(errors.Join(a.Put(sampleAccounts()), a.Flush(sampleFlush())))
		change(a)
		must(a.Close())

		o := quietAccounts(fs)
		a, err := Open("accounts", o)
		var loss *Lost
		if errors.As(err, &loss) != lost || lost && !strings.Contains(err.Error(), "batches between 1 and 3 of") {
			t.Errorf("%s: %v; want a loss: %t", what, err, lost)
		}
		if lost {
			o.AcceptLost = true
			a, err = Open("accounts", o)
		}
		must(err)
		marks, err := database.ReadMarks(a.db, batchMarks, batchMarksEnd)
		if err != nil || len(marks) != 1 && what != "none" || len(marks) > 0 && marks[0] != a.head.sequence {
			t.Errorf("%s: the marks after batch %d are %v, %v", what, a.head.sequence, marks, err)
		}
		must(a.Close())
		a, err = Open("accounts", quietAccounts(fs))
		must(err)
		must(a.Close())
	}

	fs := vfs.NewMem()
	a := openAccounts(t, fs)
	must(errors.Join(a.db.Delete(formatKey, pebble.Sync), a.Close()))
	var loss *Lost
	if _, err := Open("accounts", quietAccounts(fs)); !errors.As(err, &loss) ||
		!strings.Contains(err.Error(), "the first batches of 1 are missing") {
		t.Errorf("without the first batch: %v", err)
	}
	o := quietAccounts(fs)
	o.AcceptLost = true
	a, err := Open("accounts", o)
	must(err)
	must(a.Close())

	put := func(n uint64) func(a *Store) {
		return func(a *Store) { must(a.db.Set(appendBatchMark(nil, n), nil, pebble.Sync)) }
	}
	drop := func(a *Store) { must(a.db.Delete(appendBatchMark(nil, 3), pebble.Sync)) }
	f("whole", func(*Store) {}, false)
	f("a gap", put(1), true)
	f("none", drop, false)
	f("an earlier build's", func(a *Store) { drop(a); put(2)(a) }, false)
}

// TestReadProof: the newer whole slot counts, and without one the file is damaged.
func TestReadProof(t *testing.T) {
	older, newer := proof{sequence: 4}, proof{sequence: 5}
	older.chain[3], newer.chain[7] = 1, 2
	torn := func(p proof, n int) []byte { return p.appendSlot(nil)[:n] }
	f := func(what string, even, odd []byte, want *proof) {
		t.Helper()
		fs := vfs.NewMem()
		file, err := fs.Create("proof", vfs.WriteCategoryUnspecified)
		must(err)
		content := make([]byte, proofFileSize)
		copy(content, even)
		copy(content[proofSlot:], odd)
		_, err = file.Write(content)
		must(errors.Join(err, file.Close()))

		got, err := readProof(fs, "proof")
		switch {
		case want == nil && (err == nil || !strings.Contains(err.Error(), "both slots are damaged")):
			t.Errorf("%s: read %+v, %v; want that both are damaged", what, got, err)
		case want != nil && (err != nil || got.proof != *want || got.at.IsZero()):
			t.Errorf("%s: read %+v, %v; want %+v", what, got, err, *want)
		}
	}

	f("both", older.appendSlot(nil), newer.appendSlot(nil), &newer)
	f("the other way round", newer.appendSlot(nil), older.appendSlot(nil), &newer)
	f("the newer is torn", older.appendSlot(nil), torn(newer, proofBytes-1), &older)
	f("the older is torn", torn(older, 20), newer.appendSlot(nil), &newer)
	f("one", nil, newer.appendSlot(nil), &newer)
	f("torn both", torn(older, 50), torn(newer, 30), nil)
	f("none", nil, nil, nil)

	if p, err := readProof(vfs.NewMem(), "proof"); p != nil || err != nil {
		t.Errorf("no file: %+v, %v; want nothing", p, err)
	}
}

// TestCloseOnAFullDisk: an orderly stop writes no table where there is no room, and
// loses nothing by it.
func TestCloseOnAFullDisk(t *testing.T) {
	f := func(free uint64, tables bool) {
		t.Helper()
		disk := &smallDisk{vfs.NewMem(), 1 << 40}
		a := openAccounts(t, disk)
		must(a.Put(sampleAccounts()))
		disk.free = free
		must(a.Close())
		if written := strings.Contains(strings.Join(filesOf(t, disk), " "), ".sst"); written != tables {
			t.Errorf("with %d free bytes a table was written: %t; want %t", free, !tables, tables)
		}

		disk.free = 1 << 40
		a = openAccounts(t, disk)
		defer a.Close()
		if c, err := a.Load(november); err != nil || len(c.Accounts) != 2 {
			t.Errorf("with %d free bytes: %+v, %v", free, c, err)
		}
	}
	f(defaultMinFreeBytes, true)
	f(defaultMinFreeBytes-1, false)
}

// TestNumbersOfRecords: numbers are of 63 bits in the shortest form that a varint has.
func TestNumbersOfRecords(t *testing.T) {
	f := func(b string, want int64, ok bool) {
		t.Helper()
		r := recordReader{b: []byte(b)}
		if got := r.number(); (r.err() == nil) != ok || ok && int64(got) != want {
			t.Errorf("%x is read as %d, %v; want %d, %t", b, got, r.err(), want, ok)
		}
	}

	f("\x00", 0, true)
	f("\xac\x02", 300, true)
	f("\xff\xff\xff\xff\xff\xff\xff\xff\x7f", math.MaxInt64, true)
	f("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 0, false)
	f("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, false)
	f("", 0, false)
	f("\x80", 0, false)
	f("\x01\x01", 0, false)
}

// TestTextsOfRecords: a text that is longer than what is left makes the record bad, also when what
// is left would do for the fields behind it.
func TestTextsOfRecords(t *testing.T) {
	f := func(b string, want string, ok bool) {
		t.Helper()
		a := AccountRecord{}
		if err := a.decode([]byte(b)); (err == nil) != ok || ok && a.Name != want {
			t.Errorf("%x is read as %+v, %v; want the name %q, %t", b, a, err, want, ok)
		}
	}

	f("\x02me\x04free\x00\x07", "me", true)
	f("\x00\x04free\x00\x07", "", true)
	f("\x08\x04free\x00\x07", "", false)
	f("\x02me\x05free\x00\x07", "", false)
}

// TestNewestDay: the newest day of a month is one of an int32.
func TestNewestDay(t *testing.T) {
	f := func(day int64, ok bool) {
		t.Helper()
		record := appendCounts([]byte{0}, new([accounts.NumRoutes]accounts.Count))
		record = appendCounts(binary.AppendUvarint(record, uint64(day)), new([accounts.NumRoutes]accounts.Count))
		m := MonthRecord{}
		if err := m.decode(record); (err == nil) != ok || ok && int64(m.Day) != day {
			t.Errorf("day %d is read as %d, %v; want %t", day, m.Day, err, ok)
		}
	}

	f(0, true)
	f(math.MaxInt32, true)
	f(math.MaxInt32+1, false)
}

// TestProofThatCannotBeWritten: after a batch whose proof could not be written no other
// one is, so that the store is at most one ahead, which a start accepts.
func TestProofThatCannotBeWritten(t *testing.T) {
	disk, broken := vfs.NewMem(), errors.New("broken")
	var failing atomic.Bool
	a := openAccounts(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && op.Kind == errorfs.OpFileWriteAt && strings.HasSuffix(op.Path, ".proof") {
			return broken
		}
		return nil
	})))
	must(a.Put(sampleAccounts()))
	written := a.head.sequence

	failing.Store(true)
	for range 3 {
		if err := a.Flush(sampleFlush()); !errors.Is(err, broken) {
			t.Fatalf("a flush without a proof: %v", err)
		}
	}
	if a.head.sequence != written+1 {
		t.Errorf("the store is at batch %d; the proof is at %d", a.head.sequence, written)
	}
	must(a.Close())
	a = openAccounts(t, disk)
	must(errors.Join(a.Flush(sampleFlush()), a.Close()))
}

// TestReadOnlyStore: accounts that are only read are not written, and say so.
func TestReadOnlyStore(t *testing.T) {
	disk := vfs.NewMem()
	a := openAccounts(t, disk)
	must(errors.Join(a.Put(sampleAccounts()), a.Close()))
	o := quietAccounts(disk)
	o.ReadOnly = true
	a, err := Open("accounts", o)
	must(err)
	defer a.Close()
	if err := a.Put(sampleAccounts()); !errors.Is(err, pebble.ErrReadOnly) {
		t.Errorf("accounts that are only read were written: %v", err)
	}
}

// TestDamageIsToldOnce: Pebble reports a damaged table again with every compaction.
func TestDamageIsToldOnce(t *testing.T) {
	var out strings.Builder
	l := (&damageLog{log: slog.New(slog.NewTextHandler(&out, nil))}).listener()
	for range 3 {
		l.DataCorruption(pebble.DataCorruptionInfo{Path: "accounts/000004.sst", Details: errors.New("a bad block")})
	}
	l.BackgroundError(pebble.ErrCorruption)
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "000004.sst") {
		t.Errorf("damage is told as\n%s", got)
	}
	if l.BackgroundError(errors.New("no space")); !strings.Contains(out.String(), "no space") {
		t.Errorf("work that failed is told as\n%s", out.String())
	}
}
