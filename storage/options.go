package storage

import (
	"log/slog"
	"os"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Options configure a store. The zero value suits a node with two cores.
type Options struct {
	CacheBytes    int64 // blocks kept in memory; 0: 16 MiB
	MemTableBytes int   // written data kept in memory until it is flushed; 0: 64 MiB
	ReadOnly      bool  // every write fails
	// BallastBytes is the size of a file that is deleted when the disk is full,
	// so that running writes can finish; 0: 64 MiB, negative: none.
	BallastBytes int64
	// MinFreeBytes is the free space below which the store turns read-only;
	// 0: 512 MiB.
	MinFreeBytes uint64

	// Rebuild is asked about a store in an older format. If it reports true, the data
	// of all chains is dropped, because they are built again from their archives;
	// otherwise the store is opened as it is, or refused. nil: it is never dropped.
	Rebuild func() bool

	// Tee receives every batch of a chain before it is committed, with the note of
	// its cut; see Replica.ApplyBatch. It must not keep the bytes. What it returns is
	// committed with the batch as the chain's Place. If it fails, nothing is
	// committed. nil: none.
	Tee func(chain market.ChainID, batch, note []byte) (place []byte, err error)

	// Requests returns how many requests have come so far. While they come, flushes
	// and compactions pause more often. nil: they never come.
	Requests func() uint64

	Metrics *metrics.Set // nil: none
	Logger  *slog.Logger // nil: slog.Default()
	// Exit ends the process when Pebble cannot continue, for example after a
	// failed write to its log. It must not return. nil: os.Exit(1).
	Exit func()

	fs vfs.FS // nil: the operating system's
}

// Sizes of memory and files.
const (
	// defaultCacheBytes has room for what a read goes through before it comes to its row:
	// the indexes of tables, of which a store of 2 GB has 10 to 20 MB. Rows themselves are
	// hardly ever asked for again: records are in memory anyway, and leaves are kept decoded.
	defaultCacheBytes = 16 << 20
	// defaultMemTableBytes holds a few dozen refreshes, so that a row that changes
	// in each of them is flushed once. A restart replays at most this much.
	defaultMemTableBytes = 64 << 20
	defaultBallastBytes  = 64 << 20
	defaultMinFreeBytes  = 512 << 20

	// Most reads are of single small rows, so small blocks make a cache miss
	// cheap. A leaf is larger than a block and gets one of its own.
	blockBytes = 8 << 10
	// levelZeroDepth is how many flushes that overlap wait in level 0 before they are
	// compacted, times two, as Pebble counts. Every compaction of level 0 writes nearly
	// all of the level below again, and most leaves are dead by then. A read may have to
	// look into so many more tables.
	levelZeroDepth = 16
	// noTombstoneCompactions: Pebble compacts a table early where it is dense with deletions,
	// for readers that step over them. Most of ours are of leaves, which are read by key.
	noTombstoneCompactions = -1
	// syncBytes spreads the write-back of large files.
	syncBytes = 512 << 10
	// manifestBytes is small because the manifest only grows with each flush.
	manifestBytes = 16 << 20
	// deletionRate is in bytes/s. Deleting faster stalls some disks.
	deletionRate = 256 << 20
)

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

	if o.Requests == nil {
		o.Requests = func() uint64 { return 0 }
	}

	if o.fs == nil {
		o.fs = database.SystemFS
	}
	return o
}

// pebble returns the options of the database. The caller owns the cache.
func (o *Options) pebble(cache *pebble.Cache) *pebble.Options {
	p := &pebble.Options{
		FS:                          &pacedFS{o.fs, o.Requests},
		FormatMajorVersion:          database.Format,
		Cache:                       cache,
		ReadOnly:                    o.ReadOnly,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       levelZeroDepth,
		L0StopWritesThreshold:       20,
		LBaseMaxBytes:               64 << 20,
		BytesPerSync:                syncBytes,
		WALBytesPerSync:             syncBytes,
		MaxManifestFileSize:         manifestBytes,
		TargetByteDeletionRate:      deletionRate,
		FreeSpaceThresholdBytes:     o.MinFreeBytes,
		Logger:                      database.NewLogger(o.Logger, o.Exit),
	}

	p.Experimental.TombstoneDenseCompactionThreshold = noTombstoneCompactions
	for i := range p.Levels {
		p.Levels[i].BlockSize = blockBytes
	}
	return p
}
