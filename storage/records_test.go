package storage

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/rankings/clmath"
	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

var update = flag.Bool("update", false, "write the golden files again")

// encode appends a record to dst.
func encode[T any](dst []byte, record *T, code func(*field.Coder, *T)) []byte {
	c := field.Coder{Buf: dst}
	code(&c, record)
	return c.Buf
}

// decode reads the whole of b as one record.
func decode[T any](b []byte, record *T, code func(*field.Coder, *T)) error {
	c := field.Reader(b)
	code(&c, record)
	return c.Done()
}

// equal treats Unknown as itself, and no elements as none.
func equal(a, b any) string {
	if same(reflect.ValueOf(a), reflect.ValueOf(b)) {
		return ""
	}
	return cmp.Diff(a, b, cmpopts.EquateNaNs(), cmpopts.EquateEmpty())
}

// same compares like cmp.Diff, a hundred times faster.
func same(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return false
	}

	switch a.Kind() {
	case reflect.Float64:
		x, y := a.Float(), b.Float()
		return x == y || x != x && y != y
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Interface, reflect.Pointer:
		return same(a.Elem(), b.Elem())
	case reflect.Invalid:
		return true
	}

	return a.Equal(b)
}

func TestRecordsReadBackAsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		next := func(n uint64) uint64 {
			if n == 0 {
				return rapid.Uint64().Draw(rt, "n")
			}
			return rapid.Uint64Range(0, n-1).Draw(rt, "n")
		}
		undo := rapid.IntRange(0, 9).Draw(rt, "undo") == 0
		roundTrips(rt, next, undo)
	})
}

