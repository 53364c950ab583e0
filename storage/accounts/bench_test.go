package accounts

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

type chacha struct{ *rand.ChaCha8 }

// filled makes a book of n keys, each of so many an account's, all open for
// requests.
func filled(tb testing.TB, n, each int, plan string) (*Book, []string) {
	tb.Helper()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC).UnixNano()
	month := MonthAt(now)
	p, err := FindPlan(DefaultPlans(), plan)
	if err != nil {
		tb.Fatal(err)
	}
	b := NewBook(NewTurner(now, 0).Step(now, now))
	b.SetAlive(now + int64(time.Hour))
	terms := NewTerms(p, false)
	random := chacha{rand.NewChaCha8([32]byte{1})}
	keys := make([]string, n)
	var c *Cell
	for i := range keys {
		if i%each == 0 {
			c = NewCell(uint64(i+1), fmt.Sprintf("account%d", i), 0, terms)
			c.Begin(month)
			c.Open(month, p.MonthlyUnits)
		}
		keys[i], _ = NewKey(random, Server)
		b.Add(&Issued{
			ID: uint64(i + 1), Hash: HashKey([]byte(keys[i])), Prefix: PrefixOf(keys[i]), Cell: c,
		}, 0, 0)
	}

	return b, keys
}

// Authentication, burst, reserve and settle with 100,000 keys in the book, every
// one in use: of accounts of ten keys at most 400 ns and no allocation. Where
// each is an account's only one, a request waits for more memory.
func BenchmarkRequest(b *testing.B) {
	for _, each := range []int{10, 1} {
		b.Run(fmt.Sprintf("%d an account", each), func(b *testing.B) { benchmarkRequest(b, each) })
	}
}

func benchmarkRequest(b *testing.B, each int) {
	book, keys := filled(b, 100_000, each, "scale")

	// The headers lie in the order of the requests, as in a connection's
	// buffer; everything they lead to is all over the memory.
	var headers []byte
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(keys)) {
		headers = append(headers, keys[i]...)
	}
	now := MonthAt(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC).UnixNano()).Start().UnixNano()

	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now += 10_000
		at := i % len(keys) * KeyLen
		k, reason := book.Resolve(headers[at : at+KeyLen])
		if reason != Accepted {
			b.Fatal(reason)
		}
		t := book.Admit(k, now)
		if !t.TakeToken() {
			continue
		}
		if v := book.Reserve(&t, 1); v != Granted {
			b.Fatal(v)
		}
		book.Settle(&t, RoutePositions, 1)
	}
}

// A collection of the garbage with 20,000 keys in the book, which passes every pointer to
// them. Requests wait for it on a node with one processor.
func BenchmarkCollect(b *testing.B) {
	book, _ := filled(b, 20_000, 10, "scale")
	for b.Loop() {
		runtime.GC()
	}
	runtime.KeepAlive(book)
}

// Issuing is linear: the time per key must not grow with the keys there are.
func BenchmarkIssue(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				filled(b, n, 1, "free")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/key")
		})
	}
}
