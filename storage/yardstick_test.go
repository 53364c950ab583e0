package storage

// What events_test.go needs of the store's own formats: it is outside of the package,
// because it drives chains.

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/field"
	"tidemark/rankings/market"
)

// PebbleAlone returns how long Pebble alone takes, configured as the store's, to set the
// records of batches and to commit each of them, synced. It is the yardstick of
// BenchmarkEvents.
func PebbleAlone(b *testing.B, batches [][]byte) time.Duration {
	o := Options{Logger: discard}.withDefaults()
	db, err := pebble.Open(filepath.Join(b.TempDir(), "pebble"), o.pebble(nil))
	must(err)
	batch := db.NewBatch(pebble.WithMaxRetainedSizeBytes(maxRetainedBatch))

	started := time.Now()
	for _, raw := range batches {
		batch.Reset()
		must(eachRecord(raw, func(op pebble.InternalKeyKind, key, value []byte) error {
			if op == pebble.InternalKeyKindDelete {
				return batch.Delete(key, nil)
			}
			return batch.Set(key, value, nil)
		}))
		must(db.Apply(batch, pebble.Sync))
	}
	took := time.Since(started)

	must(errors.Join(batch.Close(), db.Close()))
	return took
}

// SecondsShare returns which part of the bytes of batches is the seconds that ticks and
// positions have for the time in range.
func SecondsShare(batches [][]byte) float64 {
	seconds, all := 0, 0
	var tick market.Tick
	var position market.Position
	size := func(v uint32) int { return len(binary.AppendUvarint(nil, uint64(v))) }

	for _, raw := range batches {
		all += len(raw)
		must(eachRecord(raw, func(_ pebble.InternalKeyKind, key, value []byte) error {
			_, rest, _ := parseChain(key)
			c := field.Reader(value)
			switch kinds[kind(rest[0])].name {
			case "ticks":
				tick = market.Tick{}
				codeTick(&c, &tick)
				if tick.SecondsOutside != 0 || tick.LastHour%market.HoursOfDay != 0 {
					seconds += size(tick.SecondsOutside)
				}
			case "positions":
				position = market.Position{}
				codePosition(&c, &position)
				if position.Timed {
					seconds += size(position.SecondsInside) + size(position.SecondsClosed)
				}
			}
			return nil
		}))
	}

	return float64(seconds) / float64(all)
}