// plainUndo codes an undo against no rows at all.
func plainUndo(c *field.Coder, u *ledger.Undo) {
	var b undoBasis
	b.reset(new(market.State))
	b.code(c, u)
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func roundTrips(t failer, next numbers, undo bool) {
	roundTrip(t, filled[market.Token](next), codeToken)
	roundTrip(t, filled[market.Address](next), codeOwner)
	roundTrip(t, filled[market.Pool](next), codePool)
	roundTrip(t, poolState(next), codePoolState)
	roundTripLate(t, filled[market.PoolDay](next), codeDay,
		func(d *market.PoolDay) { *d = withoutHour(*d) })
	roundTrip(t, filled[market.Minutes](next), codeMinutes)
	roundTripLate(t, filled[market.Tick](next), codeTick,
		func(t *market.Tick) { t.LastHour -= t.LastHour % market.HoursOfDay },
		func(t *market.Tick) { t.SecondsOutside = 0 })
	roundTrip(t, filled[market.Position](next), codePosition)
	roundTrip(t, filled[market.Sums](next), codeOverflow)
	roundTrip(t, filled[market.NonNFT](next), codeNonNFT)
	roundTrip(t, filled[market.HourBucket](next), codeHour)
	roundTrip(t, filled[market.Price](next), codePrice)
	roundTrip(t, storedStats(next), codeStats)
	roundTrip(t, filledPatch(next), codePatch)
	roundTripLate(t, earlierStats(next), codeStats, func(s *market.PoolStats) {
		unknown := market.Unknown
		s.VolumeUsd1h, s.FeesUsd1h, s.VolumeUsd30d, s.FeesUsd30d = unknown, unknown, unknown, unknown
	})
	roundTripLate(t, filledHead(next), codeHead,
		func(h *head) { h.HoursFrom = 0 }, func(h *head) { h.DaysFrom = 0 })

	tx := filled[market.Transaction](next)
	tx.Position, tx.Block, tx.LogIndex = 0, 0, 0 // in the key
	roundTrip(t, tx, codeTransaction)
	day := endedDay(next)
	day.Pool, day.Day = 0, 0
	roundTrip(t, day, codeDayEntry)
	day.CloseWith(new(market.Pool))
	roundTrip(t, withoutHour(day), codeDayEntry)
	tick := filled[market.TickDay](next)
	tick.Pool, tick.Tick, tick.Day = 0, 0, 0
	roundTrip(t, tick, codeTickDay)
	hour := filled[market.PoolHour](next)
	hour.Pool, hour.Day, hour.Hour = 0, 0, 0
	roundTrip(t, hour, codePoolHour)
	tickHour := filled[market.TickHour](next)
	tickHour.Pool, tickHour.Tick, tickHour.Day, tickHour.Hour = 0, 0, 0, 0
	roundTrip(t, tickHour, codeTickHour)
	price := ledger.HourEntry{HourPrice: filled[ledger.HourPrice](next)}
	price.Token = 0
	roundTrip(t, price, codeHourPrice)
	if undo {
		roundTrip(t, filledUndo(next), plainUndo)
	}
}

// roundTrip also looks at every cut of the bytes, none of which is a record.
func roundTrip[T any](t failer, want T, code func(*field.Coder, *T)) {
	t.Helper()
	roundTripLate(t, want, code)
}

// roundTripLate is roundTrip of a record that has more fields than in earlier
// formats. Each of clear clears those of one format, the newest first; only the cuts
// that lack just them are records.
func roundTripLate[T any](
	t failer, want T, code func(*field.Coder, *T), clear ...func(*T),
) {
	t.Helper()
	earlier := want
	records := map[int]T{} // by length
	for _, c := range clear {
		c(&earlier)
		records[len(encode(nil, &earlier, code))] = earlier
	}
	prefix := []byte("prefix")
	b := encode(prefix, &want, code)
	if !bytes.HasPrefix(b, prefix) {
		t.Fatalf("encoding %+v lost what stood before it", want)
	}

	b = b[len(prefix):]
	var got T
	if err := decode(b, &got, code); err != nil {
		t.Fatalf("cannot decode %+v from %x: %v", want, b, err)
	}
	if d := equal(want, got); d != "" {
		t.Fatalf("%T read back differently (-want +got):\n%s", want, d)
	}

	for n := range b {
		var cut T
		err := decode(b[:n:n], &cut, code)
		if earlier, ok := records[n]; ok && err == nil && equal(earlier, cut) == "" {
			continue
		}
		if err == nil {
			t.Fatalf("%T: the first %d of %d bytes decode: %x", want, n, len(b), b)
		}
	}

	var long T
	if err := decode(append(b, 0), &long, code); err == nil {
		t.Fatalf("%T: decodes with a byte too many: %x", want, b)
	}
}

// TestTickHours checks that a tick's hour is one of a day.
func TestTickHours(t *testing.T) {
	tick := market.Tick{SqrtPriceX96: clmath.SqrtPriceAtTick(0), LastHour: 7*market.HoursOfDay + market.HoursOfDay - 1}
	b := encode(nil, &tick, codeTick)
	var again market.Tick
	if err := decode(b, &again, codeTick); err != nil || again.LastHour != tick.LastHour {
		t.Fatalf("the last hour of a day is read as %d, %v", again.LastHour, err)
	}
	b[len(b)-1]++
	if err := decode(b, &again, codeTick); err == nil {
		t.Errorf("hour %d of a day is read as %d", market.HoursOfDay, again.LastHour)
	}

	// The last hour that there can be is in the middle of a day.
	tick.LastHour = math.MaxUint32
	b = encode(nil, &tick, codeTick)
	if err := decode(b, &again, codeTick); err != nil || again.LastHour != tick.LastHour {
		t.Errorf("the last hour of all is read as %d, %v", again.LastHour, err)
	}
	b[len(b)-1]++
	if err := decode(b, &again, codeTick); err == nil {
		t.Errorf("the hour after it is read as %d", again.LastHour)
	}
}

// TestGoldenRecords holds the layout of every record to testdata/records.txt,
// which is also what package comment's drawing is checked against.
func TestGoldenRecords(t *testing.T) {
	var out bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	next := func(n uint64) uint64 {
		if n == 0 {
			return r.Uint64() >> r.UintN(60)
		}
		return r.Uint64N(n)
	}

	dumpRecord(&out, "head", filledHead(next), codeHead)
	dumpRecord(&out, "token", filled[market.Token](next), codeToken)
	dumpRecord(&out, "owner", filled[market.Address](next), codeOwner)
	dumpRecord(&out, "pool", filled[market.Pool](next), codePool)
	dumpRecord(&out, "day", filled[market.PoolDay](next), codeDay)
	minutes := filled[market.Minutes](next)
	dumpRecord(&out, "ring part", ringPartOf(&minutes, minutes.Newest/partSlots), codeRingPart)
	named := dayRow{market.PoolDay{Pool: 300, Day: 20000}, true}
	dumpRecord(&out, "day, kept in the series", named, codeDayRow)
	dumpRecord(&out, "tick", filled[market.Tick](next), codeTick)
	dumpRecord(&out, "position", filled[market.Position](next), codePosition)
	dumpRecord(&out, "overflow", filled[market.Sums](next), codeOverflow)
	dumpRecord(&out, "nonNFT", filled[market.NonNFT](next), codeNonNFT)
	dumpRecord(&out, "hour", filled[market.HourBucket](next), codeHour)
	dumpRecord(&out, "price", filled[market.Price](next), codePrice)
	dumpRecord(&out, "stats of format 8", earlierStats(next), codeStats)
	dumpRecord(&out, "transaction", filled[market.Transaction](next), codeTransaction)
	dumpRecord(&out, "pool day", endedDay(next), codeDayEntry)
	dumpRecord(&out, "tick day", filled[market.TickDay](next), codeTickDay)
	dumpRecord(&out, "pool hour", filled[market.PoolHour](next), codePoolHour)
	dumpRecord(&out, "tick hour", filled[market.TickHour](next), codeTickHour)
	price := ledger.HourEntry{HourPrice: filled[ledger.HourPrice](next)}
	dumpRecord(&out, "hour price", price, codeHourPrice)
	dumpUndo(&out, filled[market.Pool](next))
	stats := storedStats(next)
	stats.VolumeUsd24h, stats.FeesUsd30d = stats.VolumeUsd1h, stats.FeesUsd7d
	dumpRecord(&out, "stats", stats, codeStats)
	dumpRecord(&out, "stats of format 10", stats, codeAllWindows)
	dumpRecord(&out, "pool, after it changed", poolState(next), codePoolState)
	running := withoutHour(endedDay(next))
	running.CloseWith(new(market.Pool))
	dumpRecord(&out, "pool day, open", running, codeDayEntry)
	patch := pricePatch{number: 300, factor: 1.5}
	patch.add(5, stepWritten)
	patch.add(7, 300)
	patch.add(3*market.ChunkLen, 1)
	dumpRecord(&out, "patch", patch, codePatch)
	dumpKeys(&out)
	golden(t, "records.txt", out.Bytes())
}

// rowKey is the key of a part of a row.
func rowKey(chain market.ChainID, table string, row uint32, part int) []byte {
	for _, t := range tables {
		if about := t.about(); about.name == table {
			return about.key(nil, chain, row, part)
		}
	}
	panic("BUG: there is no table " + table)
}

// entryKey is the key of an entry of a position of chain 1.
func entryKey(position uint32, block uint64, log uint32) []byte {
	t := market.Transaction{Position: position, Block: block, LogIndex: log}
	return seriesFor(ledger.Transactions).appendKey(nil, 1, &t)
}

// dayKey is the key of a day of a pool of chain 1.
func dayKey(pool, day uint32) []byte {
	d := market.PoolDay{Pool: pool, Day: day}
	return seriesFor(ledger.PoolDays).appendKey(nil, 1, &d)
}

func dumpRecord[T any](out *bytes.Buffer, name string, record T, code func(*field.Coder, *T)) {
	b := encode(nil, &record, code)
	fmt.Fprintf(out, "%s: %d bytes\n", name, len(b))
	c := field.Coder{Buf: b, Read: true, Note: func(field string, raw []byte) {
		fmt.Fprintf(out, "\t%-26s%x\n", field, raw)
	}}
	var again T
	code(&c, &again)
	if err := c.Done(); err != nil {
		fmt.Fprintf(out, "\t%v\n", err)
	}
}

// dumpUndo is an undo of a span that moved a pool's price and tick, and those of others.
func dumpUndo(out *bytes.Buffer, after market.Pool) {
	before := after
	before.SqrtPriceX96, before.Tick, before.Swaps = words(0, 1<<32), 0, after.Swaps-1
	var pools market.Table[market.Pool]
	pools.Append(after)
	var b undoBasis
	b.reset(&market.State{Pools: pools.Freeze()})
	u := ledger.Undo{
		Before: market.Head{Number: 300, Time: 1_700_000_000},
		Rows:   make([]uint32, ledger.TableCount()),
	}
	u.Drops.Add(ledger.PoolDays.Drop(market.PoolDay{Pool: 0, Day: 19675}))

	ledger.Pools.SetSaved(&u, []ledger.Saved[market.Pool]{{Index: 0, Row: before}})
	dumpRecord(out, "undo", u, b.code)

	// Of a day what its pool did not have at its end, here one more swap.
	day := market.PoolDay{
		Open: words(3), High: words(4), Low: words(2), Close: after.SqrtPriceX96, Tick: after.Tick,
		FeeGrowthGlobal0X128: words(0, 1), FeeGrowthGlobal1X128: words(0, 2), Liquidity: clmath.U128{Lo: 1},
		VolumeUsd: 7, FeesUsd: 1, Price0Usd: 3, Price1Usd: 1, Day: 19675, Swaps: 5,
		EventHour: 9, HourHigh: 4, HourLow: 2,
	}
	days := new(market.Table[market.PoolDay])
	days.Append(day)
	b.reset(&market.State{Pools: pools.Freeze(), Days: days.Freeze()})
	day.Close, day.Tick, day.Liquidity = before.SqrtPriceX96, before.Tick, before.Liquidity
	day.FeeGrowthGlobal0X128, day.FeeGrowthGlobal1X128 = before.FeeGrowthGlobal0X128, before.FeeGrowthGlobal1X128
	day.Swaps--
	ledger.Days.SetSaved(&u, []ledger.Saved[market.PoolDay]{{Index: 0, Row: day}})
	dumpRecord(out, "undo of a day", u, b.code)

	// Of a token the price, and not what never changes.
	priced := market.Token{Address: market.Address{7}, Symbol: texts.New("A"), Name: texts.New("Alpha"), Decimals: 6, HourUsd: 3}
	unpriced := priced
	unpriced.HourUsd = market.Unknown
	var tokens market.Table[market.Token]
	tokens.Append(priced)
	b.reset(&market.State{Tokens: tokens.Freeze()})
	u = ledger.Undo{Before: u.Before, Rows: u.Rows}
	ledger.Tokens.SetSaved(&u, []ledger.Saved[market.Token]{{Index: 0, Row: unpriced}})
	dumpRecord(out, "undo of a price", u, b.code)
}

func dumpKeys(out *bytes.Buffer) {
	f := func(name string, key []byte) { fmt.Fprintf(out, "key of %s: %x\n", name, key) }
	tickKey := func(tick int32) []byte {
		day := market.TickDay{Pool: 5, Tick: tick, Day: 20000}
		return seriesFor(ledger.TickDays).appendKey(nil, 1, &day)
	}

	price := ledger.HourEntry{HourPrice: ledger.HourPrice{Token: 5}, Hour: 480000}
	f("head of chain 1", appendKind(nil, 1, kindHead))
	f("head of chain 42161", appendKind(nil, 42161, kindHead))
	f("position row 5", rowKey(42161, "positions", 5, 0))
	f("transaction of position 5 at 300, log 7", entryKey(5, 300, 7))
	f("day 20000 of pool 5", dayKey(5, 20000))
	f("day 20000 of pool 5, tick -60", tickKey(-60))
	f("day 20000 of pool 5, tick 60", tickKey(60))
	poolHour := market.PoolHour{Pool: 5, Day: 20000, Hour: 13}
	tickHour := market.TickHour{Pool: 5, Tick: -60, Day: 20000, Hour: 13}
	f("hour 13 of day 20000 of pool 5", seriesFor(ledger.PoolHours).appendKey(nil, 1, &poolHour))
	f("hour 13 of day 20000 of pool 5, tick -60", seriesFor(ledger.TickHours).appendKey(nil, 1, &tickHour))
	f("hour 480000 of token 5", seriesFor(ledger.HourPrices).appendKey(nil, 1, &price))
	f("undo of block 300", appendNumber(nil, 1, kindUndo, 300))
	f("leaf 70000", appendNumber(nil, 1, kindLeaf, 70000))
	f("format", formatKey)
	f("identity feed", appendIdentityKey(nil, "feed"))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s changed: a new layout is a new Format (-want +got):\n%s", path, d)
	}
}

