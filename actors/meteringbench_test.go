package actors

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/storage"
	"tidemark/storage/accounts"
)

// onDisk is the accounts of a node in a directory, n of them on a plan.
func onDisk(b *testing.B, n int, plan string) (*Admin, []*accounts.Key) {
	b.Helper()
	store, err := storage.OpenAccounts(b.TempDir(), storage.AccountsOptions{
		MinFreeBytes: 1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	var records []storage.AccountRecord
	var rows []storage.KeyRecord
	for i := range uint64(n) {
		records = append(records, storage.AccountRecord{ID: i + 1, Name: fmt.Sprint("a", i), Plan: plan})
		rows = append(rows, storage.KeyRecord{ID: i + 1, Account: i + 1, Hash: accounts.Hash{byte(i), byte(i >> 8)}})
	}
	if err := store.Put(records, rows); err != nil {
		b.Fatal(err)
	}
	a, err := OpenAdmin(store, accounts.DefaultPlans(), time.Now())
	if err != nil {
		b.Fatal(err)
	}
	keys := make([]*accounts.Key, n)
	for i := range keys {
		keys[i] = a.keys[uint64(i+1)]
	}
	return a, keys
}

// The first request after idleness: one group commit on a real disk. Its 99th
// percentile is to be under 20 ms.
func BenchmarkWake(b *testing.B) {
	a, keys := onDisk(b, 20_000, "free")
	m, err := StartMetering(NewMeter(a, testFlush, metrics.NewSet()), a, testFlush,
		metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	var waits []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		ticket := a.book.Admit(keys[i%len(keys)], a.clock.At(began))
		for a.book.Reserve(&ticket, 1) == accounts.Asleep {
			<-a.book.Want(ticket.Key.Cell)
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
	a, keys := onDisk(b, 10_000, "scale")
	m := NewMeter(a, testFlush, metrics.NewSet())
	now := a.clock.At(time.Now())
	spend := func() {
		for _, k := range keys {
			ticket := a.book.Admit(k, now)
			if v := a.book.Reserve(&ticket, 1); v == accounts.Granted {
				a.book.Settle(&ticket, accounts.RoutePositions, 1)
			} else {
				a.book.Want(k.Cell)
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
