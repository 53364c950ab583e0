package storage

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Compacting changes no data and leaves no compaction to do. ReadAll reads every
// record.
func TestCompactAndReadAll(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	g := newRig(4, 1)
	for range 5 {
		g.commit(t, s, 20, true)
	}
	want := g.commit(t, s, 20, true)

	records, bytes, err := s.ReadAll()
	if err != nil || records < 100 || bytes < records {
		t.Fatalf("%d records of %d bytes are read: %v", records, bytes, err)
	}
	if err := s.Compact(); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.CompactionDebt != 0 || u.CompactBytes == 0 {
		t.Errorf("after a compaction the store is %+v", u)
	}
	if n, size, err := s.ReadAll(); n != records || size != bytes || err != nil {
		t.Errorf("%d records of %d bytes are left of %d of %d: %v", n, size, records, bytes, err)
	}
	holds(t, s, want)
	closeTest(t, s)

	s = openToRead(t, fs)
	if err := s.Compact(); !errors.Is(err, ErrReadOnly) {
		t.Errorf("compacting a read-only store: %v", err)
	}
	closeTest(t, s)
}