// TestPositionBytes holds the bytes of positions to what they were when a record in memory
// had room for liquidity and closing prices at once: what was stored then is read, and what
// is written is the same.
func TestPositionBytes(t *testing.T) {
	open := market.Position{
		ID: 7, Pool: 3, Owner: 300, TickLower: -60, TickUpper: 120, LowerSlot: 4, UpperSlot: 9,
		Overflow: market.NoIndex, Entries: 2, MintedAt: math.MaxUint32, Timed: true, SecondsInside: 8,
		FeeGrowthInside0LastX128: clmath.U256{2: 1},
		FeeGrowthInside1LastX128: clmath.U256{1, math.MaxUint64, math.MaxUint64, math.MaxUint64},
		Deposited0:               clmath.U128{Lo: 5}, Collected1: clmath.U128{Hi: 1},
		GasWei: clmath.U128{Lo: 1, Hi: 1}, CostUsd: 1.5,
	}

	closed := open
	closed.ClosedAt, closed.CloseNativeUsd, closed.Burned, closed.SecondsClosed = 1_700_000_000, 1800.5, true, 9
	closed.SetClose([2]market.ClosePrice{
		{Usd: 2.25, AsOf: 1_699_999_999, Markets: 3, Source: market.SourcePool, Corroborated: true},
		{Usd: market.Unknown, Reason: market.ReasonStalePrice},
	})
	open.SetLiquidity(clmath.U128{Lo: math.MaxUint64, Hi: math.MaxUint64})
	never := market.Position{Pool: 1, Overflow: market.NoIndex, ClosedAt: 5}
	never.SetClose([2]market.ClosePrice{}) // minted without liquidity

	const range0, wide, growth = "0703ac0277f001050a0002", "10ffffffffffffffffffffffffffffffff",
		"110000000000000000000000000000000001200100000000000000ffffffffffffffffffffffffffffffffffffffffffffffff"
	const sums = "0105000000000900000000000000000109010000000000000001083ff8000000000000feffffff1f"
	f := func(name string, p market.Position, want string) {
		t.Helper()
		c := field.Coder{}
		codePosition(&c, &p)
		if got := hex.EncodeToString(c.Buf); got != want {
			t.Errorf("%s is written as\n%s; want\n%s", name, got, want)
		}

		raw, err := hex.DecodeString(want)
		r, got := field.Reader(raw), market.Position{}
		codePosition(&r, &got)
		if err := errors.Join(err, r.Done()); err != nil || !same(reflect.ValueOf(got), reflect.ValueOf(p)) {
			t.Errorf("%s is read as %+v, %v; want %+v", name, got, err, p)
		}
	}
	f("an open one", open, "10"+range0+wide+growth+sums+"0800")
	f("a closed one", closed, "13"+range0+"00"+growth+sums+"80c49fd50c01084002000000000000fec39fd50c0302"+
		"0000010000000408409c2200000000000809")
	f("one that was never open", never, "0100010000000101000000000000000000000000"+"00000a00000000000000000000000000")
}

