package storage

import (
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/database"
)

// TestDefaults: what is not set gets its default, and what is set stays.
func TestDefaults(t *testing.T) {
	o := Options{}.withDefaults()
	if o.CacheBytes != 16<<20 || o.MemTableBytes != 64<<20 || o.BallastBytes != 64<<20 || o.MinFreeBytes != 512<<20 {
		t.Errorf("the sizes are %+v", o)
	}
	if o.Logger != slog.Default() || o.Exit == nil || o.fs != database.SystemFS || o.Requests() != 0 {
		t.Errorf("the defaults are %+v", o)
	}

	quiet, disk, ended := slog.New(slog.DiscardHandler), vfs.NewMem(), 0
	o = Options{
		CacheBytes: 1, MemTableBytes: 2, BallastBytes: -1, MinFreeBytes: 4, Logger: quiet, fs: disk,
		Exit: func() { ended++ }, Requests: func() uint64 { return 7 },
	}.withDefaults()
	if o.Exit(); ended != 1 || o.CacheBytes != 1 || o.MemTableBytes != 2 || o.BallastBytes != -1 || o.MinFreeBytes != 4 ||
		o.Logger != quiet || o.fs != disk || o.Requests() != 7 {
		t.Errorf("what was set is %+v", o)
	}
}

// TestHangsAreDetected: the operating system's disk is watched, which the paced one
// below it is not.
func TestHangsAreDetected(t *testing.T) {
	f := func(disk vfs.FS, watched bool) {
		t.Helper()
		s := &Store{opts: Options{fs: disk, Logger: slog.New(slog.DiscardHandler)}.withDefaults(), fs: disk, tele: newTelemetry(nil)}
		cache := pebble.NewCache(1 << 20)
		defer cache.Unref()
		s.lock = new(pebble.Lock)
		p := s.databaseOptions(cache)
		if _, paced := p.FS.(*pacedFS); paced == watched {
			t.Errorf("%T: its file system is a %T", disk, p.FS)
		}
		if p.Lock != s.lock || p.Cache != cache || p.EventListener.DataCorruption == nil || p.EventListener.BackgroundError == nil {
			t.Errorf("%T: lock, cache or listener are missing", disk)
		}
	}

	f(vfs.NewMem(), false)
	f(database.SystemFS, true)
}

// TestCacheBesideMemTables reads twice what a store has flushed. The second time all of it
// is in the cache, which is no larger than the memtables.
func TestCacheBesideMemTables(t *testing.T) {
	o := testOptions(vfs.NewMem())
	o.CacheBytes = memTables * int64(o.MemTableBytes)
	s, err := Open("data", o)
	must(err)
	defer closeTest(t, s)

	g := newRig(7, 1)
	for range 3 {
		g.commit(t, s, 2, true)
		must(s.db.Flush())
	}
	must(readSeries(s, 1))
	before := s.Usage()
	must(readSeries(s, 1))
	after := s.Usage()

	if after.MemTableBytes != uint64(o.MemTableBytes) || before.CacheMisses == 0 {
		t.Fatalf("a memtable of %d bytes, and %d misses at first", after.MemTableBytes, before.CacheMisses)
	}
	if after.CacheMisses != before.CacheMisses || after.CacheHits == before.CacheHits {
		t.Errorf("the second time %d hits and %d misses, with %d bytes in the cache",
			after.CacheHits-before.CacheHits, after.CacheMisses-before.CacheMisses, after.CacheBytes)
	}
}

// TestCacheBeforeMemTables reads a whole store that has written nothing yet: what memtables
// will take is not filled with blocks.
func TestCacheBeforeMemTables(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	newRig(7, 1).commit(t, s, 300, true)
	closeTest(t, s)

	o := testOptions(disk)
	o.CacheBytes, o.MemTableBytes = 256<<10, 8<<20
	s, err := Open("data", o)
	must(err)
	defer closeTest(t, s)
	must(readAll(s, 1))
	must(readSeries(s, 1))

	// A shard of the cache may have a block too many.
	if u := s.Usage(); u.CacheBytes == 0 || u.CacheBytes > o.CacheBytes*3/2 {
		t.Errorf("%d bytes in a cache of %d", u.CacheBytes, o.CacheBytes)
	}
}
