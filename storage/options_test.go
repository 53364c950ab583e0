package storage

import (
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestDefaults: what is not set gets its default, and what is set stays.
func TestDefaults(t *testing.T) {
	o := Options{}.withDefaults()
	if o.CacheBytes != 64<<20 || o.MemTableBytes != 64<<20 || o.BallastBytes != 64<<20 || o.MinFreeBytes != 512<<20 {
		t.Errorf("the sizes are %+v", o)
	}
	if o.Logger != slog.Default() || o.Exit == nil || o.fs != systemFS || o.Requests() != 0 {
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

	a := AccountsOptions{}.withDefaults()
	if a.MinFreeBytes != 64<<20 || a.Logger != slog.Default() || a.Exit == nil || a.FS != systemFS || a.ReadOnly || a.AcceptLost {
		t.Errorf("the defaults of accounts are %+v", a)
	}
	a = AccountsOptions{MinFreeBytes: 4, Logger: quiet, FS: disk, Exit: func() { ended++ }}.withDefaults()
	if a.Exit(); ended != 2 || a.MinFreeBytes != 4 || a.Logger != quiet || a.FS != disk {
		t.Errorf("what was set of accounts is %+v", a)
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
	f(systemFS, true)
}
