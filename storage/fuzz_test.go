package storage

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// fuzzRecord holds for every record: whatever decodes encodes to the same
// bytes, and nothing makes the decoder panic or allocate without end.
func fuzzRecord[T any](f *testing.F, code func(*field.Coder, *T)) { fuzzFilled(f, filled[T], code) }

// fuzzFilled is fuzzRecord with seeds of the test's own making.
func fuzzFilled[T any](f *testing.F, fill func(numbers) T, code func(*field.Coder, *T)) {
	next := randomNumbers(1)
	for range 10 {
		record := fill(next)
		f.Add(encode(nil, &record, code))
	}
	f.Fuzz(func(t *testing.T, b []byte) { oneEncoding(t, b, code) })
}

func randomNumbers(seed uint64) numbers {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(n uint64) uint64 {
		if n == 0 {
			return r.Uint64()
		}
		return r.Uint64N(n)
	}
}

// oneEncoding checks one input.
func oneEncoding[T any](t *testing.T, b []byte, code func(*field.Coder, *T)) {
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
func FuzzPoolState(f *testing.F)   { fuzzFilled(f, poolState, codePoolState) }
func FuzzDay(f *testing.F)         { fuzzRecord(f, codeDay) }
func FuzzMinutes(f *testing.F)     { fuzzRecord(f, codeMinutes) }
func FuzzTick(f *testing.F)        { fuzzRecord(f, codeTick) }
func FuzzPosition(f *testing.F)    { fuzzRecord(f, codePosition) }
func FuzzOverflow(f *testing.F)    { fuzzRecord(f, codeOverflow) }
func FuzzNonNFT(f *testing.F)      { fuzzRecord(f, codeNonNFT) }
func FuzzHour(f *testing.F)        { fuzzRecord(f, codeHour) }
func FuzzPrice(f *testing.F)       { fuzzRecord(f, codePrice) }
func FuzzStats(f *testing.F)       { fuzzRecord(f, codeNewStats) }
func FuzzTransaction(f *testing.F) { fuzzRecord(f, codeTransaction) }
func FuzzHourPrice(f *testing.F)   { fuzzRecord(f, codeHourPrice) }
func FuzzHead(f *testing.F)        { fuzzFilled(f, filledHead, codeHead) }
func FuzzUndo(f *testing.F)        { fuzzFilled(f, filledUndo, plainUndo) }

// TestDamagedRecords flips every bit of some records: no decoder panics, and
// what still decodes is another record's only encoding.
func TestDamagedRecords(t *testing.T) {
	next := randomNumbers(3)
	for range rounds(20) {
		flips(t, filled[market.Token](next), codeToken)
		flips(t, filled[market.Pool](next), codePool)
		flips(t, poolState(next), codePoolState)
		flips(t, filled[market.Minutes](next), codeMinutes)
		flips(t, filled[market.Position](next), codePosition)
		flips(t, filled[market.NonNFT](next), codeNonNFT)
		flips(t, filled[market.Price](next), codePrice)
		flips(t, filled[market.Transaction](next), codeTransaction)
		flips(t, ledger.HourEntry{HourPrice: filled[ledger.HourPrice](next)}, codeHourPrice)
	}

	flips(t, filledUndo(next), plainUndo)
}

func flips[T any](t *testing.T, record T, code func(*field.Coder, *T)) {
	t.Helper()
	b := encode(nil, &record, code)
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		oneEncoding(t, b, code)
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// TestEmptyRecords gives every decoder records of nothing but flags and zeros: a field
// that a flag promises and that is empty has another encoding, without the flag.
func TestEmptyRecords(t *testing.T) {
	empty(t, codeToken)
	empty(t, codePool)
	empty(t, codePoolState)
	empty(t, codeDay)
	empty(t, codeDayRow)
	empty(t, codeMinutes)
	empty(t, codeRingPart)
	empty(t, codeTick)

	empty(t, codePosition)
	empty(t, codeOverflow)
	empty(t, codeNonNFT)
	empty(t, codeHour)
	empty(t, codePrice)
	empty(t, codeNewStats)
	empty(t, codeTransaction)
	empty(t, codeHourPrice)
	empty(t, codeHead)
}

func empty[T any](t *testing.T, code func(*field.Coder, *T)) {
	t.Helper()
	for flags := range 1 << 9 { // in the first bytes
		b := make([]byte, 400)
		b[0], b[1] = byte(flags), byte(flags>>8)
		c := field.Reader(b)
		if code(&c, new(T)); c.Failed() {
			continue
		}

		whole := len(b) - len(c.Buf)
		for n := whole - 3; n <= whole; n++ { // late fields may be left out
			oneEncoding(t, b[:max(n, 0)], code)
		}
	}
}
