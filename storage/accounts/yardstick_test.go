package accounts

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkAdmit measures what every request does before and after its answer,
// with 20,000 keys in use: the figure that has BenchmarkHash as its yardstick.
func BenchmarkAdmit(b *testing.B) {
	const keys = 20_000
	book, issued := filled(b, keys, 10, "scale")
	headers := make([][]byte, keys)
	for i, at := range rand.New(rand.NewPCG(1, 2)).Perm(keys) { // all over the memory
		headers[i] = []byte(issued[at])
	}
	now := MonthAt(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC).UnixNano()).Start().UnixNano()
	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		now += int64(10 * time.Microsecond)
		key, why := book.Resolve(headers[i%keys])
		if why != Accepted {
			b.Fatal(why)
		}
		t := book.Admit(key, now)
		if !t.TakeToken() {
			continue
		}
		if got := book.Reserve(&t, 1); got != Granted {
			b.Fatal(got)
		}
		book.Settle(&t, RoutePositions, 1)
	}
}

// BenchmarkHash measures one SHA-256 of a key.
func BenchmarkHash(b *testing.B) {
	key := bytes.Repeat([]byte{'k'}, KeyLen)
	for b.Loop() {
		sha256.Sum256(key)
	}
}