// TestUndoOfAnEarlierBucket: the checksum of an undo is over all that a bucket of format 6 has.
func TestUndoOfAnEarlierBucket(t *testing.T) {
	const want = "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000" +
		"000000000000000000000000000000000000000000000000000000000000000000000000010400ff0701040380a61d01" +
		"0001020201050201060a090000000000000000010201080908401c00000000000009083fe0000000000000090841cdcd" +
		"6500000000009ce490f702"
	u := ledger.Undo{Rows: make([]uint32, ledger.TableCount())}
	bucket := market.HourBucket{
		Pool: 3, Hour: 480_000, Prev: market.NoIndex, Swaps: 2, VolumeUsd: 7, FeesUsd: 0.5, Close: 1e9,
		In0: clmath.U128{Lo: 5}, In1: clmath.U128{Lo: 6}, Fees0: clmath.U128{Hi: 1}, Fees1: clmath.U128{Lo: 8},
	}
	ledger.Hours.SetSaved(&u, []ledger.Saved[market.HourBucket]{{Index: 4, Row: bucket}})
	if got := hex.EncodeToString(encode(nil, &u, plainUndo)); got != want {
		t.Errorf("it is written as\n%s; want\n%s", got, want)
	}

	raw, err := hex.DecodeString(want)
	must(err)
	var got ledger.Undo
	if err := decode(raw, &got, plainUndo); err != nil {
		t.Fatal(err)
	}
	if d := equal(ledger.Hours.Saved(&u), ledger.Hours.Saved(&got)); d != "" {
		t.Errorf("it is read as another one (-want +got):\n%s", d)
	}
}
