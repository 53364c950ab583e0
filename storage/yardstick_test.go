package storage

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// pebbleAlone returns how long Pebble alone takes, configured as the store's, to set the
// records of batches and to commit each of them, synced. It is the yardstick of
// BenchmarkEvents.
func pebbleAlone(b *testing.B, batches [][]byte) time.Duration {
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

// secondsShare returns which part of the bytes of batches is the seconds that ticks and
// positions have for the time in range.
func secondsShare(batches [][]byte) float64 {
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

// history is the past of a simulated chain, for benchmarks that follow it.
type history struct {
	*life
	spans  []*market.Span
	events int
}

// spansPerCommit is about 16,000 events.
const spansPerCommit = 4

func newHistory(b *testing.B) *history {
	h := &history{life: newLife(b, 3000, 80, 90)}
	for span := h.ask(b).Span; span != nil && span.Final; span = h.ask(b).Span {
		h.spans = append(h.spans, span)
		for i := range span.Blocks {
			h.events += len(span.Blocks[i].Logs)
		}
		applyHours(b, h.shadow, span)
	}
	return h
}

// follow applies the history to a new ledger and commits it to an empty store, as a
// chain does that catches up.
func (h *history) follow(b *testing.B, s *Store) {
	h.kept = ledger.New(h.cfg)
	head := h.spans[len(h.spans)-1].Time
	for i, span := range h.spans {
		h.kept.SkipHours(FirstKeptDay(head))
		applyHours(b, h.kept, span)
		if (i+1)%spansPerCommit == 0 || i == len(h.spans)-1 {
			h.commit(b, s)
		}
	}
}

// batches returns what the store commits of the history.
func (h *history) batches(b *testing.B) (batches [][]byte) {
	o := Options{Logger: discard, BallastBytes: -1}
	o.Tee = func(_ market.ChainID, batch, _ []byte) ([]byte, error) {
		batches = append(batches, slices.Clone(batch))
		return nil, nil
	}
	s, err := Open(b.TempDir(), o)
	must(err)
	h.follow(b, s)
	must(s.Close())
	return batches
}
