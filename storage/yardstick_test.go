package storage

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// BenchmarkBatches is the reference for BenchmarkEvents: Pebble alone commits as
// many batches of the same size.
func BenchmarkBatches(b *testing.B) {
	l, s := newLife(b, 3000, 80, 90), openBench(b)
	l.kept = ledger.New(l.cfg)
	events, commits := 0, 0
	for span := l.ask(b).Span; span != nil && span.Final; span = l.ask(b).Span {
		applyHours(b, l.shadow, span)
		applyHours(b, l.kept, span)
		events += eventsIn(span)
		if commits++; commits%4 == 0 {
			l.commit(b, s)
		}
	}
	commits /= 4

	const record = 200 // bytes, about what the store's have
	records := int(s.Usage().LogBytes) / commits / record
	random, noise := rand.NewChaCha8([32]byte{1}), make([]byte, record)
	for i := 0; b.Loop(); i++ {
		db, err := pebble.Open(filepath.Join(b.TempDir(), fmt.Sprint(i)), &pebble.Options{Logger: silent{}})
		must(err)
		for range commits {
			batch := db.NewBatch()
			for range records {
				random.Read(noise)
				must(batch.Set(noise[:16], noise[16:], nil))
			}
			must(batch.Commit(pebble.Sync))
		}
		must(db.Close())
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func eventsIn(span *market.Span) (n int) {
	for i := range span.Blocks {
		n += len(span.Blocks[i].Logs)
	}
	return n
}

// silent is a logger that drops Pebble's messages.
type silent struct{}

func (silent) Infof(string, ...any)           {}
func (silent) Errorf(string, ...any)          {}
func (silent) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
