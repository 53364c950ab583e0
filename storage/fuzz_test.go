package storage

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// fuzzRecord holds for every record: whatever decodes encodes to the same
// bytes, and nothing makes the decoder panic or allocate without end.
func fuzzRecord[T any](f *testing.F, code func(*coder, *T)) {
	r := rand.New(rand.NewPCG(1, 1))
	next := func(n uint64) uint64 {
		if n == 0 {
			return r.Uint64()
		}
		return r.Uint64N(n)
	}
	for range 10 {
		record := filled[T](next)
		f.Add(encode(nil, &record, code))
	}
	f.Fuzz(func(t *testing.T, b []byte) { oneEncoding(t, b, code) })
}

// oneEncoding checks one input.
func oneEncoding[T any](t *testing.T, b []byte, code func(*coder, *T)) {
	var record T
	if decode(b, &record, code) != nil {
		return
	}
	if again := encode(nil, &record, code); !bytes.Equal(b, again) {
		t.Errorf("%x decodes as %+v, which encodes as %x", b, record, again)
	}
}

func FuzzToken(f *testing.F)       { fuzzRecord(f, codeToken) }
func FuzzPool(f *testing.F)        { fuzzRecord(f, codePool) }
func FuzzDay(f *testing.F)         { fuzzRecord(f, codeDay) }
func FuzzMinutes(f *testing.F)     { fuzzRecord(f, codeMinutes) }
func FuzzTick(f *testing.F)        { fuzzRecord(f, codeTick) }
func FuzzPosition(f *testing.F)    { fuzzRecord(f, codePosition) }
func FuzzWide(f *testing.F)        { fuzzRecord(f, codeWide) }
func FuzzDirect(f *testing.F)      { fuzzRecord(f, codeDirect) }
func FuzzHour(f *testing.F)        { fuzzRecord(f, codeHour) }
func FuzzPrice(f *testing.F)       { fuzzRecord(f, codePrice) }
func FuzzStats(f *testing.F)       { fuzzRecord(f, codeStats) }
func FuzzTransaction(f *testing.F) { fuzzRecord(f, codeTransaction) }
func FuzzHourPrice(f *testing.F)   { fuzzRecord(f, codeHourPrice) }
func FuzzHead(f *testing.F)        { fuzzRecord(f, codeHead) }

func FuzzUndo(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		u := filledUndo(func(n uint64) uint64 {
			if n == 0 {
				return r.Uint64()
			}
			return r.Uint64N(n)
		})
		f.Add(encode(nil, &u, plainUndo))
	}
	f.Fuzz(func(t *testing.T, b []byte) { oneEncoding(t, b, plainUndo) })
}

// TestDamagedRecords flips every bit of some records: no decoder panics, and
// what still decodes is another record's only encoding.
func TestDamagedRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	next := func(n uint64) uint64 {
		if n == 0 {
			return r.Uint64()
		}
		return r.Uint64N(n)
	}
	for range rounds(20) {
		flips(t, filled[market.Token](next), codeToken)
		flips(t, filled[market.Pool](next), codePool)
		flips(t, filled[market.Minutes](next), codeMinutes)
		flips(t, filled[market.Position](next), codePosition)
		flips(t, filled[market.Direct](next), codeDirect)
		flips(t, filled[market.Price](next), codePrice)
		flips(t, filled[market.Transaction](next), codeTransaction)
		flips(t, filled[ledger.HourPrice](next), codeHourPrice)
	}
	flips(t, filledUndo(next), plainUndo)
}

func flips[T any](t *testing.T, record T, code func(*coder, *T)) {
	t.Helper()
	b := encode(nil, &record, code)
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		oneEncoding(t, b, code)
		b[bit/8] ^= 1 << (bit % 8)
	}
}
