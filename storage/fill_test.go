package storage

import (
	"fmt"
	"math"
	"reflect"

	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// source gives numbers below n; n = 0 is any 64 bits.
type source func(n uint64) uint64

// fill gives every field of a record a value, by reflection: a field that is
// added to a record and forgotten in its walk fails the round trip.
func fill(next source, record any) {
	fillValue(next, reflect.ValueOf(record).Elem())
	switch r := record.(type) {
	case *market.Token:
		r.HourSource %= market.SourceFeed + 1
		r.HourReason %= market.ReasonHookDelta + 1
	case *market.Position:
		r.Close[0].Source %= market.SourceFeed + 1
		r.Close[1].Source %= market.SourceFeed + 1
		r.Close[0].Reason %= market.ReasonHookDelta + 1
		r.Close[1].Reason %= market.ReasonHookDelta + 1
		if next(2) == 0 {
			r.ClosedAt, r.Close, r.CloseNativeUsd = 0, [2]market.ClosePrice{}, 0
		}
	case *market.Price:
		r.Source %= market.SourceFeed + 1
		r.Reason %= market.ReasonHookDelta + 1
	case *market.Minutes:
		fillMinutes(next, r)
	case *market.Transaction:
		r.Type %= market.Transfer + 1
		if !r.Moved {
			r.From, r.To = market.Address{}, market.Address{}
		}
	case *ledger.HourPrice:
		r.Source %= market.SourceFeed + 1
		r.Reason %= market.ReasonHookDelta + 1
	}
}

func fillMinutes(next source, m *market.Minutes) {
	for i := range m.Minute {
		if m.Minute[i] == 0 || next(3) == 0 {
			m.Minute[i], m.Sqrt[i] = 0, 0
		}
	}
	m.Newest %= market.MinuteSlots
}

func fillValue(next source, v reflect.Value) {
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
	case reflect.Pointer:
		if next(3) > 0 {
			text := fmt.Sprintf("T%d ☂", next(1000))
			v.Set(reflect.ValueOf(&text))
		}
	case reflect.Array:
		zero := next(4) == 0 // a whole address, hash or word
		for i := range v.Len() {
			if !zero {
				fillValue(next, v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(next, v.Field(i))
		}
	default:
		panic("BUG: a record has a field of kind " + v.Kind().String())
	}
}

// number is 0, small, large or the largest.
func number(next source) uint64 {
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
func filled[T any](next source) T {
	var r T
	fill(next, &r)
	return r
}

func filledRows[T any](next source, n int) []ledger.Saved[T] {
	var rows []ledger.Saved[T]
	for range n {
		rows = append(rows, ledger.Saved[T]{Index: uint32(next(1 << 32)), Row: filled[T](next)})
	}
	return rows
}

func filledUndo(next source) ledger.Undo {
	n := func() int { return int(next(3)) }
	return ledger.Undo{
		Before: filled[market.Head](next), Hash: filled[market.Hash](next),
		Lens:      filled[ledger.Lens](next),
		Tokens:    filledRows[market.Token](next, n()),
		Pools:     filledRows[market.Pool](next, n()),
		Days:      filledRows[market.PoolDay](next, n()),
		Minutes:   filledRows[market.Minutes](next, n()),
		Ticks:     filledRows[market.Tick](next, n()),
		Positions: filledRows[market.Position](next, n()),
		Wides:     filledRows[market.Sums](next, n()),
		Directs:   filledRows[market.Direct](next, n()),
		Hours:     filledRows[market.HourBucket](next, n()),
		Drops: []ledger.Op{
			ledger.DropTransaction{Position: 1, Block: next(0), LogIndex: 3},
			ledger.DropPoolDay{Pool: 1, Day: 20000},
			ledger.DropTickDay{Pool: 1, Tick: -887272, Day: 20000},
			ledger.DropHourPrice{Token: 4, Hour: 480000},
			ledger.PutTransaction{Transaction: filled[market.Transaction](next)},
			ledger.PutPoolDay{PoolDay: filled[market.PoolDay](next)},
			ledger.PutTickDay{TickDay: filled[market.TickDay](next)},
			ledger.PutHourPrice{HourPrice: filled[ledger.HourPrice](next), Hour: 9},
		},
	}
}

// words is a sample 256-bit number.
func words(w ...uint64) (v clmath.U256) {
	copy(v[:], w)
	return v
}
