package actors

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

// bench is the accounts of a node in a directory.
type bench struct {
	store *accountstore.Store
	reg   *registry.Registry
	book  *accounts.Book
	keys  []*accounts.Key // one of each account
}

// newBench makes n accounts on a plan.
func newBench(b *testing.B, n int, plan string) *bench {
	b.Helper()
	store, err := accountstore.Open(b.TempDir(), accountstore.Options{
		MinFreeBytes: 1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })

	var records []accountstore.AccountRecord
	var rows []accountstore.KeyRecord
	var issued []string
	for id := uint64(1); id <= uint64(n); id++ {
		key, err := accounts.NewKey(rand.Reader, accounts.Server)
		if err != nil {
			b.Fatal(err)
		}
		issued = append(issued, key)
		records = append(records, accountstore.AccountRecord{ID: id, Name: fmt.Sprint("a", id), Plan: plan})
		rows = append(rows, accountstore.KeyRecord{
			ID: id, Account: id, Hash: accounts.HashKey([]byte(key)), Prefix: key[:accounts.PrefixLen],
		})
	}
	if err := store.Put(records, rows); err != nil {
		b.Fatal(err)
	}

	reg, err := registry.Open(store, accounts.DefaultPlans(), time.Now())
	if err != nil {
		b.Fatal(err)
	}
	r := &bench{store: store, reg: reg, book: reg.Book()}
	for _, key := range issued {
		k, reason := r.book.Resolve([]byte(key))
		if reason != accounts.Accepted {
			b.Fatalf("a key is refused: %d", reason)
		}
		r.keys = append(r.keys, k)
	}

	return r
}

// The first request after idleness: one group commit on a real disk. Its 99th
// percentile is to be under 20 ms.
func BenchmarkWake(b *testing.B) {
	a := newBench(b, 20_000, "free")
	meter := NewMeter(a.reg, a.store, testFlush, metrics.NewSet())
	m, err := StartMetering(meter, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	var waits []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		ticket := a.book.Admit(a.keys[i%len(a.keys)], meter.clock.At(began))
		for a.book.Reserve(&ticket, 1) == accounts.Unleased {
			<-a.book.RequestLease(ticket.Key.Cell)
		}
		waits = append(waits, time.Since(began))
		a.book.Settle(&ticket, accounts.RoutePositions, 1)
	}

	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
	if err := m.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// A flush of 10,000 accounts that were all used since the last one: ten times
// a second, that is 100,000 requests a second of as many callers.
func BenchmarkDrain(b *testing.B) {
	a := newBench(b, 10_000, "scale")
	m := NewMeter(a.reg, a.store, testFlush, metrics.NewSet())
	now := m.clock.At(time.Now())
	spend := func() {
		for _, k := range a.keys {
			ticket := a.book.Admit(k, now)
			if v := a.book.Reserve(&ticket, 1); v == accounts.Granted {
				a.book.Settle(&ticket, accounts.RoutePositions, 1)
			} else {
				a.book.RequestLease(k.Cell)
			}
		}
	}

	for range 2 {
		spend()
		if err := m.Drain(now, now); err != nil {
			b.Fatal(err)
		}
	}

	for b.Loop() {
		b.StopTimer()
		spend()
		b.StartTimer()
		now += int64(testFlush)
		if err := m.Drain(now, now); err != nil {
			b.Fatal(err)
		}
	}
}
