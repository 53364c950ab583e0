package storage

import (
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
)

// telemetry holds the store's metrics.
type telemetry struct {
	commits     *metrics.Counter
	commitBytes *metrics.Counter
	commitTime  *metrics.PrometheusHistogram
	damages     *metrics.Counter
	stalls      *metrics.Counter
	slow        *metrics.Counter
	db          atomic.Pointer[pebble.DB]
}

// newTelemetry registers the metrics on set. Without a set they are counted but
// not exposed.
func newTelemetry(set *metrics.Set) *telemetry {
	if set == nil {
		set = metrics.NewSet()
	}

	t := &telemetry{
		commits:     set.NewCounter("tidemark_store_commits_total"),
		commitBytes: set.NewCounter("tidemark_store_commit_bytes_total"),
		commitTime:  set.NewPrometheusHistogram("tidemark_store_commit_seconds"),
		damages:     set.NewCounter("tidemark_store_damages_total"),
		stalls:      set.NewCounter("tidemark_store_write_stalls_total"),
		slow:        set.NewCounter("tidemark_store_slow_disk_operations_total"),
	}

	set.RegisterMetricsWriter(t.writeUsage)
	return t
}

func (t *telemetry) watch(db *pebble.DB) { t.db.Store(db) }
func (t *telemetry) unwatch()            { t.db.Store(nil) }

func (t *telemetry) commit(bytes int, took time.Duration) {
	t.commits.Inc()
	t.commitBytes.Add(bytes)
	t.commitTime.Update(took.Seconds())
}

// listener reports stalls and a slow disk.
func (t *telemetry) listener(log *slog.Logger) *pebble.EventListener {
	return &pebble.EventListener{
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			t.stalls.Inc()
			log.Warn("store: writes are stalled", "reason", i.Reason)
		},
		DiskSlow: func(i pebble.DiskSlowInfo) {
			t.slow.Inc()
			log.Warn("store: disk is slow", "path", i.Path, "took", i.Duration)
		},
	}
}

// Usage is the store's use of disk and memory.
type Usage struct {
	DiskBytes      uint64 // all files
	MemTableBytes  uint64
	CacheBytes     int64
	CacheHits      int64
	CacheMisses    int64
	LogBytes       uint64 // written to the log since Open
	FlushBytes     uint64 // written by flushes since Open
	CompactBytes   uint64 // written by compactions since Open
	CompactionDebt uint64 // bytes still to be compacted
	ReadAmp        int    // files that a read may have to search
}

// Usage measures the store. For microseconds it holds a lock that commits need.
func (s *Store) Usage() Usage { return usageOf(s.db) }

func usageOf(db *pebble.DB) Usage {
	m := db.Metrics()
	flushed, compacted := uint64(0), uint64(0) // Total would count the log as flushed
	for i := range m.Levels {
		flushed += m.Levels[i].TableBytesFlushed
		compacted += m.Levels[i].TableBytesCompacted
	}

	return Usage{
		DiskBytes:      m.DiskSpaceUsage(),
		MemTableBytes:  m.MemTable.Size,
		CacheBytes:     m.BlockCache.Size,
		CacheHits:      m.BlockCache.Hits,
		CacheMisses:    m.BlockCache.Misses,
		LogBytes:       m.WAL.BytesWritten,
		FlushBytes:     flushed,
		CompactBytes:   compacted,
		CompactionDebt: m.Compact.EstimatedDebt,
		ReadAmp:        m.ReadAmp(),
	}
}

// writeUsage is called at every scrape.
func (t *telemetry) writeUsage(w io.Writer) {
	db := t.db.Load()
	if db == nil {
		return
	}

	u := usageOf(db)
	metrics.WriteGaugeUint64(w, "tidemark_store_disk_bytes", u.DiskBytes)
	metrics.WriteGaugeUint64(w, "tidemark_store_memtable_bytes", u.MemTableBytes)
	metrics.WriteGaugeUint64(w, "tidemark_store_cache_bytes", uint64(u.CacheBytes))
	metrics.WriteCounterUint64(w, "tidemark_store_cache_hits_total", uint64(u.CacheHits))
	metrics.WriteCounterUint64(w, "tidemark_store_cache_misses_total", uint64(u.CacheMisses))
	metrics.WriteCounterUint64(w, "tidemark_store_log_bytes_total", u.LogBytes)
	metrics.WriteCounterUint64(w, "tidemark_store_flush_bytes_total", u.FlushBytes)
	metrics.WriteCounterUint64(w, "tidemark_store_compact_bytes_total", u.CompactBytes)
	metrics.WriteGaugeUint64(w, "tidemark_store_compaction_debt_bytes", u.CompactionDebt)
	metrics.WriteGaugeUint64(w, "tidemark_store_read_amplification", uint64(u.ReadAmp))
}
