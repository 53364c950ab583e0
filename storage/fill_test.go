package storage

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"tidemark/rankings/clmath"
	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// numbers returns random numbers below n, or any 64 bits if n is 0.
type numbers func(n uint64) uint64

// fill sets every field of a record by reflection. So the round trip fails for a
// field that was added to a record but not to its walk.
func fill(next numbers, record any) {
	if p, ok := record.(*market.Position); ok {
		fillPosition(next, p)
		return
	}
	fillValue(next, reflect.ValueOf(record).Elem())

	// Values that no decoder accepts are brought into their range.
	switch r := record.(type) {
	case *market.Pool:
		r.Others %= 101
	case *market.Token:
		r.HourSource %= market.SourceFeed + 1
		r.HourReason %= market.LastReason + 1
	case *market.Price:
		r.Source %= market.SourceFeed + 1
		r.Reason %= market.LastReason + 1
	case *market.PoolDay:
		if r.EventHour %= market.HoursOfDay + 1; r.EventHour == 0 {
			*r = withoutHour(*r)
		}
		r.HourVolumeUsd, r.HourFeesUsd = 0, 0 // only the series has them
		if r.Close.IsZero() {                 // no price is
			r.Close[0] = 1
		}
	case *market.TickDay:
		r.Hour %= market.HoursOfDay + 1
	case *market.Minutes:
		fillMinutes(next, r)
	case *market.Transaction:
		r.Type %= market.Transfer + 1
		if !r.Moved {
			r.From, r.To = market.Address{}, market.Address{}
		}
	case *ledger.HourPrice:
		r.Source %= market.SourceFeed + 1
		r.Reason %= market.LastReason + 1
	}
}

// withoutHour returns a running day as the series has it.
func withoutHour(d market.PoolDay) market.PoolDay {
	d.ForgetHour()
	return d
}

// endedDay returns a day as the series has it when it is over.
func endedDay(next numbers) market.PoolDay {
	d := filled[market.PoolDay](next)
	if d.EventHour != 0 {
		d.HourVolumeUsd, d.HourFeesUsd = filled[float64](next), filled[float64](next)
	}
	return d
}

func fillMinutes(next numbers, m *market.Minutes) {
	for i := range m.Minute {
		if m.Minute[i] == 0 || next(3) == 0 {
			m.Minute[i], m.Sqrt[i] = 0, 0
		}
	}
	m.Newest %= market.MinuteSlots
}

// positionSample is what a position is filled from: its liquidity and its closing prices
// one after the other, and its fields in the order of the store.
type positionSample struct {
	ID                             uint64
	Pool, Owner                    uint32
	TickLower, TickUpper           int32
	LowerSlot, UpperSlot, Overflow uint32
	Entries                        uint32
	LiquidityOrUsd                 clmath.U128
	FeeGrowthInside0LastX128       clmath.U256
	FeeGrowthInside1LastX128       clmath.U256
	Deposited0, Deposited1         clmath.U128
	Withdrawn0, Withdrawn1         clmath.U128
	Collected0, Collected1, GasWei clmath.U128
	CostUsd                        float64
	MintedAt                       int64
	SecondsInside, SecondsClosed   uint32
	ClosedAt                       uint32

	Burned, GasUnknown, HookDelta, Timed bool

	Close          [2]market.ClosePrice
	CloseNativeUsd float64
}

// fillPosition fills an open position or a closed one.
func fillPosition(next numbers, p *market.Position) {
	var sample positionSample
	fillValue(next, reflect.ValueOf(&sample).Elem())
	from, to := reflect.ValueOf(sample), reflect.ValueOf(p).Elem()
	for _, field := range reflect.VisibleFields(to.Type()) {
		switch x := from.FieldByName(field.Name); {
		case x.IsValid():
			to.FieldByIndex(field.Index).Set(x.Convert(field.Type))
		case !strings.HasPrefix(field.Name, "Close"): // SetClose sets those
			panic("BUG: a field of a position is not filled: " + field.Name)
		}
	}

	for leg := range sample.Close {
		sample.Close[leg].Source %= market.SourceFeed + 1
		sample.Close[leg].Reason %= market.LastReason + 1
	}
	if next(2) == 0 {
		p.ClosedAt, p.CloseNativeUsd = 0, 0
	} else {
		p.SetClose(sample.Close)
	}
	if !p.Timed {
		p.SecondsInside, p.SecondsClosed = 0, 0
	}
}

