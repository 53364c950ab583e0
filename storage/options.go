package storage

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/market"
)

// Options of a store. The zero value is what a node on two cores wants.
type Options struct {
	CacheBytes    int64 // blocks kept in memory; 0: 128 MiB
	MemTableBytes int   // written data kept in memory until it is flushed; 0: 64 MiB
	ReadOnly      bool  // Commit and every other write fails
	// BallastBytes is the size of the file that is given up when the disk is
	// full, so that what is under way can end; 0: 64 MiB, negative: none.
	BallastBytes int64
	// MinFreeBytes is the free space under which Guard says ReadOnly; 0: 512 MiB.
	MinFreeBytes uint64

	// Tee is given every batch of a chain before it is committed, as bytes that
	// it may not keep; see Replica.ApplyBatch. When it fails nothing is
	// committed. nil: none.
	Tee func(chain market.ChainID, batch []byte) error

	Metrics *metrics.Set // nil: none
	Logger  *slog.Logger // nil: slog.Default()
	// Exit ends the process after damage that Pebble cannot go on from, as a
	// failed write of its log. It must not return. nil: os.Exit(1).
	Exit func()

	fs vfs.FS // nil: the operating system's
}

// How much memory the store takes, and how it shapes its files.
const (
	defaultCacheBytes = 128 << 20
	// defaultMemTableBytes holds a few dozen refreshes: rows that change in
	// each of them are flushed once, and a restart replays at most this much.
	defaultMemTableBytes = 64 << 20
	defaultBallastBytes  = 64 << 20
	defaultMinFreeBytes  = 512 << 20

	// Reads are of single rows out of runs of small ones: small blocks keep a
	// miss cheap. A leaf is larger than a block and gets one of its own.
	blockBytes = 8 << 10
	// syncBytes spreads the write-back of large files.
	syncBytes = 512 << 10
	// manifestBytes is small because an edit is written per flush only.
	manifestBytes = 16 << 20
	// deletionRate spreads unlinking, which stalls some disks, in bytes/s.
	deletionRate = 256 << 20
)

// pebbleFormat pins Pebble's own file format: raising it is one-way.
const pebbleFormat = pebble.FormatValueSeparation

func (o Options) withDefaults() Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}

	if o.MemTableBytes == 0 {
		o.MemTableBytes = defaultMemTableBytes
	}

	if o.BallastBytes == 0 {
		o.BallastBytes = defaultBallastBytes
	}

	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = defaultMinFreeBytes
	}

	if o.Logger == nil {
		o.Logger = slog.Default()
	}

	if o.Exit == nil {
		o.Exit = func() { os.Exit(1) }
	}

	if o.fs == nil {
		o.fs = vfs.Default
	}
	return o
}

// pebble returns the options of the database. The caller owns the cache.
func (o *Options) pebble(cache *pebble.Cache) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.fs,
		FormatMajorVersion:          pebbleFormat,
		Cache:                       cache,
		ReadOnly:                    o.ReadOnly,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       20,
		LBaseMaxBytes:               64 << 20,
		BytesPerSync:                syncBytes,
		WALBytesPerSync:             syncBytes,
		MaxManifestFileSize:         manifestBytes,
		TargetByteDeletionRate:      deletionRate,
		FreeSpaceThresholdBytes:     o.MinFreeBytes,
		Logger:                      &crashLogger{log: o.Logger, exit: o.Exit},
	}

	for i := range p.Levels {
		p.Levels[i].BlockSize = blockBytes
	}
	return p
}

// crashLogger is Pebble's log. What Pebble calls fatal it cannot recover from
// inside the process, and going on would serve or keep something wrong: the
// process ends, and the next start reads what the disk has.
type crashLogger struct {
	log  *slog.Logger
	exit func()
}

// Infof is for every flush and compaction: nobody reads those.
func (l *crashLogger) Infof(string, ...any) {}

func (l *crashLogger) Errorf(format string, args ...any) {
	l.log.Error("store: " + fmt.Sprintf(format, args...))
}

func (l *crashLogger) Fatalf(format string, args ...any) {
	l.log.Error("store cannot go on, the process ends: " + fmt.Sprintf(format, args...))
	l.exit()
	panic("BUG: Options.Exit returned")
}