func fillValue(next numbers, v reflect.Value) {
	if v.Type() == reflect.TypeFor[texts.Text]() {
		if next(3) > 0 {
			v.Set(reflect.ValueOf(texts.New(fmt.Sprintf("T%d ☂", next(1000)))))
		}
		return
	}

	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(next(2) == 1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(number(next) & (1<<v.Type().Bits() - 1))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(number(next)) >> (64 - v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat([]float64{
			0, market.Unknown, math.Inf(1), 1.5, 1e-300, float64(next(0)),
		}[next(6)])
	case reflect.Array:
		zero := next(4) == 0 // a whole address, hash or word
		for i := range v.Len() {
			if !zero {
				fillValue(next, v.Index(i))
			}
		}
	case reflect.Struct:
		for _, i := range fillOrder(v.Type()) {
			fillValue(next, v.Field(i))
		}
	default:
		panic("BUG: a record has a field of kind " + v.Kind().String())
	}
}

// fillOrder returns the fields of a record in the order in which they are filled. Where
// they stand in memory is for speed, and must change no sample: the records of the two
// types named here are filled in the order in which the store has their fields.
func fillOrder(t reflect.Type) (order []int) {
	names := map[reflect.Type]string{
		reflect.TypeFor[market.Pool](): "ID Currency0 Currency1 Hooks Fee TickSpacing CreatedAt CreatedBlock " +
			"SqrtPriceX96 FeeGrowthGlobal0X128 FeeGrowthGlobal1X128 Liquidity Tick ProtocolFee LastFee " +
			"LastSwapAt Swaps LiquidityChanges OpenPositions Holders LastHour Quarantined Held Others",
		reflect.TypeFor[market.Tick](): "SqrtPriceX96 FeeGrowthOutside0X128 FeeGrowthOutside1X128 " +
			"LiquidityGross LiquidityNet Pool Tick LastHour SecondsOutside",
	}

	for _, name := range strings.Fields(names[t]) {
		field, _ := t.FieldByName(name)
		order = append(order, field.Index[0])
	}
	if order == nil {
		for i := range t.NumField() {
			order = append(order, i)
		}
	}
	if len(order) != t.NumField() {
		panic("BUG: a field of " + t.Name() + " is not filled")
	}
	return order
}

// number is 0, small, large or the largest.
func number(next numbers) uint64 {
	switch next(5) {
	case 0:
		return 0
	case 1:
		return math.MaxUint64
	case 2:
		return next(300)
	}
	return next(0)
}

// filled returns a filled record.
func filled[T any](next numbers) T {
	var r T
	fill(next, &r)
	return r
}

// filledRows gives an undo up to two rows of a table.
func filledRows[T any](next numbers, t *ledger.Table[T], u *ledger.Undo) {
	var rows []ledger.Saved[T]
	for range int(next(3)) {
		rows = append(rows, ledger.Saved[T]{Index: uint32(next(1 << 32)), Row: filled[T](next)})
	}
	if len(rows) > 0 {
		t.SetSaved(u, rows)
	}
}

// filledPatch is a patch of a few rows.
func filledPatch(next numbers) (p pricePatch) {
	p.number, p.factor = filled[uint64](next), filled[float64](next)
	for row := uint32(next(300)); next(8) > 0; row += 1 + uint32(next(100)) {
		p.add(row, filled[uint64](next))
	}
	return p
}

// storedStats are stats as a row has them: without what follows from prices.
func storedStats(next numbers) market.PoolStats {
	s := filled[market.PoolStats](next)
	s.TVLUsd, s.FeeAPR, s.CurrentPrice, s.Unpriced, s.Unrealizable = 0, 0, 0, false, false
	s.Holdings = [2]float64{float64(next(1 << 60)), float64(next(1 << 60))}
	return s
}

// codeNewStats is codeStats for what is written now. Rows of formats 9 and 10 are read as
// well, and have every window.
func codeNewStats(c *field.Coder, s *market.PoolStats) {
	if c.Read && len(c.Buf) > 0 && c.Buf[0] == 1<<2 {
		c.Fail("flags")
		return
	}
	codeStats(c, s)
}

// codeAllWindows writes stats as rows of formats 9 and 10 have them, and reads them by
// codeStats.
func codeAllWindows(c *field.Coder, s *market.PoolStats) {
	if c.Read {
		codeStats(c, s)
		return
	}
	c.Buf = append(c.Buf, 1<<2)
	c.USD("held0", &s.Holdings[0])
	c.USD("held1", &s.Holdings[1])
	codeWindows(c, s, false)
}

// poolState is what changes of a pool.
func poolState(next numbers) market.Pool {
	p, zero := filled[market.Pool](next), market.Pool{}
	p.ID, p.Currency0, p.Currency1, p.Hooks, p.Fee = zero.ID, 0, 0, zero.Hooks, 0
	p.TickSpacing, p.CreatedAt, p.CreatedBlock = 0, 0, 0
	return p
}

// earlierStats are stats as rows of format 8 and earlier have them.
func earlierStats(next numbers) market.PoolStats {
	s := filled[market.PoolStats](next)
	s.Holdings = [2]float64{market.Unknown, market.Unknown}
	return s
}

// filledLengths gives every table of the ledger a length.
func filledLengths(next numbers, rows []uint32) {
	for i := range ledger.TableCount() {
		if about := tables[i].about(); about.sizeOf == i {
			rows[i] = filled[uint32](next)
		} else {
			rows[i] = rows[about.sizeOf]
		}
	}
}

func filledHead(next numbers) head {
	h := noHead()
	h.At = filled[market.Head](next)
	filledLengths(next, h.Rows)
	h.OpenCount, h.Transactions = filled[uint32](next), filled[uint64](next)
	h.Native = filled[uint32](next)
	if h.DaysFrom = filled[uint32](next); h.DaysFrom != 0 {
		h.HoursFrom = filled[uint32](next)
	}

	for i := ledger.TableCount(); i < len(tables); i++ {
		h.Rows[i] = filled[uint32](next)
	}
	h.Generation, h.PublishedAt = filled[uint64](next), filled[market.Head](next)
	h.Confirmed = filled[int64](next)
	return h
}

func filledUndo(next numbers) ledger.Undo {
	u := ledger.Undo{
		Before: filled[market.Head](next), Hash: filled[market.Hash](next),
		Rows: make([]uint32, ledger.TableCount()),
	}

	filledLengths(next, u.Rows)
	u.OpenCount, u.Transactions = filled[uint32](next), filled[uint64](next)
	filledRows(next, ledger.Tokens, &u)
	filledRows(next, ledger.Pools, &u)
	filledRows(next, ledger.Days, &u)
	filledRows(next, ledger.Minutes, &u)
	filledRows(next, ledger.Ticks, &u)
	filledRows(next, ledger.Positions, &u)
	filledRows(next, ledger.Overflow, &u)
	filledRows(next, ledger.NonNFT, &u)
	filledRows(next, ledger.Hours, &u)
	for _, op := range []ledger.Op{
		ledger.Transactions.Drop(market.Transaction{Position: 1, Block: next(0), LogIndex: 3}),
		ledger.PoolDays.Drop(market.PoolDay{Pool: 1, Day: 20000}),
		ledger.TickDays.Drop(market.TickDay{Pool: 1, Tick: -887272, Day: 20000}),
		ledger.PoolHours.Drop(market.PoolHour{Pool: 1, Day: 20000, Hour: 23}),
		ledger.TickHours.Drop(market.TickHour{Pool: 1, Tick: 60, Day: 20000, Hour: 23}),
		ledger.HourPrices.Drop(ledger.HourEntry{HourPrice: ledger.HourPrice{Token: 4}, Hour: 480000}),
		ledger.Transactions.Put(filled[market.Transaction](next)),
		ledger.PoolDays.Put(endedDay(next)),
		ledger.TickDays.Put(filled[market.TickDay](next)),
		ledger.HourPrices.Put(ledger.HourEntry{HourPrice: filled[ledger.HourPrice](next), Hour: 9}),
	} {
		u.Drops.Add(op)
	}

	return u
}

// words is a sample 256-bit number.
func words(w ...uint64) (v clmath.U256) {
	copy(v[:], w)
	return v
}
